#include "exec/emu/forwarder.hpp"

#include <arpa/inet.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>

#include "core/base/check.hpp"

namespace xdc {

namespace {

constexpr size_t kLateBuckets = 20'000;  // of a microsecond; the last is all that is later
constexpr int kPriority = 10;
// Before what is due is looked at again.
constexpr int kReadsInARow = 32;

}  // namespace

Forwarder::Forwarder(std::vector<Tun> tuns, Plan plan)
    : tuns_(std::move(tuns)), plan_(std::move(plan)), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), late_histogram_(kLateBuckets) {
  XDC_CHECK(wake_ >= 0);
  std::stable_sort(plan_.changes.begin(), plan_.changes.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
  // Signals are for the threads of whoever started this one.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { run(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Forwarder::~Forwarder() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  ::eventfd_write(wake_, 1);
  thread_.join();
  ::close(wake_);
}

void Forwarder::begin_faults() {
  {
    const std::lock_guard lock(mutex_);
    faults_from_ = clock_.now();
  }
  ::eventfd_write(wake_, 1);
}

WanAccount Forwarder::account() const {
  const std::lock_guard lock(mutex_);
  WanAccount out = account_;
  for (const auto& line : plan_.lines) out.lines.push_back({line.settings(), line.account()});
  int64_t total = 0, sum_us = 0, seen = 0;
  for (size_t us = 0; us < late_histogram_.size(); ++us) {
    total += late_histogram_[us];
    sum_us += late_histogram_[us] * static_cast<int64_t>(us);
  }
  if (total > 0) out.mean_late = nanoseconds(sum_us * 1000 / total);
  for (size_t us = 0; us < late_histogram_.size() && seen * 100 < total * 99; ++us) {
    seen += late_histogram_[us];
    out.p99_late = nanoseconds(static_cast<int64_t>(us) * 1000);
  }
  return out;
}

void Forwarder::run() {
  // To be late is to impose another delay than was asked for.
  sched_param priority{};
  priority.sched_priority = kPriority;
  const bool realtime = ::sched_setscheduler(0, SCHED_FIFO, &priority) == 0;
  ::prctl(PR_SET_TIMERSLACK, 1UL);
  {
    const std::lock_guard lock(mutex_);
    account_.realtime = realtime;
  }
  for (;;) {
    wait();
    const std::lock_guard lock(mutex_);
    if (ending_) return;
    change_due(clock_.now());
    move_on_due();
    for (bool more = true; more;) {
      more = false;
      for (int i = 0; i < static_cast<int>(tuns_.size()); ++i) more = take_all_from(i) || more;
      move_on_due();
    }
  }
}

void Forwarder::wait() {
  std::vector<pollfd> fds{{wake_, POLLIN, 0}};
  for (const Tun& tun : tuns_) fds.push_back({tun.fd(), POLLIN, 0});
  std::optional<TimePoint> due;
  {
    const std::lock_guard lock(mutex_);
    due = next_due();
  }
  timespec left{};
  if (due) {
    const int64_t ns = std::max<int64_t>(0, (*due - clock_.now()).ns);
    left = {ns / 1'000'000'000, ns % 1'000'000'000};
  }
  ::ppoll(fds.data(), fds.size(), due ? &left : nullptr, nullptr);
  if (fds[0].revents != 0) {
    eventfd_t count = 0;
    ::eventfd_read(wake_, &count);
  }
}

std::optional<TimePoint> Forwarder::next_due() const {
  std::optional<TimePoint> due;
  if (!moving_.empty()) due = moving_.front().due;
  if (faults_from_ && next_change_ < plan_.changes.size()) {
    const TimePoint change = *faults_from_ + plan_.changes[next_change_].at;
    due = due ? std::min(*due, change) : change;
  }
  return due;
}

// False: there is nothing more for now.
bool Forwarder::take_all_from(int datacenter) {
  for (int i = 0; i < kReadsInARow; ++i) {
    auto packet = tuns_[static_cast<size_t>(datacenter)].read();
    if (!packet) return false;
    const auto address = packet->destination();
    const int to = address && (*address >> 16) == 0x0a63 ? static_cast<int>((*address >> 8 & 0xff)) - 1 : -1;
    if (to < 0 || to >= static_cast<int>(tuns_.size()) || to == datacenter) {
      ++account_.to_nowhere;
      continue;
    }
    send_over({{}, 0, datacenter, to, 0, std::move(*packet)}, clock_.now());
  }
  return true;
}

void Forwarder::move_on_due() {
  while (!moving_.empty()) {
    const TimePoint now = clock_.now();
    if (moving_.front().due > now) return;
    std::pop_heap(moving_.begin(), moving_.end(), later);
    Moving moving = std::move(moving_.back());
    moving_.pop_back();
    const auto& way = plan_.ways[static_cast<size_t>(moving.from)][static_cast<size_t>(moving.to)];
    if (moving.stage == way.size()) {
      hand_over(moving, now);
    } else {
      // At the time it was due, not now: lateness would add up over several lines.
      const TimePoint due = moving.due;
      send_over(std::move(moving), due);
    }
  }
}

// Over the next line of its way, in bursts of what the line takes in a millisecond.
void Forwarder::send_over(Moving moving, TimePoint now) {
  const auto& way = plan_.ways[static_cast<size_t>(moving.from)][static_cast<size_t>(moving.to)];
  EmulatedLine& line = plan_.lines[static_cast<size_t>(way[moving.stage])];
  Packet rest = std::move(moving.packet);
  for (bool last = false; !last;) {
    const int segments = rest.segments();
    const int burst = line.burst(rest.line_bytes() / segments);
    last = segments <= burst;
    Packet piece = last ? std::move(rest) : cut_front(rest, burst);
    const int count = last ? segments : burst;
    const auto arrival = line.pass(now, count, piece.line_bytes());
    if (!arrival) continue;
    // What is lost at random has taken its time on the line.
    int whole = 0;  // segments at the front of `piece` that were not lost
    for (int i = 0; i < count; ++i) {
      if (!line.loses_one()) {
        ++whole;
        continue;
      }
      if (whole > 0) push({*arrival, 0, moving.from, moving.to, moving.stage + 1, cut_front(piece, whole)});
      whole = 0;
      if (i + 1 == count) {
        piece.bytes.clear();
      } else {
        cut_front(piece, 1);
      }
    }
    if (whole > 0) push({*arrival, 0, moving.from, moving.to, moving.stage + 1, std::move(piece)});
  }
}

void Forwarder::push(Moving moving) {
  moving.number = next_number_++;
  moving_.push_back(std::move(moving));
  std::push_heap(moving_.begin(), moving_.end(), later);
}

void Forwarder::hand_over(const Moving& moving, TimePoint now) {
  ++(tuns_[static_cast<size_t>(moving.to)].write(moving.packet) ? account_.packets : account_.refused);
  const Duration late = now - moving.due;
  account_.most_late = std::max(account_.most_late, late);
  ++late_histogram_[std::min(kLateBuckets - 1, static_cast<size_t>(late.ns / 1000))];
}

void Forwarder::change_due(TimePoint now) {
  while (faults_from_ && next_change_ < plan_.changes.size() && *faults_from_ + plan_.changes[next_change_].at <= now) {
    const LineChange& change = plan_.changes[next_change_++];
    const auto [there, back] = plan_.lines_of_link[static_cast<size_t>(change.link)];
    plan_.lines[static_cast<size_t>(there)].cut(change.cut);
    plan_.lines[static_cast<size_t>(back)].cut(change.cut);
  }
}

}  // namespace xdc
