// What do the topology's lines say about a variant's time? For a world that holds its messages to them.
#pragma once

#include "core/report/assemble.hpp"
#include "core/validate/run_spec.hpp"

namespace xdc {

// Fills facts.lines and facts.chains. Chains of one round of D datacenters, N workers, K buckets, H steps:
//   parameter_server        a worker's push, then its pull: a crossing each, all that is pushed and all that is pulled
//   ring_allreduce          around the ring: 2(N-1)/N crossings of each edge between datacenters, the N-th part of its line's bytes
//   hierarchical, local_sgd allgather: one crossing, all bytes; mesh: there and back, half of the bytes each; ring: as above with D for N
//   rings also              the busiest edge alone: all its bytes
// With several buckets two ways are possible: all computation, then the last bucket's exchange; or computation up to the first
// bucket (forward, and backward of its layers), then every bucket's. Rings and hierarchies exchange them one after another,
// a parameter server behind each other.
// Bandwidth is the line's own; whoever cannot fill it (window, loss, slow start) misses the measured time, and then no formula is used.
void add_lines(const RunSpec& spec, VariantFacts& facts);

}  // namespace xdc
