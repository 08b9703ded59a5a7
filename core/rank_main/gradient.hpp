// How does a batch become a gradient? Gather, forward, backward from the last layer to the first; every bucket is announced as
// soon as backward has passed it.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "core/data/dataset.hpp"
#include "core/data/sampler.hpp"
#include "core/seam/env.hpp"
#include "core/validate/run_spec.hpp"

namespace xdc {

class GradientSource {
 public:
  // `data` is null in a phantom run. Errors: failed, when the device is full; invalid, when it has no such layer.
  static Result<std::unique_ptr<GradientSource>> make(Env& env, const RunSpec& spec, int batch, std::shared_ptr<const Dataset> data);

  // f32 [parameters], overwritten by every compute().
  Tensor gradient() const { return gradient_; }

  // Enqueues one step over the given samples: gradient = d/dp sum over samples of loss * scale. No samples: zero.
  // `on_bucket(event)` is called once for each bucket, in order, when what it waits for is enqueued.
  // Returns an event behind all of it. `samples` is empty in a phantom run, `count` always says how many there are.
  Event compute(Tensor parameters, std::span<const int64_t> samples, int count, float scale, const std::function<void(Event)>& on_bucket);

  // The scaled loss of the last compute(); blocks. nullopt where the payload is phantom; 0 where there were no samples.
  std::optional<float> loss();

 private:
  GradientSource(Env& env, const RunSpec& spec, std::shared_ptr<const Dataset> data);
  void load(std::span<const int64_t> samples, int count);

  Env& env_;
  const RunSpec& spec_;
  std::shared_ptr<const Dataset> data_;
  Stream stream_;
  std::vector<int> first_layer_;  // per bucket: backward has passed it after this layer
  std::unique_ptr<Network> network_;
  std::unique_ptr<Buffer> host_images_, host_labels_, images_, labels_, gradients_, loss_;
  Tensor gradient_;
  int batch_ = 0;
  int last_count_ = 0;
};

// The whole held-out set, on one rank; no virtual time passes.
class Evaluator {
 public:
  static Result<std::unique_ptr<Evaluator>> make(Env& env, const RunSpec& spec, std::shared_ptr<const Dataset> data);
  struct Score {
    double loss = 0;  // mean
    double accuracy = 0;
  };
  Score evaluate(Tensor parameters);

 private:
  Evaluator(Env& env, std::shared_ptr<const Dataset> data) : env_(env), data_(std::move(data)), stream_(env.device.make_stream("evaluate")) {}

  Env& env_;
  std::shared_ptr<const Dataset> data_;
  Stream stream_;
  std::unique_ptr<Network> network_;
  std::unique_ptr<Buffer> images_, labels_;
  int64_t inputs_ = 0;
};

}  // namespace xdc
