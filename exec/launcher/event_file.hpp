// Where do the events of ranks go? A file that several processes append whole lines to.
#pragma once

#include <string>
#include <utility>

#include "core/base/result.hpp"

namespace xdc {

// Owns a descriptor for JsonTrace: emptied, for appending, and where it is a pipe it blocks nobody.
class EventFile {
 public:
  // Errors: invalid.
  static Result<EventFile> open(const std::string& path);
  ~EventFile();
  EventFile(EventFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  EventFile& operator=(EventFile&&) = delete;
  int fd() const { return fd_; }

 private:
  explicit EventFile(int fd) : fd_(fd) {}
  int fd_ = -1;
};

}  // namespace xdc
