#include "core/strategies/round.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace xdc {

Result<ModelState> ModelState::make(Device& device, int64_t elements, int optimizer_tensors, int sets, const ResidualPlan* residuals) {
  XDC_CHECK(sets == 2 || sets == 3);
  ModelState state;
  const auto tensor = [&](int64_t count) -> Result<Tensor> {
    XDC_TRY_ASSIGN(auto buffer, device.allocate(Space::device, static_cast<size_t>(count) * sizeof(float)));
    state.buffers_.push_back(std::move(buffer));
    return Tensor::flat(state.buffers_.back()->bytes(), DType::f32, count);
  };
  for (int s = 0; s < sets; ++s) {
    Set set;
    XDC_TRY_ASSIGN(set.parameters, tensor(elements));
    for (int i = 0; i < optimizer_tensors; ++i) {
      XDC_TRY_ASSIGN(const Tensor moment, tensor(elements));
      set.optimizer.push_back(moment);
    }
    if (residuals != nullptr && residuals->elements() > 0) {
      set.residuals.plan = residuals;
      XDC_TRY_ASSIGN(set.residuals.values, tensor(residuals->elements()));
    }
    state.sets_.push_back(std::move(set));
  }
  return state;
}

void ModelState::advance() {
  current_ = at(1);
  ++round_;
  undo_ = true;
}

void ModelState::roll_back() {
  XDC_CHECK(undo_);
  current_ = at(sets_.size() - 1);
  --round_;
  undo_ = false;
}

Status CommitVote::connect(const View& view, Deadline deadline) {
  view_ = view;
  XDC_TRY_ASSIGN(communicator_, env_.fabric.connect(view, "commit", deadline));
  return ok_status();
}

Result<int64_t> CommitVote::lowest_applied(int64_t applied, Deadline deadline) {
  ExchangeSite site{
      env_.device, Stream{}, *communicator_, scratch_, [this](Rank r) { return cluster_.describe(view_.members[static_cast<size_t>(r)]); },
      {}};
  const MessageTag vote{++votes_, Phase::vote, 0, 0};
  const MessageTag verdict{votes_, Phase::verdict, 0, 0};
  int64_t lowest = applied;
  if (communicator_->rank() != 0) {
    auto sending = send(site, 0, vote, {applied, 0}, {});
    auto answer = receive(site, 0, verdict, {});
    XDC_TRY_ASSIGN(const ControlSum agreed, await(site, answer, deadline));
    XDC_TRY_ASSIGN(const ControlSum sent, await(site, sending, deadline));
    static_cast<void>(sent);
    lowest = agreed.samples;
  } else {
    std::vector<Transfer> votes, verdicts;
    for (Rank r = 1; r < communicator_->size(); ++r) {
      votes.push_back(receive(site, r, vote, {}));
    }
    for (auto& transfer : votes) {
      XDC_TRY_ASSIGN(const ControlSum theirs, await(site, transfer, deadline));
      lowest = std::min(lowest, theirs.samples);
    }
    for (Rank r = 1; r < communicator_->size(); ++r) {
      verdicts.push_back(send(site, r, verdict, {lowest, 0}, {}));
    }
    XDC_TRY(await_all(site, verdicts, deadline));
  }
  if (applied - lowest > 1) {
    return Error{ErrorCode::failed,
                 fmt::format("this member applied round {}, another one only round {}: more than one round apart", applied, lowest)};
  }
  return lowest;
}

void CommitVote::abort(const Error& error) {
  if (communicator_ != nullptr) {
    communicator_->abort(error);
  }
}

}  // namespace xdc
