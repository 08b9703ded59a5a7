#include "sim/storage.hpp"

#include <fmt/format.h>

namespace xdc {
namespace {

// The same names that a file system of a real member takes.
Status check_name(std::string_view name) {
  size_t begin = 0;
  bool good = true;
  while (good) {
    const size_t end = name.find('/', begin);
    const auto part = name.substr(begin, end == std::string_view::npos ? end : end - begin);
    good = !part.empty() && part != "." && part != ".." &&
           part.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789._-") == std::string_view::npos;
    if (end == std::string_view::npos) {
      break;
    }
    begin = end + 1;
  }
  return good ? ok_status()
              : Status(Error{ErrorCode::invalid, fmt::format("\"{}\" is no storage name: [a-z0-9._-] separated by '/'", name)});
}

}  // namespace

Status SimStorage::put(std::string_view name, std::span<const std::byte> contents) {
  XDC_TRY(check_name(name));
  files_.insert_or_assign(std::string(name), std::vector<std::byte>(contents.begin(), contents.end()));
  return ok_status();
}

Result<std::vector<std::byte>> SimStorage::get(std::string_view name) {
  XDC_TRY(check_name(name));
  const auto found = files_.find(name);
  if (found == files_.end()) {
    return Error{ErrorCode::invalid, fmt::format("storage has no \"{}\"", name)};
  }
  return found->second;
}

Result<std::vector<std::string>> SimStorage::list(std::string_view prefix) {
  std::vector<std::string> names;
  for (auto it = files_.lower_bound(prefix); it != files_.end() && it->first.starts_with(prefix); ++it) {
    names.push_back(it->first);
  }
  return names;
}

Status SimStorage::remove(std::string_view name) {
  XDC_TRY(check_name(name));
  if (const auto found = files_.find(name); found != files_.end()) {
    files_.erase(found);
  }
  return ok_status();
}

}  // namespace xdc
