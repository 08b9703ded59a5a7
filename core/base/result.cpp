#include "core/base/result.hpp"

namespace xdc {

const char* to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::timeout:
      return "timeout";
    case ErrorCode::peer_lost:
      return "peer lost";
    case ErrorCode::aborted:
      return "aborted";
    case ErrorCode::view_changed:
      return "view changed";
    case ErrorCode::unsupported:
      return "unsupported";
    case ErrorCode::invalid:
      return "invalid";
    case ErrorCode::failed:
      return "failed";
  }
  return "unknown";
}

Error with_context(Error error, const std::string& context) {
  error.message = context + ": " + error.message;
  return error;
}

}  // namespace xdc
