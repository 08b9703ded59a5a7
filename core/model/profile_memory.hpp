// How much device memory does training take? What validate holds against a device before anything runs.
//
// With P parameters, k sets of state (core/strategies/round.hpp: 3 to undo, 2 to vote), t tensors of optimizer state, R residuals of
// encodings, E elements of exchange buffers and B samples, all f32:
//   state         4 P k (1 + t)
//   residuals     4 R k
//   gradient      4 P
//   exchange      4 E
//   activations   4 B (kept + 2 largest)   what layers keep for backward, and the gradients of one layer's output and input
// A lower bound: the runtime's own needs (a CUDA context and library workspaces, about 1 GB) and fragmentation come on top, so
// a model that does not fit by this sum does not fit.
#pragma once

#include <cstdint>
#include <string>

#include "core/model/profile.hpp"
#include "core/seam/kernels.hpp"

namespace xdc {

struct ModelFootprint {
  int64_t parameters = 0;
  // Activations per sample.
  double kept_values = 0;
  double largest_kept_values = 0;  // of one layer
};

ModelFootprint footprint(const CostProfile& profile);
// Every layer keeps its inputs, and the loss the logits.
ModelFootprint footprint(const NetworkSpec& network);

struct TrainingSetup {
  int sets = 3;
  int optimizer_tensors = 0;
  // Inboxes and encodings of one bucket. Twice the largest bucket holds ring and direct exchanges; a gathered one needs a shard
  // for every datacenter.
  int64_t exchange_elements = 0;
  int64_t batch = 1;      // samples at a time: with accumulation, of one micro-batch
  int64_t residuals = 0;  // elements that encodings with error feedback remember, in each set
};

struct MemoryNeed {
  int64_t state = 0, residuals = 0, gradient = 0, exchange = 0, activations = 0;  // bytes
  int64_t total() const;
};

// Sums beyond 64 bits stop at the largest number.
MemoryNeed memory_need(const ModelFootprint& model, const TrainingSetup& setup);
int64_t memory_bytes(const ModelFootprint& model, const TrainingSetup& setup);

// "102 MB of parameters and optimizer state, ...": for messages; what is nothing is left out.
std::string describe(const MemoryNeed& need);

}  // namespace xdc
