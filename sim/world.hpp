// What makes up a simulated world, and what of it is one member's?
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "sim/clock.hpp"
#include "sim/device.hpp"
#include "sim/engine.hpp"
#include "sim/fabric.hpp"
#include "sim/lanes.hpp"
#include "sim/run.hpp"
#include "sim/storage.hpp"
#include "sim/store.hpp"

namespace xdc {

class SimWorld {
 public:
  SimWorld(WorldSpec spec, Kernels& arithmetic, Observer observer);
  ~SimWorld();
  SimWorld(const SimWorld&) = delete;
  SimWorld& operator=(const SimWorld&) = delete;

  Status run(const std::function<void(Env&, MemberId)>& body);
  const SimStore& store() const { return store_; }

 private:
  // Order matters: the environment refers to what stands above it.
  struct Site {
    SimLanes lanes;
    SimDevice device;
    SimFabric fabric;
    SimStorage storage;
    SimTrace trace;
    StopFlag stop;  // nobody sets it: a simulation ends by its scenario
    Env env;
    Site(SimWorld& world, MemberId id, Kernels& arithmetic);
  };

  static std::string check_context();

  const WorldSpec spec_;
  const Observer observer_;
  const Folding folding_;
  SimEngine engine_;
  Agenda agenda_;
  SimClock clock_;
  Platform platform_;
  LaneRegister lanes_;
  SimStore store_;
  FabricHub hub_;
  std::vector<std::unique_ptr<Site>> sites_;  // nullptr: does not act
};

}  // namespace xdc
