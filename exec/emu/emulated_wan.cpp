#include "exec/emu/emulated_wan.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <system_error>

#include "exec/emu/forwarder.hpp"
#include "exec/emu/tun.hpp"

namespace xdc {

namespace {

constexpr int kMost = 250;
constexpr const char* kSettings = "/proc/sys/net/ipv4/";

Status set(const std::string& name, const std::string& value) {
  const std::string path = kSettings + name;
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  const bool fine = fd >= 0 && ::write(fd, value.data(), value.size()) == static_cast<ssize_t>(value.size());
  const std::string why = fine ? "" : std::generic_category().message(errno);
  if (fd >= 0) ::close(fd);
  return fine ? ok_status() : Status(Error{ErrorCode::unsupported, fmt::format("setting {} to {}: {}", path, value, why)});
}

// What lies on the way between two datacenters, end to end: as core/network has it.
struct Manner {
  int64_t mtu = 0;
  int64_t window = 0;
  bool bbr = true;
};

Manner manner_of(const Topology& topology, const Route& route) {
  Manner out{std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::max(), true};
  for (const Hop& hop : route.hops) {
    const auto& link = topology.links[static_cast<size_t>(hop.link)];
    out.mtu = std::min(out.mtu, link.mtu);
    out.window = std::min(out.window, link.window_bytes);
    out.bbr = out.bbr && link.congestion == Congestion::bbr;
  }
  return out;
}

// A way to another datacenter. Congestion control by route, because only the machine's own namespace may set it for all.
std::vector<std::string> route_command(const Manner& manner, int from, int to) {
  std::vector<std::string> words{"ip", "route", "add", fmt::format("10.99.{}.0/24", to + 1), "dev", "wan"};
  words.insert(words.end(), {"src", EmulatedWan::address(from, 0), "mtu", fmt::format("{}", manner.mtu)});
  words.insert(words.end(), {"congctl", manner.bbr ? "bbr" : "cubic"});
  if (manner.window != kDefaultWindowBytes) words.insert(words.end(), {"window", fmt::format("{}", manner.window)});
  return words;
}

// Nothing that it remembers of former connections, and buffers for the largest window: half of a receive buffer is window
// (net.ipv4.tcp_adv_win_scale = 1).
Status configure_tcp(int64_t largest_window) {
  XDC_TRY(set("tcp_no_metrics_save", "1"));
  if (largest_window <= kDefaultWindowBytes) return ok_status();
  XDC_TRY(set("tcp_rmem", fmt::format("4096 131072 {}", 2 * largest_window)));
  return set("tcp_wmem", fmt::format("4096 16384 {}", 2 * largest_window));
}

Result<Tun> furnish(const NetworkNamespace& space, const Topology& topology, int index) {
  const auto& datacenter = topology.datacenters[static_cast<size_t>(index)];
  std::vector<std::vector<std::string>> commands;
  for (int node = 0; node < datacenter.nodes; ++node) {
    commands.push_back({"ip", "address", "add", EmulatedWan::address(index, node) + "/32", "dev", "wan"});
  }
  int64_t mtu = 0, window = 0;
  for (int to = 0; to < static_cast<int>(topology.datacenters.size()); ++to) {
    if (to == index) continue;
    const Manner manner = manner_of(topology, *find_route(topology, index, to));
    mtu = std::max(mtu, manner.mtu);
    window = std::max(window, manner.window);
    commands.push_back(route_command(manner, index, to));
  }
  XDC_TRY_ASSIGN(auto tun, Tun::make(space, mtu == 0 ? kDefaultMtu : mtu));
  XDC_TRY(space.within([&] { return configure_tcp(window); }));
  for (const auto& command : commands) XDC_TRY(space.run(command));
  return tun;
}

class Lines {
 public:
  Lines(const Topology& topology, const EmulatedWan::Options& options) : topology_(topology), options_(options) {}

  Forwarder::Plan plan() {
    for (const auto& link : topology_.links) {
      const int there = add(fmt::format("{} → {}", link.between[0], link.between[1]), link.line, link.loss);
      plan_.lines_of_link.emplace_back(there, add(fmt::format("{} → {}", link.between[1], link.between[0]), link.line, link.loss));
    }
    for (const auto& datacenter : topology_.datacenters) {
      out_.push_back(datacenter.uplink ? add(datacenter.name + " out", *datacenter.uplink, 0) : -1);
      in_.push_back(datacenter.uplink ? add(datacenter.name + " in", *datacenter.uplink, 0) : -1);
    }
    const auto count = topology_.datacenters.size();
    plan_.ways.assign(count, std::vector<std::vector<int>>(count));
    for (size_t from = 0; from < count; ++from) {
      for (size_t to = 0; to < count; ++to) {
        if (from != to) plan_.ways[from][to] = way(static_cast<int>(from), static_cast<int>(to));
      }
    }
    plan_.changes = options_.changes;
    return std::move(plan_);
  }

