#include "exec/launcher/paddle.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace xdc {

namespace {

// What is understood, and as what.
struct Known {
  const char* name;
  const char* what;
};
constexpr Known kKnown[] = {
    {"PADDLE_TRAINER_ID", "rank"},
    {"PADDLE_GLOBAL_RANK", "rank"},
    {"PADDLE_TRAINERS_NUM", "number of trainers"},
    {"PADDLE_GLOBAL_SIZE", "number of trainers"},
    {"PADDLE_TRAINER_ENDPOINTS", "where trainers listen, by rank"},
    {"PADDLE_CURRENT_ENDPOINT", "where this process listens"},
    {"PADDLE_MASTER", "store"},
    {"PADDLE_NNODES", "number of machines"},
    {"PADDLE_LOCAL_RANK", "rank on this machine"},
    {"PADDLE_RANK_IN_NODE", "rank on this machine"},
    {"PADDLE_LOCAL_SIZE", "processes on this machine"},
    {"TRAINING_ROLE", "role"},
    {"PADDLE_PSERVERS_IP_PORT_LIST", "where parameter servers listen"},
    {"PADDLE_PORT", "this process's port"},
    {"POD_IP", "this machine's address"},
    {"FLAGS_selected_gpus", "GPUs of this process"},
};

class PaddleReader {
 public:
  explicit PaddleReader(const Variables& variables) : variables_(variables) {}

  Result<PaddleRequest> read() {
    read_counts();
    request_.trainer_endpoints = endpoints("PADDLE_TRAINER_ENDPOINTS");
    request_.server_endpoints = endpoints("PADDLE_PSERVERS_IP_PORT_LIST");
    read_master();
    if (says_who()) {
      read_self();
    }
    check_sizes();
    if (!errors_.empty()) {
      return Error{ErrorCode::invalid, fmt::format("{}", fmt::join(errors_, "\n"))};
    }
    return request_;
  }

 private:
  const std::string* find(std::string_view name) const {
    const auto found = variables_.find(name);
    return found == variables_.end() ? nullptr : &found->second;
  }
  void error(std::string message) { errors_.push_back(std::move(message)); }

  // The others may stand in a container, or say where the store is, and mean nothing about this process.
  bool says_who() const {
    constexpr const char* kNames[] = {"PADDLE_TRAINER_ID",  "PADDLE_GLOBAL_RANK",          "PADDLE_TRAINERS_NUM",
                                      "PADDLE_GLOBAL_SIZE", "PADDLE_TRAINER_ENDPOINTS",    "PADDLE_CURRENT_ENDPOINT",
                                      "TRAINING_ROLE",      "PADDLE_PSERVERS_IP_PORT_LIST"};
    return std::any_of(std::begin(kNames), std::end(kNames), [this](const char* name) { return find(name) != nullptr; });
  }

  void read_self() {
    const auto* role = find("TRAINING_ROLE");
    if (role != nullptr && *role != "TRAINER" && *role != "PSERVER") {
      error(fmt::format("TRAINING_ROLE is \"{}\"; it is TRAINER or PSERVER", *role));
    } else if (role != nullptr && *role == "PSERVER") {
      read_server();
    } else {
      read_trainer(role != nullptr);
    }
  }

  std::optional<int> number(const char* name, int least) {
    const auto* text = find(name);
    if (text == nullptr) {
      return std::nullopt;
    }
    const auto value = parse_number(*text);
    if (!value || *value < least) {
      error(fmt::format("{} is \"{}\", and a number from {} is wanted", name, *text, least));
      return std::nullopt;
    }
    return value;
  }

  // Two names for one number.
  Maybe<int> agreed(const char* name, const char* other, int least) {
    const auto one = number(name, least), two = number(other, least);
    if (one && two && *one != *two) {
      error(fmt::format("{} is {} and {} is {}: two truths; remove one of them", name, *one, other, *two));
    }
    if (one) return Given<int>{*one, name};
    if (two) return Given<int>{*two, other};
    return std::nullopt;
  }

  Maybe<std::vector<Endpoint>> endpoints(const char* name) {
    const auto* text = find(name);
    if (text == nullptr) {
      return std::nullopt;
    }
    auto list = parse_endpoints(*text);
    if (!list.ok()) {
      error(fmt::format("{}: {}", name, list.error().message));
      return std::nullopt;
    }
    return Given<std::vector<Endpoint>>{std::move(list).value(), name};
  }

