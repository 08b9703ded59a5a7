// Who may speak as which member, on lines that are not ours? Mutual TLS: a certificate authority of the run, and one certificate a member.
#pragma once

#include <string>

#include "core/base/result.hpp"

namespace xdc {

// What one process shows and trusts. A name is "rank3.beijing" (Cluster::label) or "launcher.beijing"; its certificate has the DNS
// name "rank3.beijing.xdc" (SAN), by which both sides know each other: whoever connects to rank 3 refuses another's certificate, and
// whoever is connected to refuses a caller that claims to be rank 3 without it.
struct Security {
  std::string name;
  std::string directory;  // for messages
  std::string authority_pem, certificate_pem, key_pem;
};

// "rank3.beijing" -> "rank3.beijing.xdc"
std::string dns_name(const std::string& name);

// Reads DIRECTORY/ca.pem, NAME.pem and NAME.key, as tools/make_certs writes them. Errors: invalid, where a file is missing or no PEM, where
// the key is not the certificate's, where the certificate is of another name, not of this authority, not yet or no longer valid; each
// with what to do.
Result<Security> load_security(const std::string& directory, const std::string& name);

// What load_security would say, and until when the certificate is valid: "valid until 2027-03-01".
Result<std::string> describe_certificate(const std::string& directory, const std::string& name);

}  // namespace xdc
