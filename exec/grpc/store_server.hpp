// Who keeps the facts that ranks agree on, when nobody has set up etcd? One launcher, for as long as it lives.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "exec/grpc/security.hpp"
#include "exec/host/memory_store.hpp"

namespace xdc {

class StoreServer {
 public:
  struct Options {
    std::string listen = "127.0.0.1:0";  // port 0: a free one
    const Security* security = nullptr;  // null: plaintext
    // May somebody whose certificate has these names ("rank3.beijing") write that key? Asked only with `security`.
    std::function<bool(const std::vector<std::string>& names, std::string_view key)> may_write = {};
  };

  // Serves `store`. All that is referred to outlives it. Errors: failed, names a port that is taken.
  static Result<std::unique_ptr<StoreServer>> start(MemoryStore& store, const SteadyClock& clock, const Options& options);
  static Result<std::unique_ptr<StoreServer>> start(MemoryStore& store, const SteadyClock& clock) { return start(store, clock, Options{}); }
  ~StoreServer();
  const std::string& address() const { return address_; }

 private:
  class Service;
  StoreServer();
  std::unique_ptr<Service> service_;
  std::string address_;
};

}  // namespace xdc
