#include "core/rank_main/gradient.hpp"

#include <algorithm>

#include "core/model/cost.hpp"

namespace xdc {
namespace {

// Images of the held-out set at a time; only memory depends on it.
constexpr int kEvaluationBatch = 500;

Tensor images_tensor(const NetworkSpec& network, Bytes bytes, int batch) { return {bytes, DType::f32, {batch, network.inputs(), 1, 1}}; }

std::span<float> floats(Buffer& buffer) {
  const auto bytes = buffer.bytes().host();
  return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};
}

std::span<int32_t> labels_of(Buffer& buffer) {
  const auto bytes = buffer.bytes().host();
  return {reinterpret_cast<int32_t*>(bytes.data()), bytes.size() / sizeof(int32_t)};
}

}  // namespace

GradientSource::GradientSource(Env& env, const RunSpec& spec) : env_(env), spec_(spec), stream_(env.device.make_stream("compute")) {
  const auto& layers = spec.network.layers;
  for (const Range bucket : spec.plan.buckets) {
    int first = static_cast<int>(layers.size()) - 1;
    for (int l = 0; l < static_cast<int>(layers.size()); ++l) {
      const auto& layer = layers[static_cast<size_t>(l)];
      if (layer.parameters > 0 && layer.first_parameter < bucket.end() && layer.first_parameter + layer.parameters > bucket.begin) {
        first = std::min(first, l);
      }
    }
    first_layer_.push_back(first);
  }
}

Result<std::unique_ptr<GradientSource>> GradientSource::make(Env& env, const RunSpec& spec, int batch) {
  std::unique_ptr<GradientSource> source(new GradientSource(env, spec));
  auto& s = *source;
  s.batch_ = batch;
  XDC_TRY_ASSIGN(s.network_, env.device.kernels().compile(spec.network, batch));
  const size_t image_bytes = static_cast<size_t>(batch) * static_cast<size_t>(spec.network.inputs()) * sizeof(float);
  const size_t label_bytes = static_cast<size_t>(batch) * sizeof(int32_t);
  const size_t parameter_bytes = static_cast<size_t>(spec.network.parameters) * sizeof(float);
  XDC_TRY_ASSIGN(s.host_images_, env.device.allocate(Space::pinned, image_bytes));
  XDC_TRY_ASSIGN(s.host_labels_, env.device.allocate(Space::pinned, label_bytes));
  XDC_TRY_ASSIGN(s.images_, env.device.allocate(Space::device, image_bytes));
  XDC_TRY_ASSIGN(s.labels_, env.device.allocate(Space::device, label_bytes));
  XDC_TRY_ASSIGN(s.gradients_, env.device.allocate(Space::device, parameter_bytes));
  XDC_TRY_ASSIGN(s.loss_, env.device.allocate(Space::device, sizeof(float)));
  s.gradient_ = Tensor::flat(s.gradients_->bytes(), DType::f32, spec.network.parameters);
  return source;
}

// Loading is not charged: an input pipeline runs ahead of the step, beside it.
void GradientSource::load(std::span<const int32_t> samples, int count) {
  if (spec_.dataset != nullptr) {
    spec_.dataset->gather(spec_.dataset->train(), samples, floats(*host_images_), labels_of(*host_labels_));
  }
  const auto rows = static_cast<size_t>(count);
  const size_t image_bytes = rows * static_cast<size_t>(spec_.network.inputs()) * sizeof(float);
  const size_t label_bytes = rows * sizeof(int32_t);
  env_.device.copy(stream_, images_->bytes().slice(0, image_bytes), host_images_->bytes().slice(0, image_bytes));
  env_.device.copy(stream_, labels_->bytes().slice(0, label_bytes), host_labels_->bytes().slice(0, label_bytes));
}

Event GradientSource::compute(Tensor parameters, std::span<const int32_t> samples, int count, float scale,
                              const std::function<void(Event)>& on_bucket) {
  last_count_ = count;
  if (count == 0) {
    env_.device.clear(stream_, gradient_.bytes);
    const Event done = env_.device.record(stream_);
    for (size_t b = 0; b < first_layer_.size(); ++b) {
      on_bucket(done);
    }
    return done;
  }
  load(samples, count);
  const auto& layers = spec_.network.layers;
  // Layer by layer: one that waits for memory does not hide behind another that waits for arithmetic.
  for (const auto& layer : layers) {
    env_.device.charge(stream_, forward_cost(layer, count));
  }
  network_->forward(stream_, parameters, images_tensor(spec_.network, images_->bytes(), batch_),
                    Tensor::flat(labels_->bytes(), DType::i32, batch_), count, scale, Tensor::flat(loss_->bytes(), DType::f32, 1));
  size_t bucket = 0;
  for (int l = static_cast<int>(layers.size()) - 1; l >= 0; --l) {
    env_.device.charge(stream_, backward_cost(layers[static_cast<size_t>(l)], count));
    network_->backward_layer(stream_, l, parameters, gradient_, false);
    for (; bucket < first_layer_.size() && first_layer_[bucket] >= l; ++bucket) {
      on_bucket(env_.device.record(stream_));
    }
  }
  XDC_CHECK(bucket == first_layer_.size());
  return env_.device.record(stream_);
}

std::optional<float> GradientSource::loss() {
  if (last_count_ == 0) {
    return gradient_.bytes.phantom() ? std::nullopt : std::optional<float>(0.0F);
  }
  return env_.device.read_scalar(stream_, Tensor::flat(loss_->bytes(), DType::f32, 1));
}

Result<std::unique_ptr<Evaluator>> Evaluator::make(Env& env, const RunSpec& spec) {
  std::unique_ptr<Evaluator> evaluator(new Evaluator(env, spec));
  auto& e = *evaluator;
  e.inputs_ = spec.network.inputs();
  XDC_TRY_ASSIGN(e.network_, env.device.kernels().compile(spec.network, kEvaluationBatch));
  XDC_TRY_ASSIGN(e.images_, env.device.allocate(Space::pinned, kEvaluationBatch * static_cast<size_t>(e.inputs_) * sizeof(float)));
  XDC_TRY_ASSIGN(e.labels_, env.device.allocate(Space::pinned, kEvaluationBatch * sizeof(int32_t)));
  return evaluator;
}

Evaluator::Score Evaluator::evaluate(Tensor parameters) {
  EvaluationSums sums;
  const int64_t total = data_.test().size();
  std::vector<int32_t> samples;
  for (int64_t at = 0; at < total; at += kEvaluationBatch) {
    const int count = static_cast<int>(std::min<int64_t>(kEvaluationBatch, total - at));
    samples.clear();
    for (int i = 0; i < count; ++i) {
      samples.push_back(static_cast<int32_t>(at + i));
    }
    data_.gather(data_.test(), samples, floats(*images_), labels_of(*labels_));
    const Tensor images{images_->bytes(), DType::f32, {kEvaluationBatch, inputs_, 1, 1}};
    const auto part = network_->evaluate(stream_, parameters, images, Tensor::flat(labels_->bytes(), DType::i32, kEvaluationBatch), count);
    sums.loss += part.loss;
    sums.correct += part.correct;
  }
  return {sums.loss / static_cast<double>(total), static_cast<double>(sums.correct) / static_cast<double>(total)};
}

}  // namespace xdc
