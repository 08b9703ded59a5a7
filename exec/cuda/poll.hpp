// How does a lane wait for something that only can be asked "are you done?", and still keep its deadline?
#pragma once

#include <functional>

#include "core/base/result.hpp"
#include "core/seam/clock.hpp"

namespace xdc {

// Asks `done` until it says true or an error, or the deadline passes. What finished in time wins over a deadline that
// passed while asking: `done` is asked once more after it. The first questions follow each other at once (a small copy
// takes microseconds), then with pauses that double from 5 us to 200 us.
// Errors: those of `done`; timeout, whose message is the caller's to put in context.
Status poll_until(Clock& clock, Deadline deadline, const std::function<Result<bool>()>& done);

}  // namespace xdc
