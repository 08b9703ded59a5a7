// What do the PADDLE_* variables of a process say? Names and meaning are those of PaddlePaddle's launcher, collective and
// parameter-server forms (python/paddle/distributed/launch); each way in which they are known to contradict themselves is an error here.
#pragma once

#include <vector>

#include "exec/launcher/environment.hpp"

namespace xdc {

// Errors: invalid, with every error, one a line.
Result<PaddleRequest> read_paddle(const Variables& variables);

// A line for each of these variables that is set. `replaced`: who this is comes from the command line.
std::vector<Explained> explain_paddle(const Variables& variables, bool replaced);

}  // namespace xdc
