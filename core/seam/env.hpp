// Everything a rank may ask of the world it runs in.
#pragma once

#include "core/seam/clock.hpp"
#include "core/seam/device.hpp"
#include "core/seam/fabric.hpp"
#include "core/seam/kernels.hpp"
#include "core/seam/lanes.hpp"
#include "core/seam/stop_request.hpp"
#include "core/seam/storage.hpp"
#include "core/seam/store.hpp"
#include "core/seam/trace.hpp"

namespace xdc {

// Outlives rank_main. One Env per member.
struct Env {
  Clock& clock;
  Lanes& lanes;
  Fabric& fabric;
  Device& device;
  Store& store;
  Storage& storage;
  Trace& trace;
  const StopRequest& stop;
};

}  // namespace xdc
