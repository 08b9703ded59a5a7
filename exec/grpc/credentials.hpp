// How do gRPC's channels and servers show and check certificates, and what do their failures mean?
#pragma once

#include <grpcpp/security/auth_context.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <memory>
#include <string>
#include <vector>

#include "exec/grpc/security.hpp"

namespace xdc {

// Plaintext where `security` is null.
std::shared_ptr<grpc::ChannelCredentials> channel_credentials(const Security* security);
std::shared_ptr<grpc::ServerCredentials> server_credentials(const Security* security);
// Settings of every channel of ours: connections of its own, no proxy, and the only name ("rank3.beijing") whose certificate will do.
grpc::ChannelArguments channel_arguments(const Security* security, const std::string& peer_name);

// The names in the certificate of the other side, "rank3.beijing"; none in plaintext.
std::vector<std::string> peer_names(const grpc::AuthContext& context);

// Does this message of a failed call say that nobody listens there?
bool refused(const std::string& message);
// Or that it was connected, and the other side ended it?
bool closed_at_once(const std::string& message);
// Is this message of a failed call about the papers, so that trying again is of no use?
bool handshake_failed(const std::string& message);
// The same message, with what it means in front where it is about a handshake.
std::string explain_handshake(const std::string& message);

// Why can nobody listen at "127.0.0.1:6170"? "address already in use".
std::string why_not_listening(const std::string& address);

// What strangers do to a server is known to gRPC alone, as lines of its log: from now on those about handshakes are ours, at level warning,
// once a second at most. The others are dropped. Once a process, before the first server.
void report_handshakes();

}  // namespace xdc
