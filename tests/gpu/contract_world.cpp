// The world of GPUs for the bodies of tests/contract: a member is a thread with a GPU of its own. It has no point-to-point
// fabric; its collectives are NCCL's.
#include <algorithm>
#include <thread>

#include "exec/host/file_storage.hpp"
#include "exec/host/json_trace.hpp"
#include "exec/host/memory_store.hpp"
#include "exec/host/thread_lanes.hpp"
#include "exec/nccl/nccl_collectives.hpp"
#include "tests/contract/world.hpp"
#include "tests/gpu/gpu_world.hpp"

namespace xdc::contract {
namespace {

class NcclOnlyFabric final : public Fabric {
 public:
  NcclOnlyFabric(CudaDeviceBase& device, Store& store, const Cluster& cluster, MemberId self)
      : device_(device), store_(store), cluster_(cluster), self_(self) {}

  Result<std::unique_ptr<Communicator>> connect(const View& /*view*/, std::string_view /*purpose*/, Deadline /*deadline*/) override {
    return Error{ErrorCode::unsupported, "this world has collectives only"};
  }
  Result<std::unique_ptr<Collectives>> native_collectives(const View& view, std::string_view purpose, Deadline deadline) override {
    const auto datacenter = [&](MemberId id) { return cluster_.members[static_cast<size_t>(id)].datacenter; };
    if (!std::ranges::all_of(view.members, [&](MemberId id) { return datacenter(id) == datacenter(self_); })) {
      return Error{ErrorCode::unsupported, "NCCL stays inside a datacenter"};
    }
    return NcclCollectives::connect(
        device_, store_, view, purpose, self_, [this](MemberId id) { return cluster_.describe(id); }, deadline);
  }
  std::vector<TrafficCount> traffic() const override { return {}; }

 private:
  CudaDeviceBase& device_;
  Store& store_;
  const Cluster& cluster_;
  const MemberId self_;
};

class CudaWorld final : public World {
 public:
  std::string name() const override { return "cuda"; }
  bool is_virtual_time() const override { return false; }
  bool has_native_collectives() const override { return true; }

  std::vector<std::string> run(const Setting& setting, const Body& body) override {
    const auto members = static_cast<int>(setting.cluster.members.size());
    if (const auto reason = gpu_test::why_not(members)) {
      std::cout << "xdc skipped: " << *reason << std::endl;
      return {};
    }
    SteadyClock clock;
    MemoryStore store(clock);
    std::vector<std::thread> threads;
    for (MemberId id = 0; id < members; ++id) {
      threads.emplace_back([&, id] {
        ThreadLanes lanes(clock);
        gpu_test::MemoryDevice device(id, setting.cluster.describe(id), clock);
        NcclOnlyFabric fabric(device, store, setting.cluster, id);
        FileStorage storage("unused");
        JsonTrace trace({}, {});
        const StopFlag stop;
        Env env{clock, lanes, fabric, device, store, storage, trace, stop};
        body(env, id);
      });
    }
    for (auto& thread : threads) {
      thread.join();
    }
    return take_notes();
  }
};

}  // namespace

World& world() {
  static CudaWorld the_world;
  return the_world;
}

}  // namespace xdc::contract
