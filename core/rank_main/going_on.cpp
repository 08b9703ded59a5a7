#include "core/rank_main/going_on.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/digest.hpp"
#include "core/rank_main/run_state.hpp"
#include "core/strategies/parameter_server_layout.hpp"
#include "core/strategies/registry.hpp"

namespace xdc {
namespace {

std::vector<std::string> labels_of(const RunSpec& spec) {
  std::vector<std::string> labels;
  for (const auto& member : spec.cluster().members) labels.push_back(spec.cluster().label(member.id));
  return labels;
}

}  // namespace

std::string layout_of(const RunSpec& spec) {
  Digest digest;
  for (const auto& label : labels_of(spec)) digest.update(label + "\n");
  for (const auto& [key, value] : strategy_of(spec.plan.spec).describe(spec.plan)) {
    digest.update(fmt::format("{} {}\n", key, std::visit([](const auto& v) { return fmt::format("{}", v); }, value)));
  }
  for (const Range bucket : spec.plan.buckets) digest.update(fmt::format("{} {}\n", bucket.begin, bucket.count));
  return digest.hex();
}

std::string lasting_layout_of(const RunSpec& spec) {
  Digest digest;
  for (const Range bucket : spec.plan.buckets) digest.update(fmt::format("{} {}\n", bucket.begin, bucket.count));
  const auto servers = spec.cluster().servers();
  if (servers.empty()) return digest.hex();
  const ServerLayout layout(spec.plan);
  for (size_t s = 0; s < servers.size(); ++s) {
    const Range shard = layout.shard(static_cast<int>(s));
    digest.update(fmt::format("{} {} {}\n", spec.cluster().label(servers[s]), shard.begin, shard.count));
  }
  return digest.hex();
}

std::string reason_against(const Manifest& manifest, const RunSpec& spec) {
  if (const auto differs = differing_settings(manifest, spec.settings); !differs.empty()) {
    return fmt::format("the checkpoint of step {} is of another run:{}", manifest.step, differs);
  }
  if (manifest.layout == layout_of(spec)) return {};
  if (manifest.lasting_layout != lasting_layout_of(spec) || manifest.members == labels_of(spec)) {
    return fmt::format(
        "the checkpoint of step {} was written with other buckets (train.bucket), servers or ways between the ranks; the number of ranks "
        "of a "
        "datacenter may be another one, but not these",
        manifest.step);
  }
  const SampleSchedule schedule(spec.dealt());
  if (spec.plan.trains_locally() && make_optimizer(spec, schedule).state_tensors() > 0) {
    return fmt::format(
        "the checkpoint of step {} was written by other ranks ({} members), and each rank of local_sgd has optimizer state of its own: "
        "nobody can say what another number of ranks would have; possible are the ranks that it had, or a run with an optimizer without "
        "state (sgd without momentum)",
        manifest.step, manifest.members.size());
  }
  return {};
}

bool drops_workers_files(const Manifest& manifest, const RunSpec& spec) { return manifest.layout != layout_of(spec); }

std::string describe_dropped(const Manifest& manifest, const RunSpec& spec) {
  std::string text = fmt::format("the checkpoint of step {} was written by {} members, and {} go on: samples of its epoch are dealt anew",
                                 manifest.step, manifest.members.size(), spec.cluster().members.size());
  const auto lost =
      std::count_if(manifest.files.begin(), manifest.files.end(), [](const PieceFile& file) { return file.residual_norm > 0; });
  if (lost > 0) {
    text += fmt::format(", and what encodings still owed (error feedback) of {} of them is dropped, as whoever goes on encodes other parts",
                        lost);
  }
  return text;
}

SampleSchedule::Deals deals_after(const Manifest& manifest, const RunSpec& spec) {
  const auto dealt = spec.dealt();
  if (manifest.dealt.deals.back().datacenters == dealt) return manifest.dealt;
  return SampleSchedule(SampleSchedule::GoesOn{}, manifest.dealt).dealt_anew(manifest.step, dealt);
}

}  // namespace xdc
