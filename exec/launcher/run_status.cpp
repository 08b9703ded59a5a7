#include "exec/launcher/run_status.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/quantity.hpp"
#include "core/report/text.hpp"

namespace xdc {

namespace {

// How far back "lately" goes, at least; further, where nothing has happened since.
constexpr Duration kLately = seconds(5);
constexpr size_t kMostMoments = 1000;
// Steps that some have told of and others not: where pushes are free, workers are far apart.
constexpr size_t kMostOpenSteps = 10'000;

std::optional<double> rate(int64_t before, int64_t after, Duration time) {
  return time.ns <= 0 ? std::nullopt : std::optional(static_cast<double>(after - before) / to_seconds(time));
}

}  // namespace

RunStatus::RunStatus(Setting setting) : setting_(std::move(setting)) {
  for (const MemberId id : setting_.here) {
    const Member& member = setting_.cluster.members[static_cast<size_t>(id)];
    ranks_[id] = {member.datacenter, member.role == Role::worker};
    workers_here_ += member.role == Role::worker ? 1 : 0;
    for (const auto& [pair, route] : setting_.routes) {
      if (pair.first == member.datacenter) {
        for (const auto& line : route) {
          lines_[line];
        }
      }
    }
  }
}

void RunStatus::take(const StatusRecord& record) {
  const auto rank = ranks_.find(static_cast<MemberId>(record.member));
  if (rank == ranks_.end()) {
    return;
  }
  if (record.kind == StatusRecord::Kind::step) {
    take_step(rank->second, record);
    return;
  }
  const auto route = setting_.routes.find({rank->second.datacenter, static_cast<int>(record.to)});
  if (route == setting_.routes.end()) {
    return;
  }
  StatusRecord& before = traffic_[{rank->first, record.to}];
  for (const auto& line : route->second) {
    lines_[line].payload_bytes += record.payload_bytes - before.payload_bytes;
    lines_[line].wire_bytes += record.wire_bytes - before.wire_bytes;
  }
  before = record;
}

void RunStatus::take_step(Rank& rank, const StatusRecord& record) {
  ++rank.steps;
  rank.step = std::max(rank.step, record.step);
  rank.samples += record.samples;
  Parts& parts = parts_[record.step];
  ++parts.told;
  parts.sum += record.loss;
  if (parts.told == workers_here_ && record.step > loss_step_) {
    loss_step_ = record.step;
    loss_ = std::isfinite(parts.sum) ? std::optional(parts.sum) : std::nullopt;
  }
  if (parts.told == workers_here_ || parts_.size() > kMostOpenSteps) {
    parts_.erase(parts.told == workers_here_ ? parts_.find(record.step) : parts_.begin());
  }
}

void RunStatus::tick(TimePoint now) {
  now_ = now;
  if (!first_step_ && step() > 0) {
    first_step_ = {now, step()};
  }
  Moment moment{now, samples(), {}};
  for (const auto& [ends, line] : lines_) {
    moment.wire_bytes.push_back(line.wire_bytes);
  }
  moments_.push_back(std::move(moment));
  forget(now);
  size_t at = 0;
  for (auto& [ends, line] : lines_) {
    line.wire_bytes_per_s = rate(moments_.front().wire_bytes[at], line.wire_bytes, now - moments_.front().time);
    ++at;
  }
}

void RunStatus::forget(TimePoint now) {
  const auto spare = [&] { return moments_[1].time + kLately < now && moments_[1].samples < moments_.back().samples; };
  while (moments_.size() > 2 && spare()) {
    moments_.pop_front();
  }
  if (moments_.size() > kMostMoments) {
    moments_.erase(moments_.begin() + 1);
  }
}

int64_t RunStatus::samples() const {
  int64_t sum = 0;
  for (const auto& [member, rank] : ranks_) {
    sum += rank.samples;
  }
  return sum;
}

int64_t RunStatus::step() const {
  int64_t lowest = std::numeric_limits<int64_t>::max();
  for (const auto& [member, rank] : ranks_) {
    lowest = rank.worker ? std::min(lowest, rank.step) : lowest;
  }
  return workers_here_ == 0 ? 0 : lowest;
}

double RunStatus::part() const {
  const double part = setting_.steps > 0 ? static_cast<double>(step()) / static_cast<double>(setting_.steps)
                      : setting_.time    ? static_cast<double>(now_.ns) / static_cast<double>(setting_.time->ns)
                                         : 0;
  return std::clamp(part, 0.0, 1.0);
}

std::optional<double> RunStatus::samples_per_s() const {
  return moments_.empty() ? std::nullopt : rate(moments_.front().samples, samples(), now_ - moments_.front().time);
}

std::optional<Duration> RunStatus::left() const {
  if (!first_step_) {
    return std::nullopt;
  }
  if (setting_.steps == 0) {
    return setting_.time ? std::optional(Duration{std::max<int64_t>(0, setting_.time->ns - now_.ns)}) : std::nullopt;
  }
  const auto& [since, first] = *first_step_;
  const auto pace = rate(first, step(), now_ - since);
  const double left = pace.value_or(0) > 0 ? static_cast<double>(setting_.steps - step()) / *pace : -1;
  constexpr double kTooFar = 9e9;
  return left < 0 || left > kTooFar ? std::nullopt : std::optional(from_seconds(left));
}

namespace {

std::string count_per_second(double rate) { return rate < 100 ? fmt::format("{:.3g}", rate) : fmt::format("{:.0f}", rate); }

std::vector<std::string> line_parts(const RunStatus& status) {
  std::vector<std::pair<double, std::string>> lines;
  const auto& names = status.setting().cluster.datacenters;
  for (const auto& [ends, line] : status.lines()) {
    if (line.wire_bytes_per_s && line.wire_bytes > 0) {
      lines.emplace_back(*line.wire_bytes_per_s,
                         fmt::format("{} → {} {}/s", names[static_cast<size_t>(ends.first)], names[static_cast<size_t>(ends.second)],
                                     format_bytes(*line.wire_bytes_per_s)));
    }
  }
  std::stable_sort(lines.begin(), lines.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> out;
  for (auto& [rate, text] : lines) {
    out.push_back(std::move(text));
  }
  return out;
}

}  // namespace

std::string status_line(const RunStatus& status, const std::string& before, int width) {
  constexpr int kLongestName = 24;
  const auto& setting = status.setting();
  std::vector<std::string> parts;
  if (!status.everyone_is_here()) {
    parts.push_back(fmt::format("{} of {} ranks", status.workers_here(), setting.cluster.workers()));
  }
  if (status.workers_here() > 0) {
    parts.push_back(setting.steps > 0 ? fmt::format("step {}/{}", status.step(), setting.steps) : fmt::format("step {}", status.step()));
  }
  if (const auto loss = status.loss()) {
    parts.push_back(fmt::format("{} {:.4g}", status.everyone_is_here() ? "loss" : "part of the loss", *loss));
  }
  if (const auto rate = status.samples_per_s(); rate && status.workers_here() > 0) {
    parts.push_back(count_per_second(*rate) + " samples/s");
  }
  if (const auto left = status.left()) {
    parts.push_back(format_duration(*left) + " left");
  }
  std::string text = before + shortened_to(setting.variant, kLongestName);
  int used = display_width(text);
  const auto add = [&](const std::string& part, int reserved) {
    const int more = 2 + display_width(part);
    if (used + more + reserved > width) {
      return false;
    }
    text += "  " + part;
    used += more;
    return true;
  };
  bool fits = true;
  for (const auto& part : parts) {
    fits = fits && add(part, 0);
  }
  const auto lines = line_parts(status);
  for (size_t i = 0; fits && i < lines.size(); ++i) {
    const std::string others = fmt::format("+{} lines", lines.size() - i);
    const bool last = i + 1 == lines.size();
    fits = add(lines[i], last ? 0 : 2 + display_width(others));
    if (!fits) {
      add(others, 0);
    }
  }
  return shortened_to(text, std::max(1, width));
}

}  // namespace xdc
