#include "core/rank_main/checkpoints.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/base/digest.hpp"
#include "core/base/log.hpp"
#include "core/checkpoint/safetensors.hpp"
#include "core/rank_main/checkpoint_tensors.hpp"
#include "core/rank_main/going_on.hpp"
#include "core/strategies/parameter_server_layout.hpp"

namespace xdc {
namespace {

// What a message of the channel is; its second word is the size of the text that follows.
enum Kind : uint64_t { kOffer = 1, kChosen, kRefused, kFine, kNotFine, kWritten, kFailed };

// A disk that writes more slowly than this is not waited for.
constexpr double kLeastBytesPerSecond = 5e6;

}  // namespace

Checkpoints::Checkpoints(Env& env, const RunSpec& spec, MemberId self, MemberReport& report)
    : env_(env),
      spec_(spec),
      self_(self),
      report_(report),
      label_(spec.cluster().label(self)),
      own_file_(piece_file(label_)),
      folder_(env.storage) {}

Deadline Checkpoints::deadline() const {
  const double bytes = static_cast<double>(spec_.plan.geometry().real()) * sizeof(float) * 4;
  const auto writing = nanoseconds(static_cast<int64_t>(bytes / kLeastBytesPerSecond * 1e9));
  return env_.clock.now() + spec_.start_timeout + spec_.round_timeout + writing;
}

void Checkpoints::abort(const Error& error) {
  if (channel_) channel_->raw().abort(error);
}

void Checkpoints::warn(const std::string& text) {
  log(LogLevel::warning, text);
  report_.notes.push_back(text);
}

Status Checkpoints::start() {
  if (spec_.payload == PayloadKind::phantom) return ok_status();
  XDC_TRY_ASSIGN(auto opened, env_.fabric.connect(spec_.cluster().everyone(1), "checkpoint", env_.clock.now() + spec_.start_timeout));
  channel_.emplace(std::move(opened), spec_.cluster());
  if (!spec_.resumes) return ok_status();
  XDC_TRY(self_ == 0 ? offer() : answer());
  last_saved_ = resumed_->step;
  report_.resumed_at = resumed_->step;
  return ok_status();
}

StartPoint Checkpoints::start_point() const {
  return resumed_ ? StartPoint{resumed_->step, nanoseconds(resumed_->elapsed_ns), deals_after(*resumed_, spec_)} : StartPoint{};
}

Status Checkpoints::refuse(const std::string& why) {
  for (Rank r = 1; r < channel_->raw().size(); ++r) XDC_TRY(channel_->tell(r, kRefused, why, deadline()));
  return Error{ErrorCode::invalid, why};
}

Status Checkpoints::offer() {
  const auto steps = folder_.steps();
  if (!steps.ok()) return refuse(fmt::format("no checkpoint can be looked for: {}", steps.error().message));
  for (const int64_t step : steps.value()) {
    const auto manifest = folder_.manifest(step);
    if (!manifest.ok()) {
      warn(fmt::format("the checkpoint of step {} is not used: {}", step, manifest.error().message));
      continue;
    }
    if (const auto why = reason_against(manifest.value(), spec_); !why.empty()) return refuse(why);
    if (const Status shared = read_shared(manifest.value()); !shared.ok()) {
      warn(fmt::format("the checkpoint of step {} is not used: {}", step, shared.error().message));
      continue;
    }
    XDC_TRY_ASSIGN(const bool taken, agreed_on(manifest.value()));
    if (taken) return ok_status();
  }
  return refuse(steps.value().empty()
                    ? "there is no checkpoint to go on from; leave --resume out to start from the beginning"
                    : fmt::format("none of the {} checkpoints is intact (see the warnings); leave --resume out, with another "
                                  "directory, to start from the beginning",
                                  steps.value().size()));
}

Status Checkpoints::read_shared(const Manifest& manifest) {
  const auto read = [&](const char* file, std::vector<std::byte>& into) -> Status {
    const PieceFile* piece = manifest.find(file);
    if (piece == nullptr) return Error{ErrorCode::failed, fmt::format("its manifest names no {}", file)};
    XDC_TRY_ASSIGN(into, folder_.read(manifest, *piece));
    return ok_status();
  };
  XDC_TRY(read(kParametersFile, parameters_));
  return manifest.find(kOptimizerFile) == nullptr ? ok_status() : read(kOptimizerFile, optimizer_);
}

bool Checkpoints::drops_own(const Manifest& manifest) const {
  return spec_.cluster().members[static_cast<size_t>(self_)].role == Role::worker && drops_workers_files(manifest, spec_);
}

std::string Checkpoints::read_own(const Manifest& manifest) {
  const PieceFile* piece = drops_own(manifest) ? nullptr : manifest.find(own_file_);
  own_.clear();
  if (piece == nullptr) return {};
  auto contents = folder_.read(manifest, *piece);
  if (!contents.ok()) return contents.error().message;
  own_ = std::move(contents).value();
  return {};
}

Result<bool> Checkpoints::agreed_on(const Manifest& manifest) {
  for (Rank r = 1; r < channel_->raw().size(); ++r) XDC_TRY(channel_->tell(r, kOffer, to_json(manifest), deadline()));
  bool fine = true;
  const auto object = [&](Rank rank, const std::string& why) {
    fine = false;
    warn(fmt::format("the checkpoint of step {} is not used: {}: {}", manifest.step, name(rank), why));
  };
  if (const auto why = read_own(manifest); !why.empty()) object(0, why);
  for (Rank r = 1; r < channel_->raw().size(); ++r) {
    XDC_TRY_ASSIGN(const TextChannel::Message reply, channel_->hear(r, deadline()));
    if (reply.kind != kFine) object(r, reply.text);
  }
  if (!fine) return false;
  for (Rank r = 1; r < channel_->raw().size(); ++r) XDC_TRY(channel_->tell(r, kChosen, {}, deadline()));
  resumed_ = manifest;
  if (drops_workers_files(manifest, spec_)) warn(describe_dropped(manifest, spec_));
  return true;
}

Status Checkpoints::answer() {
  std::optional<Manifest> offered;
  while (true) {
    XDC_TRY_ASSIGN(const TextChannel::Message message, channel_->hear(0, deadline()));
    if (message.kind == kRefused) return Error{ErrorCode::invalid, message.text};
    if (message.kind == kChosen && offered) {
      resumed_ = std::move(offered);
      return ok_status();
    }
    XDC_TRY_ASSIGN(offered, manifest_from_json(message.text));
    const auto why = read_own(*offered);
    XDC_TRY(channel_->tell(0, why.empty() ? kFine : kNotFine, why, deadline()));
  }
}

// From a file's tensors, one after another, into the device.
Status Checkpoints::fill(const SavedState& saved, const std::vector<std::byte>& file, const std::vector<Tensor>& tensors) {
  XDC_TRY_ASSIGN(const auto data, data_of_file(file, tensors));
  if (data.empty()) return ok_status();
  XDC_TRY_ASSIGN(const auto staging, env_.device.allocate(Space::pinned, data.size()));
  std::copy(data.begin(), data.end(), staging->bytes().host().begin());
  size_t at = 0;
  for (const Tensor& tensor : tensors) {
    env_.device.copy(saved.stream, tensor.bytes, staging->bytes().slice(at, tensor.bytes.size));
    at += tensor.bytes.size;
  }
  return env_.device.wait(env_.device.record(saved.stream), kNoDeadline);
}

Status Checkpoints::load(const SavedState& saved) {
  if (!resumed_) return ok_status();
  const auto& set = saved.state->applied();
  if (self_ == 0) {
    XDC_TRY(fill(saved, parameters_, {set.parameters}));
    if (!saved.own_optimizer) XDC_TRY(fill(saved, optimizer_, set.optimizer));
    XDC_TRY(send_shared(saved));
  } else {
    XDC_TRY(receive_shared(saved));
  }
  std::vector<Tensor> own = saved.own_optimizer ? set.optimizer : std::vector<Tensor>{};
  if (set.residuals.plan != nullptr) own.push_back(set.residuals.values);
  // A worker that others' files are not for begins with nothing owed.
  if (!drops_own(*resumed_)) XDC_TRY(fill(saved, own_, own));
  for (auto* file : {&parameters_, &optimizer_, &own_}) std::vector<std::byte>().swap(*file);
  saved.state->begin_after(resumed_->round);
  return ok_status();
}

Status Checkpoints::send_shared(const SavedState& saved) {
  const auto& set = saved.state->applied();
  const auto& cluster = spec_.cluster();
  const auto servers = cluster.servers();
  std::vector<std::pair<Rank, WorkPtr>> works;
  const auto send = [&](Rank to, Tensor tensor) {
    works.emplace_back(to, channel_->raw().isend(to, {}, tensor.bytes, {static_cast<int64_t>(tensor.bytes.size), Traffic::control}));
  };
  for (Rank r = 1; r < channel_->raw().size(); ++r) {
    if (cluster.members[static_cast<size_t>(r)].role == Role::server) {
      const auto server = static_cast<int>(std::find(servers.begin(), servers.end(), r) - servers.begin());
      send(r, spec_.plan.geometry().slice(set.parameters, ServerLayout(spec_.plan).shard(server)));
      continue;
    }
    send(r, set.parameters);
    for (const Tensor& tensor : set.optimizer) {
      if (!saved.own_optimizer) send(r, tensor);
    }
  }
  for (auto& [to, work] : works) XDC_TRY(channel_->wait(std::move(work), to, deadline()));
  return ok_status();
}

Status Checkpoints::receive_shared(const SavedState& saved) {
  const auto& set = saved.state->applied();
  ControlWords words;
  XDC_TRY(channel_->wait(channel_->raw().irecv(0, &words, set.parameters.bytes), 0, deadline()));
  for (const Tensor& tensor : set.optimizer) {
    if (!saved.own_optimizer) XDC_TRY(channel_->wait(channel_->raw().irecv(0, &words, tensor.bytes), 0, deadline()));
  }
  return ok_status();
}

bool Checkpoints::due(int64_t before, int64_t step) const {
  const auto& every = spec_.checkpoint ? spec_.checkpoint->every : std::optional<int64_t>{};
  return every && step / *every > before / *every;
}

std::vector<std::string> Checkpoints::optimizer_names() const {
  return spec_.train.optimizer.kind == OptimizerKind::sgd ? std::vector<std::string>{"momentum"}
                                                          : std::vector<std::string>{"first_moment", "second_moment"};
}

Result<std::vector<PieceFile>> Checkpoints::write_files(const SavedState& saved, int64_t step) {
  const auto& set = saved.state->applied();
  const auto write = [&](const std::string& file, const std::vector<TensorEntry>& entries, const std::vector<Tensor>& tensors) {
    return write_tensors(env_.device, saved.stream, folder_, {step, label_, file}, entries, tensors);
  };
  std::vector<PieceFile> files;
  std::vector<TensorEntry> optimizer;
  for (size_t i = 0; i < set.optimizer.size(); ++i) optimizer.push_back({optimizer_names()[i], {set.optimizer[i].elements()}});
  if (self_ == 0) {
    XDC_TRY_ASSIGN(auto parameters, write(kParametersFile, parameter_entries(spec_.network), {set.parameters}));
    files.push_back(std::move(parameters));
    if (!optimizer.empty() && !saved.own_optimizer) {
      XDC_TRY_ASSIGN(auto shared, write(kOptimizerFile, optimizer, set.optimizer));
      files.push_back(std::move(shared));
    }
  }
  std::vector<TensorEntry> entries = saved.own_optimizer ? optimizer : std::vector<TensorEntry>{};
  std::vector<Tensor> tensors = saved.own_optimizer ? set.optimizer : std::vector<Tensor>{};
  if (set.residuals.plan != nullptr) {
    entries.push_back({kResidualsTensor, {set.residuals.values.elements()}});
    tensors.push_back(set.residuals.values);
  }
  if (!entries.empty()) {
    XDC_TRY_ASSIGN(auto own, write(own_file_, entries, tensors));
    files.push_back(std::move(own));
  }
  return files;
}

Manifest Checkpoints::manifest_of(int64_t step, Duration elapsed, const EvaluationRecord* score) const {
  const auto schedule = spec_.schedule();
  Manifest out;
  out.version = spec_.program_version;
  out.scenario_digest = spec_.scenario_digest;
  out.variant = spec_.variant;
  out.seed = spec_.seed;
  out.step = step;
  out.round = step / spec_.plan.steps_per_round();
  out.epoch = schedule.epoch_of(step + 1);
  out.samples = schedule.total_until(step);
  out.elapsed_ns = (spec_.start.elapsed + elapsed).ns;
  out.dealt = schedule.deals();
  out.settings = spec_.settings;
  out.layout = layout_of(spec_);
  out.lasting_layout = lasting_layout_of(spec_);
  for (const auto& member : spec_.cluster().members) out.members.push_back(spec_.cluster().label(member.id));
  if (score != nullptr) {
    out.loss = score->loss;
    out.accuracy = score->accuracy;
  }
  return out;
}

Status Checkpoints::save(const SavedState& saved, int64_t step, Duration elapsed, const EvaluationRecord* score) {
  if (!channel_) {
    last_saved_ = step;
    return ok_status();
  }
  const auto files = write_files(saved, step);
  if (self_ != 0) {
    const bool ok = files.ok();
    XDC_TRY(channel_->tell(0, ok ? kWritten : kFailed, ok ? to_json(files.value()) : files.error().message, deadline()));
    XDC_TRY_ASSIGN(const TextChannel::Message verdict, channel_->hear(0, deadline()));
    if (verdict.kind != kWritten) return ok_status();
    last_saved_ = step;
    const auto kept = steps_from_text(verdict.text);
    // Empty: the first rank could not say.
    const Status pruned = kept.empty() ? ok_status() : folder_.prune(kept, step, own_file_);
    if (!pruned.ok()) log(LogLevel::warning, fmt::format("older checkpoints stay: {}", pruned.error().message));
    return ok_status();
  }
  Manifest manifest = manifest_of(step, elapsed, score);
  std::string failure = files.ok() ? std::string() : fmt::format("{}: {}", name(0), files.error().message);
  if (files.ok()) manifest.files = files.value();
  for (Rank r = 1; r < channel_->raw().size(); ++r) {
    XDC_TRY_ASSIGN(const TextChannel::Message reply, channel_->hear(r, deadline()));
    const auto pieces = reply.kind == kWritten ? pieces_from_json(reply.text) : Error{ErrorCode::failed, reply.text};
    if (pieces.ok()) {
      manifest.files.insert(manifest.files.end(), pieces.value().begin(), pieces.value().end());
    } else if (failure.empty()) {
      failure = fmt::format("{}: {}", name(r), pieces.error().message);
    }
  }
  return commit(std::move(manifest), failure);
}

// The first rank's: everyone has written, or somebody could not.
Status Checkpoints::commit(Manifest manifest, const std::string& failure) {
  Status written = failure.empty() ? folder_.write(manifest) : Status(Error{ErrorCode::failed, failure});
  if (!written.ok()) {
    ++report_.checkpoints_failed;
    warn(fmt::format("the checkpoint of step {} could not be written, and training goes on without it: {}", manifest.step,
                     written.error().message));
    for (Rank r = 1; r < channel_->raw().size(); ++r) XDC_TRY(channel_->tell(r, kFailed, {}, deadline()));
    return ok_status();
  }
  ++report_.checkpoints_written;
  last_saved_ = manifest.step;
  const CheckpointSpec wanted = spec_.checkpoint.value_or(CheckpointSpec{});
  const auto kept = steps_to_keep(folder_, manifest.step, wanted.keep, wanted.best);
  const Status pruned = kept.ok() ? folder_.prune(kept.value(), manifest.step) : kept.status();
  if (!pruned.ok()) warn(fmt::format("older checkpoints stay: {}", pruned.error().message));
  for (Rank r = 1; r < channel_->raw().size(); ++r) {
    XDC_TRY(channel_->tell(r, kWritten, kept.ok() ? steps_text(kept.value()) : std::string(), deadline()));
  }
  return ok_status();
}

}  // namespace xdc
