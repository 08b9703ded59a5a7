// What does a checkpoint say about itself? The manifest: JSON, written last, so a checkpoint is complete exactly when it has one. It
// carries its own digest and that of every file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "core/data/sample_schedule.hpp"

namespace xdc {

// One file of a checkpoint, as its writer left it.
struct PieceFile {
  std::string name;    // in the checkpoint's folder
  std::string member;  // who wrote it, and reads it again: "rank3.beijing"
  int64_t size = 0;
  std::string digest;
  double residual_norm = 0;  // of the residuals in it; 0: none
};

struct Manifest {
  std::string version, scenario_digest, variant;
  uint64_t seed = 0;
  int64_t step = 0, round = 0, epoch = 0, samples = 0;
  int64_t elapsed_ns = 0;       // of the run's clock
  SampleSchedule::Deals dealt;  // up to here; datacenters as "samples" of the settings has them
  // What decides what is trained, key by key, as text: a checkpoint continues only a run that agrees in all of them.
  std::vector<std::pair<std::string, std::string>> settings;
  std::string layout;          // digest of who encodes and keeps what: who resumes by another one cannot use pieces
  std::string lasting_layout;  // of what must be the same whoever resumes
  std::vector<std::string> members;
  std::optional<double> loss, accuracy;  // of the held-out set at this step
  std::vector<PieceFile> files;

  const PieceFile* find(std::string_view name) const;
};

// "\n  optimizer: there ...; here ...", for each in which they differ; empty: they agree.
std::string differing_settings(const Manifest& manifest, const std::vector<std::pair<std::string, std::string>>& settings);

// What a member tells whoever writes the manifest.
std::string to_json(const std::vector<PieceFile>& files);
Result<std::vector<PieceFile>> pieces_from_json(std::string_view text);

std::string to_json(const Manifest& manifest);
// Errors: failed, when the text is not what to_json wrote, or another version's.
Result<Manifest> manifest_from_json(std::string_view text);

}  // namespace xdc
