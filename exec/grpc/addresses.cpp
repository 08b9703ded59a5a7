#include "exec/grpc/addresses.hpp"

#include <fmt/format.h>

#include "exec/grpc/grpc_fabric.hpp"

namespace xdc {

namespace {

// How often the others are looked for while one is waited for, so that a timeout names only those still missing.
constexpr Duration kLookAgain = milliseconds(200);

std::string names(const ChannelState& state, const std::vector<std::string>& addresses) {
  std::vector<std::string> missing;
  for (Rank rank = 0; rank < state.view.size(); ++rank) {
    if (rank != state.self && addresses[static_cast<size_t>(rank)].empty()) {
      missing.push_back(state.describe_rank(rank));
    }
  }
  return fmt::format("{}", fmt::join(missing, ", "));
}

// The first rank without an address; -1: none.
Result<Rank> look_for_all(const ChannelState& state, Store& store, Deadline deadline, std::vector<std::string>& addresses) {
  Rank first_missing = -1;
  for (Rank rank = 0; rank < state.view.size(); ++rank) {
    std::string& address = addresses[static_cast<size_t>(rank)];
    if (rank == state.self || !address.empty()) {
      continue;
    }
    XDC_TRY_ASSIGN(const auto entry, store.get(address_key(state.view.members[static_cast<size_t>(rank)]), deadline));
    address = entry ? entry->value : "";
    first_missing = address.empty() && first_missing < 0 ? rank : first_missing;
  }
  return first_missing;
}

}  // namespace

Result<std::vector<std::string>> find_addresses(const ChannelState& state, Store& store, const SteadyClock& clock, Deadline deadline) {
  std::vector<std::string> addresses(state.view.members.size());
  for (;;) {
    const auto missing = look_for_all(state, store, deadline, addresses);
    if (missing.ok() && missing.value() < 0) {
      return addresses;
    }
    if (!missing.ok() && missing.error().code != ErrorCode::timeout) {
      return missing.error();
    }
    if (!missing.ok() || clock.now() >= deadline) {
      return Error{ErrorCode::timeout, fmt::format("{}: {} waited for {}, who did not start in time", state.describe_channel(),
                                                   state.describe_rank(state.self), names(state, addresses))};
    }
    const MemberId member = state.view.members[static_cast<size_t>(missing.value())];
    const auto entry = store.watch(address_key(member), 0, std::min(deadline, clock.now() + kLookAgain));
    if (!entry.ok() && entry.error().code != ErrorCode::timeout) {
      return entry.error();
    }
  }
}

}  // namespace xdc
