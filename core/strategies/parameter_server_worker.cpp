// parameter_server, what a worker does in a round: see parameter_server.cpp.
#include "core/strategies/inside.hpp"
#include "core/strategies/parameter_server.hpp"
#include "core/strategies/parameter_server_layout.hpp"

namespace xdc {
namespace {

class ParameterServerWorker : public WorkerStrategy {
 public:
  ParameterServerWorker(const StrategyPlan& plan, Env& env, MemberId self)
      : plan_(plan),
        env_(env),
        self_(self),
        layout_(plan),
        hierarchy_(plan.cluster, layout_.lanes(), self),
        inside_(plan, env, hierarchy_),
        aggregates_(std::get<ParameterServerSpec>(plan.spec).aggregator),
        scratch_(env.device),
        inside_scratch_(env.device),
        stream_(env.device.make_stream("push")) {}

  Yields yields() const override { return Yields::parameters; }

  Status connect(const View& everyone, Deadline deadline) override {
    XDC_TRY_ASSIGN(pushing_, env_.fabric.connect(everyone, kServerChannel, deadline));
    if (plan_.pushes_freely()) {
      XDC_TRY_ASSIGN(answering_, env_.fabric.connect(everyone, kAnswerChannel, deadline));
    }
    return aggregates_ ? inside_.connect(everyone, "aggregators", deadline) : ok_status();
  }

  Result<ControlSum> exchange(const WorkerRound& round) override {
    std::vector<Transfer> pushes;
    std::vector<Bucket> buckets;
    scratch_.reset();
    for (size_t b = 0; b < plan_.buckets.size(); ++b) {
      XDC_TRY(round.wait_bucket(static_cast<int>(b)));
      buckets.push_back({{round.round, static_cast<int>(b), round.deadline}, hierarchy_.inside(plan_.buckets[b], round.own), {}});
      if (aggregates_) {
        ExchangeSite inside = site_of(*pushing_, inside_scratch_, coding_of(plan_, self_, round));
        inside_scratch_.reset();
        XDC_TRY(inside_.reduce_scatter(inside, buckets.back().call, round.gradient, round.own, buckets.back().inside));
      }
      XDC_TRY(push(round, buckets.back(), pushes));
    }
    AgreedSum total;
    for (auto& bucket : buckets) {
      XDC_TRY(pull(round, bucket));
      for (const auto& sum : bucket.inside.sums) {
        XDC_TRY(total.meet(sum));
      }
    }
    ExchangeSite site = site_of(*pushing_, scratch_, {plan_.codecs});
    XDC_TRY(await_all(site, pushes, round.deadline));
    return *total.value();
  }

  void abort(const Error& error) override {
    for (auto* communicator : {pushing_.get(), answering_.get()}) {
      if (communicator != nullptr) {
        communicator->abort(error);
      }
    }
    inside_.abort(error);
  }

 private:
  // A bucket on its way.
  struct Bucket {
    ExchangeCall call;
    Reduction inside;  // without aggregators one part, which every worker owns
    std::vector<Transfer> pulls;
  };

  ExchangeSite site_of(Communicator& communicator, Scratch& scratch, const Coding& coding) {
    return {env_.device, stream_, communicator, scratch, [this](Rank r) { return plan_.cluster.describe(r); }, plan_.geometry(), coding};
  }

  std::vector<ServerPiece> own_pieces(const Bucket& bucket) const {
    std::vector<ServerPiece> own;
    for (const ServerPiece& piece : layout_.pieces(plan_.buckets[static_cast<size_t>(bucket.call.bucket)])) {
      if (layout_.pusher(piece.lane, self_) != nullptr) {
        own.push_back(piece);
      }
    }
    return own;
  }

  Communicator& answers_from() { return answering_ != nullptr ? *answering_ : *pushing_; }
  MemberId server_of(const ServerPiece& piece) const { return layout_.servers()[static_cast<size_t>(piece.shard)]; }

  Status push(const WorkerRound& round, Bucket& bucket, std::vector<Transfer>& pushes) {
    ExchangeSite site = site_of(*pushing_, scratch_, coding_of(plan_, self_, round));
    ExchangeSite answers = site_of(answers_from(), scratch_, {});
    const auto pieces = own_pieces(bucket);
    std::vector<WireTensor> wires;
    for (const ServerPiece& piece : pieces) {
      const Encoding encoding{plan_.tier_between(self_, server_of(piece)), Encoded::contribution, piece.range, 0};
      XDC_TRY_ASSIGN(const WireTensor wire, encode(site, bucket.call, encoding, site.geometry.slice(round.gradient, piece.range)));
      wires.push_back(wire);
    }
    XDC_TRY(finish(site, round.deadline));
    for (size_t i = 0; i < pieces.size(); ++i) {
      const ServerPiece& piece = pieces[i];
      const ControlSum sum = *bucket.inside.sums[static_cast<size_t>(piece.lane)];
      const int turn = layout_.pusher(piece.lane, self_)->turn;
      pushes.push_back(send(site, server_of(piece), tag_of(bucket.call, Phase::push, piece, turn), sum, wires[i]));
      const WireTensor place = plain(piece.range, site.geometry.slice(round.parameters_after, piece.range));
      bucket.pulls.push_back(receive(answers, server_of(piece), tag_of(bucket.call, Phase::pull, piece, turn), place));
    }
    return ok_status();
  }

  // New parameters are handed on as they are: they are fp32 inside a datacenter, too.
  Status pull(const WorkerRound& round, Bucket& bucket) {
    ExchangeSite site = site_of(answers_from(), inside_scratch_, {});
    std::vector<AgreedSum> sums(bucket.inside.sums.size());
    const auto pieces = own_pieces(bucket);
    for (size_t i = 0; i < pieces.size(); ++i) {
      XDC_TRY_ASSIGN(const ControlSum sum, await(site, bucket.pulls[i], round.deadline));
      XDC_TRY(sums[static_cast<size_t>(pieces[i].lane)].meet(sum));
    }
    for (size_t lane = 0; lane < sums.size(); ++lane) {
      bucket.inside.sums[lane] = sums[lane].value();
    }
    return aggregates_ ? inside_.all_gather(site, bucket.call, round.parameters_after, bucket.inside) : ok_status();
  }

  const StrategyPlan& plan_;
  Env& env_;
  MemberId self_;
  ServerLayout layout_;
  Hierarchy hierarchy_;
  InsideExchange inside_;
  bool aggregates_;
  Scratch scratch_;         // what is pushed, until the round is over
  Scratch inside_scratch_;  // of one bucket's additions
  Stream stream_;
  std::unique_ptr<Communicator> pushing_;
  std::unique_ptr<Communicator> answering_;  // only where servers answer when they please
};

}  // namespace

std::unique_ptr<WorkerStrategy> make_parameter_server_worker(const StrategyPlan& plan, Env& env, MemberId self) {
  return std::make_unique<ParameterServerWorker>(plan, env, self);
}

}  // namespace xdc
