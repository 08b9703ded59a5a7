// What does a big model cost, layer by layer? Profiles let a small model be trained for real while time and bytes are charged as
// if it were the big one, and a phantom of the big one be planned.
//
// Figures count values, four bytes each (f32). Operations: a multiply and an add are two.
//   one layer, batch of B samples        operations                bytes of device memory
//   forward                              B * forward_flops         4 * (B * forward_values + parameters)
//   backward                             B * backward_flops        4 * (B * backward_values + 2 * parameters)
// Parameters are read once a step in either direction and their gradient is written once, whatever the batch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/config/diagnostics.hpp"
#include "core/seam/device.hpp"

namespace xdc {

struct ProfileLayer {
  std::string name;  // "block #3/conv": unique in its profile
  int64_t parameters = 0;
  // Per sample.
  double forward_flops = 0;
  double backward_flops = 0;   // default in a file: twice the forward ones
  double forward_values = 0;   // activations read and written
  double backward_values = 0;  // default in a file: twice the forward ones
  double kept_values = 0;      // activations that stay in memory from this layer's forward to its backward
  friend bool operator==(const ProfileLayer&, const ProfileLayer&) = default;
};

struct CostProfile {
  std::string name, description, source;
  std::string sample;                // what one sample is: "image 224x224"
  std::vector<ProfileLayer> layers;  // at least one, in the order of forward

  int64_t parameters() const;
  double forward_flops() const;   // per sample
  double backward_flops() const;  // per sample
  double kept_values() const;     // per sample
  friend bool operator==(const CostProfile&, const CostProfile&) = default;
};

Cost forward_cost(const ProfileLayer& layer, int batch);
Cost backward_cost(const ProfileLayer& layer, int batch);

// Ascending by name.
const std::vector<CostProfile>& builtin_profiles();

// A profile as a user writes it; the form is in core/model/README.md. Every error is in `diagnostics`; `file` stands for the text in
// them. nullopt: there was one.
std::optional<CostProfile> parse_profile(std::string_view text, const std::string& file, Diagnostics& diagnostics);

// A built-in profile by its name, or the file where `name_or_path` ends in .toml. What is wrong with the name, or with reading the
// file at all, is reported at `named_at` (where the name was written) under `key`; what is wrong inside the file, there.
// Errors: invalid; the reasons are in `diagnostics`.
Result<CostProfile> find_profile(const std::string& name_or_path, Diagnostics& diagnostics, const SourceLocation& named_at = {},
                                 const std::string& key = "model.cost_profile");

}  // namespace xdc
