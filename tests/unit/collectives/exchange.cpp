#include "core/collectives/exchange.hpp"

#include <catch2/catch.hpp>

using namespace xdc;

TEST_CASE("control words carry tag and sums") {
  const MessageTag tag{1'000'000'007, Phase::all_gather, 12, 345};
  const auto sum = from_control(to_control(tag, {600, 3}), tag);
  REQUIRE(sum.ok());
  CHECK(sum.value() == ControlSum{600, 3});
}

TEST_CASE("a message that was not due is refused, naming both") {
  const MessageTag sent{7, Phase::push, 1, 0};
  for (const MessageTag due : {MessageTag{8, Phase::push, 1, 0}, MessageTag{7, Phase::pull, 1, 0}, MessageTag{7, Phase::push, 2, 0},
                               MessageTag{7, Phase::push, 1, 1}}) {
    const auto sum = from_control(to_control(sent, {}), due);
    REQUIRE_FALSE(sum.ok());
    CHECK(sum.error().message.find("push of round 7, bucket 1, part 0") != std::string::npos);
    CHECK(sum.error().message.find("was due") != std::string::npos);
  }
}
