// Where do a simulated member's checkpoints go? Into this process's memory; a put takes no virtual time.
#pragma once

#include <map>

#include "core/seam/storage.hpp"

namespace xdc {

class SimStorage final : public Storage {
 public:
  Status put(std::string_view name, std::span<const std::byte> contents) override;
  Result<std::vector<std::byte>> get(std::string_view name) override;
  Result<std::vector<std::string>> list(std::string_view prefix) override;
  Status remove(std::string_view name) override;

 private:
  std::map<std::string, std::vector<std::byte>, std::less<>> files_;
};

}  // namespace xdc
