#include "exec/grpc/grpc_store.hpp"

#include <fmt/format.h>
#include <grpcpp/create_channel.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>

#include "core/base/log.hpp"
#include "exec/grpc/credentials.hpp"
#include "exec/grpc/store.grpc.pb.h"

namespace xdc {

namespace {

// Between two attempts to reach a store whose connection is gone or cannot be made.
constexpr Duration kTryAgain = milliseconds(50);
// How long one attempt to connect may take; a line that has come back is found by the next.
constexpr int kConnectMs = 2000;

uint64_t draw_client() {
  std::random_device device;
  return (uint64_t{device()} << 32) | device();
}

}  // namespace

class GrpcStore::Client {
 public:
  Client(const Options& options, const SteadyClock& clock) : options_(options), clock_(clock) {
    grpc::ChannelArguments arguments = channel_arguments(options.security, options.keeper);
    arguments.SetMaxSendMessageSize(-1);
    arguments.SetMaxReceiveMessageSize(-1);
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
    arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kConnectMs);
    stub_ = proto::Store::NewStub(grpc::CreateCustomChannel(options.address, channel_credentials(options.security), arguments));
  }

  // `method` is one of the stub's unary calls. What is lost with a connection is sent again until the deadline: every call may be
  // made twice (a lease granted to nobody ends by itself; see PutIfRequest). Only who refuses connections, or shows the wrong
  // papers, is given up.
  template <class Request, class Reply>
  Result<Reply> call(grpc::Status (proto::Store::Stub::*method)(grpc::ClientContext*, const Request&, Reply*), const Request& request,
                     std::string_view what, Deadline deadline, bool only_once = false) {
    std::optional<TimePoint> refused_since;
    std::string last;
    for (;;) {
      grpc::ClientContext context;
      if (!is_far(deadline)) {
        // gRPC's own deadlines are wall-clock time.
        context.set_deadline(std::chrono::system_clock::now() + std::chrono::nanoseconds((deadline - clock_.now()).ns));
      }
      Reply reply;
      const grpc::Status status = ((*stub_).*method)(&context, request, &reply);
      if (status.ok()) {
        return reply;
      }
      const TimePoint now = clock_.now();
      refused_since = refused(status.error_message()) ? refused_since.value_or(now) : std::optional<TimePoint>{};
      const bool given_up = only_once || (refused_since && now - *refused_since >= options_.patience);
      if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED || (now >= deadline && !given_up)) {
        clock_at_least(deadline);
        return Error{ErrorCode::timeout, fmt::format("store at {}: no answer to \"{}\" in time{}{}", options_.address, what,
                                                     last.empty() ? "" : "; last attempt: ", last)};
      }
      last = status.error_message();
      if (status.error_code() != grpc::StatusCode::UNAVAILABLE || given_up || handshake_failed(last)) {
        return Error{ErrorCode::failed, fmt::format("store at {}: {}: {}", options_.address, what, explain_handshake(last))};
      }
      std::this_thread::sleep_until(clock_.at(std::min(deadline, now + kTryAgain)));
    }
  }

  const SteadyClock& clock() const { return clock_; }
  uint64_t id() const { return id_; }
  uint64_t next_call() { return ++calls_; }

 private:
  // gRPC's clock and ours differ by a little; a timeout is never early.
  void clock_at_least(Deadline deadline) const { std::this_thread::sleep_until(clock_.at(deadline)); }

  const Options options_;
  const SteadyClock& clock_;
  const uint64_t id_ = draw_client();
  std::atomic<uint64_t> calls_{0};
  std::unique_ptr<proto::Store::Stub> stub_;
};

namespace {

StoreEntry entry_of(const proto::Entry& reply) { return {reply.value(), reply.revision()}; }

class GrpcLease final : public Lease {
 public:
  GrpcLease(GrpcStore::Client& client, uint64_t id, Duration time_to_live)
      : client_(client), id_(id), period_{time_to_live.ns / 3}, thread_([this] { keep_alive(); }) {}

  ~GrpcLease() override {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
      changed_.notify_all();
    }
    thread_.join();
    // Best effort: what is not revoked ends by itself, and a keeper that is gone is not waited for.
    const Status revoked =
        client_.call(&proto::Store::Stub::Revoke, request(), "end a lease", client_.clock().now() + seconds(1), true).status();
    if (!revoked.ok()) {
      log(LogLevel::debug, revoked.error().message);
    }
  }

  uint64_t id() const override { return id_; }
  bool held() const override { return held_; }

 private:
  proto::LeaseId request() const {
    proto::LeaseId request;
    request.set_id(id_);
    return request;
  }

  void keep_alive() {
    const SteadyClock& clock = client_.clock();
    std::unique_lock lock(mutex_);
    while (held_ && !wait_until(clock, changed_, lock, clock.now() + period_, [this] { return ending_; })) {
      lock.unlock();
      const auto state = client_.call(&proto::Store::Stub::KeepAlive, request(), "keep a lease", clock.now() + period_);
      // No answer is no proof: the next attempt may come in time.
      held_ = !state.ok() || state.value().held();
      lock.lock();
    }
  }

  GrpcStore::Client& client_;
  const uint64_t id_;
  const Duration period_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ending_ = false;
  std::atomic<bool> held_{true};
  std::thread thread_;
};

}  // namespace

GrpcStore::GrpcStore(const std::string& address, const SteadyClock& clock) : GrpcStore(Options{address, {}, nullptr}, clock) {}
GrpcStore::GrpcStore(const Options& options, const SteadyClock& clock) : client_(std::make_unique<Client>(options, clock)) {}
GrpcStore::~GrpcStore() = default;

Result<std::optional<StoreEntry>> GrpcStore::get(std::string_view key, Deadline deadline) {
  proto::GetRequest request;
  request.set_key(std::string(key));
  XDC_TRY_ASSIGN(const proto::Entry reply, client_->call(&proto::Store::Stub::Get, request, fmt::format("get {}", key), deadline));
  return reply.revision() == 0 ? std::nullopt : std::optional(entry_of(reply));
}

Result<uint64_t> GrpcStore::put_if(std::string_view key, std::string_view value, uint64_t expected, const Lease* lease, Deadline deadline) {
  proto::PutIfRequest request;
  request.set_key(std::string(key));
  request.set_value(std::string(value));
  request.set_expected(expected);
  request.set_lease(lease == nullptr ? 0 : lease->id());
  request.set_client(client_->id());
  request.set_call(client_->next_call());
  XDC_TRY_ASSIGN(const auto reply, client_->call(&proto::Store::Stub::PutIf, request, fmt::format("put {}", key), deadline));
  return reply.revision();
}

Result<StoreEntry> GrpcStore::watch(std::string_view key, uint64_t after, Deadline deadline) {
  proto::WatchRequest request;
  request.set_key(std::string(key));
  request.set_after(after);
  XDC_TRY_ASSIGN(const proto::Entry reply, client_->call(&proto::Store::Stub::Watch, request, fmt::format("watch {}", key), deadline));
  return entry_of(reply);
}

Result<std::unique_ptr<Lease>> GrpcStore::lease(Duration time_to_live, Deadline deadline) {
  proto::GrantRequest request;
  request.set_time_to_live_ns(time_to_live.ns);
  XDC_TRY_ASSIGN(const auto reply, client_->call(&proto::Store::Stub::Grant, request, "grant a lease", deadline));
  return std::unique_ptr<Lease>(std::make_unique<GrpcLease>(*client_, reply.id(), time_to_live));
}

}  // namespace xdc
