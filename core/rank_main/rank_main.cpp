#include "core/rank_main/rank_main.hpp"

#include <fmt/format.h>

#include "core/rank_main/checkpoints.hpp"
#include "core/rank_main/server.hpp"
#include "core/rank_main/worker.hpp"
#include "core/report/report.hpp"

namespace xdc {

std::string report_key(MemberId member) { return fmt::format("report/{}", member); }

namespace {

Status live(Env& env, const RunSpec& spec, MemberId self, MemberReport& report, Checkpoints* checkpoints) {
  const bool worker = spec.cluster().members[static_cast<size_t>(self)].role == Role::worker;
  return worker ? run_worker(env, spec, self, report, checkpoints) : run_server(env, spec, self, report, checkpoints);
}

// With checkpoints: they say where the run begins.
Status live_and_save(Env& env, const RunSpec& spec, MemberId self, MemberReport& report) {
  if (spec.plan.pushes_freely()) {
    return Error{ErrorCode::invalid,
                 "pushes are applied one by one here: there is no step that all have applied, and nothing that can be saved"};
  }
  RunSpec begun = spec;
  Checkpoints checkpoints(env, begun, self, report);
  XDC_TRY(checkpoints.start());
  begun.start = checkpoints.start_point();
  const Status status = live(env, begun, self, report, &checkpoints);
  if (!status.ok()) checkpoints.abort({ErrorCode::peer_lost, status.error().message});
  return status;
}

}  // namespace

Status rank_main(Env& env, const RunSpec& spec, MemberId self) {
  MemberReport report;
  report.member = self;
  Status status = spec.keeps_checkpoints ? live_and_save(env, spec, self, report) : live(env, spec, self, report, nullptr);
  report.traffic = env.fabric.traffic();
  if (!status.ok()) {
    status = with_context(status.error(), spec.cluster().describe(self));
    report.error = status.error().message;
    report.error_code = static_cast<int>(status.error().code);
  }
  const auto put = env.store.put_if(report_key(self), to_json(report), kAnyRevision, nullptr, env.clock.now() + seconds(30));
  // What went wrong first is what a reader needs; a report that cannot be left is a failure only of a run without others.
  return status.ok() ? put.status() : status;
}

}  // namespace xdc
