#include "exec/launcher/doctor.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <system_error>

#include "core/base/quantity.hpp"
#include "core/math/numerics.hpp"
#include "core/rank_main/checkpoint_tensors.hpp"
#include "exec/grpc/grpc_store.hpp"
#include "exec/grpc/security.hpp"
#include "exec/grpc/socket.hpp"
#include "exec/grpc/version.hpp"
#include "exec/host/steady_clock.hpp"
#include "exec/launcher/fingerprint.hpp"
#include "exec/launcher/ports.hpp"
#include "exec/launcher/session.hpp"

namespace xdc {

namespace {

namespace fs = std::filesystem;
using Level = Finding::Level;

// How long a peer may take to answer: the longest line of the Earth is there and back in a third of that.
constexpr Duration kAnswer = seconds(1);
constexpr double kMostSkew = 1.0;  // seconds, from which logs of two machines mislead
constexpr int64_t kProbeBytes = 1 << 20;

std::string why(int error) { return std::generic_category().message(error); }

void examine_ports(const Placement& placement, std::vector<Finding>& findings) {
  std::vector<std::string> here;
  for (const MemberId member : placement.here) here.push_back(placement.listen[static_cast<size_t>(member)]);
  if (placement.keeps_store) here.push_back(placement.store);
  size_t free = 0;
  for (const std::string& text : here) {
    const auto endpoint = parse_endpoint(text);
    const Status status = endpoint.ok() ? check_port(endpoint.value()) : ok_status();  // port 0 is a free one
    if (status.ok()) {
      ++free;
    } else {
      findings.push_back({Level::error, text, status.error().message, "or is this run going on already?"});
    }
  }
  if (free > 0)
    findings.push_back({Level::ok, "ports", fmt::format("{} of {} that members and store listen at here are free", free, here.size()), ""});
}

void examine_peers(const RunSpec& spec, const Placement& placement, std::vector<Finding>& findings) {
  const SteadyClock clock;
  std::vector<std::string> seen;
  for (const Member& member : spec.cluster().members) {
    const std::string& text = placement.listen[static_cast<size_t>(member.id)];
    const bool here = std::find(placement.here.begin(), placement.here.end(), member.id) != placement.here.end();
    const std::string host = text.substr(0, text.find(':'));
    if (here || text.empty() || std::find(seen.begin(), seen.end(), host) != seen.end()) continue;
    seen.push_back(host);
    const TimePoint begin = clock.now();
    const auto socket = connect_tcp(text, clock, begin + kAnswer);
    const std::string name = fmt::format("peer {} ({})", text, spec.cluster().describe(member.id));
    const double took_ms = to_seconds(clock.now() - begin) * 1e3;
    if (socket.ok()) {
      findings.push_back({Level::ok, name, fmt::format("answers, in {:.1f} ms", took_ms), ""});
    } else if (socket.error().code == ErrorCode::peer_lost) {
      findings.push_back({Level::ok, name, fmt::format("its machine answers, in {:.1f} ms; nobody listens there yet", took_ms), ""});
    } else {
      findings.push_back({Level::error, name, socket.error().message, "is the address right, is a firewall between, is the line up?"});
    }
  }
}

void examine_skew(Store& store, const SteadyClock& clock, std::vector<Finding>& findings) {
  const auto first = store.get(kClockKey, clock.now() + kAnswer);
  const uint64_t revision = first.ok() && first.value() ? first.value()->revision : 0;
  const auto tick = store.watch(kClockKey, revision, clock.now() + kAnswer);
  int64_t theirs = 0;
  if (!tick.ok() ||
      std::from_chars(tick.value().value.data(), tick.value().value.data() + tick.value().value.size(), theirs).ec != std::errc()) {
    findings.push_back({Level::warning, "clock", "the store's keeper tells no time", "is it another version?"});
    return;
  }
  const int64_t ours = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  const double skew = static_cast<double>(ours - theirs) * 1e-9;
  const bool fine = std::fabs(skew) < kMostSkew;
  findings.push_back({fine ? Level::ok : Level::warning, "clock",
                      fmt::format("{:.3f} s {} that of the store's keeper, the way of the message included", std::fabs(skew),
                                  skew < 0 ? "behind" : "ahead of"),
                      fine ? "" : "logs and certificates' dates will not fit together: use NTP (chrony)"});
}

void examine_store(const Placement& placement, std::vector<Finding>& findings) {
  if (placement.keeps_store) return;
  std::optional<Security> security;
  if (!placement.tls_directory.empty()) {
    auto loaded = load_security(placement.tls_directory, placement.launcher);
    if (!loaded.ok()) return;  // said where certificates are examined
    security = std::move(loaded).value();
  }
  const SteadyClock clock;
  const TimePoint begin = clock.now();
  if (const auto socket = connect_tcp(placement.store, clock, begin + kAnswer); !socket.ok()) {
    const bool not_yet = socket.error().code == ErrorCode::peer_lost;
    findings.push_back({not_yet ? Level::warning : Level::error, "store " + placement.store,
                        not_yet ? "its machine answers; nobody listens there yet" : socket.error().message,
                        not_yet ? "its clock is compared once the launcher of the first member is started"
                                : "is the address right, is a firewall between, is the line up?"});
    return;
  }
  GrpcStore store({placement.store, placement.keeper, security ? &*security : nullptr, milliseconds(500)}, clock);
  const auto answer = store.get(kClockKey, clock.now() + kAnswer);
  if (!answer.ok()) {
    findings.push_back({Level::error, "store " + placement.store, answer.error().message, "is it this run's store, and of this version?"});
    return;
  }
  findings.push_back(
      {Level::ok, "store " + placement.store, fmt::format("answers, in {:.1f} ms", to_seconds(clock.now() - begin) * 1e3), ""});
  examine_skew(store, clock, findings);
}

void examine_certificates(const RunSpec& spec, const Placement& placement, std::vector<Finding>& findings) {
  if (placement.tls_directory.empty()) {
    findings.push_back({Level::ok, "certificates", "none are used: connections are plaintext", ""});
    return;
  }
  std::vector<std::string> names{placement.launcher};
  for (const MemberId member : placement.here) names.push_back(spec.cluster().label(member));
  for (const std::string& name : names) {
    const auto described = describe_certificate(placement.tls_directory, name);
    findings.push_back({described.ok() ? Level::ok : Level::error, "certificate " + name,
                        described.ok() ? described.value() : described.error().message, ""});
  }
}

// Writes, syncs and renames a file there as a checkpoint does. Errors: the step that failed.
Status probe_disk(const fs::path& folder) {
  const std::string path = (folder / fmt::format(".xdc-doctor-{}", ::getpid())).native();
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return Error{ErrorCode::failed, fmt::format("no file can be made: {}", why(errno))};
  const std::string bytes(static_cast<size_t>(kProbeBytes), 'x');
  const bool written = ::write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
  const int write_error = errno;
  const bool synced = written && ::fsync(fd) == 0;
  const int sync_error = errno;
  ::close(fd);
  ::unlink(path.c_str());
  if (!written) return Error{ErrorCode::failed, fmt::format("1 MiB cannot be written: {}", why(write_error))};
  if (!synced) return Error{ErrorCode::failed, fmt::format("fsync fails: {}", why(sync_error))};
  const int directory = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool directory_synced = directory >= 0 && ::fsync(directory) == 0;
  const int directory_error = errno;
  if (directory >= 0) ::close(directory);
  if (!directory_synced) return Error{ErrorCode::failed, fmt::format("fsync of the folder fails: {}", why(directory_error))};
  return ok_status();
}

// What members that are started here write for one checkpoint, and how many there are at most: those that are kept, the best, and the one
// that is being written.
struct Wanted {
  int64_t one = 0, count = 0;
};

Wanted wanted_room(const RunSpec& spec, const Placement& placement) {
  Wanted wanted;
  for (const MemberId member : placement.here) wanted.one += checkpoint_bytes(spec, member);
  const CheckpointSpec table = spec.checkpoint.value_or(CheckpointSpec{});
  wanted.count = table.keep + (table.best.empty() ? 0 : 1) + 1;
  return wanted;
}

void examine_disk(const RunSpec& spec, const Placement& placement, const std::string& directory, std::vector<Finding>& findings) {
  if (directory.empty()) {
    findings.push_back(
        {Level::ok, "checkpoints", "none are written; give --checkpoint DIR as the run has it to have its disk examined", ""});
    return;
  }
  const std::string name = fmt::format("disk of {}", directory);
  std::error_code error;
  fs::path folder = fs::absolute(directory, error).lexically_normal();
  while (!fs::exists(folder, error) && folder.has_relative_path()) folder = folder.parent_path();
  if (!fs::is_directory(folder, error)) {
    findings.push_back({Level::error, name, fmt::format("{} is no folder", folder.native()), "choose another folder for checkpoints"});
    return;
  }
  const SteadyClock clock;
  const TimePoint begin = clock.now();
  if (const Status probed = probe_disk(folder); !probed.ok()) {
    findings.push_back(
        {Level::error, name, fmt::format("{}: {}", folder.native(), probed.error().message), "choose another folder for checkpoints"});
    return;
  }
  const double took_ms = to_seconds(clock.now() - begin) * 1e3;
  struct statvfs info {};
  if (::statvfs(folder.c_str(), &info) != 0) {
    findings.push_back({Level::error, name, why(errno), ""});
    return;
  }
  const double room = static_cast<double>(info.f_bavail) * static_cast<double>(info.f_frsize);
  const Wanted wanted = wanted_room(spec, placement);
  const double all = static_cast<double>(wanted.one) * static_cast<double>(wanted.count);
  findings.push_back(
      {room < all ? Level::warning : Level::ok, name,
       fmt::format("{} free, up to {} checkpoints of {} written here take {}; 1 MiB is on the disk after {:.1f} ms", format_bytes(room),
                   wanted.count, format_bytes(static_cast<double>(wanted.one)), format_bytes(all), took_ms),
       room < all ? "the disk would be full: keep fewer ([checkpoint] keep), or choose another folder" : ""});
}

}  // namespace

std::vector<Finding> examine_machine(const Result<std::string>& cuda, bool needs_cuda) {
  const long processors = ::sysconf(_SC_NPROCESSORS_ONLN);
  std::vector<Finding> findings;
  findings.push_back({Level::ok, "processor", fmt::format("{}, {} online", processor_model(), processors), ""});
  findings.push_back({Level::ok, "arithmetic", describe_numerics() + " at most (numerics = \"portable\": AVX2)", ""});
  findings.push_back({Level::ok, "gRPC", grpc_versions(), ""});
  if (cuda.ok()) {
    findings.push_back({Level::ok, "CUDA", cuda.value(), ""});
  } else {
    findings.push_back(
        {needs_cuda ? Level::error : Level::ok, "CUDA", cuda.error().message, needs_cuda ? "" : "not needed: ranks train on processors"});
  }
  return findings;
}

std::vector<Finding> examine_run(const RunSpec& spec, const Placement& placement, const std::string& checkpoint_directory) {
  std::vector<Finding> findings;
  findings.push_back(
      {Level::ok, "share",
       placement.everyone ? "all members are started here" : describe_members(spec.cluster(), placement.here) + " are started here", ""});
  examine_ports(placement, findings);
  examine_certificates(spec, placement, findings);
  if (!placement.everyone) {
    examine_store(placement, findings);
    examine_peers(spec, placement, findings);
  }
  examine_disk(spec, placement, checkpoint_directory, findings);
  return findings;
}

std::string describe(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    const char* level = finding.level == Level::ok ? "ok" : finding.level == Level::warning ? "warning" : "error";
    text += fmt::format("{:<8} {}: {}\n", level, finding.what, finding.found);
    if (!finding.advice.empty()) text += fmt::format("{:<8}   {}\n", "", finding.advice);
  }
  return text;
}

bool is_fit(const std::vector<Finding>& findings) {
  return std::none_of(findings.begin(), findings.end(), [](const Finding& finding) { return finding.level == Level::error; });
}

}  // namespace xdc
