// How does a rank reach the launcher's store?
#pragma once

#include <memory>
#include <string>

#include "core/seam/store.hpp"
#include "exec/grpc/security.hpp"
#include "exec/host/steady_clock.hpp"

namespace xdc {

class GrpcStore final : public Store {
 public:
  struct Options {
    std::string address;                 // what StoreServer::address() says
    std::string keeper;                  // the keeper's name in its certificate, "launcher.beijing"; not used without `security`
    const Security* security = nullptr;  // null: plaintext. Outlives the store
    // For so long a host may refuse connections before calls fail: a keeper that is still to start needs more than one that is gone.
    Duration patience = seconds(1);
  };

  // Does not connect yet. The clock outlives it.
  GrpcStore(const Options& options, const SteadyClock& clock);
  GrpcStore(const std::string& address, const SteadyClock& clock);
  ~GrpcStore() override;

  Result<std::optional<StoreEntry>> get(std::string_view key, Deadline deadline) override;
  Result<uint64_t> put_if(std::string_view key, std::string_view value, uint64_t expected, const Lease* lease, Deadline deadline) override;
  Result<StoreEntry> watch(std::string_view key, uint64_t after, Deadline deadline) override;
  // Kept alive by a thread of its own, at a third of its time to live. Must not outlive the store.
  Result<std::unique_ptr<Lease>> lease(Duration time_to_live, Deadline deadline) override;

  class Client;

 private:
  std::unique_ptr<Client> client_;
};

}  // namespace xdc
