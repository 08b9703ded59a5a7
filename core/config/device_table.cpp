#include "core/config/device_table.hpp"

namespace xdc {

const std::vector<DeviceSpec>& builtin_devices() {
  // Sustained on fp32 training kernels: 70 % of peak arithmetic and 85 % of peak memory bandwidth is what large
  // convolutions, matrix products and streaming kernels reach on these devices; the exceptions say why. Peaks are those of the
  // fp32 units: a run that trains in TF32 or half precision on tensor cores describes its device in [device.NAME].
  static const std::vector<DeviceSpec> table{
      {"a100_40g", 13.6e12, 1.32e12, 40'000'000'000,
       "NVIDIA A100 40 GB SXM data sheet: 19.5 TFLOPS fp32 (no tensor cores), 1,555 GB/s; 70 % and 85 % of these"},
      {"a100_80g", 13.6e12, 1.73e12, 80'000'000'000,
       "NVIDIA A100 80 GB SXM data sheet: 19.5 TFLOPS fp32 (no tensor cores), 2,039 GB/s; 70 % and 85 % of these"},
      {"cpu", 40e9, 10e9, 16'000'000'000,
       "one server core with AVX2 at 2.5 GHz: half of 80 GFLOPS fp32; its share of memory bandwidth and memory"},
      {"h100", 46.9e12, 2.85e12, 80'000'000'000,
       "NVIDIA H100 80 GB SXM5 data sheet: 67 TFLOPS fp32 (no tensor cores), 3.35 TB/s; 70 % and 85 % of these"},
      {"h200", 46.9e12, 4.08e12, 141'000'000'000,
       "NVIDIA H200 141 GB SXM data sheet: 67 TFLOPS fp32 (no tensor cores), 4.8 TB/s; 70 % and 85 % of these"},
      // At 70 W it cannot keep its clock: NVIDIA's ResNet-50 v1.5 README (DeepLearningExamples, PyTorch, fp32 inference) has 428
      // images/s at batch 64 where a V100 has 1,261 at batch 256, 34 % of it, although the peak is 52 %.
      {"t4", 4.5e12, 240e9, 16'000'000'000,
       "NVIDIA T4 data sheet: 8.1 TFLOPS fp32, 320 GB/s, 70 W; 55 % and 75 % of these, as the power limit holds its clock down"},
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
