// Under which names can the members of a topology show themselves? What tools/make_certs makes certificates for.
#pragma once

#include <string>

#include "core/base/result.hpp"

namespace xdc {

// One label a line: of every datacenter its launcher and `servers` parameter servers, and every worker. Errors: invalid, with every
// error of the file.
Result<std::string> list_members(const std::string& topology_path, int servers);

}  // namespace xdc
