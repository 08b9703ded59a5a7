// What time is it in the simulated world?
#pragma once

#include "core/seam/clock.hpp"
#include "sim/agenda.hpp"

namespace xdc {

class SimClock final : public Clock {
 public:
  explicit SimClock(Agenda& agenda) : agenda_(agenda) {}
  TimePoint now() const override { return Agenda::now(); }
  void sleep_until(TimePoint t) override;

 private:
  Agenda& agenda_;
};

}  // namespace xdc
