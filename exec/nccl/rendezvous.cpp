#include "exec/nccl/rendezvous.hpp"

#include <fmt/format.h>

#include <utility>

namespace xdc {

NcclRendezvous::NcclRendezvous(Store& store, const View& view, std::string_view purpose, MemberId self, DescribeMember describe)
    : store_(store),
      view_(view),
      prefix_(fmt::format("nccl/{}/{}/{}", view.epoch, purpose, view.members.empty() ? -1 : view.members.front())),
      self_(self),
      describe_(std::move(describe)) {
  XDC_CHECK_MSG(view.rank_of(self) >= 0, "a member opens a communicator of a view it is not in");
}

std::string NcclRendezvous::key(std::string_view what) const { return fmt::format("{}/{}", prefix_, what); }

Result<std::string> NcclRendezvous::exchange(const std::function<Result<std::string>()>& make_id, Deadline deadline) {
  const std::string here = key(fmt::format("here/{}", self_));
  XDC_TRY_ASSIGN(const uint64_t arrived, store_.put_if(here, describe_(self_), 0, nullptr, deadline));
  if (arrived == 0) {
    return Error{ErrorCode::failed,
                 fmt::format("{}: the store already has '{}': this view and purpose were used before", describe_(self_), here)};
  }
  if (self_ != view_.members.front()) {
    auto entry = store_.watch(key("id"), 0, deadline);
    if (!entry.ok()) {
      return with_context(entry.error(),
                          fmt::format("{}: waiting for the communicator id of {}", describe_(self_), describe_(view_.members.front())));
    }
    return from_hex(entry.value().value);
  }
  XDC_TRY_ASSIGN(const std::string id, make_id());
  XDC_TRY_ASSIGN(const uint64_t written, store_.put_if(key("id"), to_hex(id), 0, nullptr, deadline));
  if (written == 0) {
    return Error{ErrorCode::failed,
                 fmt::format("{}: the store already has '{}': this view and purpose were used before", describe_(self_), key("id"))};
  }
  return id;
}

std::string NcclRendezvous::missing(Deadline deadline) const {
  std::string names;
  for (const MemberId member : view_.members) {
    const auto entry = store_.get(key(fmt::format("here/{}", member)), deadline);
    if (!entry.ok()) {
      return {};
    }
    if (!entry.value().has_value()) {
      names += fmt::format("{}{}", names.empty() ? "" : ", ", describe_(member));
    }
  }
  return names;
}

std::string to_hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string digits;
  digits.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    digits += kDigits[byte >> 4U];
    digits += kDigits[byte & 15U];
  }
  return digits;
}

Result<std::string> from_hex(std::string_view digits) {
  const auto value = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; };
  if (digits.size() % 2 != 0) {
    return Error{ErrorCode::failed, "an odd number of hexadecimal digits"};
  }
  std::string bytes;
  bytes.reserve(digits.size() / 2);
  for (size_t i = 0; i < digits.size(); i += 2) {
    const int high = value(digits[i]);
    const int low = value(digits[i + 1]);
    if (high < 0 || low < 0) {
      return Error{ErrorCode::failed, fmt::format("not hexadecimal at digit {}", i)};
    }
    bytes += static_cast<char>(high * 16 + low);
  }
  return bytes;
}

}  // namespace xdc
