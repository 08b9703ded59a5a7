#include "exec/cuda/summary.hpp"

namespace xdc {

Result<std::string> cuda_device_summary() {
  return Error{ErrorCode::unsupported,
               "this program was built without CUDA: no toolkit with NCCL was found, or XDC_CUDA=OFF; build it again where both are "
               "installed, or run on the CPU"};
}

}  // namespace xdc
