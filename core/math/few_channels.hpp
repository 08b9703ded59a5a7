// What is the gradient by the weights of a convolution over one or two channels? oneDNN's AVX2 code pads the channels of its
// input to eight, and so does four to eight times the work; on digits that is two fifths of a training step. This does not pad.
//
//   dw[o][i][kr][kc] = sum over samples, rows r, columns c of dy[o][r][c] * x[i][r + kr - padding][c + kc - padding]
//   db[o]            = sum over samples, rows, columns of dy[o][r][c]
//
// Order of addition: within a sample row by row, then samples in order. Fused multiply-adds, so the bits are those of
// processors with AVX2 and FMA; others leave the layer to oneDNN.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/seam/kernels.hpp"

namespace xdc {

class FewChannelsGradient {
 public:
  // Whether this layer, on this processor, is better off here.
  static bool suits(const LayerSpec& conv);

  FewChannelsGradient(const LayerSpec& conv, int batch);

  //   x   [batch, in_channels, in_height, in_width]
  //   dy  [batch, ceil(out_channels / 8), out_height, out_width, 8], oneDNN's nChw8c; channels behind the last are ignored
  //   dw  [out_channels, in_channels, kernel, kernel], db [out_channels], both overwritten
  void run(std::span<const float> x, std::span<const float> dy, std::span<float> dw, std::span<float> db);

 private:
  void border(std::span<const float> image);
  void finish(std::span<float> dw, std::span<float> db) const;

  LayerSpec conv_;
  int batch_;
  int blocks_;                   // of eight output channels
  std::vector<float> bordered_;  // one sample, with its zero border
  std::vector<float> sums_;      // [blocks][in_channels][kernel][kernel][8], then [blocks][8] of the bias
};

}  // namespace xdc
