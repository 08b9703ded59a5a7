#include "core/config/toml_reader.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "tests/unit/config/text_file.hpp"

namespace xdc {
namespace {

using Catch::Contains;

std::string why_not(std::string_view text) {
  Diagnostics diagnostics;
  const auto value = parse_toml(text, "t.toml", diagnostics);
  CHECK_FALSE(value);
  CHECK_FALSE(diagnostics.ok());
  return diagnostics.text();
}

std::string why_unreadable(const std::string& path) {
  Diagnostics diagnostics;
  CHECK_FALSE(read_toml_file(path, diagnostics));
  return diagnostics.text();
}

TEST_CASE("every value and every key carries its place") {
  Diagnostics diagnostics;
  const auto value = parse_toml("a = 1\n[t]\n  key = \"x\"\n", "t.toml", diagnostics);
  REQUIRE(value);
  const auto& item = value->table()->at("t").table()->at("key");
  CHECK(item.where.file == "t.toml");
  CHECK(item.where.line == 3);
  CHECK(item.where.column == 9);
  CHECK(item.key_where.column == 3);
}

TEST_CASE("a byte-order mark, CRLF and a missing last newline are fine") {
  Diagnostics diagnostics;
  const TextFile file("bom.toml",
                      "\xEF\xBB\xBF"
                      "a = 1\r\n[t]\r\nb = 'x'");
  const auto value = read_toml_file(file.path(), diagnostics);
  INFO(diagnostics.text());
  REQUIRE(value);
  CHECK(canonical_text(*value) == R"({"a":1,"t":{"b":"x"}})");
}

TEST_CASE("an empty file is an empty table") {
  Diagnostics diagnostics;
  const auto value = parse_toml("", "t.toml", diagnostics);
  REQUIRE(value);
  CHECK(value->table()->empty());
}

TEST_CASE("what cannot be read says why") {
  CHECK_THAT(why_unreadable("/nowhere/at/all.toml"), Contains("No such file"));
  CHECK_THAT(why_unreadable("/tmp"), Contains("is a directory"));
  CHECK_THAT(why_unreadable("/dev/zero"), Contains("not a regular file"));
  CHECK_THAT(why_unreadable(""), Contains("No such file"));
  const TextFile large("large.toml", std::string(16'000'001, '#'));
  CHECK_THAT(why_unreadable(large.path()), Contains("more than 16000000"));
}

TEST_CASE("a file without permission says so") {
  const TextFile file("secret.toml", "a = 1");
  chmod(file.path().c_str(), 0);
  // Root may read anything; nobody may not.
  const auto user = geteuid();
  if (user == 0) REQUIRE(seteuid(65534) == 0);
  const auto why = why_unreadable(file.path());
  if (user == 0) REQUIRE(seteuid(0) == 0);
  CHECK_THAT(why, Contains("Permission denied"));
}

TEST_CASE("what is not text says so") {
  CHECK_THAT(why_not(std::string("a = 1\0b", 7)), Contains("byte 5 is zero"));
  CHECK_THAT(why_not("\xFF\xFE"
                     "a"),
             Contains("UTF-16"));
  CHECK_THAT(why_not("a = \"\xC0\xC1\""), Contains("t.toml:1:"));
  CHECK_THAT(why_not("\x7F"
                     "ELF\x02\x01"),
             Contains("t.toml:1:"));
}

TEST_CASE("a syntax error has its place") {
  CHECK_THAT(why_not("a = 1\nb = = 2\n"), Contains("t.toml:2:"));
  CHECK_THAT(why_not("a = 1\na = 2\n"), Contains("t.toml:2:"));
  CHECK_THAT(why_not("[t\n"), Contains("t.toml:1:"));
  CHECK_THAT(why_not("a = 2024-01-01"), Contains("dates"));
}

TEST_CASE("nesting without end is refused, however it is written") {
  std::string dotted = "a";
  for (int i = 0; i < 1'000'000; ++i) dotted += ".a";
  CHECK_THAT(why_not(dotted + " = 1"), Contains("more than 32 parts"));
  CHECK_THAT(why_not("[" + dotted + "]"), Contains("more than 32 parts"));
  CHECK_THAT(why_not("s = '''\n'' \"'''''\nx = { b = \"\\\"#\", " + dotted + " = 1 }"), Contains("t.toml:3:"));
  CHECK_THAT(why_not("x = " + std::string(100'000, '[')), Contains("t.toml:1:"));
  std::string tables = "x = ";
  for (int i = 0; i < 30; ++i) tables += "{ a.a.a.a.a.a.a.a = ";
  tables += "1" + std::string(30, '}');
  CHECK_THAT(why_not(tables), Contains("nested more than 64 deep"));
}

TEST_CASE("a character beyond ASCII belongs into quotes or a comment") {
  Diagnostics diagnostics;
  CHECK(parse_toml("# größe\n\"größe\" = '北京' # é\na = \"\"\"é\n\"\"\"\n", "t.toml", diagnostics));
  CHECK_THAT(why_not("a = 1\ngröße = 1\n"), Contains("t.toml:2:1: a character beyond ASCII stands outside of quotes"));
  CHECK_THAT(why_not("a = 'x'é"), Contains("outside of quotes"));
}

TEST_CASE("dots in strings and comments are no keys") {
  const std::string dots(1000, '.');
  Diagnostics diagnostics;
  CHECK(parse_toml("# " + dots + "\na = \"" + dots + "\" # " + dots + "\nb = '" + dots + "'\nc = \"\"\"" + dots + "\n" + dots + "\"\"\"\n",
                   "t.toml", diagnostics));
  INFO(diagnostics.text());
  CHECK(diagnostics.ok());
}

}  // namespace
}  // namespace xdc
