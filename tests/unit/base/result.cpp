#include "core/base/result.hpp"

#include <catch2/catch.hpp>

namespace xdc {
namespace {

Result<int> half(int x) {
  if (x % 2 != 0) return Error{ErrorCode::invalid, "odd"};
  return x / 2;
}

Result<int> quarter(int x) {
  XDC_TRY_ASSIGN(const int once, half(x));
  XDC_TRY_ASSIGN(const int twice, half(once));
  return twice;
}

Status divisible_by_four(int x) {
  XDC_TRY(quarter(x).status());
  return ok_status();
}

}  // namespace

TEST_CASE("an error leaves every function on its way up") {
  CHECK(quarter(8).value() == 2);
  CHECK(quarter(6).error().message == "odd");
  CHECK(divisible_by_four(8).ok());
  CHECK(divisible_by_four(6).error().code == ErrorCode::invalid);
}

TEST_CASE("context is put in front of the message and keeps the code") {
  const auto error = with_context({ErrorCode::timeout, "no answer"}, "rank 3");
  CHECK(error.message == "rank 3: no answer");
  CHECK(error.code == ErrorCode::timeout);
}

}  // namespace xdc
