#include "core/config/diagnostics.hpp"

#include <catch2/catch.hpp>

namespace xdc {

TEST_CASE("errors are told in order of place, each once") {
  Diagnostics diagnostics;
  diagnostics.error({"a.toml", 10, 2}, "train.stop", "is wrong");
  diagnostics.error({"a.toml", 9, 1}, "seed", "is odd");
  diagnostics.error({"a.toml", 10, 2}, "variant[3].train.stop", "is wrong");
  diagnostics.error({"a.toml", 0, 0}, "", "cannot be read");
  CHECK(diagnostics.text() == "a.toml: cannot be read\na.toml:9:1: seed: is odd\na.toml:10:2: train.stop: is wrong\n");
  CHECK(diagnostics.errors().size() == 4);
  CHECK_FALSE(diagnostics.ok());
}

}  // namespace xdc
