// How do lanes exist in the simulated world? Each is an actor on its member's host.
#pragma once

#include "core/seam/lanes.hpp"
#include "sim/lane_register.hpp"

namespace xdc {

class SimLanes final : public Lanes {
 public:
  SimLanes(Agenda& agenda, LaneRegister& lanes, MemberId member, sg::Host* host)
      : agenda_(agenda), lanes_(lanes), member_(member), host_(host) {}
  std::unique_ptr<Lane> spawn(std::string_view name, std::function<void()> body) override;
  std::unique_ptr<Signal> make_signal() override;

 private:
  Agenda& agenda_;
  LaneRegister& lanes_;
  MemberId member_;
  sg::Host* host_;
};

}  // namespace xdc
