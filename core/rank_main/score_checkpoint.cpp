#include "core/rank_main/score_checkpoint.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/checkpoint/folder.hpp"
#include "core/rank_main/checkpoint_tensors.hpp"
#include "core/rank_main/gradient.hpp"

namespace xdc {
namespace {

Status same_model(const RunSpec& spec, const Manifest& manifest) {
  const auto model_in = [](const auto& settings) {
    const auto found = std::find_if(settings.begin(), settings.end(), [](const auto& one) { return one.first == "model"; });
    return found == settings.end() ? std::string("(nothing)") : found->second;
  };
  const auto theirs = model_in(manifest.settings), ours = model_in(spec.settings);
  return theirs == ours ? ok_status()
                        : Status(Error{ErrorCode::invalid, fmt::format("the checkpoint of step {} is of {}, the scenario trains {}",
                                                                       manifest.step, theirs, ours)});
}

Error unusable(const Error& error) { return {ErrorCode::invalid, error.message}; }

}  // namespace

Result<ScoredCheckpoint> score_checkpoint(const RunSpec& spec, Storage& storage, Device& device, std::optional<int64_t> step) {
  CheckpointFolder folder(storage);
  const auto steps = folder.steps();
  if (!steps.ok()) return unusable(steps.error());
  if (steps.value().empty()) return Error{ErrorCode::invalid, "there is no checkpoint"};
  if (step && std::find(steps.value().begin(), steps.value().end(), *step) == steps.value().end()) {
    return Error{ErrorCode::invalid,
                 fmt::format("there is no checkpoint of step {}; there are those of steps {}", *step, fmt::join(steps.value(), ", "))};
  }
  auto manifest = folder.manifest(step.value_or(steps.value().front()));
  if (!manifest.ok()) return unusable(manifest.error());
  XDC_TRY(same_model(spec, manifest.value()));
  const PieceFile* piece = manifest.value().find(kParametersFile);
  if (piece == nullptr) return Error{ErrorCode::invalid, fmt::format("its manifest names no {}", kParametersFile)};
  const auto file = folder.read(manifest.value(), *piece);
  if (!file.ok()) return unusable(file.error());
  XDC_TRY_ASSIGN(const auto buffer, device.allocate(Space::device, static_cast<size_t>(spec.network.parameters) * sizeof(float)));
  const Tensor parameters = Tensor::flat(buffer->bytes(), DType::f32, spec.network.parameters);
  const auto data = data_of_file(file.value(), {parameters});
  if (!data.ok()) return unusable(data.error());
  XDC_TRY_ASSIGN(const auto staging, device.allocate(Space::pinned, data.value().size()));
  std::copy(data.value().begin(), data.value().end(), staging->bytes().host().begin());
  const Stream stream = device.make_stream("load");
  device.copy(stream, parameters.bytes, staging->bytes());
  XDC_TRY(device.wait(device.record(stream), kNoDeadline));
  XDC_TRY_ASSIGN(const auto evaluator, Evaluator::make(device, spec));
  const auto score = evaluator->evaluate(parameters);
  return ScoredCheckpoint{std::move(manifest).value(), score.loss, score.accuracy};
}

}  // namespace xdc
