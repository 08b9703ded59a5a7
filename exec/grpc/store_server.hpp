// Who keeps the facts that ranks agree on, when nobody has set up etcd? The launcher, for as long as it lives.
#pragma once

#include <memory>
#include <string>

#include "exec/host/memory_store.hpp"

namespace xdc {

class StoreServer {
 public:
  // Serves `store` on a free port of the loopback. Clock and store outlive it.
  static Result<std::unique_ptr<StoreServer>> start(MemoryStore& store, const SteadyClock& clock);
  ~StoreServer();
  const std::string& address() const { return address_; }

 private:
  class Service;
  StoreServer();
  std::unique_ptr<Service> service_;
  std::string address_;
};

}  // namespace xdc
