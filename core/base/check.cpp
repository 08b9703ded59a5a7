#include "core/base/check.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

namespace xdc {
namespace {
CheckContext check_context = nullptr;
}

void set_check_context(CheckContext context) { check_context = context; }

void check_failed(const char* expression, const char* file, int line, std::string_view message) {
  const auto where = check_context != nullptr ? check_context() : std::string();
  const auto text = fmt::format("xdc: a check failed, this is a bug: {}{}{}\n  at {}:{}{}{}\n", expression, message.empty() ? "" : ": ",
                                message, file, line, where.empty() ? "" : "\n  in ", where);
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
  std::abort();
}

}  // namespace xdc
