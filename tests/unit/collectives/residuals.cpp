#include "core/collectives/residuals.hpp"

#include <catch2/catch.hpp>

using namespace xdc;

TEST_CASE("residuals stand close together, each where its elements have a place of their own") {
  ResidualPlan plan;
  // Buckets come from the end of the buffer; neighbours grow together.
  plan.add(Tier::wan, Encoded::contribution, {1024, 300});
  plan.add(Tier::wan, Encoded::contribution, {512, 512});
  plan.add(Tier::wan, Encoded::contribution, {0, 256});
  plan.add(Tier::wan, Encoded::finished, {256, 256});
  plan.add(Tier::lan, Encoded::finished, {0, 512});
  plan.add(Tier::lan, Encoded::finished, {512, 0});
  CHECK(plan.elements() == 812 + 256 + 256 + 512);
  CHECK(plan.place(Tier::lan, Encoded::finished, {256, 256}) == 256);
  CHECK(plan.place(Tier::wan, Encoded::contribution, {0, 256}) == 512);
  CHECK(plan.place(Tier::wan, Encoded::contribution, {768, 556}) == 512 + 256 + 256);
  CHECK(plan.place(Tier::wan, Encoded::finished, {256, 256}) == 512 + 256 + 812);
}

TEST_CASE("what is not planned has no place") {
  ResidualPlan plan;
  plan.add(Tier::wan, Encoded::contribution, {0, 256});
  plan.add(Tier::wan, Encoded::contribution, {512, 256});
  CHECK_FALSE(plan.place(Tier::wan, Encoded::contribution, {256, 256}).has_value());
  CHECK_FALSE(plan.place(Tier::wan, Encoded::contribution, {0, 512}).has_value());
  CHECK_FALSE(plan.place(Tier::wan, Encoded::finished, {0, 256}).has_value());
  CHECK_FALSE(plan.place(Tier::lan, Encoded::contribution, {0, 256}).has_value());
}

TEST_CASE("a rank's residuals are a view of its buffer") {
  ResidualPlan plan;
  plan.add(Tier::wan, Encoded::contribution, {256, 512});
  std::vector<float> values(512, 0.0F);
  values[256] = 7;
  const Residuals residuals{&plan, Tensor::flat({Space::host, reinterpret_cast<std::byte*>(values.data()), 2048}, DType::f32, 512)};
  const Tensor piece = residuals.of(Tier::wan, Encoded::contribution, {512, 256});
  CHECK(piece.elements() == 256);
  CHECK(reinterpret_cast<const float*>(piece.bytes.data)[0] == 7);
}
