#include "exec/host/thread_lanes.hpp"

#include <fmt/format.h>
#include <pthread.h>

#include <condition_variable>
#include <mutex>
#include <thread>

namespace xdc {

namespace {

thread_local std::string lane_name = "main";

struct Process {
  std::string whose;
  const SteadyClock* clock = nullptr;
};
Process& process() {
  static Process p;
  return p;
}

std::string describe_lane() {
  const Process& p = process();
  return fmt::format("{}, lane {}, {:.3f} s", p.whose, lane_name, to_seconds(p.clock->now() - TimePoint{}));
}

class ThreadLane final : public Lane {
 public:
  ThreadLane(std::string name, std::function<void()> body)
      : thread_([name = std::move(name), body = std::move(body)] {
          lane_name = name;
          pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());  // the kernel keeps 15 characters
          body();
        }) {}
  ~ThreadLane() override { XDC_CHECK_MSG(!thread_.joinable(), "a lane is destroyed before join()"); }
  void join() override { thread_.join(); }

 private:
  std::thread thread_;
};

class ThreadSignal final : public Signal {
 public:
  explicit ThreadSignal(const SteadyClock& clock) : clock_(clock) {}

  void post() override {
    // Notified under the lock: the waiter may destroy the signal as soon as it has the post.
    const std::lock_guard lock(mutex_);
    ++posts_;
    changed_.notify_one();
  }

  Status wait(Deadline deadline) override {
    std::unique_lock lock(mutex_);
    if (!wait_until(clock_, changed_, lock, deadline, [this] { return posts_ > 0; })) {
      return Error{ErrorCode::timeout, "no signal before the deadline"};
    }
    --posts_;
    return ok_status();
  }

 private:
  const SteadyClock& clock_;
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t posts_ = 0;
};

}  // namespace

std::unique_ptr<Lane> ThreadLanes::spawn(std::string_view name, std::function<void()> body) {
  return std::make_unique<ThreadLane>(std::string(name), std::move(body));
}

std::unique_ptr<Signal> ThreadLanes::make_signal() { return std::make_unique<ThreadSignal>(clock_); }

void describe_process_to_checks(std::string whose, const SteadyClock& clock) {
  process() = {std::move(whose), &clock};
  set_check_context(&describe_lane);
}

}  // namespace xdc