 private:
  int add(std::string name, const LineSpec& line, double loss) {
    plan_.lines.emplace_back(
        EmulatedLine::Settings{std::move(name), line.bandwidth, line.latency, {}, options_.queue, loss, options_.seed});
    return static_cast<int>(plan_.lines.size()) - 1;
  }
  std::vector<int> way(int from, int to) const {
    std::vector<int> way;
    if (out_[static_cast<size_t>(from)] >= 0) way.push_back(out_[static_cast<size_t>(from)]);
    const auto route = find_route(topology_, from, to);
    for (const Hop& hop : route->hops) {
      const auto [there, back] = plan_.lines_of_link[static_cast<size_t>(hop.link)];
      way.push_back(hop.forward ? there : back);
    }
    if (in_[static_cast<size_t>(to)] >= 0) way.push_back(in_[static_cast<size_t>(to)]);
    return way;
  }

  const Topology& topology_;
  const EmulatedWan::Options& options_;
  Forwarder::Plan plan_;
  std::vector<int> out_, in_;  // uplinks; -1: none
};

class TunnelledWan final : public EmulatedWan {
 public:
  TunnelledWan(std::vector<NetworkNamespace> spaces, std::vector<Tun> tuns, Forwarder::Plan plan)
      : spaces_(std::move(spaces)), forwarder_(std::move(tuns), std::move(plan)) {}

  const NetworkNamespace& datacenter(int index) const override { return spaces_[static_cast<size_t>(index)]; }
  void begin_faults() override { forwarder_.begin_faults(); }
  WanAccount account() const override { return forwarder_.account(); }

 private:
  std::vector<NetworkNamespace> spaces_;
  Forwarder forwarder_;
};

}  // namespace

std::string EmulatedWan::address(int datacenter, int node) { return fmt::format("10.99.{}.{}", datacenter + 1, node + 1); }

Result<std::unique_ptr<EmulatedWan>> EmulatedWan::start(const Topology& topology, const Options& options) {
  const auto& datacenters = topology.datacenters;
  const auto big = std::find_if(datacenters.begin(), datacenters.end(), [](const auto& datacenter) { return datacenter.nodes > kMost; });
  if (big != datacenters.end() || datacenters.size() > static_cast<size_t>(kMost)) {
    return Error{ErrorCode::invalid,
                 fmt::format("{}: at most {} datacenters of {} nodes can be emulated, and {}", topology.path, kMost, kMost,
                             big == datacenters.end() ? fmt::format("there are {}", datacenters.size())
                                                      : fmt::format("{} has {} nodes", big->name, big->nodes))};
  }
  std::vector<NetworkNamespace> spaces;
  std::vector<Tun> tuns;
  for (size_t i = 0; i < datacenters.size(); ++i) {
    XDC_TRY_ASSIGN(auto space, NetworkNamespace::make());
    spaces.push_back(std::move(space));
    XDC_TRY_ASSIGN(auto tun, furnish(spaces.back(), topology, static_cast<int>(i)));
    tuns.push_back(std::move(tun));
  }
  return std::unique_ptr<EmulatedWan>(std::make_unique<TunnelledWan>(std::move(spaces), std::move(tuns), Lines(topology, options).plan()));
}

std::string describe(const WanAccount& account) {
  std::string out;
  for (const auto& [settings, seen] : account.lines) {
    const double busy_s = to_seconds(seen.busy);
    out += fmt::format("{}: {:.1f} Mb/s, {:.2f} ms; {:.2f} MB in {} segments", settings.name, settings.bytes_per_s * 8e-6,
                       to_seconds(settings.latency) * 1e3, static_cast<double>(seen.bytes) * 1e-6, seen.segments);
    if (busy_s > 0) out += fmt::format(", busy for {:.2f} s", busy_s);
    out += fmt::format("; dropped: {} by the queue, {} at random, {} by faults\n", seen.dropped_by_queue, seen.lost_at_random,
                       seen.dropped_by_fault);
  }
  out += fmt::format("{} packets handed over, on average {:.3f} ms late, 99 % within {:.3f} ms, at most {:.3f} ms{}\n", account.packets,
                     to_seconds(account.mean_late) * 1e3, to_seconds(account.p99_late) * 1e3, to_seconds(account.most_late) * 1e3,
                     account.realtime ? "" : "; without real-time priority, which was refused");
  if (account.refused > 0) out += fmt::format("{} packets were not taken by the namespace they were for\n", account.refused);
  return out;
}

}  // namespace xdc
