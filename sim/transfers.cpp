#include "sim/transfers.hpp"

#include <algorithm>

namespace xdc {

Transfers::Transfers(Agenda& agenda) : agenda_(agenda) {
  sg::Engine::on_time_advance_cb([this](double) { collect(); });
}

void Transfers::start(const Path& path, int64_t bytes, TransferOwner& owner) {
  // SimGrid lets a message of no bytes cross a line that is down.
  const auto charged = static_cast<uint64_t>(std::max<int64_t>(bytes, 1)) * static_cast<uint64_t>(path.flows());
  sg::in_kernel([&] {
    auto comm = sg::Comm::sendto_init(path.from, path.to);
    comm->set_payload_size(charged);
    comm->detach();
    XDC_CHECK_MSG(owner.transfer_ == nullptr, "a stream has two transfers under way");
    owner.transfer_ = comm->get_impl();
    underway_.emplace(owner.transfer_, Underway{std::move(comm), &owner});
    if (path.rate_limit() > 0 || path.flows() > 1) {
      shape(owner.transfer_, path);
    }
  });
}

// Comm::set_rate does nothing between hosts (3.32): the bound goes to the action that was started last. k flows in one have k times the
// bound of each and k shares of a line that they meet others on; a share is one over the penalty.
void Transfers::shape(const sg::ActivityImpl* activity, const Path& path) {
  for (auto* model : sg::Engine::get_instance()->get_all_models()) {
    auto& started = *model->get_started_action_set();
    if (!started.empty() && started.back().get_activity() == activity) {
      if (path.rate_limit() > 0) {
        started.back().set_bound(path.rate_limit() * path.flows());
      }
      if (path.flows() > 1) {
        started.back().set_sharing_penalty(1.0 / path.flows());
      }
      return;
    }
  }
  XDC_CHECK_MSG(false, "SimGrid started a transfer out of order");
}

void Transfers::cancel(TransferOwner& owner) {
  if (owner.transfer_ == nullptr) {
    return;
  }
  const auto found = underway_.find(owner.transfer_);
  owner.transfer_ = nullptr;
  for (auto& finished : finished_) {
    finished.owner = finished.owner == &owner ? nullptr : finished.owner;
  }
  if (found != underway_.end()) {
    const auto comm = std::move(found->second.comm);
    underway_.erase(found);
    comm->cancel();
  }
}

// Between SimGrid's move of the clock and its own handling of what finished: the one moment at which the set can be read.
void Transfers::collect() {
  if (underway_.empty()) {
    return;
  }
  for (auto* model : sg::Engine::get_instance()->get_all_models()) {
    for (const auto& action : *model->get_finished_action_set()) {
      const auto found = underway_.find(action.get_activity());
      if (found == underway_.end()) {
        continue;
      }
      if (finished_.empty()) {
        agenda_.at(Agenda::now(), [this] { report(); });
      }
      finished_.push_back(std::move(found->second));
      underway_.erase(found);
    }
  }
}

void Transfers::report() {
  // Owners start their next transfer while they are told.
  std::vector<Underway> finished;
  finished.swap(finished_);
  for (const auto& transfer : finished) {
    if (transfer.owner != nullptr) {
      transfer.owner->transfer_ = nullptr;
      transfer.owner->transfer_finished();
    }
  }
}

}  // namespace xdc
