// How do two things happen at once on a real machine? A lane is a thread.
#pragma once

#include <string>

#include "core/seam/lanes.hpp"
#include "exec/host/steady_clock.hpp"

namespace xdc {

class ThreadLanes final : public Lanes {
 public:
  explicit ThreadLanes(const SteadyClock& clock) : clock_(clock) {}
  std::unique_ptr<Lane> spawn(std::string_view name, std::function<void()> body) override;
  std::unique_ptr<Signal> make_signal() override;

 private:
  const SteadyClock& clock_;
};

// Makes failed checks print whose run this is ("seed 7, bank_ocr, beijing rank 3"), the lane and the time. Call once, before
// lanes start; the clock must outlive them.
void describe_process_to_checks(std::string whose, const SteadyClock& clock);

}  // namespace xdc
