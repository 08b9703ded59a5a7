#include "exec/launcher/rank_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/log.hpp"
#include "core/math/cpu_kernels.hpp"
#include "core/math/numerics.hpp"
#include "core/rank_main/rank_main.hpp"
#include "exec/grpc/grpc_fabric.hpp"
#include "exec/grpc/grpc_store.hpp"
#include "exec/host/cpu_device.hpp"
#include "exec/host/file_storage.hpp"
#include "exec/host/json_trace.hpp"
#include "exec/host/thread_lanes.hpp"
#include "exec/launcher/launcher.hpp"

namespace xdc {

namespace {

class EventFile {
 public:
  EventFile(const std::string& directory, std::string name) {
    if (!directory.empty()) {
      std::replace(name.begin(), name.end(), '/', '-');
      fd_ = ::open(fmt::format("{}/{}.events.jsonl", directory, name).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    }
  }
  ~EventFile() {
    if (fd_ >= 0) {
      ::close(fd_);
    }
  }
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_ = -1;
};

Status run_rank(const RunSpec& spec, const RankOptions& options) {
  SteadyClock clock(options.origin_ns);
  const Cluster& cluster = spec.cluster();
  const auto describe = [&cluster](MemberId member) { return cluster.describe(member); };
  describe_process_to_checks(fmt::format("seed {}, {} ({}), {}", spec.seed, spec.scenario_path, spec.variant, describe(options.member)),
                             clock);
  XDC_TRY(pin_numerics(spec.numerics == Numerics::native ? CpuNumerics::native : CpuNumerics::portable));
  ThreadLanes lanes(clock);
  GrpcStore store(options.store, clock);
  CpuKernels kernels;
  CpuDevice device("cpu", kernels);
  FileStorage storage("checkpoints");
  const EventFile events(options.log_directory, short_name(cluster, options.member));
  const Member& member = cluster.members[static_cast<size_t>(options.member)];
  JsonTrace trace(events.fd(), cluster.datacenters[static_cast<size_t>(member.datacenter)], options.member);
  XDC_TRY_ASSIGN(const auto fabric,
                 GrpcFabric::start({options.member, options.store, describe}, clock, store, clock.now() + spec.start_timeout));
  Env env{clock, lanes, *fabric, device, store, storage, trace};
  return rank_main(env, spec, options.member);
}

}  // namespace

std::vector<std::string> to_arguments(const RankOptions& options) {
  const nlohmann::json json{{"member", options.member},
                            {"store", options.store},
                            {"origin_ns", options.origin_ns},
                            {"digest", options.digest},
                            {"log_directory", options.log_directory}};
  return {kRankOption, json.dump()};
}

Result<RankOptions> read_rank_options(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  const auto is_text = [&json](const char* key) { return json.contains(key) && json[key].is_string(); };
  const auto is_number = [&json](const char* key) { return json.contains(key) && json[key].is_number_integer(); };
  if (!json.is_object() || !is_number("member") || !is_number("origin_ns") || !is_text("store") || !is_text("digest") ||
      !is_text("log_directory")) {
    return Error{ErrorCode::invalid, fmt::format("{} is for the launcher's own use", kRankOption)};
  }
  return RankOptions{json["member"], json["store"], json["origin_ns"], json["digest"], json["log_directory"]};
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
  if (const Status status = run_rank(spec, options); !status.ok()) {
    log(LogLevel::error, status.error().message);
    return 3;
  }
  return 0;
}

}  // namespace xdc
