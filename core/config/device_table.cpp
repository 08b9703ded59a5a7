#include "core/config/device_table.hpp"

namespace xdc {

const std::vector<DeviceSpec>& builtin_devices() {
  // Sustained on fp32 training kernels: 70 % of peak arithmetic and 85 % of peak memory bandwidth is what large
  // convolutions, matrix products and streaming kernels reach on these devices.
  static const std::vector<DeviceSpec> table{
      {"a100_80g", 13.6e12, 1.73e12, 80'000'000'000,
       "NVIDIA A100 80 GB SXM data sheet: 19.5 TFLOPS fp32 (no tensor cores), 2,039 GB/s; 70 % and 85 % of these"},
      {"cpu", 40e9, 10e9, 16'000'000'000,
       "one server core with AVX2 at 2.5 GHz: half of 80 GFLOPS fp32; its share of memory bandwidth and memory"},
      {"v100", 11e12, 765e9, 32'000'000'000, "NVIDIA V100 SXM2 32 GB data sheet: 15.7 TFLOPS fp32, 900 GB/s; 70 % and 85 % of these"},
  };
  return table;
}

const DeviceSpec* find_device(const Topology& topology, std::string_view name) {
  if (const auto own = topology.devices.find(name); own != topology.devices.end()) return &own->second;
  for (const auto& device : builtin_devices()) {
    if (device.name == name) return &device;
  }
  return nullptr;
}

}  // namespace xdc
