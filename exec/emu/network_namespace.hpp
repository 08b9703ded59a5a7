// Where does a datacenter's network live? In a namespace of its own that has no name: it ends with the last process in it and the last
// descriptor of it, so nothing is left behind however the program ends.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.hpp"

namespace xdc {

class NetworkNamespace {
 public:
  // A new one, with its loopback up. Errors: unsupported, says that CAP_SYS_ADMIN is missing, or what the kernel refused.
  static Result<NetworkNamespace> make();
  ~NetworkNamespace();
  NetworkNamespace(NetworkNamespace&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  NetworkNamespace& operator=(NetworkNamespace&&) = delete;

  int fd() const { return fd_; }  // for setns; close-on-exec
  // "/proc/123/fd/7": for `nsenter --net=`, while this process lives.
  std::string path() const;

  // Calls `work` with this thread in the namespace, and brings it back. Sockets that are opened in it stay there.
  Status within(const std::function<Status()>& work) const;
  // Runs a program of the system in it and waits. Errors: failed, with what it said.
  Status run(const std::vector<std::string>& command) const;

 private:
  explicit NetworkNamespace(int fd) : fd_(fd) {}
  int fd_ = -1;
};

}  // namespace xdc
