#include "tools/computing.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/math/numerics.hpp"
#include "exec/cuda/summary.hpp"

namespace xdc {

bool is_rehearsal(const RunSpec& spec) { return spec.payload == PayloadKind::phantom; }

Result<std::string> choose_device(const std::string& device, const RunSpec& spec) {
  const bool only_cpus = std::all_of(spec.devices.begin(), spec.devices.end(), [](const DeviceSpec& one) { return one.name == "cpu"; });
  const std::string chosen = !device.empty() ? device : only_cpus ? "cpu" : "cuda";
  const std::string why = device.empty() ? fmt::format("as the devices of {} say", spec.topology.path) : "as --device says";
  if (chosen == "cuda") {
    const auto summary = cuda_device_summary();
    return Error{ErrorCode::unsupported,
                 fmt::format("ranks would train on GPUs, {}, but {}. `--device cpu` trains the same on processors.", why,
                             summary.ok() ? fmt::format("this version trains on processors only (found: {})", summary.value())
                                          : summary.error().message)};
  }
  // The launcher trains nothing; pinned as its ranks will be, it can say what they use.
  XDC_TRY(pin_numerics(spec.numerics == Numerics::native ? CpuNumerics::native : CpuNumerics::portable));
  return fmt::format("device cpu, {}; {}", why, describe_numerics());
}

Result<std::string> describe_rehearsal(const std::string& device, bool without_waiting, const RunSpec& spec) {
  if (!device.empty()) {
    return Error{ErrorCode::invalid,
                 fmt::format("--device {}: payload = \"phantom\" computes nothing; leave it out, or add --set payload=real", device)};
  }
  return fmt::format("a rehearsal (payload = \"phantom\"): bytes of the right size travel, {}; there is no loss and no accuracy",
                     without_waiting
                         ? "and computations take no time (--rehearse-without-waiting)"
                         : fmt::format("and computations are waited for as modelled for the devices of {}", spec.topology.path));
}

}  // namespace xdc
