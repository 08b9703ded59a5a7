#include "core/config/table_reader.hpp"

#include <catch2/catch.hpp>

#include "core/config/toml_reader.hpp"

namespace xdc {
namespace {

using Catch::Contains;

struct Table {
  explicit Table(std::string_view text) : value(*parse_toml(text, "t.toml", diagnostics)), reader(value, "t", diagnostics) {}
  Diagnostics diagnostics;
  Value value;
  TableReader reader;
};

TEST_CASE("fields of the right kind are read, absent ones take their default") {
  Table t(
      "s = 'x'\nb = true\ni = 3\nr = 1.5\nmillion = 1e6\nbw = '10 Gbps'\nd = '14 ms'\nsize = '64 KB'\nf = '1 TFLOPS'\nl = ['a', 'b']\n");
  CHECK(t.reader.string("s", "") == "x");
  CHECK(t.reader.required_string("s") == "x");
  CHECK(t.reader.one_of("s", {"x", "y"}, "y") == "x");
  CHECK(t.reader.boolean("b", false));
  CHECK(t.reader.integer("i", 1, 5, 1) == 3);
  CHECK(t.reader.integer("million", 1, 10'000'000, 1) == 1'000'000);
  CHECK(t.reader.number("r", 0, 2, 0) == 1.5);
  CHECK(t.reader.number("i", 0, 5, 0) == 3);
  CHECK(t.reader.bandwidth("bw") == 1.25e9);
  CHECK(t.reader.duration("d") == milliseconds(14));
  CHECK(t.reader.bytes("size") == 64000);
  CHECK(t.reader.flops("f") == 1e12);
  CHECK(t.reader.strings("l") == std::vector<std::string>{"a", "b"});
  CHECK(t.reader.string("absent", "z") == "z");
  CHECK(t.reader.boolean("absent", true));
  CHECK_FALSE(t.reader.optional_number("absent", 0, 1));
  CHECK(t.reader.table("absent") == nullptr);
  t.reader.finish();
  CHECK(t.diagnostics.text() == "");
}

TEST_CASE("a key that nobody asked for is an error with the nearest name, at the key") {
  Table t("bandwdith = '1 Gbps'\nzebra = 1\n");
  (void)t.reader.bandwidth("bandwidth");
  (void)t.reader.any("latency");
  t.reader.finish();
  CHECK_THAT(t.diagnostics.text(), Contains("t.toml:1:1: t.bandwdith: unknown key, did you mean \"bandwidth\"?"));
  CHECK_THAT(t.diagnostics.text(), Contains("t.toml:2:1: t.zebra: unknown key; known here: \"bandwidth\", \"latency\""));
}

TEST_CASE("a bare number where a unit belongs says how to write it") {
  Table t("a = 10\nb = 1.5\nc = 7\nd = true\n");
  CHECK_FALSE(t.reader.bandwidth("a"));
  CHECK_FALSE(t.reader.duration("b"));
  CHECK_FALSE(t.reader.bytes("c"));
  CHECK_FALSE(t.reader.flops("d"));
  CHECK_THAT(t.diagnostics.text(), Contains("t.a: the number 10 has no unit; write a text with a unit, as in \"10 Gbps\""));
  CHECK_THAT(t.diagnostics.text(), Contains("t.b: the number 1.5 has no unit"));
  CHECK_THAT(t.diagnostics.text(), Contains("t.d: a text with a unit, as in \"14 TFLOPS\", is wanted, not true"));
}

TEST_CASE("wrong kinds and values out of range say what is allowed") {
  Table t("s = 1\nb = 'yes'\ni = 1.5\nj = 9\nn = nan\nm = inf\nk = 'rign'\nl = [1]\ntab = 3\nzero = '0 bps'\nhuge = '1e300 Gbps'\n");
  CHECK(t.reader.string("s", "d") == "d");
  CHECK_FALSE(t.reader.boolean("b", false));
  CHECK(t.reader.integer("i", 0, 9, 4) == 4);
  CHECK(t.reader.integer("j", 0, 8, 4) == 4);
  CHECK(t.reader.number("n", 0, 1, 0.5) == 0.5);
  CHECK(t.reader.number("m", 0, 1, 0.5) == 0.5);
  CHECK(t.reader.one_of("k", {"ring", "mesh"}, "mesh") == "mesh");
  CHECK(t.reader.strings("l").empty());
  CHECK(t.reader.table("tab") == nullptr);
  CHECK_FALSE(t.reader.bandwidth("zero"));
  CHECK_FALSE(t.reader.bandwidth("huge"));
  const auto text = t.diagnostics.text();
  CHECK_THAT(text, Contains("t.s: a text in quotes is wanted, not the number 1"));
  CHECK_THAT(text, Contains("t.b: true or false is wanted, not the text \"yes\""));
  CHECK_THAT(text, Contains("t.i: a whole number is wanted, not the number 1.5"));
  CHECK_THAT(text, Contains("t.j: 9 is out of range: it must be between 0 and 8"));
  CHECK_THAT(text, Contains("t.n: a finite number is wanted, not nan"));
  CHECK_THAT(text, Contains("t.m: a finite number is wanted, not inf"));
  CHECK_THAT(text, Contains("t.k: \"rign\" is not known here, did you mean \"ring\"?; allowed: \"ring\", \"mesh\""));
  CHECK_THAT(text, Contains("t.l[0]: a text in quotes is wanted"));
  CHECK_THAT(text, Contains("t.tab: a table is wanted, not the number 3"));
  CHECK_THAT(text, Contains("t.zero: \"0 bps\" is out of range"));
  CHECK(t.diagnostics.errors().size() == 11);
}

TEST_CASE("what is required and missing is said, also of a choice") {
  Table t("empty = ''\n");
  CHECK(t.reader.required_string("name").empty());
  CHECK(t.reader.required_one_of("kind", {"a", "b"}).empty());
  CHECK(t.reader.required_string("empty").empty());
  const auto text = t.diagnostics.text();
  CHECK_THAT(text, Contains("t.name: is required"));
  CHECK_THAT(text, Contains("t.kind: is required; allowed: \"a\", \"b\""));
  CHECK_THAT(text, Contains("t.empty: must not be empty"));
}

TEST_CASE("a value that is no table reads as an empty one and is an error") {
  Diagnostics diagnostics;
  const Value five{{"t.toml", 3, 5}, int64_t{5}};
  TableReader reader(five, "train", diagnostics);
  CHECK_FALSE(reader.has("x"));
  reader.finish();
  CHECK(diagnostics.text() == "t.toml:3:5: train: a table is wanted, not the number 5\n");
}

}  // namespace
}  // namespace xdc
