#include "exec/grpc/store_server.hpp"

#include <fmt/format.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include "exec/grpc/store.grpc.pb.h"

namespace xdc {

namespace {

// A watcher that has given up is noticed this late: a thread is tied up meanwhile, nobody waits for it.
constexpr Duration kLookAgain = milliseconds(100);

}  // namespace

class StoreServer::Service final : public proto::Store::Service {
 public:
  Service(MemoryStore& store, const SteadyClock& clock) : store_(store), clock_(clock) {}
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

  grpc::Status PutIf(grpc::ServerContext*, const proto::PutIfRequest* request, proto::PutIfReply* reply) override {
    const auto revision = store_.put_under(request->key(), request->value(), request->expected(), request->lease());
    reply->set_revision(revision.ok() ? revision.value() : 0);
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
};

StoreServer::StoreServer() = default;
StoreServer::~StoreServer() = default;

Result<std::unique_ptr<StoreServer>> StoreServer::start(MemoryStore& store, const SteadyClock& clock) {
  std::unique_ptr<StoreServer> server(new StoreServer);
  server->service_ = std::make_unique<Service>(store, clock);
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.SetMaxReceiveMessageSize(-1);  // a member's report grows with its steps
  builder.RegisterService(server->service_.get());
  server->service_->server = builder.BuildAndStart();
  if (!server->service_->server || port == 0) {
    return Error{ErrorCode::failed, "the store cannot listen on a port of 127.0.0.1"};
  }
  server->address_ = fmt::format("127.0.0.1:{}", port);
  return server;
}

}  // namespace xdc
