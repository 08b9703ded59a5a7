#include "sim/run.hpp"

#include <fmt/format.h>

#include "core/base/quantity.hpp"
#include "sim/world.hpp"

namespace xdc {
namespace {

const SimWorld* running_world = nullptr;

}  // namespace

SimWorld::Site::Site(SimWorld& world, MemberId id, Kernels& arithmetic)
    : lanes(world.agenda_, world.lanes_, id, world.platform_.host_of(id)),
      device(world.clock_, world.spec_.devices[static_cast<size_t>(id)], world.spec_.payload, arithmetic, world.spec_.cluster.describe(id)),
      fabric(world.hub_, device, id),
      trace(world.observer_, id),
      env{world.clock_, lanes, fabric, device, world.store_, storage, trace, stop} {}

SimWorld::SimWorld(WorldSpec spec, Kernels& arithmetic, Observer observer)
    : spec_(std::move(spec)),
      observer_(std::move(observer)),
      folding_(spec_.folding ? *spec_.folding : unfolded(spec_.cluster)),
      clock_(agenda_),
      platform_(spec_.topology, spec_.cluster, folding_),
      lanes_(spec_.cluster),
      store_(agenda_),
      hub_(agenda_, platform_, spec_.cluster, folding_) {
  XDC_CHECK_MSG(spec_.devices.size() == spec_.cluster.members.size(), "one device per member");
  XDC_CHECK_MSG(folding_.actors() == static_cast<int>(spec_.cluster.members.size()) || spec_.payload == PayloadKind::phantom,
                "members with contents of their own cannot act for each other");
  for (const auto& member : spec_.cluster.members) {
    sites_.push_back(folding_.acts(member.id) ? std::make_unique<Site>(*this, member.id, arithmetic) : nullptr);
    if (sites_.back() == nullptr) {
      continue;
    }
    if (spec_.watch.computation) {
      sites_.back()->device.watch([this, id = member.id](std::string_view stream, TimePoint start, TimePoint end) {
        spec_.watch.computation({id, stream, start, end});
      });
    }
  }
  hub_.watch = &spec_.watch;
  running_world = this;
  set_check_context(&SimWorld::check_context);
}

SimWorld::~SimWorld() {
  running_world = nullptr;
  set_check_context(nullptr);
}

std::string SimWorld::check_context() {
  return fmt::format("{}{}{}, {}", running_world->spec_.label, running_world->spec_.label.empty() ? "" : ", ",
                     running_world->lanes_.describe_current(), format_duration(Agenda::now() - TimePoint{}));
}

Status SimWorld::run(const std::function<void(Env&, MemberId)>& body) {
  for (const auto& member : spec_.cluster.members) {
    if (!folding_.acts(member.id)) {
      continue;
    }
    sg::Actor::create("main", platform_.host_of(member.id),
                      [this, &body, id = member.id] { lanes_.run(id, "main", [&] { body(sites_[static_cast<size_t>(id)]->env, id); }); });
  }
  Status outcome;
  engine_.run([&](std::string_view why) {
    outcome = Error{ErrorCode::failed, fmt::format("the simulation is stuck at {}: {}{}", format_duration(Agenda::now() - TimePoint{}), why,
                                                   lanes_.describe_all())};
  });
  return outcome;
}

Result<WorldEnd> run_world(const WorldSpec& spec, Kernels& arithmetic, const Observer& observer,
                           const std::function<void(Env&, MemberId)>& body) {
  // Never destroyed: SimGrid, which is never shut down either, may still hold what refers to it.
  static auto* world = new SimWorld(spec, arithmetic, observer);
  XDC_TRY(world->run(body));
  return WorldEnd{Agenda::now(), [](std::string_view key) -> std::optional<std::string> {
                    const auto* entry = world->store().find(key);
                    return entry == nullptr ? std::nullopt : std::optional(entry->value);
                  }};
}

}  // namespace xdc
