// How do a step's samples become a gradient? Micro-batch by micro-batch: gather, forward, backward from the last layer to the
// first, adding up; every bucket is announced as soon as the last micro-batch's backward has passed it. With a cost profile it is the
// profile's backward that has to pass, and the small model's layers of the bucket are done by then.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "core/data/dataset.hpp"
#include "core/seam/env.hpp"
#include "core/validate/run_spec.hpp"

namespace xdc {

class GradientSource {
 public:
  // Errors: failed, when the device is full; invalid, when it has no such layer.
  static Result<std::unique_ptr<GradientSource>> make(Env& env, const RunSpec& spec, int batch);

  // f32 [plan.geometry().real()], overwritten by every compute().
  Tensor gradient() const { return gradient_; }

  // Enqueues one step over the given samples, in micro-batches of `batch`, the last of which may be short: gradient = d/dp sum over samples
  // of loss * scale. No samples: zero. `on_bucket(event)` is called once for each bucket, in order, when what it waits for is enqueued.
  // Returns an event behind all of it. `samples` is empty in a phantom run, `count` always says how many there are.
  Event compute(Tensor parameters, std::span<const int32_t> samples, int count, float scale, const std::function<void(Event)>& on_bucket);

  // The scaled loss of the last compute(); blocks. nullopt where the payload is phantom; 0 where there were no samples.
  std::optional<float> loss();

 private:
  GradientSource(Env& env, const RunSpec& spec);
  void load(std::span<const int32_t> samples);
  Tensor loss_of(int micro_batch) const;
  void forward(Tensor parameters, int first, int count, float scale, Tensor loss);

  Env& env_;
  const RunSpec& spec_;
  const ChargedLayers charged_;
  Stream stream_;
  // Per bucket: the layers after which backward has passed it.
  struct Passed {
    int charged = 0, trained = 0;
  };
  std::vector<Passed> passed_;
  std::unique_ptr<Network> network_;                                                          // null: a phantom run of a profile alone
  std::unique_ptr<Buffer> host_images_, host_labels_, images_, labels_, gradients_, losses_;  // one loss a micro-batch
  Tensor gradient_;
  int batch_ = 0;
  int micro_batches_ = 0;  // of the last compute()
};

// The whole held-out set, on one rank; no virtual time passes. Requires a data set, so a real payload.
class Evaluator {
 public:
  static Result<std::unique_ptr<Evaluator>> make(Device& device, const RunSpec& spec);
  struct Score {
    double loss = 0;  // mean
    double accuracy = 0;
  };
  Score evaluate(Tensor parameters);

 private:
  Evaluator(Device& device, const RunSpec& spec) : data_(*spec.dataset), stream_(device.make_stream("evaluate")) {}

  const Dataset& data_;
  Stream stream_;
  std::unique_ptr<Network> network_;
  std::unique_ptr<Buffer> images_, labels_;
  int64_t inputs_ = 0;
};

}  // namespace xdc
