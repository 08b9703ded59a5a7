// parameter_server with mode = "ssp" or "async", what a server does with one push: see parameter_server.cpp.
//
// Pushes are received on a lane of their own, so that the order in which they arrive is not the order in which a busy server looks.
// A worker has at most one push that is not answered: its next is expected at once, into the same memory, and cannot come before
// the answer.
#include <fmt/format.h>

#include <optional>
#include <utility>

#include "core/strategies/parameter_server.hpp"
#include "core/strategies/parameter_server_layout.hpp"

namespace xdc {
namespace {

class FreeParameterServer : public PushServer {
 public:
  FreeParameterServer(const StrategyPlan& plan, const Optimizer& optimizer, Env& env, MemberId self)
      : plan_(plan),
        optimizer_(optimizer),
        env_(env),
        self_(self),
        layout_(plan),
        shard_(self - plan.cluster.workers()),
        inboxes_(env.device),
        scratch_(env.device),
        stream_(env.device.make_stream("serve")),
        arrived_(env.lanes.make_signal()) {}

  ~FreeParameterServer() override {
    if (receiver_ != nullptr) {
      abort({ErrorCode::aborted, "the server ends"});
      receiver_->join();
    }
  }

  Range owned() const override { return layout_.shard(shard_); }

  Status connect(const View& everyone, std::vector<int64_t> pushes, Duration patience, Deadline deadline) override {
    XDC_TRY_ASSIGN(pushing_, env_.fabric.connect(everyone, kServerChannel, deadline));
    XDC_TRY_ASSIGN(answering_, env_.fabric.connect(everyone, kAnswerChannel, deadline));
    patience_ = patience;
    arrivals_.resize(pushes.size() + 1);  // and an error
    ExchangeSite site = site_of(*pushing_, inboxes_);
    for (size_t w = 0; w < pushes.size(); ++w) {
      Worker& worker = workers_.emplace_back();
      worker.pushes = pushes[w];
      for (size_t b = 0; b < plan_.buckets.size(); ++b) {
        for (const ServerPiece& piece : layout_.pieces(plan_.buckets[b])) {
          if (piece.shard == shard_) {
            XDC_TRY_ASSIGN(const WireTensor wire, inbox(site, plan_.codec_between(static_cast<MemberId>(w), self_), piece.range));
            worker.pieces.push_back({static_cast<int>(b), piece, wire});
          }
        }
      }
      XDC_TRY_ASSIGN(worker.answer, env_.device.allocate(Space::device, static_cast<size_t>(site.geometry.real(owned()).count) * 4));
    }
    receiver_ = env_.lanes.spawn("pushes", [this] { receive_pushes(); });
    return ok_status();
  }

  Result<Push> take() override {
    XDC_TRY(arrived_->wait(kNoDeadline));
    const Arrival& arrival = arrivals_[taken_++ % arrivals_.size()];
    if (arrival.error) {
      return *arrival.error;
    }
    return arrival.push;
  }

  Status apply(const Push& push, const ServerRound& round) override {
    ExchangeSite site = site_of(*answering_, scratch_);
    scratch_.reset();
    for (const Piece& piece : workers_[static_cast<size_t>(push.worker)].pieces) {
      XDC_TRY_ASSIGN(const Tensor gradient, decoded(site, piece.wire));
      update_range(plan_, optimizer_, env_, stream_, owned(), round, piece.piece.range, gradient);
    }
    return xdc::finish(site, round.deadline);
  }

  Status answer(const Push& push, Tensor parameters, Deadline deadline) override {
    ExchangeSite site = site_of(*answering_, scratch_);
    Worker& worker = workers_[static_cast<size_t>(push.worker)];
    XDC_TRY(await_all(site, worker.answers, deadline));
    worker.answers.clear();
    const Tensor copied = Tensor::flat(worker.answer->bytes(), DType::f32, parameters.elements());
    copy(site, owned(), copied, parameters);
    XDC_TRY(xdc::finish(site, deadline));
    for (const Piece& piece : worker.pieces) {
      const ExchangeCall call{push.number, piece.bucket, deadline};
      const WireTensor fresh = plain(piece.piece.range, site.geometry.slice_of(copied, owned(), piece.piece.range));
      worker.answers.push_back(send(site, push.worker, tag_of(call, Phase::pull, piece.piece, 0), push.own, fresh));
    }
    return ok_status();
  }

  Status finish(Deadline deadline) override {
    ExchangeSite site = site_of(*answering_, scratch_);
    for (Worker& worker : workers_) {
      XDC_TRY(await_all(site, worker.answers, deadline));
    }
    std::exchange(receiver_, nullptr)->join();
    return ok_status();
  }

