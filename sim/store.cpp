#include "sim/store.hpp"

#include <fmt/format.h>

#include "core/base/quantity.hpp"

namespace xdc {

class SimLease final : public Lease {
 public:
  SimLease(SimStore& store, uint64_t id) : store_(store), id_(id) {}
  ~SimLease() override { store_.revoke(id_); }
  bool held() const override { return true; }  // nobody is starved in virtual time
  uint64_t id() const override { return id_; }

 private:
  SimStore& store_;
  uint64_t id_;
};

Result<std::optional<StoreEntry>> SimStore::get(std::string_view key, Deadline) {
  const auto* entry = find(key);
  return entry == nullptr ? std::optional<StoreEntry>() : *entry;
}

Result<uint64_t> SimStore::put_if(std::string_view key, std::string_view value, uint64_t expected, const Lease* lease, Deadline) {
  const auto* present = find(key);
  if (expected != kAnyRevision && expected != (present == nullptr ? 0 : present->revision)) {
    return uint64_t{0};
  }
  const uint64_t revision = ++revision_;
  keys_.insert_or_assign(std::string(key), Held{{std::string(value), revision}, lease == nullptr ? 0 : lease->id()});
  agenda_.at(Agenda::now(), [this, key = std::string(key)] {
    for (const auto& watcher : watchers_) {
      if (watcher.key == key) watcher.waiter->wake();
    }
  });
  return revision;
}

Result<StoreEntry> SimStore::watch(std::string_view key, uint64_t after, Deadline deadline) {
  WaitPoint waiter(agenda_);
  struct Listed {
    std::vector<Watcher>& list;
    WaitPoint* waiter;
    ~Listed() {
      std::erase_if(list, [&](const auto& watcher) { return watcher.waiter == waiter; });
    }
  } const listed{watchers_, &waiter};
  watchers_.push_back({key, &waiter});
  const StoreEntry* entry = nullptr;
  const auto began = Agenda::now();
  const auto written = [&] {
    entry = find(key);
    return entry != nullptr && entry->revision > after;
  };
  if (!waiter.wait(deadline, written, [&] { return fmt::format("store key \"{}\" after revision {}", key, after); })) {
    return Error{ErrorCode::timeout,
                 fmt::format("waited {} for store key \"{}\" after revision {}", format_duration(Agenda::now() - began), key, after)};
  }
  return *entry;
}

Result<std::unique_ptr<Lease>> SimStore::lease(Duration, Deadline) {
  return std::unique_ptr<Lease>(std::make_unique<SimLease>(*this, ++leases_));
}

const StoreEntry* SimStore::find(std::string_view key) const {
  const auto found = keys_.find(key);
  return found == keys_.end() ? nullptr : &found->second.entry;
}

void SimStore::revoke(uint64_t lease) {
  std::erase_if(keys_, [&](const auto& key) { return key.second.lease == lease; });
}

}  // namespace xdc
