// Are two things the same bytes? XXH3-128 (xxHash), written as 32 hexadecimal digits.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace xdc {

std::string digest(std::span<const std::byte> bytes);
std::string digest(std::string_view text);

// The same digest, fed in pieces.
class Digest {
 public:
  Digest();
  ~Digest();
  Digest(const Digest&) = delete;
  Digest& operator=(const Digest&) = delete;
  void update(std::span<const std::byte> bytes);
  void update(std::string_view text);
  std::string hex() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace xdc
