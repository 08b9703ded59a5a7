#include "sim/lanes.hpp"

#include <fmt/format.h>

#include <exception>

namespace xdc {
namespace {

// Shared by the handle and the actor: either may go first when a run ends early.
struct LaneEnd {
  explicit LaneEnd(Agenda& agenda) : joiner(agenda) {}
  WaitPoint joiner;
  bool ended = false;
};

class SimLane final : public Lane {
 public:
  SimLane(std::string name, std::shared_ptr<LaneEnd> end) : name_(std::move(name)), end_(std::move(end)) {}
  ~SimLane() override {
    // A killed lane unwinds past its handles.
    XDC_CHECK_MSG(joined_ || std::uncaught_exceptions() > 0, "lane " + name_ + " is destroyed before it was joined");
  }
  void join() override {
    XDC_CHECK_MSG(!joined_, "lane " + name_ + " is joined twice");
    end_->joiner.wait(
        kNoDeadline, [&] { return end_->ended; }, [&] { return fmt::format("the end of lane {}", name_); });
    joined_ = true;
  }

 private:
  std::string name_;
  std::shared_ptr<LaneEnd> end_;
  bool joined_ = false;
};

class SimSignal final : public Signal {
 public:
  explicit SimSignal(Agenda& agenda) : waiter_(agenda) {}
  void post() override {
    ++posts_;
    waiter_.wake();
  }
  Status wait(Deadline deadline) override {
    if (!waiter_.wait(
            deadline, [&] { return posts_ > 0; }, [] { return std::string("a signal"); })) {
      return Error{ErrorCode::timeout, "no signal came before the deadline"};
    }
    --posts_;
    return ok_status();
  }

 private:
  WaitPoint waiter_;
  int64_t posts_ = 0;
};

}  // namespace

std::unique_ptr<Lane> SimLanes::spawn(std::string_view name, std::function<void()> body) {
  auto end = std::make_shared<LaneEnd>(agenda_);
  sg::Actor::create(std::string(name), host_, [this, end, name = std::string(name), body = std::move(body)] {
    lanes_.run(member_, name, body);
    end->ended = true;
    end->joiner.wake();
  });
  return std::make_unique<SimLane>(std::string(name), std::move(end));
}

std::unique_ptr<Signal> SimLanes::make_signal() { return std::make_unique<SimSignal>(agenda_); }

}  // namespace xdc
