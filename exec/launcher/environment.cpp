#include "exec/launcher/environment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "core/base/edit_distance.hpp"
#include "core/base/quantity.hpp"
#include "exec/launcher/paddle.hpp"

namespace xdc {

namespace {

Error invalid(std::string message) { return {ErrorCode::invalid, std::move(message)}; }

Result<std::string> read_text(const std::string& text) {
  if (text.empty()) {
    return invalid("is empty");
  }
  return text;
}

Result<int> read_node(const std::string& text) {
  const auto number = parse_number(text);
  if (!number) {
    return invalid(fmt::format("is \"{}\", and the number of a node is wanted, from 0", text));
  }
  return *number;
}

Result<int> read_port(const std::string& text) {
  const auto number = parse_number(text);
  if (!number || *number < 2 || *number > 65'535) {
    return invalid(fmt::format("is \"{}\", and a port from 2 to 65535 is wanted (the store stands one below)", text));
  }
  return *number;
}

Result<RankName> read_rank(const std::string& text) {
  constexpr std::string_view kServer = "server";
  const bool server = text.starts_with(kServer);
  const auto number = parse_number(server ? std::string_view(text).substr(kServer.size()) : std::string_view(text));
  if (!number) {
    return invalid(fmt::format("is \"{}\", and a rank is wanted, as in \"3\", or a parameter server, as in \"server0\"", text));
  }
  return RankName{server, *number};
}

// "0" must not read as true, which it does where any text is.
Result<bool> read_boolean(const std::string& text) {
  for (const auto* yes : {"1", "true", "yes"}) {
    if (text == yes) return true;
  }
  for (const auto* no : {"0", "false", "no"}) {
    if (text == no) return false;
  }
  return invalid(fmt::format("is \"{}\"; it is one of 1, true, yes, 0, false, no", text));
}

Result<Duration> read_duration(const std::string& text) {
  const auto duration = parse_duration(text);
  if (!duration.ok() || duration.value().ns <= 0) {
    return invalid(fmt::format("is \"{}\", and a time is wanted, as in \"60 s\"", text));
  }
  return duration.value();
}

// "beijing=10.1.0.1,10.1.0.2;shanghai=10.2.0.1"
Result<std::map<std::string, std::vector<std::string>>> read_hosts(const std::string& text) {
  std::map<std::string, std::vector<std::string>> hosts;
  for (const std::string& part : split(text, ';')) {
    const size_t equals = part.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == part.size()) {
      return invalid(fmt::format("has \"{}\"; \"beijing=10.1.0.1,10.1.0.2;shanghai=10.2.0.1\" is wanted", part));
    }
    const std::string name = part.substr(0, equals);
    const auto addresses = split(part.substr(equals + 1), ',');
    for (const std::string& address : addresses) {
      if (!is_ipv4_address(address)) {
        return invalid(fmt::format("has \"{}\" for {}, which is no IPv4 address", address, name));
      }
      if (std::count(addresses.begin(), addresses.end(), address) > 1) {
        return invalid(fmt::format("has {} twice for {}: a node has an address of its own", address, name));
      }
    }
    if (!hosts.emplace(name, addresses).second) {
      return invalid(fmt::format("has {} twice", name));
    }
  }
  if (hosts.empty()) {
    return invalid("is empty");
  }
  return hosts;
}

Result<std::vector<std::string>> read_list(const std::string& text) {
  if (text.empty()) {
    return invalid("is empty");
  }
  return split(text, ',');
}

const SettingName& setting(std::string_view what) {
  const auto& all = setting_names();
  return *std::find_if(all.begin(), all.end(), [what](const SettingName& name) { return name.what == what; });
}

class Reader {
 public:
  Reader(const Variables& options, const Variables& variables) : options_(options), variables_(variables) {}

