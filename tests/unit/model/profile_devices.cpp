// Is the built-in device table complete and in order?
#include <algorithm>
#include <catch2/catch.hpp>

#include "core/config/device_table.hpp"

namespace xdc {
namespace {

const DeviceSpec& device(std::string_view name) {
  static const Topology none;
  const auto* found = find_device(none, name);
  REQUIRE(found != nullptr);
  return *found;
}

TEST_CASE("The device table has the devices that the documentation names, ascending") {
  std::vector<std::string> names;
  for (const auto& spec : builtin_devices()) names.push_back(spec.name);
  CHECK(names == std::vector<std::string>{"a100_40g", "a100_80g", "cpu", "h100", "h200", "t4", "v100"});
  CHECK(std::ranges::is_sorted(names));
}

TEST_CASE("A device sustains less than its data sheet promises") {
  struct Sheet {
    std::string_view name;
    double tflops, gigabytes_per_s;
    int64_t gigabytes;
  };
  for (const auto& sheet : {Sheet{"a100_40g", 19.5, 1555, 40},
                            {"a100_80g", 19.5, 2039, 80},
                            {"h100", 67, 3350, 80},
                            {"h200", 67, 4800, 141},
                            {"t4", 8.1, 320, 16},
                            {"v100", 15.7, 900, 32}}) {
    INFO(sheet.name);
    const auto& spec = device(sheet.name);
    CHECK(spec.flops_per_s <= 0.701 * 1e12 * sheet.tflops);
    CHECK(spec.flops_per_s >= 0.55 * 1e12 * sheet.tflops);
    CHECK(spec.memory_bandwidth <= 0.851 * 1e9 * sheet.gigabytes_per_s);
    CHECK(spec.memory_bandwidth >= 0.75 * 1e9 * sheet.gigabytes_per_s);
    CHECK(spec.memory_bytes == sheet.gigabytes * 1'000'000'000);
  }
}

TEST_CASE("Every device says where its figures are from") {
  for (const auto& spec : builtin_devices()) CHECK(spec.source.size() > 20);
}

}  // namespace
}  // namespace xdc
