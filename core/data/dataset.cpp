// Opens a dataset and turns samples into tensors.
#include "core/data/dataset.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/check.hpp"
#include "core/data/generated.hpp"
#include "core/data/idx.hpp"

namespace xdc {
namespace {

constexpr size_t kPixelValues = 256;

std::array<float, kPixelValues> make_pixel_table() {
  std::array<float, kPixelValues> table{};
  for (size_t i = 0; i < kPixelValues; ++i) {
    table[i] = static_cast<float>(i) / 255.0F;
  }
  return table;
}

}  // namespace

Dataset::Dataset(Shape shape, Split train, Split test, std::shared_ptr<const void> owner)
    : shape_(shape), train_(train), test_(test), owner_(std::move(owner)) {
  for (const Split& split : {train_, test_}) {
    XDC_CHECK(static_cast<int64_t>(split.pixels.size()) == split.size() * shape_.inputs());
  }
}

void Dataset::gather(const Split& split, std::span<const int32_t> indices, std::span<float> images, std::span<int32_t> labels) const {
  static const std::array<float, kPixelValues> table = make_pixel_table();
  const auto inputs = static_cast<size_t>(shape_.inputs());
  XDC_CHECK(images.size() >= indices.size() * inputs && labels.size() >= indices.size());
  for (size_t i = 0; i < indices.size(); ++i) {
    XDC_CHECK_MSG(0 <= indices[i] && indices[i] < split.size(), "an index is beyond the samples");
    const auto at = static_cast<size_t>(indices[i]);
    const auto pixels = split.pixels.subspan(at * inputs, inputs);
    std::ranges::transform(pixels, images.begin() + static_cast<std::ptrdiff_t>(i * inputs), [](uint8_t p) { return table[p]; });
    labels[i] = split.labels[at];
  }
}

Result<std::shared_ptr<const Dataset>> open_dataset(const DataSpec& spec, uint64_t seed) {
  switch (spec.source) {
    case DataSource::idx:
      return open_idx(spec.path);
    case DataSource::generated:
      return generate(spec, seed);
  }
  XDC_CHECK_MSG(false, "unknown source of data");
}

}  // namespace xdc
