// What does a server on this machine answer? Plain HTTP, for tests.
#pragma once

#include <string>

namespace xdc::cli {

// The whole answer to GET http://127.0.0.1:PORT/PATH, status line and headers too; empty: nobody answers.
std::string http_get(int port, const std::string& path);
// A socket that is connected there, and says nothing.
int silent_client(int port);
// One that nobody has at the moment.
int free_port();
// A socket that listens there until it is closed, at a free port.
int listening_socket(int& port);

}  // namespace xdc::cli
