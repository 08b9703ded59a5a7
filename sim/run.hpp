// How is a whole run simulated? One actor per member runs the same function that a real rank runs.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/membership/folding.hpp"
#include "core/seam/env.hpp"
#include "core/validate/run_spec.hpp"
#include "sim/trace.hpp"

namespace xdc {

struct WorldSpec {
  Topology topology;
  Cluster cluster;
  std::vector<DeviceSpec> devices;  // one per member
  PayloadKind payload = PayloadKind::real;
  std::string label;  // in front of a failed check's place: "seed 7, scenarios/bank_ocr.toml, central PS"
  Watch watch = {};
  // Where members act for others: a phantom run only. nullopt: everyone for himself.
  std::optional<Folding> folding = std::nullopt;
};

// What is left of a world when its last lane has ended.
struct WorldEnd {
  TimePoint time;
  std::function<std::optional<std::string>(std::string_view key)> stored;  // the store's value; valid in the same process
};

// Runs `body` once for every member that acts, from virtual time zero until all lanes have ended. `arithmetic` is used for real payloads.
// Once per process (sim/engine.hpp). Errors: failed, when lanes wait for what can never come, or the time horizon is reached: the
// message names every waiting lane and what it waits for.
Result<WorldEnd> run_world(const WorldSpec& spec, Kernels& arithmetic, const Observer& observer,
                           const std::function<void(Env&, MemberId)>& body);

}  // namespace xdc
