// How fast is a device that the topology does not describe itself? A small table with the sources of its figures.
#pragma once

#include <string_view>
#include <vector>

#include "core/config/topology.hpp"

namespace xdc {

// Ascending by name.
const std::vector<DeviceSpec>& builtin_devices();

// The topology's own [device.NAME] first, then the built-in table; nullptr: neither knows it.
const DeviceSpec* find_device(const Topology& topology, std::string_view name);

}  // namespace xdc
