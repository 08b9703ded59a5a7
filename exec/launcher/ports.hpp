// Is a port free on this machine, and who has it otherwise?
#pragma once

#include <string>

#include "core/base/result.hpp"
#include "exec/launcher/endpoint.hpp"

namespace xdc {

// The errno of listening there now: EADDRINUSE, EADDRNOTAVAIL, ...; 0: it can be done. Port 0 always can.
int why_not_free(const Endpoint& endpoint);
// Can this machine listen there now, for a member or the store? Port 0 always can. Errors: failed, with the port and its owner ("process 4711 (nginx)") where /proc
// tells, or that the address is none of this machine's.
Status check_port(const Endpoint& endpoint);

// "process 4711 (nginx)"; empty where /proc does not tell, as for a process of another user.
std::string owner_of_port(int port);

}  // namespace xdc
