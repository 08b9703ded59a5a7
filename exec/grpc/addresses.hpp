// Where does each member of a view listen? The store knows, once it has started.
#pragma once

#include "core/seam/store.hpp"
#include "exec/grpc/channel_state.hpp"

namespace xdc {

// By rank; empty at our own. Errors: timeout, which names every member without an address; failed.
Result<std::vector<std::string>> find_addresses(const ChannelState& state, Store& store, const SteadyClock& clock, Deadline deadline);

}  // namespace xdc
