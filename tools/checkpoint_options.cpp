#include "tools/checkpoint_options.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>

#include "core/checkpoint/folder.hpp"
#include "core/math/cpu_kernels.hpp"
#include "core/math/numerics.hpp"
#include "core/rank_main/score_checkpoint.hpp"
#include "exec/host/cpu_device.hpp"
#include "exec/host/file_storage.hpp"

namespace xdc {
namespace {

namespace fs = std::filesystem;

Status can_be_saved(const RunSpec& spec) {
  if (spec.payload == PayloadKind::phantom) {
    return Error{ErrorCode::invalid, "--checkpoint: payload = \"phantom\" has no contents that could be saved"};
  }
  if (spec.plan.pushes_freely()) {
    return Error{
        ErrorCode::invalid,
        fmt::format("--checkpoint: variant \"{}\" applies pushes one by one (mode = \"ssp\" or \"async\"): there is no step that everybody "
                    "has applied and nobody has gone beyond, so nothing that could be saved; choose others with --variant",
                    spec.variant)};
  }
  return ok_status();
}

// What exists of the directory can be written, so that a run does not find out when it first saves. Makes nothing.
Status can_be_written(const std::string& directory) {
  std::error_code error;
  fs::path there = fs::absolute(directory, error).lexically_normal();
  while (!error && !fs::exists(there, error) && !error && there.has_relative_path()) there = there.parent_path();
  std::string why = error ? error.message() : "";
  if (why.empty() && !fs::is_directory(there, error)) why = fmt::format("{} is not a directory", there.native());
  if (why.empty() && ::access(there.c_str(), R_OK | W_OK | X_OK) != 0) why = fmt::format("{}: {}", there.native(), std::strerror(errno));
  if (why.empty()) return ok_status();
  return Error{ErrorCode::invalid, fmt::format("--checkpoint: {} cannot be written: {}", directory, why)};
}

Status check_contents(const std::string& directory, bool resume, const RunSpec& spec) {
  FileStorage storage(directory);
  CheckpointFolder folder(storage);
  const auto steps = folder.steps();
  if (!steps.ok()) return Error{ErrorCode::invalid, fmt::format("--checkpoint: {}", steps.error().message)};
  if (resume && steps.value().empty()) {
    return Error{ErrorCode::invalid,
                 fmt::format("--resume: there is no checkpoint of variant \"{}\" in {}; leave --resume out to start from the "
                             "beginning, or choose variants with --variant",
                             spec.variant, directory)};
  }
  if (resume) {
    // What is damaged is passed over by the ranks; the first that can be read says whose these are.
    for (const int64_t step : steps.value()) {
      const auto manifest = folder.manifest(step);
      if (!manifest.ok()) continue;
      const auto differing = differing_settings(manifest.value(), spec.settings);
      if (differing.empty()) break;
      return Error{ErrorCode::invalid,
                   fmt::format("--resume: the checkpoint of step {} in {} is of another run:{}", step, directory, differing)};
    }
  }
  if (!resume && !steps.value().empty()) {
    return Error{ErrorCode::invalid,
                 fmt::format("--checkpoint: {} has checkpoints up to step {} already; --resume goes on from there, or give "
                             "another directory",
                             directory, steps.value().front())};
  }
  return ok_status();
}

}  // namespace

std::string checkpoint_directory(const std::string& directory, const RunSpec& spec) {
  std::string name;
  for (const char c : spec.variant) {
    const bool kept = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || (c & 0x80) != 0;
    name += kept ? c : '-';
  }
  return (fs::path(directory) / (name.empty() ? "variant" : name)).string();
}

Status check_checkpoint_options(const std::string& directory, bool resume, const std::vector<RunSpec>& specs, bool first_is_here) {
  if (directory.empty()) {
    return resume ? Status(Error{ErrorCode::invalid, "--resume: where from? Give the directory with --checkpoint DIR"}) : ok_status();
  }
  std::map<std::string, std::string> seen;
  for (const auto& spec : specs) {
    XDC_TRY(can_be_saved(spec));
    const auto own = checkpoint_directory(directory, spec);
    const auto [other, fresh] = seen.emplace(own, spec.variant);
    if (!fresh) {
      return Error{ErrorCode::invalid,
                   fmt::format("--checkpoint: variants \"{}\" and \"{}\" would share the directory {}; rename one, or choose one "
                               "with --variant",
                               other->second, spec.variant, own)};
    }
    XDC_TRY(can_be_written(own));
    if (first_is_here) XDC_TRY(check_contents(own, resume, spec));
  }
  return ok_status();
}

Result<std::string> evaluate_checkpoint(const RunSpec& spec, const std::string& path) {
  if (spec.dataset == nullptr) return Error{ErrorCode::invalid, "--evaluate: payload = \"phantom\" has no held-out set"};
  fs::path directory = fs::path(path).lexically_normal();
  if (directory.filename().empty()) directory = directory.parent_path();
  std::optional<int64_t> step;
  if (const std::string last = directory.filename().string(); last.starts_with("step-")) {
    int64_t number = 0;
    const auto read = std::from_chars(last.data() + 5, last.data() + last.size(), number);
    if (read.ec != std::errc() || read.ptr != last.data() + last.size()) {
      return Error{ErrorCode::invalid, fmt::format("--evaluate: {} is no checkpoint's name, as step-000123 is", last)};
    }
    step = number;
    directory = directory.parent_path();
  }
  XDC_TRY(pin_numerics(spec.numerics == Numerics::native ? CpuNumerics::native : CpuNumerics::portable));
  CpuKernels kernels;
  CpuDevice device("cpu", kernels);
  FileStorage storage(directory.empty() ? "." : directory.string());
  const auto scored = score_checkpoint(spec, storage, device, step);
  if (!scored.ok()) return Error{ErrorCode::invalid, fmt::format("--evaluate: {}: {}", path, scored.error().message)};
  const auto& manifest = scored.value().manifest;
  return fmt::format("{}: step {}, epoch {} of variant \"{}\": loss {:.6g}, accuracy {:.2f} % of {} held-out samples\n", path,
                     manifest.step, manifest.epoch, manifest.variant, scored.value().loss, 100 * scored.value().accuracy,
                     spec.dataset->test().size());
}

}  // namespace xdc
