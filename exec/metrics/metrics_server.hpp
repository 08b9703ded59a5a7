// What does a monitoring system see of a run? The launcher's account of its ranks, at http://HOST:PORT/metrics, as Prometheus reads it.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "exec/launcher/endpoint.hpp"
#include "exec/launcher/run_status.hpp"

namespace xdc {

// "9464": on the loopback; "10.1.0.1:9464"; port 0: a free one. Errors: invalid.
Result<Endpoint> parse_metrics_address(std::string_view text);

class MetricsServer {
 public:
  // Its thread takes no signals. Errors: invalid, when the port is taken or the address is none of this machine's.
  static Result<std::unique_ptr<MetricsServer>> open(const Endpoint& endpoint);
  ~MetricsServer();

  Endpoint address() const;
  // What is known now, and the steps that ranks have told of since the last time. Variants stay, with the last that was known of them.
  void update(const RunStatus& status, std::span<const StatusRecord> said);

 private:
  class Impl;
  explicit MetricsServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace xdc
