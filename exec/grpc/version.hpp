// Which gRPC and protobuf does this program run with?
#pragma once

#include <string>

namespace xdc {

// "1.51.1, protobuf 3.21.12"
std::string grpc_versions();

}  // namespace xdc
