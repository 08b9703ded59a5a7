// When is a bucket announced that a cost profile paces? After the profile's layers in time, and after the trained network's in contents.
#include "core/rank_main/gradient.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "core/collectives/blocks.hpp"
#include "core/model/initialise.hpp"
#include "core/model/zoo.hpp"
#include "tests/contract/world.hpp"

namespace xdc::contract {
namespace {

constexpr int kBatch = 4;

// Seconds are operations over 1e11 a second, the devices of these worlds: memory never takes longer.
CostProfile top_heavy() {
  CostProfile profile;
  profile.name = "top_heavy";
  profile.layers = {{"stem", 256 * 10, 1e9, 3e9, 0, 0, 0}, {"relu", 0, 1e8, 1e8, 0, 0, 0}, {"head", 256 * 1'000 + 7, 2e9, 4e9, 0, 0, 0}};
  return profile;
}

RunSpec spec_of(const Setting& setting, std::shared_ptr<const CostProfile> profile, int micro_batches) {
  RunSpec spec;
  spec.network = make_network("lenet", 1, 28, 28, 10).value();
  spec.profile = std::move(profile);
  spec.data.train_samples = 100;
  spec.data.test_samples = 10;
  spec.dataset = open_dataset(spec.data, 1).value();
  spec.train.accumulation_steps = micro_batches;
  spec.plan.cluster = setting.cluster;
  spec.plan.parameters = spec.profile != nullptr ? spec.profile->parameters() : spec.network.parameters;
  spec.plan.real_parameters = spec.network.parameters;
  spec.plan.buckets = plan_buckets(spec.plan.parameters, 256 * 4 * 90);
  return spec;
}

struct Announced {
  Duration after;
  std::vector<float> contents;  // of the bucket, as they were then
};

std::vector<float> contents_of(Env& env, Stream stream, Tensor tensor) {
  const auto copy = env.device.allocate(Space::pinned, tensor.bytes.size).value();
  env.device.copy(stream, copy->bytes(), tensor.bytes);
  XDC_EXPECT_OK(env.device.wait(env.device.record(stream), kNoDeadline));
  std::vector<float> out(tensor.bytes.size / sizeof(float));
  std::ranges::copy(copy->bytes().host(), std::as_writable_bytes(std::span(out)).begin());
  return out;
}

// Computes one step; what every bucket was when it was announced, and at the end the whole gradient.
std::vector<Announced> announce(Env& env, const RunSpec& spec, std::vector<float>& gradient) {
  auto source = GradientSource::make(env, spec, kBatch).value();
  const Stream stream = env.device.make_stream("look");
  std::vector<float> start(static_cast<size_t>(spec.network.parameters));
  initialise_parameters(spec.network, 1, start);
  const auto host = env.device.allocate(Space::pinned, start.size() * sizeof(float)).value();
  const auto parameters = env.device.allocate(Space::device, start.size() * sizeof(float)).value();
  std::ranges::copy(std::as_bytes(std::span(start)), host->bytes().host().begin());
  env.device.copy(stream, parameters->bytes(), host->bytes());
  XDC_EXPECT_OK(env.device.wait(env.device.record(stream), kNoDeadline));

  std::vector<int32_t> samples(static_cast<size_t>(kBatch * spec.train.accumulation_steps));
  for (size_t i = 0; i < samples.size(); ++i) samples[i] = static_cast<int32_t>(i);
  std::vector<Announced> out;
  const TimePoint begin = env.clock.now();
  const Event end = source->compute(Tensor::flat(parameters->bytes(), DType::f32, spec.network.parameters), samples,
                                    static_cast<int>(samples.size()), 0.25F, [&](Event ready) {
                                      XDC_EXPECT_OK(env.device.wait(ready, kNoDeadline));
                                      const auto bucket = spec.plan.buckets[out.size()];
                                      const auto slice = spec.plan.geometry().slice(source->gradient(), bucket);
                                      out.push_back({env.clock.now() - begin, contents_of(env, stream, slice)});
                                    });
  XDC_EXPECT_OK(env.device.wait(end, kNoDeadline));
  gradient = contents_of(env, stream, source->gradient());
  return out;
}

}  // namespace

TEST_CASE("a bucket is announced when the profile's layers have passed it, with the small gradient of its slice complete") {
  hold(setting_of({1}), [setting = setting_of({1})](Env& env, MemberId) {
    for (const int micro_batches : {1, 3}) {
      const auto spec = spec_of(setting, std::make_shared<const CostProfile>(top_heavy()), micro_batches);
      std::vector<float> gradient;
      const auto announced = announce(env, spec, gradient);
      XDC_REQUIRE(announced.size() == 12);
      const double forward = 3.1 * kBatch / 100, backward = 7.1 * kBatch / 100, head = 4.0 * kBatch / 100;
      const double before = (micro_batches - 1) * (forward + backward);
      for (size_t b = 0; b < announced.size(); ++b) {
        // All but the last bucket lie in the head.
        const double after = before + forward + (b + 1 < announced.size() ? head : backward);
        XDC_EXPECT(std::abs(to_seconds(announced[b].after) - after) < 1e-7);
        const Range real = spec.plan.geometry().real(spec.plan.buckets[b]);
        XDC_EXPECT(announced[b].contents.size() == static_cast<size_t>(real.count));
        XDC_EXPECT(std::equal(announced[b].contents.begin(), announced[b].contents.end(), gradient.begin() + real.begin));
      }
    }
  });
}

TEST_CASE("a profile changes when the gradient is ready, and not one bit of it") {
  hold(setting_of({1}), [setting = setting_of({1})](Env& env, MemberId) {
    std::vector<float> plain, paced;
    const auto without = announce(env, spec_of(setting, nullptr, 2), plain);
    const auto with = announce(env, spec_of(setting, std::make_shared<const CostProfile>(top_heavy()), 2), paced);
    XDC_EXPECT(plain == paced);
    XDC_EXPECT(std::ranges::any_of(plain, [](float x) { return x != 0; }));
    XDC_EXPECT(without.back().after < with.back().after);
  });
}

}  // namespace xdc::contract
