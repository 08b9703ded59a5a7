// Eight output channels are a vector; a pixel of the input is one value for all of them.
#include "core/math/few_channels.hpp"

#include <immintrin.h>

#include <algorithm>

#include "core/base/check.hpp"

namespace xdc {
namespace {

constexpr int kLanes = 8;
constexpr int kMostChannels = 2;

struct Plane {
  const float* x;     // one channel of one bordered sample
  int width;          // of x
  const float* dy;    // one block of one sample
  int rows, columns;  // of dy
};

// Adds one sample's part of `Rows` rows of the kernel, of width K, to sums [Rows][K][8].
template <int K, int Rows>
[[gnu::target("avx2,fma")]] void add_kernel_rows(const Plane& plane, float* sums) {
  __m256 sum[Rows][K];
  for (int i = 0; i < Rows * K; ++i) {
    sum[i / K][i % K] = _mm256_setzero_ps();
  }
  for (int r = 0; r < plane.rows; ++r) {
    const float* x = plane.x + r * plane.width;
    const float* dy = plane.dy + r * plane.columns * kLanes;
    for (int c = 0; c < plane.columns; ++c) {
      const __m256 d = _mm256_loadu_ps(dy + c * kLanes);
      for (int kr = 0; kr < Rows; ++kr) {
        for (int kc = 0; kc < K; ++kc) {
          sum[kr][kc] = _mm256_fmadd_ps(d, _mm256_broadcast_ss(x + kr * plane.width + c + kc), sum[kr][kc]);
        }
      }
    }
  }
  for (int i = 0; i < Rows * K; ++i) {
    float* to = sums + i * kLanes;
    _mm256_storeu_ps(to, _mm256_add_ps(_mm256_loadu_ps(to), sum[i / K][i % K]));
  }
}

// All rows of the kernel: as many at a time as there are registers for their sums.
template <int K>
void add_kernel(Plane plane, float* sums) {
  constexpr int kAtOnce = K <= 5 ? 2 : 1;
  int kr = 0;
  for (; kr + kAtOnce <= K; kr += kAtOnce) {
    add_kernel_rows<K, kAtOnce>(plane, sums + kr * K * kLanes);
    plane.x += kAtOnce * plane.width;
  }
  for (; kr < K; ++kr) {
    add_kernel_rows<K, 1>(plane, sums + kr * K * kLanes);
    plane.x += plane.width;
  }
}

void add_kernel(int kernel, const Plane& plane, float* sums) {
  switch (kernel) {
    case 3:
      return add_kernel<3>(plane, sums);
    case 5:
      return add_kernel<5>(plane, sums);
    case 7:
      return add_kernel<7>(plane, sums);
    default:
      XDC_CHECK_MSG(false, "a kernel of a size that suits() refuses");
  }
}

[[gnu::target("avx2")]] void add_bias(const float* dy, int pixels, float* sums) {
  __m256 sum = _mm256_setzero_ps();
  for (int i = 0; i < pixels; ++i) {
    sum = _mm256_add_ps(sum, _mm256_loadu_ps(dy + i * kLanes));
  }
  _mm256_storeu_ps(sums, _mm256_add_ps(_mm256_loadu_ps(sums), sum));
}

}  // namespace

bool FewChannelsGradient::suits(const LayerSpec& conv) {
  static const bool has = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  return has && conv.in_channels <= kMostChannels && (conv.kernel == 3 || conv.kernel == 5 || conv.kernel == 7);
}

FewChannelsGradient::FewChannelsGradient(const LayerSpec& conv, int batch)
    : conv_(conv), batch_(batch), blocks_((conv.out_channels + kLanes - 1) / kLanes) {
  const int height = conv.in_height + 2 * conv.padding;
  const int width = conv.in_width + 2 * conv.padding;
  bordered_.resize(static_cast<size_t>(conv.in_channels) * static_cast<size_t>(height) * static_cast<size_t>(width));
  sums_.resize(static_cast<size_t>(blocks_ * kLanes * (conv.in_channels * conv.kernel * conv.kernel + 1)));
}

void FewChannelsGradient::border(std::span<const float> image) {
  const int width = conv_.in_width + 2 * conv_.padding;
  const int plane = (conv_.in_height + 2 * conv_.padding) * width;
  const float* from = image.data();
  for (int i = 0; i < conv_.in_channels; ++i) {
    float* to = bordered_.data() + i * plane + conv_.padding * (width + 1);
    for (int r = 0; r < conv_.in_height; ++r, from += conv_.in_width, to += width) {
      std::copy_n(from, conv_.in_width, to);
    }
  }
}

void FewChannelsGradient::run(std::span<const float> x, std::span<const float> dy, std::span<float> dw, std::span<float> db) {
  const int pixels = conv_.out_height * conv_.out_width;
  const int window = conv_.kernel * conv_.kernel * kLanes;
  const auto inputs = static_cast<size_t>(conv_.inputs());
  XDC_CHECK(x.size() == inputs * static_cast<size_t>(batch_));
  XDC_CHECK(dy.size() == static_cast<size_t>(batch_) * static_cast<size_t>(blocks_ * pixels * kLanes));
  const int width = conv_.in_width + 2 * conv_.padding;
  const int plane = (conv_.in_height + 2 * conv_.padding) * width;
  float* const bias = sums_.data() + blocks_ * conv_.in_channels * window;
  std::ranges::fill(sums_, 0.0F);
  const float* d = dy.data();
  for (int sample = 0; sample < batch_; ++sample) {
    border(x.subspan(static_cast<size_t>(sample) * inputs, inputs));
    for (int block = 0; block < blocks_; ++block, d += pixels * kLanes) {
      add_bias(d, pixels, bias + block * kLanes);
      for (int i = 0; i < conv_.in_channels; ++i) {
        add_kernel(conv_.kernel, {bordered_.data() + i * plane, width, d, conv_.out_height, conv_.out_width},
                   sums_.data() + (block * conv_.in_channels + i) * window);
      }
    }
  }
  finish(dw, db);
}

// Out of the vectors into the caller's layout.
void FewChannelsGradient::finish(std::span<float> dw, std::span<float> db) const {
  const int window = conv_.in_channels * conv_.kernel * conv_.kernel;
  XDC_CHECK(dw.size() == static_cast<size_t>(conv_.out_channels * window) && db.size() == static_cast<size_t>(conv_.out_channels));
  const float* const bias = sums_.data() + blocks_ * window * kLanes;
  for (int o = 0; o < conv_.out_channels; ++o) {
    const float* const own = sums_.data() + (o / kLanes) * window * kLanes + o % kLanes;
    for (int k = 0; k < window; ++k) {
      dw[static_cast<size_t>(o * window + k)] = own[k * kLanes];
    }
    db[static_cast<size_t>(o)] = bias[o];
  }
}

}  // namespace xdc
