// How is oneDNN called without allocating, throwing or starting threads? Primitives are prepared once with all their
// arguments; running one is a call of the C interface.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <vector>

#include "core/base/check.hpp"

namespace xdc {

// OpenMP's thread count belongs to the calling thread: every entry into oneDNN says it again. A store to thread-local memory.
void use_one_thread();

// Owns nothing but handles; calls on one thread at a time.
class OneDnnCall {
 public:
  OneDnnCall(dnnl::primitive primitive, const std::vector<std::pair<int, dnnl::memory>>& arguments);
  void run(const dnnl::stream& stream) const;

 private:
  dnnl::primitive primitive_;
  std::vector<dnnl::memory> memories_;  // keeps them alive
  std::vector<dnnl_exec_arg_t> arguments_;
};

// Points a plain (unpadded) memory at other bytes.
inline void bind(const dnnl::memory& memory, const void* data) {
  // oneDNN's handles are not const; what it does to them is fixed by the argument they are bound to.
  XDC_CHECK(dnnl_memory_set_data_handle(memory.get(), const_cast<void*>(data)) == dnnl_success);
}

}  // namespace xdc
