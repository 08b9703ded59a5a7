#include "core/rank_main/gradient.hpp"

#include <algorithm>

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

GradientSource::GradientSource(Env& env, const RunSpec& spec)
    : env_(env), spec_(spec), charged_(spec.charged()), stream_(env.device.make_stream("compute")) {
  const ChargedLayers trained(spec.network, nullptr);
  for (const Range bucket : spec.plan.buckets) {
    const Range real = spec.plan.geometry().real(bucket);
    passed_.push_back({charged_.lowest_within(bucket.begin, bucket.end()), trained.lowest_within(real.begin, real.end())});
  }
}

Result<std::unique_ptr<GradientSource>> GradientSource::make(Env& env, const RunSpec& spec, int batch) {
  std::unique_ptr<GradientSource> source(new GradientSource(env, spec));
  auto& s = *source;
  s.batch_ = batch;
  if (!spec.network.layers.empty()) {
    XDC_TRY_ASSIGN(s.network_, env.device.kernels().compile(spec.network, batch));
  }
  const size_t image_bytes = static_cast<size_t>(batch) * static_cast<size_t>(spec.network.inputs()) * sizeof(float);
  const size_t label_bytes = static_cast<size_t>(batch) * sizeof(int32_t);
  const int64_t parameters = spec.plan.geometry().real();
  const auto step = static_cast<size_t>(spec.train.accumulation_steps);
  XDC_TRY_ASSIGN(s.host_images_, env.device.allocate(Space::pinned, step * image_bytes));
  XDC_TRY_ASSIGN(s.host_labels_, env.device.allocate(Space::pinned, step * label_bytes));
  XDC_TRY_ASSIGN(s.images_, env.device.allocate(Space::device, image_bytes));
  XDC_TRY_ASSIGN(s.labels_, env.device.allocate(Space::device, label_bytes));
  XDC_TRY_ASSIGN(s.gradients_, env.device.allocate(Space::device, static_cast<size_t>(parameters) * sizeof(float)));
  XDC_TRY_ASSIGN(s.losses_, env.device.allocate(Space::device, step * sizeof(float)));
  s.gradient_ = Tensor::flat(s.gradients_->bytes(), DType::f32, parameters);
  return source;
}

// Loading is not charged: an input pipeline runs ahead of the step, beside it. The host keeps all of a step, so that no
// micro-batch waits for the one before.
void GradientSource::load(std::span<const int32_t> samples) {
  if (spec_.dataset != nullptr) {
    spec_.dataset->gather(spec_.dataset->train(), samples, floats(*host_images_), labels_of(*host_labels_));
  }
}

void GradientSource::forward(Tensor parameters, int first, int count, float scale, Tensor loss) {
  const size_t image_bytes = static_cast<size_t>(spec_.network.inputs()) * sizeof(float);
  const auto stage = [&](Buffer& to, Buffer& from, size_t row_bytes) {
    const size_t bytes = static_cast<size_t>(count) * row_bytes;
    env_.device.copy(stream_, to.bytes().slice(0, bytes), from.bytes().slice(static_cast<size_t>(first) * row_bytes, bytes));
  };
  stage(*images_, *host_images_, image_bytes);
  stage(*labels_, *host_labels_, sizeof(int32_t));
  // Layer by layer: one that waits for memory does not hide behind another that waits for arithmetic.
  for (int l = 0; l < charged_.count(); ++l) {
    env_.device.charge(stream_, charged_.forward(l, count));
  }
  if (network_ == nullptr) {
    return;
  }
  network_->forward(stream_, parameters, images_tensor(spec_.network, images_->bytes(), batch_),
                    Tensor::flat(labels_->bytes(), DType::i32, batch_), count, scale, loss);
}

Tensor GradientSource::loss_of(int micro_batch) const {
  return Tensor::flat(losses_->bytes().slice(static_cast<size_t>(micro_batch) * sizeof(float), sizeof(float)), DType::f32, 1);
}

Event GradientSource::compute(Tensor parameters, std::span<const int32_t> samples, int count, float scale,
                              const std::function<void(Event)>& on_bucket) {
  micro_batches_ = (count + batch_ - 1) / batch_;
  if (count == 0) {
    env_.device.clear(stream_, gradient_.bytes);
    const Event done = env_.device.record(stream_);
    for (size_t b = 0; b < passed_.size(); ++b) {
      on_bucket(done);
    }
    return done;
  }
  load(samples);
  for (int m = 0; m < micro_batches_; ++m) {
    const int first = m * batch_, size = std::min(batch_, count - first);
    forward(parameters, first, size, scale, loss_of(m));
    // Backward is charged layer by layer; the trained network's own layers follow as buckets need them.
    int done = static_cast<int>(spec_.network.layers.size());
    const auto train_down_to = [&](int layer) {
      while (done > layer) network_->backward_layer(stream_, --done, parameters, gradient_, m > 0);
    };
    size_t bucket = 0;
    for (int l = charged_.count() - 1; l >= 0; --l) {
      env_.device.charge(stream_, charged_.backward(l, size));
      for (; bucket < passed_.size() && passed_[bucket].charged >= l; ++bucket) {
        train_down_to(passed_[bucket].trained);
        if (m + 1 == micro_batches_) on_bucket(env_.device.record(stream_));
      }
    }
    train_down_to(0);
    XDC_CHECK(bucket == passed_.size());
  }
  return env_.device.record(stream_);
}

std::optional<float> GradientSource::loss() {
  if (gradient_.bytes.phantom()) {
    return std::nullopt;
  }
  float sum = 0;
  for (int m = 0; m < micro_batches_; ++m) {
    sum += env_.device.read_scalar(stream_, loss_of(m)).value();
  }
  return sum;
}

Result<std::unique_ptr<Evaluator>> Evaluator::make(Device& device, const RunSpec& spec) {
  std::unique_ptr<Evaluator> evaluator(new Evaluator(device, spec));
  auto& e = *evaluator;
  e.inputs_ = spec.network.inputs();
  XDC_TRY_ASSIGN(e.network_, device.kernels().compile(spec.network, kEvaluationBatch));
  XDC_TRY_ASSIGN(e.images_, device.allocate(Space::pinned, kEvaluationBatch * static_cast<size_t>(e.inputs_) * sizeof(float)));
  XDC_TRY_ASSIGN(e.labels_, device.allocate(Space::pinned, kEvaluationBatch * sizeof(int32_t)));
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
