// When does a member save what it has learned, and how does a run go on from it?
//
//   save    all members, between two rounds, after a vote (settle): each writes the file that is its own (residuals, local optimizer
//           state, a server's share), the first rank parameters and optimizer state that all share; then they tell the first rank, which
//           writes the manifest if everybody could write. A failure is told, and training goes on.
//   resume  the first rank offers its checkpoints, newest first; who has a file of its own in it says whether that is intact; the first one
//           with which everyone agrees is taken. The first rank reads what is shared and sends it to all: storage need not be shared.
//
// All of it on a channel of its own.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/checkpoint/folder.hpp"
#include "core/checkpoint/safetensors.hpp"
#include "core/rank_main/text_channel.hpp"
#include "core/report/report.hpp"
#include "core/seam/env.hpp"
#include "core/strategies/round.hpp"
#include "core/validate/run_spec.hpp"

namespace xdc {

// What a member has to save: its state, and which of it nobody else has.
struct SavedState {
  ModelState* state = nullptr;
  Stream stream;
  bool own_optimizer = false;  // else it is the same on every worker
};

class Checkpoints {
 public:
  // All outlive it.
  Checkpoints(Env& env, const RunSpec& spec, MemberId self, MemberReport& report);

  // Opens the channel. Where spec.resumes, all members agree on a checkpoint. Errors: invalid, when there is none or it is another run's;
  // those of the channel.
  Status start();
  // Where the run begins: at its beginning, or where the checkpoint ends.
  StartPoint start_point() const;
  // Fills the applied state with the checkpoint's, on every member. Nothing, where the run begins at its beginning.
  Status load(const SavedState& saved);

  // Whether a checkpoint is due after `step`, the round before having ended with `before`.
  bool due(int64_t before, int64_t step) const;
  int64_t last_saved() const { return last_saved_; }
  // The best is kept, so what is saved must have been scored.
  bool wants_score() const { return spec_.checkpoint && !spec_.checkpoint->best.empty(); }
  // Every member calls it, with the round that a vote has just confirmed. `score`: the first rank's, if there is one of this step.
  // Errors: those of the channel alone.
  Status save(const SavedState& saved, int64_t step, Duration elapsed, const EvaluationRecord* score);

  void abort(const Error& error);

 private:
  std::string name(Rank rank) const { return spec_.cluster().describe(rank); }
  Deadline deadline() const;
  void warn(const std::string& text);

  Status offer();
  Status answer();
  Result<bool> agreed_on(const Manifest& manifest);
  Status refuse(const std::string& why);
  Status read_shared(const Manifest& manifest);
  bool drops_own(const Manifest& manifest) const;
  // What this member would say against going on from here; empty: nothing.
  std::string read_own(const Manifest& manifest);

  Status receive_shared(const SavedState& saved);
  Status send_shared(const SavedState& saved);
  Status fill(const SavedState& saved, const std::vector<std::byte>& file, const std::vector<Tensor>& tensors);

  Result<std::vector<PieceFile>> write_files(const SavedState& saved, int64_t step);
  std::vector<std::string> optimizer_names() const;
  Status commit(Manifest manifest, const std::string& failure);
  Manifest manifest_of(int64_t step, Duration elapsed, const EvaluationRecord* score) const;

  Env& env_;
  const RunSpec& spec_;
  const MemberId self_;
  MemberReport& report_;
  const std::string label_;
  const std::string own_file_;
  CheckpointFolder folder_;
  std::optional<TextChannel> channel_;  // none in a phantom run
  std::optional<Manifest> resumed_;
  std::vector<std::byte> parameters_, optimizer_, own_;  // files of resumed_ that this member has read
  int64_t last_saved_ = 0;
};

}  // namespace xdc
