#include "exec/launcher/paddle.hpp"

#include <catch2/catch.hpp>

namespace xdc {
namespace {

using Catch::Contains;

template <class T>
std::string message_of(const Result<T>& result) {
  return result.ok() ? std::string() : result.error().message;
}

const Variables kCollective{{"PADDLE_TRAINER_ID", "2"},
                            {"PADDLE_TRAINERS_NUM", "3"},
                            {"PADDLE_TRAINER_ENDPOINTS", "10.0.0.1:6170,10.0.0.11:6170,10.0.0.1:6171"},
                            {"PADDLE_CURRENT_ENDPOINT", "10.0.0.1:6171"}};
const Variables kServer{{"TRAINING_ROLE", "PSERVER"},
                        {"PADDLE_PSERVERS_IP_PORT_LIST", "10.0.0.11:6170,10.0.0.1:6170"},
                        {"POD_IP", "10.0.0.1"},
                        {"PADDLE_PORT", "6170"},
                        {"PADDLE_TRAINERS_NUM", "4"}};
const Variables kTrainer{{"TRAINING_ROLE", "TRAINER"},
                         {"PADDLE_PSERVERS_IP_PORT_LIST", "10.0.0.11:6170,10.0.0.1:6170"},
                         {"POD_IP", "10.0.0.5"},
                         {"PADDLE_TRAINER_ID", "3"},
                         {"PADDLE_TRAINERS_NUM", "4"}};

Variables with(Variables some, const Variables& more) {
  for (const auto& [name, value] : more) some[name] = value;
  return some;
}
Variables without(Variables some, const std::string& name) {
  some.erase(name);
  return some;
}

PaddleRequest good(const Variables& variables) {
  auto request = read_paddle(variables);
  INFO(message_of(request));
  REQUIRE(request.ok());
  return std::move(request).value();
}
std::string bad(const Variables& variables) {
  const auto request = read_paddle(variables);
  REQUIRE_FALSE(request.ok());
  return request.error().message;
}

TEST_CASE("the collective form says who this is and where everyone listens") {
  const auto request = good(kCollective);
  CHECK(request.self->value == RankName{false, 2});
  CHECK(request.self->from == "PADDLE_TRAINER_ID");
  CHECK(request.trainers->value == 3);
  CHECK(request.trainer_endpoints->value[1] == Endpoint{"10.0.0.11", 6170});
  CHECK_FALSE(request.server_endpoints);
  // The endpoint alone says it too.
  const auto unnumbered = good(without(kCollective, "PADDLE_TRAINER_ID"));
  CHECK(unnumbered.self->value == RankName{false, 2});
  CHECK(unnumbered.self->from == "PADDLE_CURRENT_ENDPOINT");
}

TEST_CASE("a server is found by its address and port in the list, whole") {
  const auto request = good(kServer);
  CHECK(request.self->value == RankName{true, 1});  // 10.0.0.1 and not 10.0.0.11
  CHECK(request.server_endpoints->value.size() == 2);
}

TEST_CASE("a trainer of parameter servers listens at POD_IP") {
  const auto request = good(kTrainer);
  CHECK(request.self->value == RankName{false, 3});
  CHECK(request.own_host->value == "10.0.0.5");
}

TEST_CASE("variables of a container that has nothing to do with a run mean nothing") {
  const auto request = good({{"POD_IP", "10.0.0.1"}, {"FLAGS_selected_gpus", "0"}, {"PADDLE_PORT", "1"}, {"HOME", "/root"}});
  CHECK_FALSE(request.self);
}

TEST_CASE("a master is an address, with or without http://") {
  for (const auto* text : {"10.0.0.1:6000", "http://10.0.0.1:6000", "http://10.0.0.1:6000/"}) {
    CHECK(good({{"PADDLE_MASTER", text}}).master->value == Endpoint{"10.0.0.1", 6000});
  }
}

TEST_CASE("each known way in which these variables contradict themselves is an error that names them") {
  const std::vector<std::pair<Variables, std::string>> cases{
      {with(kCollective, {{"PADDLE_TRAINERS_NUM", "8"}}), "PADDLE_TRAINERS_NUM is 8 and PADDLE_TRAINER_ENDPOINTS has 3: two truths"},
      {with(kCollective, {{"PADDLE_TRAINER_ID", "1"}}), "PADDLE_TRAINER_ID is 1, and PADDLE_CURRENT_ENDPOINT is number 2"},
      {with(kCollective, {{"PADDLE_TRAINER_ID", "3"}}), "PADDLE_TRAINER_ID is 3, and PADDLE_TRAINER_ENDPOINTS has 3 endpoints, from 0"},
      {with(kCollective, {{"PADDLE_TRAINER_ID", "-1"}}), "PADDLE_TRAINER_ID is \"-1\""},
      {with(kCollective, {{"PADDLE_TRAINER_ID", "2x"}}), "PADDLE_TRAINER_ID is \"2x\""},
      {without(kCollective, "PADDLE_CURRENT_ENDPOINT"), "PADDLE_CURRENT_ENDPOINT is not set"},
      {with(kCollective, {{"PADDLE_CURRENT_ENDPOINT", "10.0.0.1:617"}}), "which is not in PADDLE_TRAINER_ENDPOINTS"},
      {with(kCollective, {{"PADDLE_CURRENT_ENDPOINT", "10.0.0.1"}}), "PADDLE_CURRENT_ENDPOINT: \"10.0.0.1\" has no port"},
      {without(kCollective, "PADDLE_TRAINER_ENDPOINTS"), "does not mean a run of one process"},
      {with(kCollective, {{"PADDLE_TRAINER_ENDPOINTS", "10.0.0.1:1,10.0.0.1:1,10.0.0.1:6171"}}), "10.0.0.1:1 twice"},
      {with(kCollective, {{"PADDLE_TRAINER_ENDPOINTS", "[::1]:1,10.0.0.1:1,10.0.0.1:6171"}}), "IPv6"},
      {with(kCollective, {{"PADDLE_TRAINER_ENDPOINTS", ""}}), "names no endpoint"},
      {with(kCollective, {{"PADDLE_GLOBAL_RANK", "0"}}), "PADDLE_TRAINER_ID is 2 and PADDLE_GLOBAL_RANK is 0: two truths"},
      {with(kCollective, {{"PADDLE_GLOBAL_SIZE", "2"}}), "PADDLE_TRAINERS_NUM is 3 and PADDLE_GLOBAL_SIZE is 2: two truths"},
      {with(kCollective, {{"PADDLE_LOCAL_RANK", "0"}, {"PADDLE_RANK_IN_NODE", "1"}}),
       "PADDLE_LOCAL_RANK is 0 and PADDLE_RANK_IN_NODE is 1"},
      {with(kCollective, {{"PADDLE_LOCAL_RANK", "2"}, {"PADDLE_LOCAL_SIZE", "2"}}), "PADDLE_LOCAL_SIZE says that there are 2"},
      {with(kCollective, {{"PADDLE_TRAINERS_NUM", "0"}}), "PADDLE_TRAINERS_NUM is \"0\""},
      {with(kCollective, {{"PADDLE_NNODES", "2:4"}}), "a run whose size changes is not supported"},
      {with(kCollective, {{"PADDLE_NNODES", "4:2"}}), "PADDLE_NNODES is \"4:2\""},
      {with(kCollective, {{"PADDLE_NNODES", ""}}), "PADDLE_NNODES is \"\""},
      {with(kCollective, {{"PADDLE_MASTER", "etcd://10.0.0.1:2379"}}), "etcd is not supported"},
      {with(kCollective, {{"PADDLE_MASTER", "https://10.0.0.1:1"}}), "PADDLE_MASTER"},
      {with(kCollective, {{"PADDLE_MASTER", "[::1]:1"}}), "IPv6"},
      {with(kCollective, {{"POD_IP", "10.0.0.9"}}), "POD_IP is 10.0.0.9"},
      {with(kCollective, {{"PADDLE_PORT", "1"}}), "PADDLE_PORT is 1"},
      {with(kCollective, {{"PADDLE_PSERVERS_IP_PORT_LIST", "10.0.0.11:6170"}}), "two members cannot listen at one port"},
      {with(kCollective, {{"TRAINING_ROLE", "trainer"}}), "it is TRAINER or PSERVER"},
      {with(kServer, {{"PADDLE_PORT", "6171"}}), "POD_IP:PADDLE_PORT is 10.0.0.1:6171, which is not in PADDLE_PSERVERS_IP_PORT_LIST"},
      {without(kServer, "POD_IP"), "POD_IP and PADDLE_PORT are wanted"},
      {without(kServer, "PADDLE_PORT"), "POD_IP and PADDLE_PORT are wanted"},
      {without(kServer, "PADDLE_PSERVERS_IP_PORT_LIST"), "PADDLE_PSERVERS_IP_PORT_LIST is not set"},
      {with(kServer, {{"POD_IP", "::1"}}), "POD_IP:PADDLE_PORT"},
      {without(kTrainer, "PADDLE_TRAINER_ID"), "PADDLE_TRAINER_ID is not set"},
      {without(kTrainer, "POD_IP"), "POD_IP is not set"},
      {without(kTrainer, "PADDLE_PSERVERS_IP_PORT_LIST"), "where are the others?"},
      {with(kTrainer, {{"PADDLE_TRAINER_ID", "4"}}), "PADDLE_TRAINERS_NUM says that there are 4, from 0"},
  };
  for (const auto& [variables, message] : cases) {
    INFO(message);
    CHECK_THAT(bad(variables), Contains(message));
  }
}

}  // namespace
}  // namespace xdc
