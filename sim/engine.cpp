#include "sim/engine.hpp"

#include <fmt/format.h>

#include "core/base/check.hpp"
#include "core/base/quantity.hpp"
#include "core/config/network_constants.hpp"

namespace xdc {
namespace {

// SimGrid's own hand-made stacks; the sanitizers only understand threads. Results are the same with either.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr const char* kContexts = "thread";
constexpr const char* kStackKib = "4096";
#else
constexpr const char* kContexts = "raw";
constexpr const char* kStackKib = "256";
#endif

using Options = std::vector<std::pair<std::string, std::string>>;

// What SimGrid is told.
const Options& settings() {
  static const Options options{
      {"network/model", "CM02"},      // LV08, the default, multiplies latencies by 13 and is calibrated for a LAN
      {"network/TCP-gamma", "1e30"},  // the default caps a flow by a window of 4 MiB; 0 would switch set_rate off
      {"network/crosstraffic", "0"},  // lines are full duplex
      {"network/optim", "Lazy"},      // Full gives other bits
      {"contexts/factory", kContexts},    {"contexts/nthreads", "1"},  // two are four times slower
      {"contexts/stack-size", kStackKib}, {"surf/precision", "1e-9"},
  };
  return options;
}

Options with_constants(Options options) {
  const auto add = [&](const char* name, auto value) { options.emplace_back(fmt::format("xdc/{}", name), fmt::format("{}", value)); };
  add("tcp-segment-header-bytes", kEthernetBytes + kIpHeaderBytes + kTcpHeaderBytes + kTcpTimestampsBytes);
  add("message-header-bytes", kMessageHeaderBytes);
  add("tcp-initial-window-segments", kInitialWindowSegments);
  add("tcp-least-retransmission-timeout", format_duration(kLeastRetransmissionTimeout));
  add("tcp-default-window-bytes", kDefaultWindowBytes);
  return options;
}

}  // namespace

std::string simgrid_version() {
  int major = 0, minor = 0, patch = 0;
  sg_version_get(&major, &minor, &patch);
  return fmt::format("{}.{}.{}", major, minor, patch);
}

const Options& simgrid_options() {
  static const Options options = with_constants(settings());
  return options;
}

SimEngine::SimEngine() {
  XDC_CHECK_MSG(!sg::Engine::has_instance(), "a process can run one simulation: fork for more");
  sg::silence();
  // As a command line, because some are read while the engine is made.
  std::vector<std::string> words{"xdc"};
  for (const auto& [key, value] : settings()) {
    words.push_back("--cfg=" + key + ":" + value);
  }
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  int argc = static_cast<int>(argv.size());
  argv.push_back(nullptr);
  engine_ = sg::Engine::get_instance(&argc, argv.data());
  XDC_CHECK_MSG(argc == 1, "SimGrid did not take an option");
}

void SimEngine::run(const std::function<void(std::string_view)>& stuck) {
  bool over = false;
  sg::Engine::on_deadlock_cb([&] { stuck("no lane can ever go on"); });
  sg::Engine::on_time_advance_cb([&](double) {
    if (!over && sg::Engine::get_clock() >= Agenda::seconds_of(kHorizon)) {
      over = true;
      stuck(fmt::format("virtual time ends at its horizon of {}", format_duration(kHorizon - TimePoint{})));
      sg::Timer::set(sg::Engine::get_clock(), [] { sg::Actor::kill_all(); });
    }
  });
  engine_->run();
}

}  // namespace xdc
