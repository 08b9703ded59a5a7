#include "exec/launcher/endpoint.hpp"

#include <catch2/catch.hpp>

namespace xdc {
namespace {

using Catch::Contains;

TEST_CASE("an endpoint is an IPv4 address and a port, and is written as it was read") {
  const auto endpoint = parse_endpoint("10.1.0.11:6170");
  REQUIRE(endpoint.ok());
  CHECK(endpoint.value() == Endpoint{"10.1.0.11", 6170});
  CHECK(to_string(endpoint.value()) == "10.1.0.11:6170");
}

TEST_CASE("what is no endpoint says what is wrong with it") {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "has no port"},
      {"10.1.0.1", "has no port"},
      {"10.1.0.1:", "has no port between"},
      {"10.1.0.1:0", "has no port between"},
      {"10.1.0.1:65536", "has no port between"},
      {"10.1.0.1:6170x", "has no port between"},
      {"10.1.0.1:+1", "has no port between"},
      {"10.1.0.1: 1", "has no port between"},
      {"10.1.0.1:99999999999", "has no port between"},
      {"10.1.0:6170", "IPv4"},
      {"beijing.bank:6170", "names are not looked up"},
      {":6170", "IPv4"},
      {"[::1]:6170", "does not support"},
      {"[fe80::1]:6170", "does not support"},
      {"[::zz]:6170", "no IPv6 address in its brackets"},
      {"[::1", "brackets"},
      {"::1:6170", "stands in brackets"},
      {"fe80::1", "stands in brackets"},
  };
  for (const auto& [text, message] : cases) {
    INFO(text);
    const auto endpoint = parse_endpoint(text);
    REQUIRE_FALSE(endpoint.ok());
    CHECK_THAT(endpoint.error().message, Contains(message));
    CHECK_THAT(endpoint.error().message, Contains("\"" + text + "\""));
  }
}

TEST_CASE("a list of endpoints has no empty and no second entry") {
  const auto list = parse_endpoints("10.0.0.1:6170,10.0.0.11:6170,10.0.0.1:6171");
  REQUIRE(list.ok());
  CHECK(list.value().size() == 3);
  for (const auto* text : {"10.0.0.1:1,", ",10.0.0.1:1", "10.0.0.1:1,,10.0.0.2:1"}) {
    INFO(text);
    REQUIRE_FALSE(parse_endpoints(text).ok());
    CHECK_THAT(parse_endpoints(text).error().message, Contains("empty entry"));
  }
  CHECK_FALSE(parse_endpoints("").ok());
  CHECK_THAT(parse_endpoints("10.0.0.1:1,10.0.0.2:1,10.0.0.1:1").error().message, Contains("10.0.0.1:1 twice, as numbers 0 and 2"));
}

TEST_CASE("only 127.0.0.0/8 is the loopback") {
  CHECK(is_loopback("127.0.0.1"));
  CHECK(is_loopback("127.3.2.1"));
  CHECK_FALSE(is_loopback("12.7.0.1"));
  CHECK_FALSE(is_loopback("128.0.0.1"));
  CHECK_FALSE(is_loopback("127.evil"));
}

TEST_CASE("a text is cut at every separator") {
  CHECK(split("", ',').empty());
  CHECK(split("a", ',') == std::vector<std::string>{"a"});
  CHECK(split("a,,b", ',') == std::vector<std::string>{"a", "", "b"});
  CHECK(split("a,", ',') == std::vector<std::string>{"a", ""});
  CHECK(split(",", ',') == std::vector<std::string>{"", ""});
}

}  // namespace
}  // namespace xdc
