#include "tools/program.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "core/base/quantity.hpp"
#include "core/codec/codec.hpp"
#include "core/config/device_table.hpp"
#include "core/model/profile.hpp"
#include "core/report/text.hpp"
#include "core/strategies/registry.hpp"
#include "core/validate/validate.hpp"
#include "xdc_version.hpp"

namespace xdc {
namespace {

std::optional<TargetReport> target_of(const RunSpec& spec) {
  if (!spec.train.target) return std::nullopt;
  return TargetReport{spec.train.target->metric, spec.train.target->value};
}

// Those that were asked for; reports names that are none.
bool select_variants(const std::vector<std::string>& wanted, std::vector<RunSpec>& specs) {
  if (wanted.empty()) return true;
  std::vector<std::string> names;
  for (const auto& spec : specs) names.push_back(spec.variant);
  bool known = true;
  for (const auto& name : wanted) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    const auto near = nearest_name(name, names);
    fmt::print(stderr, "--variant {}: there is no variant of this name{}; there are: {}\n", name,
               near.empty() ? "" : fmt::format(", did you mean \"{}\"?", near), fmt::join(names, ", "));
    known = false;
  }
  std::erase_if(specs, [&](const RunSpec& spec) { return std::find(wanted.begin(), wanted.end(), spec.variant) == wanted.end(); });
  return known;
}

std::string data_text(const ScenarioData& data) {
  if (data.source == "generated") return "generated data";
  return data.source == "mnist" ? data.source : data.path;
}

// Three digits: "109 M", "12.9 B" parameters, "56.1 TFLOP".
std::string scaled(double value, std::string_view unit, std::string_view billions) {
  const auto text = [](double v) { return v >= 100 ? fmt::format("{:.0f}", v) : fmt::format("{:.3g}", v); };
  if (value >= 1e12 && !unit.empty()) return fmt::format("{} T{}", text(value / 1e12), unit);
  if (value >= 1e9) return fmt::format("{} {}", text(value / 1e9), billions);
  return fmt::format("{} M{}", text(value / 1e6), unit);
}

std::string system_error() { return std::strerror(errno); }

Status write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const auto written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Error{ErrorCode::failed, system_error()};
    text.remove_prefix(static_cast<size_t>(written));
  }
  return ok_status();
}

}  // namespace

std::string program_version() { return fmt::format("{} ({}, {})", kVersion, kBuildId, kBuildType); }

std::optional<Plan> make_plan(const ScenarioRequest& request) {
  Diagnostics diagnostics;
  auto scenario = read_scenario(request.path, request.sets, diagnostics);
  std::vector<RunSpec> specs;
  if (scenario) specs = validate(*scenario, diagnostics);
  if (!diagnostics.ok()) {
    std::fputs(diagnostics.text().c_str(), stderr);
    return std::nullopt;
  }
  if (!select_variants(request.variants, specs)) return std::nullopt;
  return Plan{std::move(*scenario), std::move(specs)};
}

RunReport report_head(const std::string& program, const Plan& plan) {
  const auto& first = plan.specs.front();
  RunReport out;
  out.program = program;
  out.version = program_version();
  out.scenario = plan.scenario.path;
  out.scenario_digest = first.scenario_digest;
  out.seed = first.seed;
  out.payload = first.payload == PayloadKind::real ? "real" : "phantom";
  out.numerics = first.numerics == Numerics::portable ? "portable" : "native";
  out.model = first.model_name;
  for (const auto& spec : plan.specs) {
    if (spec.model_name != out.model) out.model = "several models";
  }
  const auto profile_of = [](const RunSpec& spec) { return spec.profile == nullptr ? std::string() : spec.profile->name; };
  out.cost_profile = profile_of(first);
  for (const auto& spec : plan.specs) {
    if (profile_of(spec) != out.cost_profile) out.cost_profile = "several cost profiles";
  }
  out.data = data_text(plan.scenario.data);
  out.datacenters = first.cluster().datacenters;
  out.target = target_of(first);
  for (const auto& spec : plan.specs) {
    const auto target = target_of(spec);
    const bool same = target && out.target && target->metric == out.target->metric && target->value == out.target->value;
    if (!same) out.target = std::nullopt;
  }
  return out;
}

ExitCode exit_code_of(const RunReport& report) {
  auto out = kDone;
  for (const auto& variant : report.variants) {
    if (!variant.error.empty() || !variant.bound.violated.empty()) return kRunFailed;
    if (!variant.expectations_met()) out = kExpectationFailed;
  }
  return out;
}

std::string describe_plan(const Plan& plan) {
  std::string out = fmt::format("{} is fine: {} variant{}\n", plan.scenario.path, plan.specs.size(), plan.specs.size() == 1 ? "" : "s");
  int width = 0;
  for (const auto& spec : plan.specs) width = std::max(width, display_width(spec.variant));
  for (const auto& spec : plan.specs) {
    std::string strategy;
    for (const auto& [key, value] : strategy_of(spec.plan.spec).describe(spec.plan)) {
      const auto text = std::visit([](const auto& v) { return fmt::format("{}", v); }, value);
      strategy += key == "kind" ? text : fmt::format(", {} {}", key, text);
    }
    out += fmt::format("  {}  {}; wan {}, lan {}; {} ranks, {} parameters{} in {} bucket{}\n", padded_right(spec.variant, width), strategy,
                       codec_name(spec.plan.codecs.wan.kind), codec_name(spec.plan.codecs.lan.kind), spec.cluster().workers(),
                       spec.plan.parameters, spec.profile == nullptr ? "" : " of " + spec.profile->name, spec.plan.buckets.size(),
                       spec.plan.buckets.size() == 1 ? "" : "s");
  }
  return out;
}

