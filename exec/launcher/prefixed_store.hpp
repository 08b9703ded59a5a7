// How do the variants of one command share a store? Each has its own part of the keys: "1/report/3".
#pragma once

#include <string>

#include "core/seam/store.hpp"

namespace xdc {

class PrefixedStore final : public Store {
 public:
  // `store` outlives it.
  PrefixedStore(Store& store, std::string prefix) : store_(store), prefix_(std::move(prefix)) {}

  Result<std::optional<StoreEntry>> get(std::string_view key, Deadline deadline) override { return store_.get(full(key), deadline); }
  Result<uint64_t> put_if(std::string_view key, std::string_view value, uint64_t expected, const Lease* lease, Deadline deadline) override {
    return store_.put_if(full(key), value, expected, lease, deadline);
  }
  Result<StoreEntry> watch(std::string_view key, uint64_t after, Deadline deadline) override {
    return store_.watch(full(key), after, deadline);
  }
  Result<std::unique_ptr<Lease>> lease(Duration time_to_live, Deadline deadline) override { return store_.lease(time_to_live, deadline); }

 private:
  std::string full(std::string_view key) const { return prefix_ + std::string(key); }

  Store& store_;
  const std::string prefix_;
};

}  // namespace xdc
