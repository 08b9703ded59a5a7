#include "exec/metrics/metrics_server.hpp"

#include <fmt/format.h>
#include <prometheus/counter.h>
#include <prometheus/exposer.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <signal.h>

#include <cerrno>
#include <map>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "exec/launcher/ports.hpp"

namespace xdc {

namespace {

// Seconds: from a small model's step inside a machine to a large one's between cities.
const prometheus::Histogram::BucketBoundaries kStepBounds{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                                          0.5,   1,      2.5,   5,    10,    30,   60,  300};

// While it lives, threads that are made take no signals: the launcher decides what those mean.
class SignalsHeld {
 public:
  SignalsHeld() {
    sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~SignalsHeld() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;

 private:
  sigset_t before_{};
};

// A total that is known, onto a counter that can only rise.
void raise(prometheus::Counter& counter, int64_t total) {
  const double more = static_cast<double>(total) - counter.Value();
  if (more > 0) {
    counter.Increment(more);
  }
}

template <class Builder>
auto& family(Builder builder, prometheus::Registry& registry, const char* name, const char* help) {
  return builder.Name(name).Help(help).Register(registry);
}

// A connection on which nothing is asked keeps the one thread for the time-out: with the server's own 30 s, Prometheus would give up
// scraping.
std::vector<std::string> server_options(const Endpoint& endpoint) {
  return {"listening_ports", to_string(endpoint), "num_threads", "1", "request_timeout_ms", "1000"};
}

}  // namespace

class MetricsServer::Impl {
 public:
  explicit Impl(const Endpoint& endpoint) : exposer_(server_options(endpoint)), host_(endpoint.host) {
    exposer_.RegisterCollectable(registry_);
  }

  Endpoint address() const { return {host_, exposer_.GetListeningPorts().front()}; }

  void update(const RunStatus& status, std::span<const StatusRecord> said) {
    const auto& setting = status.setting();
    const std::string& variant = setting.variant;
    const auto& names = setting.cluster.datacenters;
    std::map<int, int> alive;
    for (const auto& [member, rank] : status.ranks()) {
      alive[rank.datacenter] += rank.alive ? 1 : 0;
      if (!rank.worker) {
        continue;
      }
      const prometheus::Labels labels{
          {"variant", variant}, {"datacenter", names[static_cast<size_t>(rank.datacenter)]}, {"rank", std::to_string(member)}};
      raise(steps_.Add(labels), rank.steps);
      raise(samples_.Add(labels), rank.samples);
    }
    for (const auto& [datacenter, count] : alive) {
      alive_.Add({{"variant", variant}, {"datacenter", names[static_cast<size_t>(datacenter)]}}).Set(count);
    }
    for (const auto& [ends, line] : status.lines()) {
      const prometheus::Labels labels{
          {"variant", variant}, {"from", names[static_cast<size_t>(ends.first)]}, {"to", names[static_cast<size_t>(ends.second)]}};
      raise(payload_.Add(labels), line.payload_bytes);
      raise(wire_.Add(labels), line.wire_bytes);
    }
    for (const StatusRecord& record : said) {
      const auto rank = status.ranks().find(static_cast<MemberId>(record.member));
      if (record.kind == StatusRecord::Kind::step && rank != status.ranks().end()) {
        const auto& datacenter = names[static_cast<size_t>(rank->second.datacenter)];
        step_seconds_.Add({{"variant", variant}, {"datacenter", datacenter}}, kStepBounds)
            .Observe(static_cast<double>(record.duration_ns) / 1e9);
      }
    }
    progress_.Add({{"variant", variant}}).Set(status.part());
    if (status.loss()) {
      loss_.Add({{"variant", variant}}).Set(*status.loss());
    }
  }

 private:
  const std::shared_ptr<prometheus::Registry> registry_ = std::make_shared<prometheus::Registry>();
  prometheus::Family<prometheus::Counter>& steps_ =
      family(prometheus::BuildCounter(), *registry_, "xdc_steps_total", "Steps that a worker has taken.");
  prometheus::Family<prometheus::Counter>& samples_ =
      family(prometheus::BuildCounter(), *registry_, "xdc_samples_total", "Samples in the steps of a worker.");
  prometheus::Family<prometheus::Counter>& payload_ =
      family(prometheus::BuildCounter(), *registry_, "xdc_wan_payload_bytes_total",
             "Gradients and parameters, as encoded, that ranks started here have sent over one direction of a line between datacenters.");
  prometheus::Family<prometheus::Counter>& wire_ =
      family(prometheus::BuildCounter(), *registry_, "xdc_wan_wire_bytes_total",
             "Everything that ranks started here have sent over one direction of a line between datacenters, as TCP has sent it.");
  prometheus::Family<prometheus::Gauge>& alive_ =
      family(prometheus::BuildGauge(), *registry_, "xdc_ranks_alive", "Processes of ranks and servers that were started here and run.");
  prometheus::Family<prometheus::Gauge>& loss_ =
      family(prometheus::BuildGauge(), *registry_, "xdc_loss",
             "Training loss of the last step that all workers started here have told of: their part of the mean over all workers.");
  prometheus::Family<prometheus::Gauge>& progress_ =
      family(prometheus::BuildGauge(), *registry_, "xdc_progress_ratio", "The part of a variant that is done, 0 to 1.");
  prometheus::Family<prometheus::Histogram>& step_seconds_ =
      family(prometheus::BuildHistogram(), *registry_, "xdc_step_seconds", "Time of a worker's step, without evaluation.");
  prometheus::Exposer exposer_;
  const std::string host_;
};

Result<Endpoint> parse_metrics_address(std::string_view text) {
  if (const auto port = parse_number(text)) {
    return *port <= 65'535 ? Result<Endpoint>(Endpoint{"127.0.0.1", *port})
                           : Error{ErrorCode::invalid, fmt::format("there is no port {}: the last is 65535", *port)};
  }
  if (text.ends_with(":0") && is_ipv4_address(text.substr(0, text.size() - 2))) {
    return Endpoint{std::string(text.substr(0, text.size() - 2)), 0};
  }
  auto endpoint = parse_endpoint(text);
  return endpoint.ok() ? endpoint : Error{ErrorCode::invalid, fmt::format("wants PORT or ADDRESS:PORT: {}", endpoint.error().message)};
}

Result<std::unique_ptr<MetricsServer>> MetricsServer::open(const Endpoint& endpoint) {
  const int why = why_not_free(endpoint);
  if (why == EADDRINUSE) {
    const std::string owner = owner_of_port(endpoint.port);
    return Error{ErrorCode::invalid, fmt::format("port {} of {} is taken{}; choose another, or 0 for a free one", endpoint.port,
                                                 endpoint.host, owner.empty() ? "" : " by " + owner)};
  }
  if (why != 0) {
    return Error{ErrorCode::invalid, fmt::format("cannot listen at {}: {}", to_string(endpoint), std::generic_category().message(why))};
  }
  const SignalsHeld held;
  try {
    return std::unique_ptr<MetricsServer>(new MetricsServer(std::make_unique<Impl>(endpoint)));
  } catch (const std::runtime_error& error) {
    return Error{ErrorCode::invalid, fmt::format("cannot listen at {}: {}", to_string(endpoint), error.what())};
  }
}

MetricsServer::MetricsServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
MetricsServer::~MetricsServer() = default;

Endpoint MetricsServer::address() const { return impl_->address(); }
void MetricsServer::update(const RunStatus& status, std::span<const StatusRecord> said) { impl_->update(status, said); }

}  // namespace xdc
