#include "tools/surroundings.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>

#include "exec/emu/emulated_wan.hpp"

extern char** environ;

namespace xdc {

void declare_settings(CLI::App& app, Variables& options) {
  for (const SettingName& name : setting_names()) {
    const std::string help = fmt::format("{} [{}]", name.help, name.variable);
    if (name.value_name.empty()) {
      app.add_flag_callback(
          name.option, [&options, option = name.option] { options[option].assign(1, '1'); }, help);
      continue;
    }
    // Several of a list are one list.
    const std::string separator = name.what == "hosts" ? ";" : name.what == "allowed mismatches" ? "," : "";
    auto* added = app.add_option_function<std::vector<std::string>>(
        name.option,
        [&options, option = name.option, separator](const std::vector<std::string>& values) {
          options[option] = fmt::format("{}", fmt::join(values, separator));
        },
        help);
    added->type_name(name.value_name)->allow_extra_args(false);
    if (separator.empty()) added->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::Throw);
  }
}

Variables relevant_variables() {
  constexpr std::array<std::string_view, 5> kBeginnings{"XDC_", "PADDLE_", "TRAINING_ROLE=", "POD_IP=", "FLAGS_selected_gpus="};
  Variables variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const auto equals = text.find('=');
    for (const auto beginning : kBeginnings) {
      if (text.starts_with(beginning) && equals != std::string_view::npos)
        variables.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  return variables;
}

Status place_in_emulated_networks(Request& request, const Topology& topology) {
  const auto refuse = [](const std::string& from) -> Status {
    return Error{ErrorCode::invalid, fmt::format("--emulate-wan starts everyone here, in networks of its own, and {} says otherwise: "
                                                 "remove one of them",
                                                 from)};
  };
  if (request.datacenter) return refuse(request.datacenter->from);
  if (request.node) return refuse(request.node->from);
  if (request.rank) return refuse(request.rank->from);
  if (request.paddle.self) return refuse(request.paddle.self->from);
  if (request.hosts) return refuse(request.hosts->from);
  if (request.store) return refuse(request.store->from);
  request.emulated = true;
  request.hosts.emplace();
  request.hosts->from = "--emulate-wan";
  for (size_t i = 0; i < topology.datacenters.size(); ++i) {
    auto& hosts = request.hosts->value[topology.datacenters[i].name];
    for (int node = 0; node < topology.datacenters[i].nodes; ++node) hosts.push_back(EmulatedWan::address(static_cast<int>(i), node));
  }
  return ok_status();
}

Result<std::string> explain_surroundings(const Request& request, const std::vector<RunSpec>& specs) {
  std::string text = explain(request.explained);
  std::string before;
  for (const RunSpec& spec : specs) {
    auto placement = place(request, spec.topology, spec.cluster());
    if (!placement.ok()) return with_context(placement.error(), spec.variant);
    const std::string table = explain(explain_placement(placement.value(), spec.cluster()));
    text += table == before ? fmt::format("\n{}: as above\n", spec.variant) : fmt::format("\n{}:\n{}", spec.variant, table);
    before = table;
  }
  return text;
}

}  // namespace xdc
