// parameter_server, what a server does in a round: see parameter_server.cpp.
#include "core/strategies/parameter_server.hpp"
#include "core/strategies/parameter_server_layout.hpp"

namespace xdc {
namespace {

class ParameterServer : public ServerStrategy {
 public:
  ParameterServer(const StrategyPlan& plan, const Optimizer& optimizer, Env& env, MemberId self)
      : plan_(plan),
        optimizer_(optimizer),
        env_(env),
        self_(self),
        layout_(plan),
        shard_(self - plan.cluster.workers()),
        scratch_(env.device),
        stream_(env.device.make_stream("serve")) {}

  Range owned() const override { return layout_.shard(shard_); }

  Status connect(const View& everyone, Deadline deadline) override {
    XDC_TRY_ASSIGN(communicator_, env_.fabric.connect(everyone, kServerChannel, deadline));
    return ok_status();
  }

  Result<ControlSum> serve(const ServerRound& round) override {
    ExchangeSite site{env_.device,      stream_,       *communicator_, scratch_, [this](Rank r) { return plan_.cluster.describe(r); },
                      plan_.geometry(), {plan_.codecs}};
    std::vector<Transfer> answers;
    AgreedSum total;
    for (size_t b = 0; b < plan_.buckets.size(); ++b) {
      const ExchangeCall call{round.round, static_cast<int>(b), round.deadline};
      scratch_.reset();
      std::vector<Arriving> arriving;
      for (const ServerPiece& piece : layout_.pieces(plan_.buckets[b])) {
        if (piece.shard == shard_) {
          XDC_TRY_ASSIGN(auto pushes, expect(site, call, piece));
          arriving.push_back({piece, std::move(pushes), {}});
        }
      }
      for (auto& arrival : arriving) {
        XDC_TRY(apply(site, round, arrival));
        XDC_TRY(total.meet(arrival.sum));
      }
      XDC_TRY(finish(site, round.deadline));
      // Together: nobody whose pushes are like another's gets its answer before the other.
      for (const auto& arrival : arriving) {
        answer(site, round, call, arrival, answers);
      }
    }
    XDC_TRY(await_all(site, answers, round.deadline));
    return *total.value();
  }

  void abort(const Error& error) override {
    if (communicator_ != nullptr) {
      communicator_->abort(error);
    }
  }

 private:
  struct Arriving {
    ServerPiece piece;
    std::vector<Transfer> pushes;  // in the order of addition
    ControlSum sum;
  };

  Result<std::vector<Transfer>> expect(ExchangeSite& site, const ExchangeCall& call, const ServerPiece& piece) {
    std::vector<Transfer> pushes;
    for (const auto& pusher : layout_.pushers(piece.lane)) {
      XDC_TRY_ASSIGN(const WireTensor room, inbox(site, plan_.codec_between(pusher.member, self_), piece.range));
      pushes.push_back(receive(site, pusher.member, tag_of(call, Phase::push, piece, pusher.turn), room));
    }
    return pushes;
  }

  // Adds what is pushed and updates the piece's elements.
  Status apply(ExchangeSite& site, const ServerRound& round, Arriving& arrival) {
    Tensor gradient;
    for (auto& push : arrival.pushes) {
      XDC_TRY_ASSIGN(const ControlSum own, await(site, push, round.deadline));
      arrival.sum = arrival.sum + own;
      XDC_TRY_ASSIGN(const Tensor term, decoded(site, push.wire));
      if (&push == &arrival.pushes.front()) {
        gradient = term;
      } else {
        add(site, arrival.piece.range, gradient, term);
      }
    }
    update_range(plan_, optimizer_, env_, stream_, owned(), round, arrival.piece.range, gradient);
    return ok_status();
  }

  void answer(ExchangeSite& site, const ServerRound& round, const ExchangeCall& call, const Arriving& arrival,
              std::vector<Transfer>& answers) {
    const Range range = arrival.piece.range;
    const WireTensor fresh = plain(range, site.geometry.slice_of(round.parameters_after, owned(), range));
    for (const auto& pusher : layout_.pushers(arrival.piece.lane)) {
      answers.push_back(send(site, pusher.member, tag_of(call, Phase::pull, arrival.piece, pusher.turn), arrival.sum, fresh));
    }
  }

  const StrategyPlan& plan_;
  const Optimizer& optimizer_;
  Env& env_;
  MemberId self_;
  ServerLayout layout_;
  int shard_;
  Scratch scratch_;
  Stream stream_;
  std::unique_ptr<Communicator> communicator_;
};

}  // namespace

void update_range(const StrategyPlan& plan, const Optimizer& optimizer, Env& env, Stream stream, Range owned, const ServerRound& round,
                  Range range, Tensor gradient) {
  const auto own = [&](Tensor t) { return plan.geometry().slice_of(t, owned, range); };
  std::vector<Tensor> before, after;
  for (size_t i = 0; i < round.state_before.size(); ++i) {
    before.push_back(own(round.state_before[i]));
    after.push_back(own(round.state_after[i]));
  }
  env.device.charge(stream, optimizer.cost(range.count));
  optimizer.apply(env.device.kernels(), stream, round.round, own(round.parameters_before), before, gradient, own(round.parameters_after),
                  after);
}

std::unique_ptr<ServerStrategy> make_parameter_server(const StrategyPlan& plan, const Optimizer& optimizer, Env& env, MemberId self) {
  return std::make_unique<ParameterServer>(plan, optimizer, env, self);
}

}  // namespace xdc
