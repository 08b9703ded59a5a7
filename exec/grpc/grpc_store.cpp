#include "exec/grpc/grpc_store.hpp"

#include <fmt/format.h>
#include <grpcpp/create_channel.h>

#include <atomic>
#include <thread>

#include "core/base/log.hpp"
#include "exec/grpc/store.grpc.pb.h"

namespace xdc {

class GrpcStore::Client {
 public:
  Client(const std::string& address, const SteadyClock& clock) : address_(address), clock_(clock) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);  // a proxy of the user's environment does not reach our loopback
    arguments.SetMaxSendMessageSize(-1);
    arguments.SetMaxReceiveMessageSize(-1);
    stub_ = proto::Store::NewStub(grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
  }

  // `method` is one of the stub's unary calls.
  template <class Request, class Reply>
  Result<Reply> call(grpc::Status (proto::Store::Stub::*method)(grpc::ClientContext*, const Request&, Reply*), const Request& request,
                     std::string_view what, Deadline deadline) {
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
    if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
      std::this_thread::sleep_until(clock_.at(deadline));  // the two clocks differ by a little; a timeout is never early
      return Error{ErrorCode::timeout, fmt::format("store at {}: no answer to \"{}\" in time", address_, what)};
    }
    return Error{ErrorCode::failed, fmt::format("store at {}: {}: {}", address_, what, status.error_message())};
  }

  const SteadyClock& clock() const { return clock_; }

 private:
  const std::string address_;
  const SteadyClock& clock_;
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
    // Best effort: what is not revoked ends by itself.
    const Status revoked = client_.call(&proto::Store::Stub::Revoke, request(), "end a lease", client_.clock().now() + seconds(1)).status();
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

GrpcStore::GrpcStore(const std::string& address, const SteadyClock& clock) : client_(std::make_unique<Client>(address, clock)) {}
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
