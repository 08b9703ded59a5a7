#include "exec/launcher/status_trace.hpp"

#include <unistd.h>

#include <chrono>
#include <limits>
#include <map>

namespace xdc {

namespace {

constexpr std::chrono::milliseconds kBetween{250};

void write_record(int fd, const StatusRecord& record) { [[maybe_unused]] const ssize_t written = ::write(fd, &record, sizeof record); }

}  // namespace

void StatusTrace::record(TimePoint time, int64_t step, std::string_view event, std::initializer_list<TraceField> fields) {
  next_.record(time, step, event, fields);
  if (event != "step") {
    return;
  }
  StatusRecord record;
  record.member = self_;
  record.time_ns = time.ns;
  record.step = step;
  record.loss = std::numeric_limits<double>::quiet_NaN();
  for (const TraceField& field : fields) {
    if (const auto* whole = std::get_if<int64_t>(&field.value)) {
      if (field.key == "samples") {
        record.samples = *whole;
      } else if (field.key == "duration_ns") {
        record.duration_ns = *whole;
      }
    } else if (const auto* real = std::get_if<double>(&field.value); real != nullptr && field.key == "loss") {
      record.loss = *real;
    }
  }
  write_record(fd_, record);
}

TrafficTeller::TrafficTeller(const Fabric& fabric, const Cluster& cluster, MemberId self, const SteadyClock& clock, int fd)
    : fabric_(fabric), cluster_(cluster), self_(self), clock_(clock), fd_(fd), thread_([this] {
        std::unique_lock lock(mutex_);
        while (!ending_.wait_for(lock, kBetween, [this] { return over_; })) {
          tell();
        }
      }) {}

TrafficTeller::~TrafficTeller() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  ending_.notify_all();
  thread_.join();
  tell();
}

void TrafficTeller::tell() const {
  const int here = cluster_.members[static_cast<size_t>(self_)].datacenter;
  std::map<int, StatusRecord> records;
  for (const TrafficCount& count : fabric_.traffic()) {
    const int there = cluster_.members[static_cast<size_t>(count.to)].datacenter;
    if (there != here) {
      records[there].payload_bytes += count.payload_bytes;
      records[there].wire_bytes += count.wire_bytes;
    }
  }
  for (auto& [there, record] : records) {
    record.kind = StatusRecord::Kind::traffic;
    record.member = self_;
    record.time_ns = clock_.now().ns;
    record.to = there;
    write_record(fd_, record);
  }
}

}  // namespace xdc
