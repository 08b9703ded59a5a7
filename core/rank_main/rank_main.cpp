#include "core/rank_main/rank_main.hpp"

#include <fmt/format.h>

#include "core/rank_main/server.hpp"
#include "core/rank_main/worker.hpp"
#include "core/report/report.hpp"

namespace xdc {

std::string report_key(MemberId member) { return fmt::format("report/{}", member); }

Status rank_main(Env& env, const RunSpec& spec, MemberId self) {
  MemberReport report;
  report.member = self;
  const bool worker = spec.cluster().members[static_cast<size_t>(self)].role == Role::worker;
  Status status = worker ? run_worker(env, spec, self, report) : run_server(env, spec, self, report);
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
