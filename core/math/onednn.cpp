// Runs prepared oneDNN primitives.
#include "core/math/onednn.hpp"

#include <omp.h>

#include <utility>

namespace xdc {

void use_one_thread() { omp_set_num_threads(1); }

OneDnnCall::OneDnnCall(dnnl::primitive primitive, const std::vector<std::pair<int, dnnl::memory>>& arguments)
    : primitive_(std::move(primitive)) {
  for (const auto& [index, memory] : arguments) {
    memories_.push_back(memory);
    arguments_.push_back({index, memory.get()});
  }
}

void OneDnnCall::run(const dnnl::stream& stream) const {
  const auto status = dnnl_primitive_execute(primitive_.get(), stream.get(), static_cast<int>(arguments_.size()), arguments_.data());
  XDC_CHECK_MSG(status == dnnl_success, "oneDNN refused to run a primitive that it had compiled");
}

}  // namespace xdc
