// How does an expected failure travel? As a value: Result<T> or Status, never as an exception.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "core/base/check.hpp"

namespace xdc {

// A code exists only where a caller branches on it; everything else a reader needs is in the message.
enum class ErrorCode {
  timeout,       // the deadline passed first; the peer may be alive
  peer_lost,     // the peer is known to be gone
  aborted,       // this side, or this run, gave up
  view_changed,  // the peer speaks of another view
  unsupported,   // this world has no such capability; the caller takes its other path
  invalid,       // what the user wrote cannot be done
  failed,        // anything else: I/O, a broken promise of the other side
};

const char* to_string(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::failed;
  std::string message;
};

// Puts what was being done in front of why it failed: "round 7: datacenter beijing rank 3 ...".
Error with_context(Error error, const std::string& context);

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)) {}
  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const {
    XDC_CHECK(error_.has_value());
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

inline Status ok_status() { return {}; }

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : value_(std::in_place_index<1>, std::move(error)) {}
  bool ok() const { return value_.index() == 0; }
  explicit operator bool() const { return ok(); }
  const T& value() const& {
    XDC_CHECK_MSG(ok(), std::get<1>(value_).message);
    return std::get<0>(value_);
  }
  T& value() & {
    XDC_CHECK_MSG(ok(), std::get<1>(value_).message);
    return std::get<0>(value_);
  }
  T&& value() && {
    XDC_CHECK_MSG(ok(), std::get<1>(value_).message);
    return std::get<0>(std::move(value_));
  }
  const Error& error() const {
    XDC_CHECK(!ok());
    return std::get<1>(value_);
  }
  Status status() const { return ok() ? Status() : Status(error()); }

 private:
  std::variant<T, Error> value_;
};

}  // namespace xdc

#define XDC_CONCAT_INNER(a, b) a##b
#define XDC_CONCAT(a, b) XDC_CONCAT_INNER(a, b)

// XDC_TRY(status_expression): returns its error from the enclosing function, if it has one.
#define XDC_TRY(...)                                                 \
  do {                                                               \
    if (auto xdc_try_status = (__VA_ARGS__); !xdc_try_status.ok()) { \
      return xdc_try_status.error();                                 \
    }                                                                \
  } while (false)

// XDC_TRY_ASSIGN(auto x, result_expression): x is the value, or the error is returned.
#define XDC_TRY_ASSIGN(target, ...) XDC_TRY_ASSIGN_IMPL(XDC_CONCAT(xdc_try_result_, __LINE__), target, __VA_ARGS__)
#define XDC_TRY_ASSIGN_IMPL(name, target, ...) \
  auto name = (__VA_ARGS__);                   \
  if (!name.ok()) {                            \
    return name.error();                       \
  }                                            \
  target = std::move(name).value()
