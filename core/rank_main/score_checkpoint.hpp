// How good is a checkpoint? Its parameters on the scenario's held-out set, without ranks.
#pragma once

#include <cstdint>
#include <optional>

#include "core/checkpoint/manifest.hpp"
#include "core/seam/device.hpp"
#include "core/seam/storage.hpp"
#include "core/validate/run_spec.hpp"

namespace xdc {

struct ScoredCheckpoint {
  Manifest manifest;
  double loss = 0, accuracy = 0;
};

// `step`: nullopt for the newest. Requires a data set, so a real payload. Errors: invalid, when there is none, it is not intact, or it is
// of another model.
Result<ScoredCheckpoint> score_checkpoint(const RunSpec& spec, Storage& storage, Device& device, std::optional<int64_t> step);

}  // namespace xdc
