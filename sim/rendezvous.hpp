// Who is here already? Members of a view meet under a name; the last to come lets all go. It costs no virtual time beyond
// the waiting: what connections cost on the wire is small beside what they carry.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/quantity.hpp"
#include "core/membership/folding.hpp"
#include "sim/wait_point.hpp"

namespace xdc {

// Thing: what those who met share from then on. Lives as long as the rendezvous, since messages still fly when their sender
// is done.
template <class Thing>
class Rendezvous {
 public:
  Rendezvous(Agenda& agenda, const Cluster& cluster, const Folding& folding) : agenda_(agenda), cluster_(cluster), folding_(folding) {}

  // `make` is called once per name, by the first to come.
  Result<Thing*> meet(const View& view, std::string_view purpose, MemberId me, Deadline deadline,
                      const std::function<std::unique_ptr<Thing>()>& make) {
    const auto rank = static_cast<size_t>(view.rank_of(me));
    XDC_CHECK_MSG(view.rank_of(me) >= 0, "a member connects to a view that it is not in");
    auto* found = find(view, purpose, me);
    if (found == nullptr) {
      return Error{ErrorCode::view_changed,
                   fmt::format("{} and others mean different members by view {} of \"{}\"", cluster_.describe(me), view.epoch, purpose)};
    }
    Gathering& gathering = *found;
    if (gathering.thing == nullptr) {
      gathering.members = view.members;
      gathering.seats.resize(view.members.size());
      gathering.missing = static_cast<size_t>(
          std::count_if(view.members.begin(), view.members.end(), [this](MemberId member) { return folding_.acts(member); }));
      gathering.thing = make();
    }
    XDC_CHECK_MSG(!gathering.seats[rank].taken,
                  fmt::format("{} connects \"{}\" of view {} twice", cluster_.describe(me), purpose, view.epoch));
    gathering.seats[rank].taken = true;
    if (--gathering.missing == 0) {
      agenda_.at(Agenda::now(), [&gathering] {
        for (auto* waiter : gathering.waiters) waiter->wake();
      });
      return gathering.thing.get();
    }
    const auto began = Agenda::now();
    const auto missing = [&] { return fmt::format("{} to connect \"{}\" of view {}", names(gathering), purpose, view.epoch); };
    if (!wait(gathering, deadline, missing)) {
      gathering.seats[rank] = {false, Agenda::now()};
      ++gathering.missing;
      return Error{ErrorCode::timeout,
                   fmt::format("{} waited {} for {}", cluster_.describe(me), format_duration(Agenda::now() - began), missing())};
    }
    return gathering.thing.get();
  }

 private:
  struct Seat {
    bool taken = false;
    TimePoint given_up{-1};
  };
  struct Gathering {
    std::vector<MemberId> members;
    std::vector<Seat> seats;
    size_t missing = 0;
    std::vector<WaitPoint*> waiters;
    std::unique_ptr<Thing> thing;
  };

  // The gathering of exactly these members, a new one if need be; nullptr when `me` is expected among others. Views of one name
  // are equal or have no member in common: each datacenter may have its own.
  Gathering* find(const View& view, std::string_view purpose, MemberId me) {
    auto& same_name = gatherings_[{view.epoch, std::string(purpose)}];
    for (auto& gathering : same_name) {
      if (gathering.members == view.members) return &gathering;
      if (std::binary_search(gathering.members.begin(), gathering.members.end(), me)) return nullptr;
    }
    return &same_name.emplace_back();
  }

  bool wait(Gathering& gathering, Deadline deadline, Describe describe) {
    WaitPoint waiter(agenda_);
    struct Listed {
      std::vector<WaitPoint*>& list;
      WaitPoint* waiter;
      ~Listed() { std::erase(list, waiter); }
    } const listed{gathering.waiters, &waiter};
    gathering.waiters.push_back(&waiter);
    return waiter.wait(
        deadline, [&] { return gathering.missing == 0; }, describe);
  }

  std::string names(const Gathering& gathering) const {
    constexpr int kNames = 8;
    std::string text;
    int named = 0;
    for (size_t i = 0; i < gathering.members.size(); ++i) {
      // Whoever gave up at this very moment had the same deadline; it was here.
      const bool absent = folding_.acts(gathering.members[i]) && !gathering.seats[i].taken && gathering.seats[i].given_up != Agenda::now();
      if (absent && named++ < kNames) {
        text += (named > 1 ? ", " : "") + cluster_.describe(gathering.members[i]);
      }
    }
    return named > kNames ? fmt::format("{} and {} more", text, named - kNames) : text;
  }

  Agenda& agenda_;
  const Cluster& cluster_;
  const Folding& folding_;
  std::map<std::pair<uint64_t, std::string>, std::list<Gathering>> gatherings_;
};

}  // namespace xdc
