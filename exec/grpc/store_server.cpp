#include "exec/grpc/store_server.hpp"

#include <fmt/format.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <deque>
#include <mutex>

#include "exec/grpc/credentials.hpp"
#include "exec/grpc/store.grpc.pb.h"

namespace xdc {

namespace {

// A watcher that has given up is noticed this late: a thread is tied up meanwhile, nobody waits for it.
constexpr Duration kLookAgain = milliseconds(100);

// What was answered to calls that may be sent again, because their answers may be lost. A client sends again at once or never.
class Answered {
 public:
  std::optional<uint64_t> find(uint64_t client, uint64_t call) const {
    const auto found = std::find_if(answers_.begin(), answers_.end(),
                                    [&](const Answer& answer) { return answer.client == client && answer.call == call; });
    return found == answers_.end() ? std::nullopt : std::optional(found->revision);
  }
  void add(uint64_t client, uint64_t call, uint64_t revision) {
    answers_.push_back({client, call, revision});
    if (answers_.size() > kKept) {
      answers_.pop_front();
    }
  }

 private:
  static constexpr size_t kKept = 4096;
  struct Answer {
    uint64_t client = 0, call = 0, revision = 0;
  };
  std::deque<Answer> answers_;
};

}  // namespace

class StoreServer::Service final : public proto::Store::Service {
 public:
  Service(MemoryStore& store, const SteadyClock& clock, const Options& options) : store_(store), clock_(clock), options_(options) {}
  ~Service() override {
    if (server) {
      server->Shutdown(std::chrono::system_clock::now());
      server->Wait();
    }
  }

  grpc::Status Get(grpc::ServerContext*, const proto::GetRequest* request, proto::Entry* reply) override {
    const auto entry = store_.get(request->key(), kNoDeadline);
    if (entry.ok() && entry.value()) {
      fill(*reply, *entry.value());
    }
    return status_of(entry.status());
  }

  grpc::Status PutIf(grpc::ServerContext* context, const proto::PutIfRequest* request, proto::PutIfReply* reply) override {
    if (options_.security != nullptr && options_.may_write) {
      const auto names = peer_names(*context->auth_context());
      if (!options_.may_write(names, request->key())) {
        return {grpc::StatusCode::PERMISSION_DENIED,
                fmt::format("the certificate of {} does not allow to write {}", fmt::join(names, ", "), request->key())};
      }
    }
    const std::lock_guard lock(answered_mutex_);
    if (const auto before = answered_.find(request->client(), request->call())) {
      reply->set_revision(*before);
      return grpc::Status::OK;
    }
    const auto revision = store_.put_under(request->key(), request->value(), request->expected(), request->lease());
    reply->set_revision(revision.ok() ? revision.value() : 0);
    if (revision.ok()) {
      answered_.add(request->client(), request->call(), revision.value());
    }
    return status_of(revision.status());
  }

  grpc::Status Watch(grpc::ServerContext* context, const proto::WatchRequest* request, proto::Entry* reply) override {
    while (!context->IsCancelled()) {
      const auto entry = store_.watch(request->key(), request->after(), clock_.now() + kLookAgain);
      if (entry.ok()) {
        fill(*reply, entry.value());
        return grpc::Status::OK;
      }
    }
    return grpc::Status::CANCELLED;
  }

  grpc::Status Grant(grpc::ServerContext*, const proto::GrantRequest* request, proto::LeaseId* reply) override {
    reply->set_id(store_.grant({request->time_to_live_ns()}));
    return grpc::Status::OK;
  }

  grpc::Status KeepAlive(grpc::ServerContext*, const proto::LeaseId* request, proto::LeaseState* reply) override {
    reply->set_held(store_.keep_alive(request->id()));
    return grpc::Status::OK;
  }

  grpc::Status Revoke(grpc::ServerContext*, const proto::LeaseId* request, proto::LeaseState*) override {
    store_.revoke(request->id());
    return grpc::Status::OK;
  }

  std::unique_ptr<grpc::Server> server;

 private:
  static void fill(proto::Entry& reply, const StoreEntry& entry) {
    reply.set_value(entry.value);
    reply.set_revision(entry.revision);
  }
  static grpc::Status status_of(const Status& status) {
    return status.ok() ? grpc::Status::OK : grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, status.error().message);
  }

  MemoryStore& store_;
  const SteadyClock& clock_;
  const Options options_;
  std::mutex answered_mutex_;
  Answered answered_;
};

StoreServer::StoreServer() = default;
StoreServer::~StoreServer() = default;

Result<std::unique_ptr<StoreServer>> StoreServer::start(MemoryStore& store, const SteadyClock& clock, const Options& options) {
  std::unique_ptr<StoreServer> server(new StoreServer);
  server->service_ = std::make_unique<Service>(store, clock, options);
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(options.listen, server_credentials(options.security), &port);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.SetMaxReceiveMessageSize(-1);  // a member's report grows with its steps
  builder.RegisterService(server->service_.get());
  server->service_->server = builder.BuildAndStart();
  if (!server->service_->server || port == 0) {
    return Error{ErrorCode::failed, fmt::format("the store cannot listen at {}: {}", options.listen, why_not_listening(options.listen))};
  }
  server->address_ = fmt::format("{}:{}", options.listen.substr(0, options.listen.rfind(':')), port);
  return server;
}

}  // namespace xdc
