// How does hardware reduce inside a simulated datacenter? Members meet at each call; the last to come adds in rank order, and
// all go on when the modelled time (sim/ring_time.hpp) has passed. What they add is what point-to-point code would add.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/membership/folding.hpp"
#include "core/seam/fabric.hpp"
#include "sim/device.hpp"
#include "sim/platform.hpp"
#include "sim/wait_point.hpp"

namespace xdc {

// What the members of one group share.
class CollectiveGroup {
 public:
  enum class Kind : uint8_t { all_reduce, reduce_scatter, all_gather, broadcast };

  // What every rank must say alike.
  struct Call {
    Kind kind = Kind::all_reduce;
    int64_t elements = 0;
    DType dtype = DType::f32;
    std::vector<Part> parts;  // broadcast: one, the root's
    int64_t wire_bytes = 0;
  };

  CollectiveGroup(Agenda& agenda, const Platform& platform, const Cluster& cluster, const Folding& folding, View view, std::string purpose);

  Agenda& agenda() { return agenda_; }
  int size() const { return view_.size(); }
  std::string name_of(Rank rank) const { return cluster_.describe(view_.members[static_cast<size_t>(rank)]); }
  std::string describe() const;
  // Those who have not come to the call under way, or what else it waits for.
  std::string describe_missing() const;

  // Rank `rank` brings its tensor to the call under way; the last one starts the clock. Returns the call's number, which
  // `finished()` reaches when it is done.
  int64_t enter(Rank rank, const Call& call, Tensor tensor, WaitPoint& waiter, SimDevice& device);
  int64_t finished() const { return finished_; }

  // `rank` takes part no more; the others hear of it when the news has travelled. Makes no simcall.
  void leave(Rank rank, const std::string& why);
  // What the others are told, once they know.
  const std::optional<Error>& news() const { return news_; }

 private:
  std::vector<double> part_bytes() const;
  Duration call_time() const;
  void compute(SimDevice& device);
  void sum(SimDevice& device, const Part& part, bool everywhere);
  void spread(const Part& part);
  void complete();
  void wake_all();
  // How many members a rank acts for.
  int stands_for(size_t rank) const { return folding_.stands_for[static_cast<size_t>(view_.members[rank])]; }

  Agenda& agenda_;
  const Cluster& cluster_;
  const Folding& folding_;
  View view_;
  std::string purpose_;
  std::vector<LineSpec> lines_;
  Call call_;
  std::vector<std::optional<Tensor>> tensors_;  // of the ranks that have come
  std::vector<WaitPoint*> waiters_;             // of the ranks that have come; nullptr where one has gone
  int present_ = 0;                             // with those they act for
  int64_t finished_ = 0;
  bool left_ = false;
  std::optional<Error> news_;
};

class SimCollectives final : public Collectives {
 public:
  SimCollectives(CollectiveGroup& group, SimDevice& device, Rank rank)
      : group_(group), device_(device), rank_(rank), waiter_(group.agenda()) {}
  ~SimCollectives() override;

  Status all_reduce(Tensor inout, int64_t wire_bytes, Deadline deadline) override;
  Status reduce_scatter(Tensor inout, std::span<const Part> parts, Deadline deadline) override;
  Status all_gather(Tensor inout, std::span<const Part> parts, Deadline deadline) override;
  Status broadcast(Tensor inout, Rank root, int64_t wire_bytes, Deadline deadline) override;
  void abort(Error error) override;

 private:
  Status call(CollectiveGroup::Kind kind, Tensor inout, std::vector<Part> parts, int64_t wire_bytes, Deadline deadline);
  void break_with(Error error);

  CollectiveGroup& group_;
  SimDevice& device_;
  Rank rank_;
  WaitPoint waiter_;
  std::optional<Error> broken_;
};

}  // namespace xdc
