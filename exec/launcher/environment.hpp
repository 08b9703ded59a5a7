// Which part of a run is started here, and how is the rest found? Said on the command line, by XDC_* variables, or by the PADDLE_* ones
// that operators already set; read from a map, so that every case is tested.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/base/time.hpp"
#include "exec/launcher/endpoint.hpp"

namespace xdc {

// Names and values: of the command line ("--rank" -> "3"), and of the process's environment.
using Variables = std::map<std::string, std::string, std::less<>>;

// A value, and who said so: "--rank", "XDC_RANK", "PADDLE_TRAINER_ID".
template <class T>
struct Given {
  T value{};
  std::string from;
};
template <class T>
using Maybe = std::optional<Given<T>>;

// "3": worker 3, counted through all datacenters; "server0": the first parameter server.
struct RankName {
  bool server = false;
  int number = 0;
  bool operator==(const RankName&) const = default;
};
std::string to_string(const RankName& name);

// A line of --explain-env.
struct Explained {
  std::string what;   // "datacenter"
  std::string value;  // "beijing"; empty: not set
  std::string from;   // who said so; where it is not set, who could
};

// What PADDLE_* variables say (exec/launcher/paddle.hpp).
struct PaddleRequest {
  Maybe<RankName> self;                            // who this process is
  Maybe<int> trainers;                             // how many there are
  Maybe<std::vector<Endpoint>> trainer_endpoints;  // by rank
  Maybe<std::vector<Endpoint>> server_endpoints;   // by server
  Maybe<std::string> own_host;                     // of a trainer without an endpoint
  Maybe<Endpoint> master;
  Maybe<int> machines;
};

struct Request {
  // Who is started here; none of them: everyone.
  Maybe<std::string> datacenter;
  Maybe<int> node;
  Maybe<RankName> rank;
  // Where.
  Maybe<Endpoint> store;
  Maybe<int> port;
  Maybe<std::map<std::string, std::vector<std::string>>> hosts;  // by datacenter
  PaddleRequest paddle;
  // All are started here, but each datacenter has a network of its own, in which `hosts` are.
  bool emulated = false;
  // How.
  Maybe<std::string> tls;
  Maybe<bool> insecure;
  Maybe<Duration> start_timeout;
  Maybe<std::vector<std::string>> allow_mismatch;
  Maybe<std::string> log_directory;

  std::vector<Explained> explained;  // every setting, and every PADDLE_* variable that is there

  bool names_a_share() const { return datacenter || node || rank; }
};

// The options of the command line that are settings of this kind, and their variables: {"--rank", "XDC_RANK"}.
struct SettingName {
  std::string what, option, variable, value_name, help;
};
const std::vector<SettingName>& setting_names();

// The command line beats XDC_*, which beats PADDLE_*. Who is started here is one question: the command line's answer replaces the
// others' whole. XDC_* and PADDLE_* that answer differently are an error that names both.
// Errors: invalid, with every error, one a line; also for an XDC_* name that means nothing.
Result<Request> read_environment(const Variables& options, const Variables& variables);

// Three columns: what, value, from.
std::string explain(const std::vector<Explained>& lines);

}  // namespace xdc
