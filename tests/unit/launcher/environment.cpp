#include "exec/launcher/environment.hpp"

#include <catch2/catch.hpp>

namespace xdc {
namespace {

using Catch::Contains;

template <class T>
std::string message_of(const Result<T>& result) {
  return result.ok() ? std::string() : result.error().message;
}

Request good(const Variables& options, const Variables& variables) {
  auto request = read_environment(options, variables);
  INFO(message_of(request));
  REQUIRE(request.ok());
  return std::move(request).value();
}

std::string bad(const Variables& options, const Variables& variables) {
  const auto request = read_environment(options, variables);
  REQUIRE_FALSE(request.ok());
  CHECK(request.error().code == ErrorCode::invalid);
  return request.error().message;
}

const Variables kPaddleRank1{
    {"PADDLE_TRAINER_ID", "1"}, {"PADDLE_TRAINER_ENDPOINTS", "10.0.0.1:6170,10.0.0.2:6170"}, {"PADDLE_CURRENT_ENDPOINT", "10.0.0.2:6170"}};

Variables with(Variables some, const Variables& more) {
  for (const auto& [name, value] : more) some[name] = value;
  return some;
}

TEST_CASE("nothing said means that everyone is started here") {
  const auto request = good({}, {{"PATH", "/bin"}});
  CHECK_FALSE(request.names_a_share());
  CHECK(request.explained.size() == setting_names().size());
  for (const auto& line : request.explained) {
    CHECK(line.value.empty());
    CHECK_THAT(line.from, Contains("XDC_"));
  }
}

TEST_CASE("every setting can be said on the command line and by its variable, with the same meaning") {
  const Variables values{{"datacenter", "beijing"}, {"node", "1"},          {"rank", "server0"},          {"store", "10.1.0.1:6000"},
                         {"port", "7000"},          {"hosts", "b=1.2.3.4"}, {"certificates", "certs"},    {"plaintext", "no"},
                         {"start time-out", "9 s"}, {"logs", "logs"},       {"allowed mismatches", "a,b"}};
  REQUIRE(values.size() == setting_names().size());
  Variables options, variables;
  for (const auto& name : setting_names()) {
    options[name.option] = values.at(name.what);
    variables[name.variable] = values.at(name.what);
  }
  for (const bool by_option : {true, false}) {
    const auto r = by_option ? good(options, {}) : good({}, variables);
    CHECK(r.datacenter->value == "beijing");
    CHECK(r.datacenter->from == (by_option ? "--datacenter" : "XDC_DATACENTER"));
    CHECK(r.node->value == 1);
    CHECK(r.rank->value == RankName{true, 0});
    CHECK(r.store->value == Endpoint{"10.1.0.1", 6000});
    CHECK(r.port->value == 7000);
    CHECK(r.hosts->value.at("b") == std::vector<std::string>{"1.2.3.4"});
    CHECK(r.tls->value == "certs");
    CHECK_FALSE(r.insecure->value);
    CHECK(r.start_timeout->value == seconds(9));
    CHECK(r.allow_mismatch->value == std::vector<std::string>{"a", "b"});
    CHECK(r.log_directory->value == "logs");
  }
}

TEST_CASE("the command line beats a variable, and the explanation says so") {
  const auto request = good({{"--port", "7000"}}, {{"XDC_PORT", "8000"}});
  CHECK(request.port->value == 7000);
  CHECK_THAT(explain(request.explained), Contains("--port, in place of XDC_PORT=8000"));
}

TEST_CASE("who is started here is one question: the command line answers it alone") {
  const auto request = good({{"--datacenter", "shanghai"}}, {{"XDC_RANK", "0"}, {"XDC_DATACENTER", "beijing"}});
  CHECK(request.datacenter->value == "shanghai");
  CHECK_FALSE(request.rank);
  CHECK_THAT(explain(request.explained), Contains("not used: the command line says who is started here"));
  const auto paddle = good({{"--rank", "0"}}, kPaddleRank1);
  CHECK(paddle.rank->value == RankName{false, 0});
  CHECK_THAT(explain(paddle.explained), Contains("PADDLE_TRAINER_ID"));
}

TEST_CASE("XDC_* and PADDLE_* that say the same are fine, and that do not are an error that names both") {
  CHECK(good({}, with(kPaddleRank1, {{"XDC_RANK", "1"}})).rank->from == "XDC_RANK");
  CHECK(good({}, kPaddleRank1).rank->from == "PADDLE_TRAINER_ID");
  const auto ranks = bad({}, with(kPaddleRank1, {{"XDC_RANK", "0"}}));
  CHECK_THAT(ranks, Contains("XDC_RANK") && Contains("PADDLE_TRAINER_ID") && Contains("rank 0") && Contains("rank 1"));
  const auto stores = bad({}, {{"XDC_STORE", "10.0.0.1:1"}, {"PADDLE_MASTER", "10.0.0.1:2"}});
  CHECK_THAT(stores, Contains("XDC_STORE") && Contains("PADDLE_MASTER"));
  const auto ports = bad({{"--port", "7000"}}, kPaddleRank1);
  CHECK_THAT(ports, Contains("--port") && Contains("PADDLE_TRAINER_ENDPOINTS"));
}

TEST_CASE("the store of the command line beats PADDLE_MASTER") {
  const auto variables = with(kPaddleRank1, {{"PADDLE_MASTER", "http://10.0.0.1:6000/"}});
  CHECK(good({}, variables).store->value == Endpoint{"10.0.0.1", 6000});
  CHECK(good({{"--store", "10.0.0.1:7"}}, variables).store->value == Endpoint{"10.0.0.1", 7});
}

TEST_CASE("a value that is none is named with who gave it") {
  const std::vector<std::pair<Variables, std::string>> cases{
      {{{"XDC_RANK", "three"}}, "XDC_RANK is \"three\""},
      {{{"XDC_RANK", "-1"}}, "XDC_RANK is \"-1\""},
      {{{"XDC_RANK", "server"}}, "XDC_RANK is \"server\""},
      {{{"XDC_RANK", ""}}, "XDC_RANK is \"\""},
      {{{"XDC_DATACENTER", ""}}, "XDC_DATACENTER is empty"},
      {{{"XDC_NODE", "1.5"}}, "XDC_NODE is \"1.5\""},
      {{{"XDC_NODE", "1"}}, "XDC_NODE needs --datacenter"},
      {{{"XDC_PORT", "1"}}, "XDC_PORT is \"1\""},
      {{{"XDC_PORT", "70000"}}, "XDC_PORT is \"70000\""},
      {{{"XDC_STORE", "[::1]:1"}}, "IPv6"},
      {{{"XDC_HOSTS", "beijing"}}, "XDC_HOSTS has \"beijing\""},
      {{{"XDC_HOSTS", "b=1.2.3"}}, "no IPv4 address"},
      {{{"XDC_HOSTS", "b=1.2.3.4;b=1.2.3.5"}}, "has b twice"},
      {{{"XDC_HOSTS", "b=1.2.3.4,1.2.3.4"}}, "has 1.2.3.4 twice"},
      {{{"XDC_HOSTS", ""}}, "XDC_HOSTS is empty"},
      {{{"XDC_START_TIMEOUT", "60"}}, "XDC_START_TIMEOUT is \"60\""},
      {{{"XDC_INSECURE", "maybe"}}, "XDC_INSECURE is \"maybe\""},
      {{{"XDC_INSECURE", ""}}, "XDC_INSECURE is \"\""},
      {{{"XDC_TLS", "certs"}, {"XDC_INSECURE", "1"}}, "XDC_TLS asks for certificates and XDC_INSECURE allows"},
  };
  for (const auto& [variables, message] : cases) {
    INFO(message);
    CHECK_THAT(bad({}, variables), Contains(message));
  }
}

TEST_CASE("0 does not read as true") {
  for (const auto* no : {"0", "false", "no"}) CHECK_FALSE(good({}, {{"XDC_INSECURE", no}}).insecure->value);
  for (const auto* yes : {"1", "true", "yes"}) CHECK(good({}, {{"XDC_INSECURE", yes}}).insecure->value);
}

TEST_CASE("a misspelt XDC_ variable is an error that offers the nearest, since it would start everyone here") {
  CHECK_THAT(bad({}, {{"XDC_DATACENTRE", "beijing"}}), Contains("XDC_DATACENTRE means nothing") && Contains("did you mean XDC_DATACENTER"));
}

TEST_CASE("all errors are said at once") {
  const auto text = bad({}, {{"XDC_RANK", "x"}, {"XDC_PORT", "y"}, {"PADDLE_NNODES", "z"}});
  CHECK_THAT(text, Contains("XDC_RANK") && Contains("XDC_PORT") && Contains("PADDLE_NNODES"));
}

TEST_CASE("the explanation has a line for each setting and for each variable of PADDLE that is there") {
  const auto variables = with(kPaddleRank1, {{"PADDLE_ELASTIC_TTL", "60"}, {"FLAGS_selected_gpus", "0"}});
  const auto text = explain(good({}, variables).explained);
  for (const auto& name : setting_names()) CHECK_THAT(text, Contains(name.option));
  CHECK_THAT(text, Contains("PADDLE_ELASTIC_TTL") && Contains("xdc-run does not know it"));
  CHECK_THAT(text, Contains("FLAGS_selected_gpus") && Contains("not used: ranks train on processors"));
  CHECK_THAT(text, Contains("(not set)"));
}

}  // namespace
}  // namespace xdc
