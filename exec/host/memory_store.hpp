// Where do members agree on small facts when all of them can reach one process? In that process's memory.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <string>

#include "core/seam/store.hpp"
#include "exec/host/steady_clock.hpp"

namespace xdc {

// The store behind the launcher's server, and the whole store where members are threads.
class MemoryStore final : public Store {
 public:
  explicit MemoryStore(const SteadyClock& clock) : clock_(clock) {}

  Result<std::optional<StoreEntry>> get(std::string_view key, Deadline deadline) override;
  Result<uint64_t> put_if(std::string_view key, std::string_view value, uint64_t expected, const Lease* lease, Deadline deadline) override;
  Result<StoreEntry> watch(std::string_view key, uint64_t after, Deadline deadline) override;
  // Ends when it is let go; the holder is this very process, so nothing needs to be kept alive.
  Result<std::unique_ptr<Lease>> lease(Duration time_to_live, Deadline deadline) override;

  // What a server does for holders elsewhere. Lease 0 is no lease.
  Result<uint64_t> put_under(std::string_view key, std::string_view value, uint64_t expected, uint64_t lease);
  uint64_t grant(Duration time_to_live);  // ends unless kept alive
  bool keep_alive(uint64_t lease);        // false: it has ended
  void revoke(uint64_t lease);

 private:
  struct Held {
    StoreEntry entry;
    uint64_t lease = 0;
  };
  struct LeaseState {
    Duration time_to_live;
    Deadline ends;
  };

  void expire();
  void drop_keys_of(uint64_t lease);
  std::optional<StoreEntry> find_after(std::string_view key, uint64_t after);

  const SteadyClock& clock_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Held, std::less<>> keys_;
  std::map<uint64_t, LeaseState> leases_;
  uint64_t revision_ = 0;
  uint64_t next_lease_ = 1;
};

}  // namespace xdc
