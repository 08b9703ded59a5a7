// Where do bytes that must survive go on a real machine? Into files under one directory.
#pragma once

#include <atomic>
#include <mutex>
#include <string>

#include "core/seam/storage.hpp"

namespace xdc {

// put: a temporary file beside the target, fsync, rename, fsync of the directory. Temporary names contain '~', which no name
// may, so what a killed writer left is never listed nor read; it goes at the first put of the next FileStorage there. remove: directories
// below the root that become empty go along.
class FileStorage final : public Storage {
 public:
  // The directory is made at the first put.
  explicit FileStorage(std::string root) : root_(std::move(root)) {}

  Status put(std::string_view name, std::span<const std::byte> contents) override;
  Status put_parts(std::string_view name, const Parts& next) override;
  Result<std::vector<std::byte>> get(std::string_view name) override;
  Result<std::vector<std::string>> list(std::string_view prefix) override;
  Status remove(std::string_view name) override;

 private:
  std::string root_;
  std::once_flag swept_;
  std::atomic<uint64_t> next_temporary_{0};
};

}  // namespace xdc
