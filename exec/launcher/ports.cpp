#include "exec/launcher/ports.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <system_error>

namespace xdc {

namespace {

namespace fs = std::filesystem;

// The inodes of sockets that listen at this port: /proc/net/tcp, state 0A, address and port in hexadecimal.
std::set<std::string> listening_inodes(int port) {
  std::set<std::string> inodes;
  for (const auto* file : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream in(file);
    std::string line;
    std::getline(in, line);
    while (std::getline(in, line)) {
      std::istringstream fields(line);
      std::string slot, local, remote, state, queues, timer, retransmits, user, timeout, inode;
      fields >> slot >> local >> remote >> state >> queues >> timer >> retransmits >> user >> timeout >> inode;
      if (state == "0A" && local.ends_with(fmt::format(":{:04X}", port))) {
        inodes.insert(inode);
      }
    }
  }
  return inodes;
}

bool holds_one_of(const fs::path& process, const std::set<std::string>& inodes) {
  std::error_code error;
  for (auto fd = fs::directory_iterator(process / "fd", error); !error && fd != fs::directory_iterator(); fd.increment(error)) {
    std::error_code unreadable;
    const std::string target = fs::read_symlink(fd->path(), unreadable);
    constexpr std::string_view kSocket = "socket:[";
    if (!unreadable && target.starts_with(kSocket) && inodes.contains(target.substr(kSocket.size(), target.size() - kSocket.size() - 1))) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::string owner_of_port(int port) {
  const auto inodes = listening_inodes(port);
  std::error_code error;
  for (auto process = fs::directory_iterator("/proc", error); !error && process != fs::directory_iterator(); process.increment(error)) {
    const std::string name = process->path().filename();
    if (!inodes.empty() && parse_number(name) && holds_one_of(process->path(), inodes)) {
      std::ifstream in(process->path() / "cmdline");
      std::string command;
      std::getline(in, command, '\0');
      command = fs::path(command).filename();
      return fmt::format("process {} ({})", name, command);
    }
  }
  return {};
}

int why_not_free(const Endpoint& endpoint) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(endpoint.port));
  if (endpoint.port == 0 || ::inet_pton(AF_INET, endpoint.host.c_str(), &address.sin_addr) != 1) {
    return 0;
  }
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  // As the servers do: what a finished run left in TIME_WAIT is in nobody's way.
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  const bool bound = ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  const int why = errno;
  ::close(fd);
  return bound ? 0 : why;
}

Status check_port(const Endpoint& endpoint) {
  const int why = why_not_free(endpoint);
  if (why == 0) {
    return ok_status();
  }
  if (why == EADDRINUSE) {
    const std::string owner = owner_of_port(endpoint.port);
    return Error{ErrorCode::failed, fmt::format("port {} of {} is taken{}; free it, or choose others with --port", endpoint.port,
                                                endpoint.host, owner.empty() ? "" : " by " + owner)};
  }
  if (why == EADDRNOTAVAIL) {
    return Error{
        ErrorCode::failed,
        fmt::format("{} is no address of this machine: is the right share started here (--datacenter, --node, --rank), and are the "
                    "topology's hosts right?",
                    endpoint.host)};
  }
  return Error{ErrorCode::failed, fmt::format("{}: {}", to_string(endpoint), std::generic_category().message(why))};
}

}  // namespace xdc
