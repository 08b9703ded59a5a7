// How does a round become all or nothing? A member applies it into another set of state and keeps the one before. Whoever
// completes the next round has everyone's contribution to it, which proves that everyone applied this one: the old set is then
// free. Until then a rollback is a change of sets, and costs no copy.
//
//   commit = "undo" (default)  three sets in turn: before, after, and the one a round in flight writes; no extra messages
//   commit = "vote"            two sets; every round ends with a vote, one round trip more
//
// A vote is also held at the end of a run: then there is no next round that could prove anything.
#pragma once

#include <memory>
#include <vector>

#include "core/collectives/exchange.hpp"
#include "core/membership/cluster.hpp"
#include "core/seam/env.hpp"

namespace xdc {

// One member's parameters, optimizer state and residuals of its encodings, f32 in device memory.
class ModelState {
 public:
  struct Set {
    Tensor parameters;
    std::vector<Tensor> optimizer;
    Residuals residuals;
  };

  // Everything zero. `residuals` outlives it. Errors: failed, when the device cannot hold `sets` times
  // (1 + optimizer_tensors) * elements + residuals.elements() f32. Requires sets 2 or 3.
  static Result<ModelState> make(Device& device, int64_t elements, int optimizer_tensors, int sets,
                                 const ResidualPlan* residuals = nullptr);

  // After `round()` rounds.
  const Set& applied() const { return sets_[at(0)]; }
  // What the round in flight writes.
  const Set& next() const { return sets_[at(1)]; }
  int64_t round() const { return round_; }

  // applied() has been filled with the state after so many rounds, made elsewhere. Before the first advance().
  void begin_after(int64_t round) { round_ = began_ = round; }
  // Applied since then, and not undone.
  int64_t rounds_here() const { return round_ - began_; }

  // The round in flight is complete here: next() becomes applied(), and what was applied before it can be returned to.
  void advance();
  // Everyone is known to have applied round(): there is no way back from it.
  void confirm() { undo_ = false; }
  bool can_roll_back() const { return undo_; }
  // Back to the state before round(). Requires can_roll_back().
  void roll_back();

 private:
  size_t at(size_t ahead) const { return (current_ + ahead) % sets_.size(); }

  std::vector<std::unique_ptr<Buffer>> buffers_;
  std::vector<Set> sets_;
  size_t current_ = 0;
  int64_t round_ = 0, began_ = 0;
  bool undo_ = false;
};

// Votes of all members of a view, through its first one. Blocking; every member calls with its own applied round.
class CommitVote {
 public:
  CommitVote(const Cluster& cluster, Env& env) : cluster_(cluster), env_(env), scratch_(env.device) {}
  Status connect(const View& view, Deadline deadline);
  // The lowest round that some member has applied. Errors: failed, if two members are more than one round apart.
  Result<int64_t> lowest_applied(int64_t applied, Deadline deadline);
  void abort(const Error& error);

 private:
  const Cluster& cluster_;
  Env& env_;
  Scratch scratch_;
  View view_;
  int64_t votes_ = 0;
  std::unique_ptr<Communicator> communicator_;
};

}  // namespace xdc
