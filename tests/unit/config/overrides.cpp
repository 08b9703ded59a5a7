#include "core/config/overrides.hpp"

#include <catch2/catch.hpp>

#include "core/config/toml_reader.hpp"

namespace xdc {
namespace {

using Catch::Contains;

Value value_of(std::string_view text) {
  Diagnostics diagnostics;
  auto change = parse_override(text, diagnostics);
  INFO(diagnostics.text());
  REQUIRE(change);
  return change->value;
}

std::string why_not(std::string_view text) {
  Diagnostics diagnostics;
  CHECK_FALSE(parse_override(text, diagnostics));
  return diagnostics.text();
}

std::string after(std::string_view file, std::string_view option) {
  Diagnostics diagnostics;
  auto root = *parse_toml(file, "t.toml", diagnostics);
  const auto change = parse_override(option, diagnostics);
  REQUIRE(change);
  apply_override(root, *change, 0, diagnostics);
  return diagnostics.ok() ? canonical_text(root) : diagnostics.text();
}

TEST_CASE("a value is read as TOML, and as a text where it is none") {
  CHECK(canonical_text(value_of("a=1")) == "1");
  CHECK(canonical_text(value_of("a=true")) == "true");
  CHECK(canonical_text(value_of("a=1.5")) == "1.5");
  CHECK(canonical_text(value_of("a={ epochs = 2 }")) == R"({"epochs":2})");
  CHECK(canonical_text(value_of("a=[1, 2]")) == "[1,2]");
  CHECK(canonical_text(value_of("a=ring_allreduce")) == "\"ring_allreduce\"");
  CHECK(canonical_text(value_of("a=10 Gbps")) == "\"10 Gbps\"");
  CHECK(canonical_text(value_of("a='10 Gbps'")) == "\"10 Gbps\"");
  CHECK(canonical_text(value_of("a=")) == "\"\"");
  CHECK(canonical_text(value_of("a=b=c")) == "\"b=c\"");
  CHECK(canonical_text(value_of("a=1\nb = 2")) == "\"1\\u000ab = 2\"");
}

TEST_CASE("a path has keys, quoted keys and elements") {
  Diagnostics diagnostics;
  const auto change = parse_override("variant.\"a.b = c\"[12].x=1", diagnostics);
  REQUIRE(change);
  REQUIRE(change->path.size() == 4);
  CHECK(change->path[1].key == "a.b = c");
  CHECK(change->path[2].index == 12);
  CHECK(change->path[3].key == "x");
}

TEST_CASE("an option that is none says how to write one") {
  CHECK_THAT(why_not("seed"), Contains("write KEY=VALUE"));
  CHECK_THAT(why_not("=1"), Contains("a key is empty"));
  CHECK_THAT(why_not("a..b=1"), Contains("a key is empty"));
  CHECK_THAT(why_not("a[x]=1"), Contains("variant[0]"));
  CHECK_THAT(why_not("a[1=1"), Contains("variant[0]"));
  CHECK_THAT(why_not("a[99999999999999999999]=1"), Contains("variant[0]"));
  CHECK_THAT(why_not("\"a=1"), Contains("quote is not closed"));
  CHECK_THAT(why_not("a[0]b=1"), Contains("'.' or '='"));
  CHECK_THAT(why_not("a={ b = "), Contains("no TOML"));
  CHECK_THAT(why_not(""), Contains("a key is empty"));
  std::string deep = "a";
  for (int i = 0; i < 100000; ++i) deep += ".a";
  CHECK_THAT(why_not(deep + "=1"), Contains("at most 32 parts"));
}

TEST_CASE("an override replaces, and makes the tables on its way") {
  CHECK(after("a = 1", "a=2") == R"({"a":2})");
  CHECK(after("[t]\nx = 1", "t.y.z=2") == R"({"t":{"x":1,"y":{"z":2}}})");
  CHECK(after("[[f]]\nx = 1", "f[0].x=2") == R"({"f":[{"x":2}]})");
  CHECK_THAT(after("a = 1", "a.b=2"), Contains("the number 1 has no key \"b\""));
  CHECK_THAT(after("a = [1]", "a[1]=2"), Contains("there is no element 1"));
  CHECK_THAT(after("a = 1", "a[0]=2"), Contains("has no elements"));
}

}  // namespace
}  // namespace xdc