  template <class T>
  Maybe<T> read(std::string_view what, Result<T> (*parse)(const std::string&)) {
    const SettingName& name = setting(what);
    const auto given = options_.find(name.option);
    const auto variable = variables_.find(name.variable);
    const bool by_option = given != options_.end();
    if (!by_option && variable == variables_.end()) {
      explained.push_back({name.what, "", fmt::format("{}, {}", name.option, name.variable)});
      return std::nullopt;
    }
    const std::string& from = by_option ? name.option : name.variable;
    const std::string& text = by_option ? given->second : variable->second;
    auto value = parse(text);
    if (!value.ok()) {
      errors.push_back(fmt::format("{} {}", from, value.error().message));
      return std::nullopt;
    }
    const bool both = by_option && variable != variables_.end() && variable->second != text;
    explained.push_back({name.what, text, both ? fmt::format("{}, in place of {}={}", from, name.variable, variable->second) : from});
    return Given<T>{std::move(value).value(), from};
  }

  std::vector<std::string> errors;
  std::vector<Explained> explained;

 private:
  const Variables& options_;
  const Variables& variables_;
};

bool by_option(const Variables& options) {
  return options.contains("--datacenter") || options.contains("--node") || options.contains("--rank");
}

// A misspelt variable would otherwise start every rank of the run here.
void refuse_unknown(const Variables& variables, std::vector<std::string>& errors) {
  std::vector<std::string> names;
  for (const SettingName& name : setting_names()) names.push_back(name.variable);
  for (const auto& [name, value] : variables) {
    if (!name.starts_with("XDC_") || std::find(names.begin(), names.end(), name) != names.end()) continue;
    const auto near = nearest_of(name, names);
    errors.push_back(fmt::format("{} means nothing to xdc-run{}; the names are {}", name,
                                 near.empty() ? "" : fmt::format(", did you mean {}?", near), fmt::join(names, ", ")));
  }
}

// The answers of XDC_* to who is started here are dropped where the command line has one.
Variables without_replaced(const Variables& options, const Variables& variables, std::vector<Explained>& explained) {
  Variables kept = variables;
  for (const auto* what : {"datacenter", "node", "rank"}) {
    const SettingName& name = setting(what);
    const auto found = kept.find(name.variable);
    if (found == kept.end() || !by_option(options) || options.contains(name.option)) continue;
    explained.push_back({name.variable, found->second, "not used: the command line says who is started here"});
    kept.erase(found);
  }
  return kept;
}

void merge_paddle(const Variables& options, Request& request, std::vector<std::string>& errors) {
  const PaddleRequest& paddle = request.paddle;
  if (paddle.self && !by_option(options)) {
    if (request.rank && request.rank->value != paddle.self->value) {
      errors.push_back(fmt::format("{} says that this is {}, and {} says {}: remove one of them", request.rank->from,
                                   to_string(request.rank->value), paddle.self->from, to_string(paddle.self->value)));
    }
    if (!request.rank) request.rank = paddle.self;
  }
  if (paddle.master) {
    const bool contradicts = request.store && request.store->from == "XDC_STORE" && request.store->value != paddle.master->value;
    if (contradicts) {
      errors.push_back(fmt::format("XDC_STORE says that the store is at {}, and {} says {}: remove one of them",
                                   to_string(request.store->value), paddle.master->from, to_string(paddle.master->value)));
    }
    if (!request.store) request.store = paddle.master;
  }
  const auto& listed = paddle.trainer_endpoints ? paddle.trainer_endpoints : paddle.server_endpoints;
  if (request.port && listed) {
    errors.push_back(fmt::format("{} and {} both say which ports members have: remove one of them", request.port->from, listed->from));
  }
}

void check_together(const Request& request, std::vector<std::string>& errors) {
  if (request.node && !request.datacenter) {
    errors.push_back(
        fmt::format("{} needs --datacenter (or XDC_DATACENTER): each datacenter numbers its nodes from 0", request.node->from));
  }
  if (request.tls && request.insecure && request.insecure->value) {
    errors.push_back(
        fmt::format("{} asks for certificates and {} allows to do without: remove one of them", request.tls->from, request.insecure->from));
  }
}

}  // namespace

