// A line between two fabrics that a test can break: a TCP relay on the loopback.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace xdc {

class Relay {
 public:
  // Passes on to `target`, "127.0.0.1:4711".
  explicit Relay(const std::string& target);
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  const std::string& address() const { return address_; }
  // Ends every connection there is.
  void break_connections() { break_ = true; }
  // While held nothing passes, and nobody is told.
  void hold(bool held) { held_ = held; }
  // From now on nobody can connect either.
  void refuse();
  // Every so many bytes from the callers one bit is turned over, so many times.
  void flip_bits(int64_t every_bytes, int times);

  int connections() const { return connections_; }  // so far
  int flips_left() const { return flips_left_; }

 private:
  struct Pair {
    int near = -1, far = -1;
  };
  void run();
  void accept_one();
  bool pass(int from, int to, bool may_flip);
  void end_all();

  std::string address_, target_;
  int listening_ = -1;
  std::atomic<bool> ending_{false}, break_{false}, held_{false}, refuse_{false};
  std::atomic<int> connections_{0}, flips_left_{0};
  std::atomic<int64_t> flip_every_{0};
  int64_t since_flip_ = 0;
  std::vector<Pair> pairs_;
  std::thread thread_;
};

}  // namespace xdc
