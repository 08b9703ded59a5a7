// Has another launcher told of a failure, or of a wish to end? A thread that waits for it, and a descriptor for poll.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "exec/launcher/session.hpp"

namespace xdc {

class EventWatch {
 public:
  EventWatch(Session& session, std::string prefix);
  ~EventWatch();
  EventWatch(const EventWatch&) = delete;
  EventWatch& operator=(const EventWatch&) = delete;

  int fd() const { return fd_; }  // readable when there is news
  struct News {
    std::optional<Tidings> event;  // the latest
    std::string store_lost;        // why; empty: it answers
  };
  News take();

 private:
  void run();

  Session& session_;
  const std::string prefix_;
  int fd_ = -1;
  std::mutex mutex_;
  News news_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace xdc
