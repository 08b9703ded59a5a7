// The world of real machines, in one process: a member is a thread with a fabric and a client of the store of its own.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "core/math/cpu_kernels.hpp"
#include "exec/grpc/grpc_fabric.hpp"
#include "exec/grpc/grpc_store.hpp"
#include "exec/grpc/store_server.hpp"
#include "exec/host/cpu_device.hpp"
#include "exec/host/file_storage.hpp"
#include "exec/host/json_trace.hpp"
#include "exec/host/memory_store.hpp"
#include "exec/host/thread_lanes.hpp"
#include "tests/contract/world.hpp"

namespace xdc::contract {

namespace {

class Directory {
 public:
  Directory() : path_(std::filesystem::temp_directory_path() / fmt::format("xdc-contract-{}", ::getpid())) {}
  ~Directory() { std::filesystem::remove_all(path_); }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  std::string of(MemberId member) const { return (path_ / std::to_string(member)).native(); }

 private:
  std::filesystem::path path_;
};

class GrpcWorld final : public World {
 public:
  std::string name() const override { return "grpc"; }
  bool is_virtual_time() const override { return false; }
  bool has_native_collectives() const override { return false; }
  bool has_phantom_payload() const override { return false; }

  std::vector<std::string> run(const Setting& setting, const Body& body) override {
    const SteadyClock clock;
    MemoryStore facts(clock);
    const auto server = StoreServer::start(facts, clock);
    if (!server.ok()) {
      return {server.error().message};
    }
    const Directory directory;
    const std::string run = fmt::format("contract {}", ++runs_);
    std::vector<std::thread> members;
    for (const Member& member : setting.cluster.members) {
      members.emplace_back([&, member] { run_member(setting, member, run, clock, server.value()->address(), directory, body); });
    }
    for (std::thread& member : members) {
      member.join();
    }
    return take_notes();
  }

 private:
  static void run_member(const Setting& setting, const Member& member, const std::string& run, const SteadyClock& shared_clock,
                         const std::string& store_address, const Directory& directory, const Body& body) {
    SteadyClock clock(shared_clock.origin_ns());
    GrpcStore store(store_address, clock);
    ThreadLanes lanes(clock);
    CpuKernels kernels;
    CpuDevice device("cpu", kernels);
    FileStorage storage(directory.of(member.id));
    JsonTrace trace({}, {});
    const auto describe = [&setting](MemberId id) { return setting.cluster.describe(id); };
    GrpcFabric::Options options{member.id, run, describe};
    options.line = [&setting, here = member.datacenter](MemberId to) {
      const bool near = setting.cluster.members[static_cast<size_t>(to)].datacenter == here;
      return near ? Line{} : line_between(3, 1e9, milliseconds(1));
    };
    auto fabric = GrpcFabric::start(std::move(options), clock, store, clock.now() + seconds(60));
    if (!fabric.ok()) {
      note(fabric.error().message);
      return;
    }
    const StopFlag stop;
    Env env{clock, lanes, *fabric.value(), device, store, storage, trace, stop};
    body(env, member.id);
  }

  int runs_ = 0;
};

}  // namespace

World& world() {
  static GrpcWorld the_world;
  return the_world;
}

}  // namespace xdc::contract
