// How do launchers on several machines start a run together, hear of each other's failures, and part? Through one store, which the
// launcher of the first member keeps.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/membership/cluster.hpp"
#include "exec/grpc/grpc_store.hpp"
#include "exec/grpc/security.hpp"
#include "exec/grpc/store_server.hpp"
#include "exec/launcher/fingerprint.hpp"
#include "exec/launcher/placement.hpp"
#include "exec/launcher/signal_watch.hpp"

namespace xdc {

// What one launcher tells all others, once a variant runs.
struct Tidings {
  enum class Kind { failure, stop };
  Kind kind = Kind::failure;
  int weight = 0;  // of causes the least is told: 0 a rank was killed, 1 it failed, 2 it only lost another
  std::string text;
};

// Where the keeper of a store leaves its wall-clock time, in ns, several times a second: `xdc-run --doctor` compares.
inline constexpr char kClockKey[] = "clock";

class Session {
 public:
  // Keeps the store, or will reach it. Errors: failed, with the owner of a taken port; invalid, for certificates.
  // Requirement: no other thread has been started yet.
  static Result<std::unique_ptr<Session>> open(const Placement& placement, Duration start_timeout);
  ~Session();  // says good-bye
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  bool alone() const { return placement_.everyone; }
  const Placement& placement() const { return placement_; }
  const SignalWatch& signals() const { return signals_; }
  const SteadyClock& clock() const { return clock_; }
  Store& store();
  const std::string& store_address() const { return store_address_; }
  bool keeps_store() const { return server_ != nullptr; }

  // What a launcher brings to a variant's start.
  struct Share {
    std::string prefix;  // of the variant's keys: "0/"
    const Cluster& cluster;
    const std::vector<MemberId>& here;
    Fingerprint facts;
    std::vector<std::string> allowed;  // facts that may differ, when every launcher allows it
  };
  // Waits until every member has a launcher and all have the same fingerprint; returns the run's id, the same everywhere.
  // Errors: timeout, names who is missing; failed, a table of who differs in what, or who came twice; aborted, after a signal.
  Result<std::string> meet(const Share& share);

  // The first cause stays unless a better one comes.
  void tell(const std::string& prefix, const Tidings& event);
  // What was told; nullopt: nothing. Errors: the store is gone, with it the launcher that keeps it.
  Result<std::optional<Tidings>> told(const std::string& prefix, uint64_t* revision, Duration patience);
  // Launchers that no longer answer, and did not say good-bye: "guangzhou ranks 8-11, started by ...". Empty: none known.
  std::string silent_launchers();

  // There is nothing more to come; the keeper waits a little until the others have read all.
  void farewell();

 private:
  struct Launcher {
    std::string id, where, members;
  };
  Session(const Placement& placement, Duration start_timeout);
  Status start();
  Status put_share(const Share& share, Deadline deadline);
  Status refuse_twice(const Share& share, MemberId member, const StoreEntry& there);
  Result<std::string> gather(const Share& share, Deadline deadline);
  Result<std::string> await_start(const Share& share, Deadline deadline);
  Status missing(const Share& share, const std::vector<MemberId>& members) const;
  Status publish_start(const Share& share, const std::string& run, const std::string& refusal);
  Status check_signal() const;
  bool is_alive(const std::string& launcher);
  void tell_time();
  void reach_again();

  const SignalWatch signals_;  // before any thread
  const Placement placement_;
  const Duration start_timeout_;
  const SteadyClock clock_;
  const std::string id_;
  const std::string where_;  // "process 4711 on db3"
  std::optional<Security> security_;
  std::optional<MemoryStore> memory_;
  std::unique_ptr<StoreServer> server_;
  std::unique_ptr<GrpcStore> patient_, remote_;
  std::string store_address_;
  std::unique_ptr<Lease> lease_;
  std::vector<Launcher> launchers_;  // of the last variant, ours not
  bool parted_ = false;
};

}  // namespace xdc
