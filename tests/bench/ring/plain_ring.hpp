// What is the time of native collectives held against? A ring all-reduce in plain point-to-point code.
#pragma once

#include "core/collectives/blocks.hpp"
#include "core/seam/env.hpp"

namespace xdc {

// One ring all-reduce of f32s, each rank's two messages of a step at the same time.
inline void ring_all_reduce(Env& env, const View& view, MemberId me, int64_t elements) {
  auto communicator = env.fabric.connect(view, "ring", kNoDeadline).value();
  const auto buffer = env.device.allocate(Space::device, static_cast<size_t>(elements) * 4).value();
  const auto inbox = env.device.allocate(Space::device, static_cast<size_t>(elements) * 4).value();
  const auto flat = Tensor::flat(buffer->bytes(), DType::f32, elements);
  const auto received = Tensor::flat(inbox->bytes(), DType::f32, elements);
  const int n = view.size();
  const auto chunks = deal({0, elements}, n);
  const auto chunk = [&](int index) { return chunks[static_cast<size_t>(((index % n) + n) % n)]; };
  const auto stream = env.device.make_stream("ring");
  for (int step = 0; step < 2 * (n - 1); ++step) {
    const bool reducing = step < n - 1;
    const auto out = chunk(reducing ? me - step : me + 1 - (step - (n - 1)));
    const auto in = chunk(reducing ? me - step - 1 : me - (step - (n - 1)));
    const auto target = (reducing ? received : flat).range(in.begin, in.count);
    ControlWords control;
    const auto sent = communicator->isend((me + 1) % n, {}, flat.range(out.begin, out.count).bytes, {out.count * 4, Traffic::payload});
    const auto got = communicator->irecv((me + n - 1) % n, &control, target.bytes);
    for (auto* work : {got.get(), sent.get()}) {
      Work* const works[] = {work};
      XDC_CHECK(communicator->wait_any(works, kNoDeadline).ok());
    }
    if (reducing) env.device.kernels().add(stream, flat.range(in.begin, in.count), target);
  }
}

}  // namespace xdc
