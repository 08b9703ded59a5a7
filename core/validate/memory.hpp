// Does what a variant trains fit into the memory of the devices that it is to be trained on?
#pragma once

#include <string>
#include <vector>

#include "core/config/scenario.hpp"
#include "core/validate/run_spec.hpp"

namespace xdc {

// Holds parameters, optimizer state, undo copies, residuals, gradient and activations of the charged model against the device of every
// datacenter, for its workers and for its servers. A lower bound (core/model/profile_memory.hpp): what does not fit by it does not fit.
class MemoryCheck {
 public:
  // Requires a finished plan.
  void check(const ScenarioVariant& variant, const RunSpec& spec);
  // One error for each thing that does not fit: datacenter, device, what is needed, what would help, and the variants that need it so.
  void report(Diagnostics& diagnostics) const;

 private:
  struct Misfit {
    SourceLocation where;
    std::string path, who, why;
    std::vector<std::string> variants;
  };
  std::vector<Misfit> misfits_;
};

}  // namespace xdc
