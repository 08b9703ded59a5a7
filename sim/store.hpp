// Where do simulated members agree on small facts? In this process's memory: every call is atomic, because lanes give way only
// where they wait, and takes no virtual time. watch() waits in virtual time.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/seam/store.hpp"
#include "sim/wait_point.hpp"

namespace xdc {

class SimStore final : public Store {
 public:
  explicit SimStore(Agenda& agenda) : agenda_(agenda) {}
  Result<std::optional<StoreEntry>> get(std::string_view key, Deadline deadline) override;
  Result<uint64_t> put_if(std::string_view key, std::string_view value, uint64_t expected, const Lease* lease, Deadline deadline) override;
  Result<StoreEntry> watch(std::string_view key, uint64_t after, Deadline deadline) override;
  // Ends when it is let go: a living holder always keeps it alive.
  Result<std::unique_ptr<Lease>> lease(Duration time_to_live, Deadline deadline) override;

  // Reads from outside of the run.
  const StoreEntry* find(std::string_view key) const;

 private:
  friend class SimLease;
  struct Held {
    StoreEntry entry;
    uint64_t lease = 0;
  };
  struct Watcher {
    std::string_view key;
    WaitPoint* waiter;
  };
  void revoke(uint64_t lease);

  Agenda& agenda_;
  std::map<std::string, Held, std::less<>> keys_;
  std::vector<Watcher> watchers_;
  uint64_t revision_ = 0;
  uint64_t leases_ = 0;
};

}  // namespace xdc
