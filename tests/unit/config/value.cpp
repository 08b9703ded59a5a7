#include "core/config/value.hpp"

#include <catch2/catch.hpp>

#include "core/config/toml_reader.hpp"

namespace xdc {
namespace {

Value parse(std::string_view text) {
  Diagnostics diagnostics;
  auto value = parse_toml(text, "t.toml", diagnostics);
  INFO(diagnostics.text());
  REQUIRE(value);
  return *value;
}

TEST_CASE("tables merge key by key, anything else is replaced") {
  const auto base = parse("a = 1\nlist = [1, 2]\n[t]\nx = 1\ny = { p = 1, q = 2 }\n");
  const auto over = parse("list = [3]\nb = true\n[t]\ny.q = 3\n");
  CHECK(canonical_text(merged(base, over)) == R"({"a":1,"b":true,"list":[3],"t":{"x":1,"y":{"p":1,"q":3}}})");
}

TEST_CASE("the canonical text knows no order of keys, no layout, no way of writing a number") {
  CHECK(canonical_text(parse("b = 1e-3\na = 'x'")) == canonical_text(parse("# comment\na   = \"x\"\r\nb = 0.001\r\n")));
  CHECK(canonical_text(parse("a = 1")) != canonical_text(parse("a = '1'")));
  CHECK(canonical_text(parse("a = \"\\u0001\\\"\\\\\"")) == R"({"a":"\u0001\"\\"})");
}

}  // namespace
}  // namespace xdc
