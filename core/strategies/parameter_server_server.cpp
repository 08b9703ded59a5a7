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
    XDC_TRY_ASSIGN(communicator_, env_.fabric.connect(everyone, "parameter server", deadline));
    return ok_status();
  }

  Result<ControlSum> serve(const ServerRound& round) override {
    ExchangeSite site{env_.device,
                      stream_,
                      *communicator_,
                      scratch_,
                      [this](Rank r) { return plan_.cluster.describe(r); },
                      plan_.geometry(),
                      {plan_.codecs}};
    std::vector<Transfer> answers;
    AgreedSum total;
    for (size_t b = 0; b < plan_.buckets.size(); ++b) {
      const ExchangeCall call{round.round, static_cast<int>(b), round.deadline};
      scratch_.reset();
      std::vector<Arriving> arriving;
      for (const ServerPiece& piece : layout_.pieces(plan_.buckets[b])) {
        if (piece.shard == shard_) {
          XDC_TRY_ASSIGN(auto pushes, expect(site, call, piece));
          arriving.push_back({piece, std::move(pushes)});
        }
      }
      for (auto& [piece, pushes] : arriving) {
        XDC_TRY_ASSIGN(const ControlSum sum, answer(site, round, call, piece, pushes, answers));
        XDC_TRY(total.meet(sum));
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
  };

  Result<std::vector<Transfer>> expect(ExchangeSite& site, const ExchangeCall& call, const ServerPiece& piece) {
    std::vector<Transfer> pushes;
    for (const MemberId pusher : layout_.pushers(piece.lane)) {
      XDC_TRY_ASSIGN(const WireTensor room, inbox(site, plan_.codec_between(pusher, self_), piece.range));
      pushes.push_back(receive(site, pusher, tag_of(call, Phase::push, piece), room));
    }
    return pushes;
  }

  // Adds what is pushed, updates the piece's elements and sends them back.
  Result<ControlSum> answer(ExchangeSite& site, const ServerRound& round, const ExchangeCall& call, const ServerPiece& piece,
                            std::vector<Transfer>& pushes, std::vector<Transfer>& answers) {
    ControlSum sum;
    Tensor gradient;
    for (auto& push : pushes) {
      XDC_TRY_ASSIGN(const ControlSum own, await(site, push, round.deadline));
      sum = sum + own;
      XDC_TRY_ASSIGN(const Tensor term, decoded(site, push.wire));
      if (&push == &pushes.front()) {
        gradient = term;
      } else {
        add(site, piece.range, gradient, term);
      }
    }
    update(round, piece.range, gradient);
    XDC_TRY(finish(site, round.deadline));
    const WireTensor fresh = plain(piece.range, site.geometry.slice_of(round.parameters_after, owned(), piece.range));
    for (const MemberId pusher : layout_.pushers(piece.lane)) {
      answers.push_back(send(site, pusher, tag_of(call, Phase::pull, piece), sum, fresh));
    }
    return sum;
  }

  void update(const ServerRound& round, Range range, Tensor gradient) {
    const auto own = [&](Tensor t) { return plan_.geometry().slice_of(t, owned(), range); };
    std::vector<Tensor> before, after;
    for (size_t i = 0; i < round.state_before.size(); ++i) {
      before.push_back(own(round.state_before[i]));
      after.push_back(own(round.state_after[i]));
    }
    env_.device.charge(stream_, optimizer_.cost(range.count));
    optimizer_.apply(env_.device.kernels(), stream_, round.round, own(round.parameters_before), before, gradient,
                     own(round.parameters_after), after);
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

std::unique_ptr<ServerStrategy> make_parameter_server(const StrategyPlan& plan, const Optimizer& optimizer, Env& env, MemberId self) {
  return std::make_unique<ParameterServer>(plan, optimizer, env, self);
}

}  // namespace xdc
