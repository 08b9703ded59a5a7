#include "exec/launcher/rank_process.hpp"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "core/base/log.hpp"
#include "core/math/cpu_kernels.hpp"
#include "core/math/null_kernels.hpp"
#include "core/math/numerics.hpp"
#include "core/network/tcp_path.hpp"
#include "core/rank_main/rank_main.hpp"
#include "exec/grpc/grpc_fabric.hpp"
#include "exec/grpc/grpc_store.hpp"
#include "exec/host/cpu_device.hpp"
#include "exec/host/file_storage.hpp"
#include "exec/host/json_trace.hpp"
#include "exec/host/rehearsal_device.hpp"
#include "exec/host/thread_lanes.hpp"
#include "exec/launcher/child_process.hpp"
#include "exec/launcher/event_file.hpp"
#include "exec/launcher/launcher.hpp"
#include "exec/launcher/prefixed_store.hpp"
#include "exec/launcher/status_trace.hpp"

namespace xdc {

namespace {

// What the launcher hands over, in this order.
constexpr int kStatusFd = ChildProcess::kInheritedFd;
constexpr int kEventsFd = kStatusFd + 1;

// Set by SIGTERM, with which the launcher asks for the end of the round.
StopFlag stop_flag;

// SIGTERM was blocked since before this program's first instruction, so that none comes too early.
void heed_stop() {
  struct sigaction action {};
  action.sa_handler = [](int) { stop_flag.request(); };
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGTERM, &action, nullptr);
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTERM);
  ::pthread_sigmask(SIG_UNBLOCK, &stop, nullptr);
  // Whoever stops reading our events is no reason to end.
  ::signal(SIGPIPE, SIG_IGN);
}

std::string events_path(const std::string& directory, std::string name) {
  std::replace(name.begin(), name.end(), '/', '-');
  return fmt::format("{}/{}.events.jsonl", directory, name);
}

// What this rank computes with: a processor, or in a rehearsal what stands for the device of the topology.
class Computer {
 public:
  Computer(const RunSpec& spec, const RankOptions& options, Clock& clock) {
    if (spec.payload == PayloadKind::real) {
      kernels_ = std::make_unique<CpuKernels>();
      device_ = std::make_unique<CpuDevice>("cpu", *kernels_);
      return;
    }
    const Member& member = spec.cluster().members[static_cast<size_t>(options.member)];
    const auto& devices = member.role == Role::worker ? spec.devices : spec.server_devices;
    const DeviceSpec& model = devices[static_cast<size_t>(member.datacenter)];
    kernels_ = std::make_unique<NullKernels>();
    device_ = std::make_unique<RehearsalDevice>(
        RehearsalDevice::Model{model.name, model.flops_per_s, model.memory_bandwidth, options.waits_for_computation}, clock, *kernels_);
  }
  Device& device() const { return *device_; }

 private:
  std::unique_ptr<Kernels> kernels_;
  std::unique_ptr<Device> device_;
};

// As the topology says; the default inside a datacenter.
Line line_to(const Topology& topology, int from, int to) {
  const auto route = from == to ? std::nullopt : find_route(topology, from, to);
  if (!route) {
    return {};
  }
  const TcpPath path = tcp_path(topology, from, to, *route);
  return line_between(path.streams, path.free_rate * 8, path.round_trip);
}