  void read_counts() {
    request_.trainers = agreed("PADDLE_TRAINERS_NUM", "PADDLE_GLOBAL_SIZE", 1);
    const auto local = agreed("PADDLE_LOCAL_RANK", "PADDLE_RANK_IN_NODE", 0);
    const auto local_size = number("PADDLE_LOCAL_SIZE", 1);
    if (local && local_size && local->value >= *local_size) {
      error(fmt::format("{} is {}, and PADDLE_LOCAL_SIZE says that there are {}, from 0", local->from, local->value, *local_size));
    }
    if (const auto* text = find("PADDLE_NNODES")) {
      const auto parts = split(*text, ':');
      const auto least = parts.empty() ? std::nullopt : parse_number(parts.front());
      const auto most = parts.empty() ? std::nullopt : parse_number(parts.back());
      if (!least || !most || parts.size() > 2 || *least < 1 || *most < *least) {
        error(fmt::format("PADDLE_NNODES is \"{}\"; a number like \"3\" is wanted", *text));
      } else if (*least != *most) {
        error(fmt::format("PADDLE_NNODES is \"{}\": a run whose size changes is not supported; say how many machines the topology has",
                          *text));
      } else {
        request_.machines = Given<int>{*most, "PADDLE_NNODES"};
      }
    }
  }

  void read_master() {
    const auto* text = find("PADDLE_MASTER");
    if (text == nullptr) {
      return;
    }
    std::string_view rest = *text;
    constexpr std::string_view kHttp = "http://", kEtcd = "etcd://";
    if (rest.starts_with(kEtcd)) {
      error(fmt::format("PADDLE_MASTER is {}: etcd is not supported; without it the launcher of the first member keeps the store", *text));
      return;
    }
    if (rest.starts_with(kHttp)) {
      rest.remove_prefix(kHttp.size());
      if (rest.ends_with('/')) rest.remove_suffix(1);
    }
    const auto endpoint = parse_endpoint(rest);
    if (endpoint.ok()) {
      request_.master = Given<Endpoint>{endpoint.value(), "PADDLE_MASTER"};
    } else {
      error(fmt::format("PADDLE_MASTER: {}", endpoint.error().message));
    }
  }

  // Position in the list of the whole text, so that 10.0.0.1 is never taken for 10.0.0.11.
  std::optional<int> position(const Endpoint& own, const char* name, const Given<std::vector<Endpoint>>& list) {
    const auto found = std::find(list.value.begin(), list.value.end(), own);
    if (found == list.value.end()) {
      error(fmt::format("{} is {}, which is not in {}", name, to_string(own), list.from));
      return std::nullopt;
    }
    return static_cast<int>(found - list.value.begin());
  }

  void read_server() {
    const auto* host = find("POD_IP");
    const auto port = number("PADDLE_PORT", 1);
    if (find("PADDLE_PSERVERS_IP_PORT_LIST") == nullptr) {
      error("TRAINING_ROLE is PSERVER and PADDLE_PSERVERS_IP_PORT_LIST is not set: which server is this, and where are the others?");
    }
    if (host == nullptr || find("PADDLE_PORT") == nullptr) {
      error("TRAINING_ROLE is PSERVER: POD_IP and PADDLE_PORT are wanted, which say which server of PADDLE_PSERVERS_IP_PORT_LIST this is");
      return;
    }
    if (!port || !request_.server_endpoints) {
      return;
    }
    const auto own = parse_endpoint(fmt::format("{}:{}", *host, *port));
    if (!own.ok()) {
      error(fmt::format("POD_IP:PADDLE_PORT: {}", own.error().message));
    } else if (const auto index = position(own.value(), "POD_IP:PADDLE_PORT", *request_.server_endpoints)) {
      request_.self = Given<RankName>{{true, *index}, "POD_IP:PADDLE_PORT"};
    }
  }

  void read_trainer(bool role_is_set) {
    const auto id = agreed("PADDLE_TRAINER_ID", "PADDLE_GLOBAL_RANK", 0);
    const bool server_form = role_is_set || find("PADDLE_PSERVERS_IP_PORT_LIST") != nullptr;
    if (find("PADDLE_TRAINER_ENDPOINTS") == nullptr && server_form) {
      read_trainer_of_servers(id);
      return;
    }
    if (find("PADDLE_TRAINER_ENDPOINTS") == nullptr) {
      error("PADDLE_TRAINER_ENDPOINTS is not set: without it nobody knows where the others are (it does not mean a run of one process)");
      return;
    }
    const auto* own_text = find("PADDLE_CURRENT_ENDPOINT");
    if (own_text == nullptr) {
      error("PADDLE_CURRENT_ENDPOINT is not set: which of PADDLE_TRAINER_ENDPOINTS is this process?");
      return;
    }
    const auto own = parse_endpoint(*own_text);
    if (!own.ok()) {
      error(fmt::format("PADDLE_CURRENT_ENDPOINT: {}", own.error().message));
      return;
    }
    if (!request_.trainer_endpoints) {
      return;
    }
    check_own_host(own.value());
    const auto at = position(own.value(), "PADDLE_CURRENT_ENDPOINT", *request_.trainer_endpoints);
    const auto count = request_.trainer_endpoints->value.size();
    if (id && static_cast<size_t>(id->value) >= count) {
      error(fmt::format("{} is {}, and PADDLE_TRAINER_ENDPOINTS has {} endpoint{}, from 0", id->from, id->value, count,
                        count == 1 ? "" : "s"));
    } else if (id && at && id->value != *at) {
      error(fmt::format("{} is {}, and PADDLE_CURRENT_ENDPOINT is number {} of PADDLE_TRAINER_ENDPOINTS", id->from, id->value, *at));
    } else if (at) {
      request_.self = Given<RankName>{{false, *at}, id ? id->from : "PADDLE_CURRENT_ENDPOINT"};
    }
  }

