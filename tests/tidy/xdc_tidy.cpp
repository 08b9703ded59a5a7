// Prints where the tree breaks its rules: xdc-tidy [ROOT]. Exits with 1 if it does anywhere.
#include <cstdio>

#include "tests/tidy/tidy.hpp"

int main(int count, char** arguments) {
  const auto violations = xdc::tidy::check_tree(count > 1 ? arguments[1] : ".");
  for (const auto& violation : violations) {
    std::puts(xdc::tidy::text_of(violation).c_str());
  }
  std::printf("%zu violation%s\n", violations.size(), violations.size() == 1 ? "" : "s");
  return violations.empty() ? 0 : 1;
}
