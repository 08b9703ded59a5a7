#include "exec/grpc/version.hpp"

#include <fmt/format.h>
#include <google/protobuf/stubs/common.h>
#include <grpcpp/grpcpp.h>

namespace xdc {

std::string grpc_versions() {
  constexpr int kMajor = GOOGLE_PROTOBUF_VERSION / 1'000'000, kMinor = GOOGLE_PROTOBUF_VERSION / 1000 % 1000,
                kPatch = GOOGLE_PROTOBUF_VERSION % 1000;
  return fmt::format("{}, protobuf {}.{}.{}", grpc::Version(), kMajor, kMinor, kPatch);
}

}  // namespace xdc
