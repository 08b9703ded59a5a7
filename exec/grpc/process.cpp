#include "exec/grpc/process.hpp"

#include <absl/synchronization/mutex.h>
#include <malloc.h>

#include "core/base/check.hpp"
#include "exec/grpc/tuning.hpp"

namespace xdc {

namespace {

// gRPC allocates each megabyte that it reads, and we each piece that is kept, and both are freed again soon. The allocator's default is to
// give that memory back to the system every time, and then every page of the next one is a fault: two thirds of a line's time
// (tests/bench/allreduce). One arena of gRPC's threads and ours finds it again.
bool keep_freed_memory() {
  return ::mallopt(M_MMAP_THRESHOLD, kLargestReused) == 1 && ::mallopt(M_TRIM_THRESHOLD, kFreeKeptBytes) == 1 &&
         ::mallopt(M_TOP_PAD, kHeapStepBytes) == 1 && ::mallopt(M_ARENA_MAX, 1) == 1;
}

}  // namespace

void settle_process() {
  static const bool kept = keep_freed_memory();
  XDC_CHECK_MSG(kept, "the allocator takes none of its settings");
  // Debian builds Abseil with the order of all locks of gRPC tracked in one graph, under one lock of its own.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
}

}  // namespace xdc
