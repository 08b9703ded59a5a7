// What happens when the program itself is wrong? XDC_CHECK, always on, prints where and in whose run, then aborts.
#pragma once

#include <string>
#include <string_view>

namespace xdc {

// The lane that runs now describes itself ("seed 7, bank_ocr, rank 3, lane comm, 12.5 s"); printed by a failed check.
// The worlds install a function: only they know which lane is running.
using CheckContext = std::string (*)();
void set_check_context(CheckContext context);

[[noreturn]] void check_failed(const char* expression, const char* file, int line, std::string_view message);

}  // namespace xdc

#define XDC_CHECK(condition)                                   \
  do {                                                         \
    if (!(condition)) [[unlikely]] {                           \
      ::xdc::check_failed(#condition, __FILE__, __LINE__, {}); \
    }                                                          \
  } while (false)

#define XDC_CHECK_MSG(condition, message)                             \
  do {                                                                \
    if (!(condition)) [[unlikely]] {                                  \
      ::xdc::check_failed(#condition, __FILE__, __LINE__, (message)); \
    }                                                                 \
  } while (false)