Status run_rank(const RunSpec& spec, const RankOptions& options) {
  SteadyClock clock(options.origin_ns);
  const Cluster& cluster = spec.cluster();
  const auto describe = [&cluster](MemberId member) { return cluster.describe(member); };
  describe_process_to_checks(fmt::format("seed {}, {} ({}), {}", spec.seed, spec.scenario_path, spec.variant, describe(options.member)),
                             clock);
  XDC_TRY(pin_numerics(spec.numerics == Numerics::native ? CpuNumerics::native : CpuNumerics::portable));
  ThreadLanes lanes(clock);
  std::optional<Security> security;
  if (!options.tls_directory.empty()) {
    XDC_TRY_ASSIGN(security, load_security(options.tls_directory, cluster.label(options.member)));
  }
  // The keeper has been there since before this process: one that refuses connections is gone, and nobody waits for our report.
  GrpcStore whole_store({options.store, options.keeper, security ? &*security : nullptr, milliseconds(200)}, clock);
  PrefixedStore store(whole_store, options.prefix);
  const Computer computer(spec, options, clock);
  FileStorage storage(options.checkpoint_directory);
  std::optional<EventFile> own_events;
  std::vector<int> outlets;
  if (!options.log_directory.empty()) {
    XDC_TRY_ASSIGN(auto opened, EventFile::open(events_path(options.log_directory, short_name(cluster, options.member))));
    own_events.emplace(std::move(opened));
    outlets.push_back(own_events->fd());
  }
  if (options.writes_events) {
    outlets.push_back(kEventsFd);
  }
  const Member& member = cluster.members[static_cast<size_t>(options.member)];
  JsonTrace lines(outlets, {spec.variant, cluster.datacenters[static_cast<size_t>(member.datacenter)], options.member});
  const auto line = [&](MemberId to) {
    return line_to(spec.topology, member.datacenter, cluster.members[static_cast<size_t>(to)].datacenter);
  };
  const auto label = [&cluster](MemberId to) { return cluster.label(to); };
  XDC_TRY_ASSIGN(const auto fabric, GrpcFabric::start({.self = options.member,
                                                       .run = options.run,
                                                       .describe = describe,
                                                       .listen = options.listen,
                                                       .security = security ? &*security : nullptr,
                                                       .label = label,
                                                       .line = line},
                                                      clock, store, clock.now() + spec.start_timeout));
  StatusTrace trace(lines, kStatusFd, options.member);
  const TrafficTeller teller(*fabric, cluster, options.member, clock, kStatusFd);
  Env env{clock, lanes, *fabric, computer.device(), store, storage, trace, stop_flag};
  return rank_main(env, spec, options.member);
}

}  // namespace

std::vector<std::string> to_arguments(const RankOptions& options) {
  const nlohmann::json json{{"member", options.member},
                            {"store", options.store},
                            {"origin_ns", options.origin_ns},
                            {"digest", options.digest},
                            {"log_directory", options.log_directory},
                            {"run", options.run},
                            {"prefix", options.prefix},
                            {"listen", options.listen},
                            {"tls_directory", options.tls_directory},
                            {"keeper", options.keeper},
                            {"writes_events", options.writes_events}};
  return {kRankOption, json.dump()};
}

Result<RankOptions> read_rank_options(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  const auto is_number = [&json](const char* key) { return json.contains(key) && json[key].is_number_integer(); };
  bool complete = json.is_object() && is_number("member") && is_number("origin_ns");
  for (const auto* key : {"store", "digest", "log_directory", "run", "prefix", "listen", "tls_directory", "keeper"}) {
    complete = complete && json.contains(key) && json[key].is_string();
  }
  complete = complete && json.contains("writes_events") && json["writes_events"].is_boolean();
  if (!complete) {
    return Error{ErrorCode::invalid, fmt::format("{} is for the launcher's own use", kRankOption)};
  }
  return RankOptions{json["member"],
                     json["store"],
                     json["origin_ns"],
                     json["digest"],
                     json["log_directory"],
                     json["run"],
                     json["prefix"],
                     json["listen"],
                     json["tls_directory"],
                     json["keeper"],
                     json["writes_events"],
                     true,
                     {}};
}

int run_rank_process(const RunSpec& spec, const RankOptions& options) {
  if (options.member < 0 || options.member >= static_cast<int>(spec.cluster().members.size())) {
    log(LogLevel::error, fmt::format("there is no member {} in this run", options.member));
    return 2;
  }
  if (options.digest != spec.scenario_digest) {
    log(LogLevel::error,
        fmt::format("{}: the scenario, its topology or their data has changed since the launcher read it (digest {}, now {})",
                    spec.cluster().describe(options.member), options.digest, spec.scenario_digest));
    return 2;
  }
  heed_stop();
  if (const Status status = run_rank(spec, options); !status.ok()) {
    log(LogLevel::error, status.error().message);
    return 3;
  }
  return 0;
}

}  // namespace xdc