  void abort(const Error& error) override {
    for (auto* communicator : {pushing_.get(), answering_.get()}) {
      if (communicator != nullptr) {
        communicator->abort(error);
      }
    }
  }

 private:
  struct Piece {
    int bucket = 0;
    ServerPiece piece;
    WireTensor wire;  // where it is received
  };
  struct Worker {
    int64_t pushes = 0;
    std::vector<Piece> pieces;
    std::unique_ptr<Buffer> answer;
    std::vector<Transfer> answers;
  };
  struct Arrival {
    Push push;
    std::optional<Error> error;
  };
  // The push of a worker that is expected next.
  struct Expected {
    MemberId worker = 0;
    int64_t number = 0;
    std::vector<Transfer> transfers;
  };

  ExchangeSite site_of(Communicator& communicator, Scratch& scratch) {
    return {env_.device, stream_, communicator, scratch, [this](Rank r) { return plan_.cluster.describe(r); }, plan_.geometry(), {}};
  }

  // The receiving lane. Hands over at most one arrival of each worker before it is answered, and at the end an error.
  void receive_pushes() {
    ExchangeSite site = site_of(*pushing_, inboxes_);
    const Status status = receive_all(site);
    if (!status.ok()) {
      hand_over({{}, status.error()});
    }
  }

  Status receive_all(ExchangeSite& site) {
    std::vector<Expected> expected;
    for (size_t w = 0; w < workers_.size(); ++w) {
      if (workers_[w].pushes > 0) {
        expected.push_back(expect(site, static_cast<MemberId>(w), 1));
      }
    }
    while (!expected.empty()) {
      XDC_TRY_ASSIGN(const size_t first, arrives_first(site, expected));
      Expected& came = expected[first];
      AgreedSum own;
      for (Transfer& transfer : came.transfers) {
        XDC_TRY_ASSIGN(const ControlSum sum, await(site, transfer, env_.clock.now() + patience_));
        XDC_TRY(own.meet(sum));
      }
      const Push push{came.worker, came.number, *own.value()};
      if (push.own.stop_votes > 0 || push.number == workers_[static_cast<size_t>(push.worker)].pushes) {
        expected.erase(expected.begin() + static_cast<std::ptrdiff_t>(first));
      } else {
        came = expect(site, push.worker, push.number + 1);
      }
      hand_over({push, std::nullopt});
    }
    return ok_status();
  }

  Expected expect(ExchangeSite& site, MemberId worker, int64_t number) {
    Expected next{worker, number, {}};
    for (const Piece& piece : workers_[static_cast<size_t>(worker)].pieces) {
      const ExchangeCall call{number, piece.bucket, {}};
      next.transfers.push_back(receive(site, worker, tag_of(call, Phase::push, piece.piece, 0), piece.wire));
    }
    return next;
  }

  // Messages of one worker arrive in order: a push is there when its last piece is.
  Result<size_t> arrives_first(ExchangeSite& site, const std::vector<Expected>& expected) {
    std::vector<Work*> last;
    for (const Expected& next : expected) {
      last.push_back(next.transfers.back().work.get());
    }
    auto first = site.communicator.wait_any(last, env_.clock.now() + patience_);
    if (first.ok()) {
      return first;
    }
    std::string whose = plan_.cluster.describe(expected.front().worker);
    if (expected.size() > 1) {
      whose += fmt::format(" or {} others", expected.size() - 1);
    }
    auto error = with_context(first.error(), fmt::format("waiting for a push of {}", whose));
    site.communicator.abort(error);
    return error;
  }

  void hand_over(Arrival arrival) {
    arrivals_[came_++ % arrivals_.size()] = std::move(arrival);
    arrived_->post();
  }

  const StrategyPlan& plan_;
  const Optimizer& optimizer_;
  Env& env_;
  MemberId self_;
  ServerLayout layout_;
  int shard_;
  Scratch inboxes_;  // of all workers, for the whole run
  Scratch scratch_;  // of one push
  Stream stream_;
  std::vector<Worker> workers_;
  std::vector<Arrival> arrivals_;
  size_t came_ = 0, taken_ = 0;
  Duration patience_;
  std::unique_ptr<Signal> arrived_;
  std::unique_ptr<Communicator> pushing_, answering_;
  std::unique_ptr<Lane> receiver_;
};

}  // namespace

std::unique_ptr<PushServer> make_push_server(const StrategyPlan& plan, const Optimizer& optimizer, Env& env, MemberId self) {
  return std::make_unique<FreeParameterServer>(plan, optimizer, env, self);
}

}  // namespace xdc