std::string describe_devices() {
  std::string out = fmt::format("{:<10} {:>13} {:>12} {:>8}  {}\n", "device", "sustained", "memory at", "memory", "source");
  for (const auto& device : builtin_devices()) {
    out += fmt::format("{:<10} {:>6.3g} TFLOPS {:>7.4g} GB/s {:>8}  {}\n", device.name, device.flops_per_s / 1e12,
                       device.memory_bandwidth / 1e9, format_bytes(static_cast<double>(device.memory_bytes)), device.source);
  }
  out += "A topology may describe others: [device.NAME] with flops, memory_bandwidth, memory; source and price_per_hour if known.\n";
  return out;
}

std::string describe_profiles() {
  constexpr const char* kRow = "{:<20} {:>10} {:>6} {:>12} {:>12} {:>9}  {}\n";
  auto out = fmt::format(kRow, "profile", "parameters", "layers", "forward", "backward", "kept", "for each");
  for (const auto& profile : builtin_profiles()) {
    out += fmt::format(kRow, profile.name, scaled(static_cast<double>(profile.parameters()), "", "B"), profile.layers.size(),
                       scaled(profile.forward_flops(), "FLOP", "GFLOP"), scaled(profile.backward_flops(), "FLOP", "GFLOP"),
                       format_bytes(4 * profile.kept_values()), profile.sample);
    out += fmt::format("    {}\n    {}\n", profile.description, profile.source);
  }
  out +=
      "kept: activations in fp32 from a layer's forward to its backward. In fp32 a parameter takes 4 bytes, as does its gradient, and "
      "Adam's\n"
      "state 8; parameters and state are there three times (commit = \"vote\": twice). How a profile is written: core/model/README.md.\n";
  return out;
}

bool is_terminal(std::FILE* stream) { return ::isatty(::fileno(stream)) == 1; }

bool wants_colour(std::FILE* stream) {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* kind = std::getenv("TERM");
  const bool dumb = kind != nullptr && std::strcmp(kind, "dumb") == 0;
  return is_terminal(stream) && !dumb && (no_colour == nullptr || *no_colour == '\0');
}

int terminal_width(std::FILE* stream) {
  winsize size{};
  constexpr int kUsual = 80;
  return ::ioctl(::fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsual;
}

TableStyle table_style(std::FILE* stream) {
  constexpr int kWidest = 120;
  TableStyle style{wants_colour(stream), kWidest};
  if (is_terminal(stream)) style.width = std::min(kWidest, terminal_width(stream));
  return style;
}

Result<OutputFile> OutputFile::open(const std::string& path) {
  const auto cannot = [&](const std::string& why) { return Error{ErrorCode::invalid, fmt::format("{} cannot be written: {}", path, why)}; };
  OutputFile out;
  out.path_ = path;
  if (path.empty()) return cannot("the path is empty");
  if (path == "-") {
    out.fd_ = STDOUT_FILENO;
    return out;
  }
  struct stat info {};
  const bool exists = ::stat(path.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) return cannot("it is a directory");
  if (exists && !S_ISREG(info.st_mode)) {
    // A device or a pipe has no temporary name beside it.
    out.fd_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (out.fd_ < 0) return cannot(system_error());
    return out;
  }
  if (exists && ::access(path.c_str(), W_OK) != 0) return cannot(system_error());
  out.temporary_ = fmt::format("{}.{}.partial", path, ::getpid());
  out.fd_ = ::open(out.temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (out.fd_ < 0) {
    const auto why = system_error();
    out.temporary_.clear();
    return cannot(why);
  }
  return out;
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)), temporary_(std::exchange(other.temporary_, {})), fd_(std::exchange(other.fd_, -1)) {}

OutputFile::~OutputFile() {
  if (fd_ > STDOUT_FILENO) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Status OutputFile::write(const std::string& text) {
  const auto cannot = [&](const std::string& why) {
    return Error{ErrorCode::failed, fmt::format("{} cannot be written: {}", is_stdout() ? "stdout" : path_, why)};
  };
  if (const auto status = write_all(fd_, text); !status.ok()) return cannot(status.error().message);
  if (is_stdout()) return ok_status();
  if (::close(std::exchange(fd_, -1)) != 0) return cannot(system_error());
  if (!temporary_.empty() && ::rename(temporary_.c_str(), path_.c_str()) != 0) return cannot(system_error());
  temporary_.clear();
  return ok_status();
}

Status print(std::FILE* stream, const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stream) != text.size() || std::fflush(stream) != 0) {
    return Error{ErrorCode::failed, fmt::format("{} cannot be written: {}", stream == stdout ? "stdout" : "stderr", system_error())};
  }
  return ok_status();
}

}  // namespace xdc
