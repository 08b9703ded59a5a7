// Does a fabric keep its promises about messages? Channels are FIFO, nothing is lost or mixed up, traffic is counted.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

#include "tests/contract/messages.hpp"

namespace xdc::contract {
namespace {

// The order in which the works finish, as seen by one who always waits for all that are left.
std::vector<size_t> order_of(Communicator& communicator, const std::vector<WorkPtr>& works, Deadline deadline) {
  std::vector<size_t> left(works.size());
  for (size_t i = 0; i < left.size(); ++i) left[i] = i;
  std::vector<size_t> order;
  while (!left.empty()) {
    std::vector<Work*> pending;
    for (const auto i : left) pending.push_back(works[i].get());
    const auto finished = communicator.wait_any(pending, deadline);
    XDC_EXPECT_OK(finished);
    if (!finished.ok()) return order;
    order.push_back(left[finished.value()]);
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(finished.value()));
  }
  return order;
}

}  // namespace

TEST_CASE("messages between two ranks finish in the order of the calls whatever their sizes", "[fabric]") {
  const auto setting = setting_of({1, 1});
  hold(setting, [view = setting.cluster.everyone(1)](Env& env, MemberId me) {
    const auto communicator = connected(env, view, "order");
    XDC_REQUIRE(communicator != nullptr);
    const size_t sizes[] = {100'000'000, 1'000, 50'000'000, 10};
    std::vector<std::unique_ptr<Buffer>> buffers;
    std::vector<ControlWords> control(4);
    std::vector<WorkPtr> works;
    for (int i = 0; i < 4; ++i) {
      buffers.push_back(buffer_of(env, sizes[i], me == 0 ? i + 1 : 0));
      const auto& buffer = *buffers.back();
      works.push_back(me == 0 ? communicator->isend(1, {{uint64_t(i), 7, 8, 9}}, buffer.bytes(), wire_of(buffer))
                              : communicator->irecv(0, &control[static_cast<size_t>(i)], buffer.bytes()));
    }
    XDC_EXPECT(order_of(*communicator, works, within(env, kLong)) == (std::vector<size_t>{0, 1, 2, 3}));
    for (int i = 0; i < 4 && me == 1; ++i) {
      XDC_EXPECT(holds_pattern(*buffers[static_cast<size_t>(i)], i + 1));
      XDC_EXPECT((control[static_cast<size_t>(i)] == ControlWords{{uint64_t(i), 7, 8, 9}}));
    }
  });
}

TEST_CASE("purposes are channels of their own", "[fabric]") {
  const auto setting = setting_of({2});
  hold(setting, [view = setting.cluster.everyone(3)](Env& env, MemberId me) {
    constexpr int kPurposes = 20;
    std::vector<std::unique_ptr<Communicator>> communicators;
    for (int i = 0; i < kPurposes; ++i) {
      communicators.push_back(connected(env, view, "purpose " + std::to_string(i)));
      XDC_REQUIRE(communicators.back() != nullptr);
    }
    std::vector<std::unique_ptr<Buffer>> buffers;
    std::vector<WorkPtr> works;
    ControlWords control;
    for (int i = 0; i < kPurposes; ++i) {
      buffers.push_back(buffer_of(env, 100 + static_cast<size_t>(i), me == 0 ? i : 0));
      const auto& buffer = *buffers.back();
      auto& communicator = *communicators[static_cast<size_t>(i)];
      works.push_back(me == 0 ? communicator.isend(1, {}, buffer.bytes(), wire_of(buffer))
                              : communicator.irecv(0, &control, buffer.bytes()));
    }
    for (int i = kPurposes - 1; i >= 0; --i) {  // against the order of sending
      XDC_EXPECT_OK(wait_one(*communicators[static_cast<size_t>(i)], works[static_cast<size_t>(i)], within(env, kLong)));
      XDC_EXPECT(holds_pattern(*buffers[static_cast<size_t>(i)], i));
    }
  });
}

TEST_CASE("both directions of a pair flow at once", "[fabric]") {
  const auto setting = setting_of({1, 1});
  hold(setting, [view = setting.cluster.everyone(1)](Env& env, MemberId me) {
    const auto communicator = connected(env, view, "both");
    XDC_REQUIRE(communicator != nullptr);
    const auto out = buffer_of(env, 5'000'000, me);
    const auto in = buffer_of(env, 5'000'000, 99);
    ControlWords control;
    std::vector<WorkPtr> works;
    works.push_back(communicator->isend(1 - me, {}, out->bytes(), wire_of(*out)));
    works.push_back(communicator->irecv(1 - me, &control, in->bytes()));
    order_of(*communicator, works, within(env, kLong));
    XDC_EXPECT(holds_pattern(*in, 1 - me));
  });
}

TEST_CASE("an empty payload carries its control words", "[fabric]") {
  const auto setting = setting_of({2});
  hold(setting, [view = setting.cluster.everyone(1)](Env& env, MemberId me) {
    const auto communicator = connected(env, view, "control");
    XDC_REQUIRE(communicator != nullptr);
    for (uint64_t i = 0; i < 100; ++i) {
      if (me == 0) {
        const auto work = communicator->isend(1, {{i, ~i, i * i, 0}}, {}, {0, Traffic::control});
        XDC_EXPECT_OK(wait_one(*communicator, work, within(env, kLong)));
      } else {
        ControlWords control;
        const auto work = communicator->irecv(0, &control, {});
        XDC_EXPECT_OK(wait_one(*communicator, work, within(env, kLong)));
        XDC_EXPECT((control == ControlWords{{i, ~i, i * i, 0}}));
      }
    }
  });
}

TEST_CASE("a receiver that expects another size gets an error and keeps it", "[fabric]") {
  const auto setting = setting_of({2});
  hold(setting, [view = setting.cluster.everyone(1)](Env& env, MemberId me) {
    const auto communicator = connected(env, view, "sizes");
    XDC_REQUIRE(communicator != nullptr);
    const auto buffer = buffer_of(env, me == 0 ? 1000 : 999, 1);
    ControlWords control;
    if (me == 0) {
      const auto work = communicator->isend(1, {}, buffer->bytes(), wire_of(*buffer));
      // Whether the sender learns of it is not promised.
      (void)wait_one(*communicator, work, within(env, kLong));
      return;
    }
    const auto work = communicator->irecv(0, &control, buffer->bytes());
    const auto first = wait_one(*communicator, work, within(env, kLong));
    XDC_EXPECT_ERROR(ErrorCode::failed, first);
    const auto later = communicator->irecv(0, &control, buffer->bytes());
    const auto second = wait_one(*communicator, later, within(env, kShort));
    XDC_EXPECT_ERROR(ErrorCode::failed, second);
    XDC_EXPECT(!first.ok() && !second.ok() && first.error().message == second.error().message);
  });
}

TEST_CASE("a view of some members leaves the others alone", "[fabric]") {
  const auto setting = setting_of({1, 2});
  hold(setting, [](Env& env, MemberId me) {
    if (me == 1) {
      return;
    }
    const auto communicator = connected(env, {7, {0, 2}}, "some");
    XDC_REQUIRE(communicator != nullptr);
    XDC_EXPECT(communicator->size() == 2);
    XDC_EXPECT(communicator->rank() == (me == 0 ? 0 : 1));
    ControlWords control;
    const auto work = me == 0 ? communicator->isend(1, {{42, 0, 0, 0}}, {}, {0, Traffic::control}) : communicator->irecv(0, &control, {});
    XDC_EXPECT_OK(wait_one(*communicator, work, within(env, kLong)));
    XDC_EXPECT(me == 0 || control.word[0] == 42);
  });
}

TEST_CASE("a buffer may be reused as soon as its work is finished", "[fabric]") {
  const auto setting = setting_of({1, 1});
  hold(setting, [view = setting.cluster.everyone(1)](Env& env, MemberId me) {
    const auto communicator = connected(env, view, "reuse");
    XDC_REQUIRE(communicator != nullptr);
    const auto buffer = buffer_of(env, 1'000'000, 1);
    for (int i = 1; i <= 3; ++i) {
      if (me == 0) {
        const auto work = communicator->isend(1, {}, buffer->bytes(), wire_of(*buffer));
        XDC_EXPECT_OK(wait_one(*communicator, work, within(env, kLong)));
        const auto next = buffer_of(env, 1'000'000, i + 1);
        std::memcpy(buffer->bytes().data, next->bytes().data, next->bytes().size);
      } else {
        env.clock.sleep_until(env.clock.now() + milliseconds(i == 2 ? 100 : 0));  // before and after the arrival
        ControlWords control;
        const auto work = communicator->irecv(0, &control, buffer->bytes());
        XDC_EXPECT_OK(wait_one(*communicator, work, within(env, kLong)));
        XDC_EXPECT(holds_pattern(*buffer, i));
      }
    }
  });
}

TEST_CASE("everyone sends to everyone and nothing is mixed up", "[fabric]") {
  const auto setting = setting_of({2, 3});
  hold(setting, [view = setting.cluster.everyone(1)](Env& env, MemberId me) {
    const auto communicator = connected(env, view, "all to all");
    XDC_REQUIRE(communicator != nullptr);
    std::vector<std::unique_ptr<Buffer>> buffers;
    std::vector<WorkPtr> works;
    std::vector<ControlWords> control(5);
    for (int round = 0; round < 3; ++round) {
      for (int peer = 0; peer < 5; ++peer) {
        if (peer == me) continue;
        buffers.push_back(buffer_of(env, 10'000, me * 10 + peer + round));
        works.push_back(communicator->isend(peer, {}, buffers.back()->bytes(), wire_of(*buffers.back())));
        buffers.push_back(buffer_of(env, 10'000, 200));
        works.push_back(communicator->irecv(peer, &control[static_cast<size_t>(peer)], buffers.back()->bytes()));
      }
    }
    order_of(*communicator, works, within(env, kLong));
    size_t at = 0;
    for (int round = 0; round < 3; ++round) {
      for (int peer = 0; peer < 5; ++peer) {
        if (peer == me) continue;
        XDC_EXPECT(holds_pattern(*buffers[at + 1], peer * 10 + me + round));
        at += 2;
      }
    }
  });
}

TEST_CASE("traffic is counted by receiver, payload apart from control", "[fabric]") {
  const auto setting = setting_of({1, 2});
  hold(setting, [view = setting.cluster.everyone(1)](Env& env, MemberId me) {
    const auto communicator = connected(env, view, "ledger");
    XDC_REQUIRE(communicator != nullptr);
    if (me != 0) {
      ControlWords control;
      const auto buffer = buffer_of(env, 1000, 0);
      for (int i = 0; i < me; ++i) {
        XDC_EXPECT_OK(wait_one(*communicator, communicator->irecv(0, &control, buffer->bytes()), within(env, kLong)));
      }
      XDC_EXPECT_OK(wait_one(*communicator, communicator->irecv(0, &control, {}), within(env, kLong)));
      for (const auto& count : env.fabric.traffic()) {
        XDC_EXPECT(count.payload_bytes == 0);
      }
      return;
    }
    const auto buffer = buffer_of(env, 1000, 0);
    for (int to = 2; to >= 1; --to) {
      for (int i = 0; i < to; ++i) {
        XDC_EXPECT_OK(wait_one(*communicator, communicator->isend(to, {}, buffer->bytes(), wire_of(*buffer)), within(env, kLong)));
      }
      XDC_EXPECT_OK(wait_one(*communicator, communicator->isend(to, {}, {}, {0, Traffic::control}), within(env, kLong)));
    }
    const auto traffic = env.fabric.traffic();
    XDC_REQUIRE(traffic.size() == 2);
    for (int to = 1; to <= 2; ++to) {
      const auto& count = traffic[static_cast<size_t>(to - 1)];
      XDC_EXPECT(count.to == to);
      XDC_EXPECT(count.payload_bytes == 1000 * to);
      XDC_EXPECT(count.messages == to + 1);
      XDC_EXPECT(count.wire_bytes >= 1000 * to + (to + 1) * static_cast<int64_t>(kControlBytes));
    }
  });
}

}  // namespace xdc::contract
