#include "exec/grpc/grpc_fabric.hpp"

#include <fmt/format.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <set>
#include <thread>

#include "core/base/digest.hpp"
#include "core/base/log.hpp"
#include "exec/grpc/addresses.hpp"
#include "exec/grpc/credentials.hpp"
#include "exec/grpc/grpc_communicator.hpp"
#include "exec/grpc/inbound.hpp"
#include "exec/grpc/outbound.hpp"
#include "exec/grpc/process.hpp"
#include "exec/grpc/registration.hpp"
#include "exec/grpc/tuning.hpp"

namespace xdc {

namespace {

// How long the end of a run waits for peers to take what was sent to them.
constexpr Duration kLinger = seconds(5);

using ChannelKey = std::pair<uint64_t, std::string>;

std::string members_digest(const View& view) { return digest(fmt::format("{}", fmt::join(view.members, ","))); }

}  // namespace

class GrpcFabric::Impl {
 public:
  Impl(Options options, const SteadyClock& clock, Store& store) : options_(std::move(options)), clock_(clock), store_(store) {}
  ~Impl();

  Status start(Deadline deadline);
  Result<std::unique_ptr<Communicator>> connect(const View& view, std::string_view purpose, Deadline deadline);

  const Options options_;
  TrafficCounter traffic_;
  WireMeter meter_;
  std::string address_;

 private:
  void listen();
  void on_arrived(const std::shared_ptr<InStream>& call, bool ok);
  void place(const std::shared_ptr<InStream>& call, const InStream::Caller& caller);
  Status open_channel(const std::shared_ptr<ChannelState>& state, Deadline deadline);
  Status wait_open(ChannelState& state, Deadline deadline);
  void forget_ended();
  Line line_to(MemberId member) const;

  const SteadyClock& clock_;
  Store& store_;
  std::unique_ptr<Registration> registration_;
  grpc::AsyncGenericService service_;
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::unique_ptr<grpc::Server> server_;
  std::thread poller_;

  std::mutex mutex_;  // taken before a channel's
  bool ending_ = false;
  uint64_t newest_epoch_ = 0;
  std::map<ChannelKey, std::shared_ptr<ChannelState>> channels_;
  std::set<ChannelKey> used_;
  std::vector<std::pair<std::shared_ptr<InStream>, InStream::Caller>> early_;  // calls for channels not opened here yet
};

Status GrpcFabric::Impl::start(Deadline deadline) {
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(options_.listen, server_credentials(options_.security), &port);
  builder.RegisterAsyncGenericService(&service_);
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, kMaxFrameBytes);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kLookaheadBytes);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  builder.AddChannelArgument(GRPC_ARG_TCP_READ_CHUNK_SIZE, kTcpReadBytes);
  // Peers ask whether the line is still there; strangers get little time.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 200);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeMs);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxCallsOfAConnection);
  queue_ = builder.AddCompletionQueue();
  server_ = builder.BuildAndStart();
  if (!server_ || port == 0) {
    return Error{ErrorCode::failed, fmt::format("{} cannot listen at {}: {}", options_.describe(options_.self), options_.listen,
                                                why_not_listening(options_.listen))};
  }
  listen();
  // One: a second costs more in hand-overs between processors than it saves, 1.5 against 2.3 GB/s on two of them.
  poller_ = std::thread([queue = queue_.get()] {
    void* tag = nullptr;
    bool ok = false;
    while (queue->Next(&tag, &ok)) {
      handed_back_by_grpc(tag);
      static_cast<Tag*>(tag)->complete(ok);
    }
  });
  address_ = fmt::format("{}:{}", options_.listen.substr(0, options_.listen.rfind(':')), port);
  XDC_TRY_ASSIGN(registration_, Registration::start(store_, clock_, address_key(options_.self), address_, options_.lease, deadline));
  return ok_status();
}

GrpcFabric::Impl::~Impl() {
  registration_.reset();
  if (!server_) {
    return;
  }
  const Deadline until = clock_.now() + kLinger;
  std::map<ChannelKey, std::shared_ptr<ChannelState>> channels;
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    channels = channels_;
    early_.clear();
  }
  for (const auto& [key, state] : channels) {
    std::unique_lock lock(state->mutex);
    XDC_CHECK_MSG(state->closed, "a communicator outlives its fabric");
    const auto all_ended = [&s = *state] {
      return std::all_of(s.out.begin(), s.out.end(), [](const auto& stream) { return !stream || stream->ended(); });
    };
    wait_until(clock_, state->changed, lock, until, all_ended);
  }
  for (const auto& [key, state] : channels) {
    break_channel(*state, {ErrorCode::aborted, "the run has ended"});
  }
  // Nothing may be begun on a queue that is shut down.
  for (const auto& [key, state] : channels) {
    std::unique_lock lock(state->mutex);
    state->changed.wait(lock, [&s = *state] {
      return std::all_of(s.out.begin(), s.out.end(), [](const auto& stream) { return !stream || stream->all_over(); });
    });
  }
  server_->Shutdown(std::chrono::system_clock::now());
  queue_->Shutdown();
  poller_.join();
  // Streams and channel own each other until here.
  for (const auto& [key, state] : channels) {
    for (const auto& peer : state->in) {
      if (peer) {
        peer->forget_streams();
      }
    }
    state->out.clear();
    state->in.clear();
  }
}

