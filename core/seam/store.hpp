// Where do members agree on small facts? A key-value store with revisions and leases: in memory, embedded, or etcd.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "core/base/time.hpp"

namespace xdc {

// Kept alive by the member that holds it; when the member dies or lets go, the keys put under it vanish after at most
// its time to live. A member that was stopped or starved for longer loses it too, and learns of it when it goes on.
class Lease {
 public:
  virtual ~Lease() = default;  // lets go
  virtual uint64_t id() const = 0;
  // False once the holder has learned that it ended: what was put under it is gone. Any lane.
  virtual bool held() const = 0;
};

struct StoreEntry {
  std::string value;
  uint64_t revision = 0;  // of the whole store when this key was last written; starts at 1 and only grows
};

// Any lane may call. Calls are linearizable.
class Store {
 public:
  virtual ~Store() = default;
  // nullopt: no such key. Errors: timeout, failed.
  virtual Result<std::optional<StoreEntry>> get(std::string_view key, Deadline deadline) = 0;
  // Writes iff the key's revision is `expected` (0: the key is absent; kAnyRevision: whatever it is). Returns the new
  // revision, or 0 when it did not write. Errors: timeout, failed.
  virtual Result<uint64_t> put_if(std::string_view key, std::string_view value, uint64_t expected, const Lease* lease, Deadline deadline) = 0;
  // Blocks until the key exists with a revision > after. Errors: timeout, failed.
  virtual Result<StoreEntry> watch(std::string_view key, uint64_t after, Deadline deadline) = 0;
  virtual Result<std::unique_ptr<Lease>> lease(Duration time_to_live, Deadline deadline) = 0;
};
inline constexpr uint64_t kAnyRevision = ~uint64_t{0};

}  // namespace xdc
