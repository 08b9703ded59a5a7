#include "exec/host/memory_store.hpp"

#include <fmt/format.h>

namespace xdc {

namespace {

class MemoryLease final : public Lease {
 public:
  MemoryLease(MemoryStore& store, uint64_t id) : store_(store), id_(id) {}
  ~MemoryLease() override { store_.revoke(id_); }
  uint64_t id() const override { return id_; }
  bool held() const override { return true; }  // granted without an end

 private:
  MemoryStore& store_;
  uint64_t id_;
};

}  // namespace

Result<std::optional<StoreEntry>> MemoryStore::get(std::string_view key, Deadline) {
  const std::lock_guard lock(mutex_);
  return find_after(key, 0);
}

Result<uint64_t> MemoryStore::put_if(std::string_view key, std::string_view value, uint64_t expected, const Lease* lease, Deadline) {
  return put_under(key, value, expected, lease == nullptr ? 0 : lease->id());
}

Result<uint64_t> MemoryStore::put_under(std::string_view key, std::string_view value, uint64_t expected, uint64_t lease) {
  const std::lock_guard lock(mutex_);
  expire();
  if (lease != 0 && !leases_.contains(lease)) {
    return Error{ErrorCode::failed, fmt::format("store: {} cannot be put, the lease of its writer has ended", key)};
  }
  const auto held = keys_.find(key);
  const uint64_t current = held == keys_.end() ? 0 : held->second.entry.revision;
  if (expected != kAnyRevision && expected != current) {
    return uint64_t{0};
  }
  keys_.insert_or_assign(std::string(key), Held{{std::string(value), ++revision_}, lease});
  changed_.notify_all();
  return revision_;
}

Result<StoreEntry> MemoryStore::watch(std::string_view key, uint64_t after, Deadline deadline) {
  std::unique_lock lock(mutex_);
  std::optional<StoreEntry> entry;
  // Nobody need wake for a key that expires: a watcher waits for keys to come.
  if (!wait_until(clock_, changed_, lock, deadline, [&] { return (entry = find_after(key, after)).has_value(); })) {
    return Error{ErrorCode::timeout, fmt::format("store: {} was not written in time", key)};
  }
  return *entry;
}

Result<std::unique_ptr<Lease>> MemoryStore::lease(Duration, Deadline) {
  return std::unique_ptr<Lease>(std::make_unique<MemoryLease>(*this, grant({kNoDeadline.ns})));
}

uint64_t MemoryStore::grant(Duration time_to_live) {
  const std::lock_guard lock(mutex_);
  leases_[next_lease_] = {time_to_live, clock_.now() + time_to_live};
  return next_lease_++;
}

bool MemoryStore::keep_alive(uint64_t lease) {
  const std::lock_guard lock(mutex_);
  expire();
  const auto held = leases_.find(lease);
  if (held == leases_.end()) {
    return false;
  }
  held->second.ends = clock_.now() + held->second.time_to_live;
  return true;
}

void MemoryStore::revoke(uint64_t lease) {
  const std::lock_guard lock(mutex_);
  if (leases_.erase(lease) > 0) {
    drop_keys_of(lease);
  }
}

void MemoryStore::expire() {
  const TimePoint now = clock_.now();
  for (auto at = leases_.begin(); at != leases_.end();) {
    if (at->second.ends < now) {
      drop_keys_of(at->first);
      at = leases_.erase(at);
    } else {
      ++at;
    }
  }
}

void MemoryStore::drop_keys_of(uint64_t lease) {
  std::erase_if(keys_, [lease](const auto& key) { return key.second.lease == lease; });
}

std::optional<StoreEntry> MemoryStore::find_after(std::string_view key, uint64_t after) {
  expire();
  const auto held = keys_.find(key);
  if (held == keys_.end() || held->second.entry.revision <= after) {
    return std::nullopt;
  }
  return held->second.entry;
}

}  // namespace xdc
