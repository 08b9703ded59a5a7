// Where do bytes that must survive go?
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"

namespace xdc {

// Names are relative paths of [a-z0-9._-] separated by '/'. Any lane may call.
class Storage {
 public:
  virtual ~Storage() = default;
  // Atomic and durable: afterwards, whatever happens, a reader sees all of it; on failure, the old contents or nothing.
  virtual Status put(std::string_view name, std::span<const std::byte> contents) = 0;
  // The same, of contents that are not in memory as a whole: what `next` returns, one after another, until it returns nothing. What it
  // returned is used before it is called again. Its error ends the put.
  using Parts = std::function<Result<std::span<const std::byte>>()>;
  virtual Status put_parts(std::string_view name, const Parts& next);
  // Errors: invalid, when there is no such name; failed.
  virtual Result<std::vector<std::byte>> get(std::string_view name) = 0;
  // Names that begin with prefix, ascending.
  virtual Result<std::vector<std::string>> list(std::string_view prefix) = 0;
  // No error when there is none.
  virtual Status remove(std::string_view name) = 0;
};

}  // namespace xdc
