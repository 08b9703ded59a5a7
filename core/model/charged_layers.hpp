// Which layers is a training step charged for? Those of a cost profile where there is one, else those of the network that is trained.
#pragma once

#include <cstdint>

#include "core/model/profile.hpp"
#include "core/seam/kernels.hpp"

namespace xdc {

// A step of B samples is charged forward(0), ..., forward(last), then backward(last), ..., backward(0). Both models outlive it.
class ChargedLayers {
 public:
  ChargedLayers(const NetworkSpec& network, const CostProfile* profile);

  int count() const { return static_cast<int>(end_.size()); }
  Cost forward(int layer, int batch) const;
  Cost backward(int layer, int batch) const;

  // The lowest layer with parameters among elements [begin, end) of the flat buffer: backward has finished all of them once it has
  // passed that layer. The highest layer where there is no element; 0 where there is no layer.
  int lowest_within(int64_t begin, int64_t end) const;

 private:
  const NetworkSpec* network_;
  const CostProfile* profile_;
  std::vector<int64_t> end_;  // of each layer's parameters in the flat buffer
};

}  // namespace xdc