  // POD_IP and PADDLE_PORT may say it once more.
  void check_own_host(const Endpoint& own) {
    const auto* host = find("POD_IP");
    const auto port = number("PADDLE_PORT", 1);
    if ((host != nullptr && *host != own.host) || (port && *port != own.port)) {
      error(
          fmt::format("PADDLE_CURRENT_ENDPOINT is {}, and {}: remove one of them", to_string(own),
                      host != nullptr && *host != own.host ? fmt::format("POD_IP is {}", *host) : fmt::format("PADDLE_PORT is {}", *port)));
    }
  }

  // There trainers have no endpoint: each listens at a free port of its machine.
  void read_trainer_of_servers(const Maybe<int>& id) {
    if (find("PADDLE_PSERVERS_IP_PORT_LIST") == nullptr) {
      error(
          "TRAINING_ROLE is TRAINER, and neither PADDLE_PSERVERS_IP_PORT_LIST nor PADDLE_TRAINER_ENDPOINTS is set: where are the others?");
    }
    if (!id) {
      if (find("PADDLE_TRAINER_ID") == nullptr && find("PADDLE_GLOBAL_RANK") == nullptr)
        error("PADDLE_TRAINER_ID is not set: which trainer is this?");
      return;
    }
    if (const auto* host = find("POD_IP"); host == nullptr || !is_ipv4_address(*host)) {
      error(fmt::format("POD_IP is {}: a trainer without PADDLE_TRAINER_ENDPOINTS listens at this address of its machine",
                        host == nullptr ? "not set" : fmt::format("\"{}\", no IPv4 address", *host)));
    } else {
      request_.own_host = Given<std::string>{*host, "POD_IP"};
    }
    request_.self = Given<RankName>{{false, id->value}, id->from};
  }

  void check_sizes() {
    const auto& trainers = request_.trainers;
    if (trainers && request_.trainer_endpoints && static_cast<size_t>(trainers->value) != request_.trainer_endpoints->value.size()) {
      error(fmt::format("{} is {} and PADDLE_TRAINER_ENDPOINTS has {}: two truths about how many there are", trainers->from,
                        trainers->value, request_.trainer_endpoints->value.size()));
    }
    if (request_.self && !request_.self->value.server && trainers && request_.self->value.number >= trainers->value) {
      error(fmt::format("{} is {}, and {} says that there are {}, from 0", request_.self->from, request_.self->value.number, trainers->from,
                        trainers->value));
    }
    if (request_.trainer_endpoints && request_.server_endpoints) {
      for (const Endpoint& endpoint : request_.server_endpoints->value) {
        const auto& others = request_.trainer_endpoints->value;
        if (std::find(others.begin(), others.end(), endpoint) != others.end()) {
          error(fmt::format("{} is in PADDLE_PSERVERS_IP_PORT_LIST and in PADDLE_TRAINER_ENDPOINTS: two members cannot listen at one port",
                            to_string(endpoint)));
        }
      }
    }
  }

  const Variables& variables_;
  PaddleRequest request_;
  std::vector<std::string> errors_;
};

}  // namespace

Result<PaddleRequest> read_paddle(const Variables& variables) { return PaddleReader(variables).read(); }

std::vector<Explained> explain_paddle(const Variables& variables, bool replaced) {
  std::vector<Explained> lines;
  for (const auto& [name, value] : variables) {
    const auto* known =
        std::find_if(std::begin(kKnown), std::end(kKnown), [&name = name](const Known& entry) { return name == entry.name; });
    const std::string_view what = known == std::end(kKnown) ? "" : known->what;
    if (what.empty() && name.starts_with("PADDLE_")) {
      lines.push_back({name, value, "not used: xdc-run does not know it"});
    } else if (what == "GPUs of this process") {
      lines.push_back({name, value, "not used: ranks train on processors"});
    } else if (!what.empty()) {
      const bool not_used = replaced && what == "rank";
      lines.push_back({name, value, not_used ? std::string("not used: the command line says who is started here") : std::string(what)});
    }
  }
  return lines;
}

}  // namespace xdc