std::string to_string(const RankName& name) { return fmt::format("{} {}", name.server ? "server" : "rank", name.number); }

const std::vector<SettingName>& setting_names() {
  static const std::vector<SettingName> kNames{
      {"datacenter", "--datacenter", "XDC_DATACENTER", "NAME", "start the members of this datacenter; others start the rest"},
      {"node", "--node", "XDC_NODE", "N", "with --datacenter: only those of its node N, from 0"},
      {"rank", "--rank", "XDC_RANK", "N", "start this member alone: 3, or server0"},
      {"store", "--store", "XDC_STORE", "ADDR:PORT", "where the launchers meet (default: the first member's host, one below its port)"},
      {"port", "--port", "XDC_PORT", "PORT", "the first member of a host listens here, others above (default: 6170)"},
      {"hosts", "--hosts", "XDC_HOSTS", "DC=IP[,IP];...", "addresses of the nodes, in place of the topology's hosts"},
      {"certificates", "--tls", "XDC_TLS", "DIR", "mutual TLS with the certificates in this directory, in place of the topology's"},
      {"plaintext", "--insecure", "XDC_INSECURE", "", "allow plaintext on addresses that are not loopback"},
      {"start time-out", "--start-timeout", "XDC_START_TIMEOUT", "TIME", "how long launchers wait for each other, as in '60 s'"},
      {"allowed mismatches", "--allow-mismatch", "XDC_ALLOW_MISMATCH", "KEY[,KEY]",
       "machines may differ in this (what cannot change results)"},
      {"logs", "--log-dir", "XDC_LOG_DIR", "DIR", "also write each rank's output and events to files in this directory"},
  };
  return kNames;
}

Result<Request> read_environment(const Variables& options, const Variables& variables) {
  Request request;
  std::vector<Explained> replaced;
  const Variables kept = without_replaced(options, variables, replaced);
  Reader reader(options, kept);
  request.datacenter = reader.read("datacenter", read_text);
  request.node = reader.read("node", read_node);
  request.rank = reader.read("rank", read_rank);
  request.store = reader.read<Endpoint>("store", [](const std::string& text) { return parse_endpoint(text); });
  request.port = reader.read("port", read_port);
  request.hosts = reader.read("hosts", read_hosts);
  request.tls = reader.read("certificates", read_text);
  request.insecure = reader.read("plaintext", read_boolean);
  request.start_timeout = reader.read("start time-out", read_duration);
  request.allow_mismatch = reader.read("allowed mismatches", read_list);
  request.log_directory = reader.read("logs", read_text);
  refuse_unknown(variables, reader.errors);
  auto paddle = read_paddle(variables);
  if (paddle.ok()) {
    request.paddle = std::move(paddle).value();
    merge_paddle(options, request, reader.errors);
  } else {
    reader.errors.push_back(paddle.error().message);
  }
  check_together(request, reader.errors);
  if (!reader.errors.empty()) {
    return invalid(fmt::format("{}", fmt::join(reader.errors, "\n")));
  }
  request.explained = std::move(reader.explained);
  request.explained.insert(request.explained.end(), replaced.begin(), replaced.end());
  const bool replaces = request.paddle.self && by_option(options);
  for (Explained& line : explain_paddle(variables, replaces)) request.explained.push_back(std::move(line));
  return request;
}

std::string explain(const std::vector<Explained>& lines) {
  size_t what = 0, value = 0;
  constexpr size_t kWidest = 44;
  const auto shown = [](const Explained& line) { return line.value.empty() ? std::string("(not set)") : line.value; };
  for (const Explained& line : lines) {
    what = std::max(what, line.what.size());
    value = std::min(kWidest, std::max(value, shown(line).size()));
  }
  std::string text;
  for (const Explained& line : lines) {
    text += fmt::format("{:<{}}  {:<{}}  {}\n", line.what, what, shown(line), value, line.from);
  }
  return text;
}

}  // namespace xdc
