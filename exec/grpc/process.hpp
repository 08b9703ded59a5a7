// What does a process that moves bulk tell the libraries that all of it shares?
#pragma once

namespace xdc {

// Once, whoever calls. Affects the whole process: its allocator, and Abseil's locks.
void settle_process();

}  // namespace xdc