void GrpcFabric::Impl::listen() {
  std::make_shared<InStream>([this](const std::shared_ptr<InStream>& call, bool ok) {
    on_arrived(call, ok);
  })->listen(service_, queue_.get());
}

void GrpcFabric::Impl::on_arrived(const std::shared_ptr<InStream>& call, bool ok) {
  if (!ok) {
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    if (ending_) {
      return;
    }
    listen();
  }
  const std::optional<InStream::Caller> caller = call->caller();
  if (!caller || caller->run != options_.run || caller->to != options_.self) {
    call->finish({grpc::StatusCode::UNAUTHENTICATED, "this is another run, or another member of it"});
    return;
  }
  if (options_.security != nullptr) {
    const std::string claimed = options_.label(caller->from);
    if (std::find(caller->names.begin(), caller->names.end(), claimed) == caller->names.end()) {
      const std::string shown = fmt::format("{}", fmt::join(caller->names, ", "));
      log(LogLevel::warning, fmt::format("{}: a connection from {} claims to be {}, but its certificate is of {}: it is refused",
                                         options_.describe(options_.self), call->peer_address(), options_.describe(caller->from), shown));
      call->finish({grpc::StatusCode::UNAUTHENTICATED, fmt::format("your certificate is of {}, not of {}", shown, claimed)});
      return;
    }
  }
  place(call, *caller);
}

void GrpcFabric::Impl::place(const std::shared_ptr<InStream>& call, const InStream::Caller& caller) {
  std::shared_ptr<ChannelState> state;
  Rank peer = -1;
  {
    const std::lock_guard lock(mutex_);
    const auto found = channels_.find({caller.epoch, caller.purpose});
    if (found == channels_.end() && caller.epoch >= newest_epoch_ && !used_.contains({caller.epoch, caller.purpose})) {
      early_.emplace_back(call, caller);
      return;
    }
    if (found != channels_.end() && members_digest(found->second->view) == caller.members_digest) {
      state = found->second;
      peer = state->view.rank_of(caller.from);
    }
  }
  if (!state || peer < 0) {
    call->finish({grpc::StatusCode::FAILED_PRECONDITION, "speaks of another view"});
    return;
  }
  std::shared_ptr<InStream> replaced;
  uint64_t received = 0;
  bool taken = false;
  {
    const std::lock_guard lock(state->mutex);
    const Line line = line_to(caller.from);
    const auto at = static_cast<size_t>(peer);
    const auto inbound = at < state->in.size() ? state->in[at] : nullptr;
    const bool another = inbound && (!inbound->attached() || line.resumes);
    if (!state->closed && !state->broken && another && caller.stream >= 0 && caller.stream < line.streams) {
      call->assign(state, inbound, caller.stream);
      replaced = inbound->attach(call);
      received = inbound->received();
      taken = true;
    }
  }
  if (replaced) {
    replaced->finish({grpc::StatusCode::UNAVAILABLE, "another connection has taken its place"});
  }
  if (!taken) {
    call->finish({grpc::StatusCode::ABORTED, "gave up this channel"});
    return;
  }
  call->accept(received);
  const std::lock_guard lock(state->mutex);
  state->changed.notify_all();
}

Line GrpcFabric::Impl::line_to(MemberId member) const {
  Line line = options_.line ? options_.line(member) : Line{};
  line.resumes = line.resumes || options_.security != nullptr;
  return line;
}

Result<std::unique_ptr<Communicator>> GrpcFabric::Impl::connect(const View& view, std::string_view purpose, Deadline deadline) {
  const Rank self = view.rank_of(options_.self);
  XDC_CHECK_MSG(self >= 0, "connect: this member is not in the view");
  forget_ended();
  const auto state = std::make_shared<ChannelState>(view, self, std::string(purpose), clock_, traffic_, options_.describe);
  for (Rank peer = 0; peer < view.size(); ++peer) {
    if (peer != self) {
      const auto at = static_cast<size_t>(peer);
      state->in[at] = std::make_shared<Inbound>(*state, peer, line_to(view.members[at]).resumes);
    }
  }
  const ChannelKey key{view.epoch, state->purpose};
  std::vector<std::pair<std::shared_ptr<InStream>, InStream::Caller>> waiting;
  {
    const std::lock_guard lock(mutex_);
    XDC_CHECK_MSG(used_.insert(key).second, "connect: this channel has been opened before");
    newest_epoch_ = std::max(newest_epoch_, view.epoch);
    channels_[key] = state;
    waiting = std::exchange(early_, {});
  }
  for (const auto& [call, caller] : waiting) {
    place(call, caller);
  }
  if (const Status opened = open_channel(state, deadline); !opened.ok()) {
    {
      const std::lock_guard lock(state->mutex);
      state->closed = true;
    }
    break_channel(*state, opened.error());
    return opened.error();
  }
  return std::unique_ptr<Communicator>(std::make_unique<GrpcCommunicator>(state, options_.device_memory_is_host));
}

