#include "core/base/digest.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include "core/base/check.hpp"

namespace xdc {
namespace {

std::string hex_of(XXH128_hash_t hash) { return fmt::format("{:016x}{:016x}", hash.high64, hash.low64); }

}  // namespace

struct Digest::State {
  XXH3_state_t* state = XXH3_createState();
  State() {
    XDC_CHECK_MSG(state != nullptr, "out of memory");
    XDC_CHECK(XXH3_128bits_reset(state) == XXH_OK);
  }
  ~State() { XXH3_freeState(state); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
};

std::string digest(std::span<const std::byte> bytes) { return hex_of(XXH3_128bits(bytes.data(), bytes.size())); }
std::string digest(std::string_view text) { return hex_of(XXH3_128bits(text.data(), text.size())); }

Digest::Digest() : state_(std::make_unique<State>()) {}
Digest::~Digest() = default;

void Digest::update(std::span<const std::byte> bytes) {
  XDC_CHECK(XXH3_128bits_update(state_->state, bytes.data(), bytes.size()) == XXH_OK);
}
void Digest::update(std::string_view text) { update(std::as_bytes(std::span(text))); }

std::string Digest::hex() const { return hex_of(XXH3_128bits_digest(state_->state)); }

}  // namespace xdc