Status GrpcFabric::Impl::open_channel(const std::shared_ptr<ChannelState>& state, Deadline deadline) {
  XDC_TRY_ASSIGN(const auto addresses, find_addresses(*state, store_, clock_, deadline));
  for (Rank peer = 0; peer < state->view.size(); ++peer) {
    if (peer == state->self) {
      continue;
    }
    const auto at = static_cast<size_t>(peer);
    const std::string context = fmt::format("{}: {}", state->describe_channel(), state->describe_rank(peer));
    const MemberId to = state->view.members[at];
    const Dial dial{options_.run,      members_digest(state->view),
                    options_.self,     to,
                    addresses[at],     options_.security == nullptr ? "" : options_.label(to),
                    options_.security, line_to(to),
                    queue_.get(),      &meter_};
    Socket socket;
    if (!dial.copies()) {
      auto connected = connect_tcp(addresses[at], clock_, deadline);
      if (!connected.ok()) {
        return with_context(connected.error(), context);
      }
      socket = std::move(connected).value();
    }
    if (const Status opened = Outbound::open(state, peer, dial, std::move(socket)).status(); !opened.ok()) {
      return with_context(opened.error(), context);
    }
  }
  return wait_open(*state, deadline);
}

Status GrpcFabric::Impl::wait_open(ChannelState& state, Deadline deadline) {
  std::unique_lock lock(state.mutex);
  std::vector<std::string> missing;
  std::optional<Error> ended;
  const auto decided = [&] {
    missing.clear();
    for (size_t i = 0; i < state.out.size(); ++i) {
      if (static_cast<Rank>(i) == state.self) {
        continue;
      }
      // A peer may be through with the channel before we have noticed that all are there.
      ended = ended || state.out[i]->left_in_order() ? ended : state.out[i]->ended();
      if (!state.out[i]->accepted() || !state.in[i]->attached()) {
        const std::string& loss = state.out[i]->last_loss();
        missing.push_back(state.describe_rank(static_cast<Rank>(i)) + (loss.empty() ? "" : fmt::format(" (last attempt: {})", loss)));
      }
    }
    return ended || missing.empty();
  };
  const bool in_time = wait_until(clock_, state.changed, lock, deadline, decided);
  if (ended && ended->code != ErrorCode::timeout) {
    return *ended;
  }
  // Also when another gave up at its own deadline: the channel cannot come to be any more, for want of the same members.
  if (!in_time || ended) {
    return Error{ErrorCode::timeout, fmt::format("{}: {} waited for {}, who did not open it in time", state.describe_channel(),
                                                 state.describe_rank(state.self), fmt::join(missing, ", "))};
  }
  state.opened = true;
  return ok_status();
}

// Channels whose owner and streams are gone take no memory for the rest of the run.
void GrpcFabric::Impl::forget_ended() {
  const std::lock_guard lock(mutex_);
  std::erase_if(channels_, [](const auto& channel) {
    ChannelState& state = *channel.second;
    std::unique_lock state_lock(state.mutex);
    const bool over = state.closed && std::all_of(state.out.begin(), state.out.end(), [](const auto& s) { return !s || s->all_over(); });
    if (!over) {
      return false;
    }
    const auto out = std::move(state.out);
    const auto in = std::move(state.in);
    for (const auto& peer : in) {
      if (peer) {
        peer->forget_streams();
      }
    }
    state_lock.unlock();
    return true;
  });
}

std::string address_key(MemberId member) { return fmt::format("address/{}", member); }

GrpcFabric::GrpcFabric(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
GrpcFabric::~GrpcFabric() = default;

Result<std::unique_ptr<GrpcFabric>> GrpcFabric::start(Options options, const SteadyClock& clock, Store& store, Deadline deadline) {
  settle_process();
  auto impl = std::make_unique<Impl>(std::move(options), clock, store);
  XDC_TRY(impl->start(deadline));
  return std::unique_ptr<GrpcFabric>(new GrpcFabric(std::move(impl)));
}

Result<std::unique_ptr<Communicator>> GrpcFabric::connect(const View& view, std::string_view purpose, Deadline deadline) {
  return impl_->connect(view, purpose, deadline);
}

Result<std::unique_ptr<Collectives>> GrpcFabric::native_collectives(const View&, std::string_view, Deadline) {
  return Error{ErrorCode::unsupported, "a CPU has no collectives of its own"};
}

std::vector<TrafficCount> GrpcFabric::traffic() const { return impl_->meter_.over(impl_->traffic_.counts()); }

const std::string& GrpcFabric::address() const { return impl_->address_; }

}  // namespace xdc
