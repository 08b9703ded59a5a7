// How does a launcher hear what its ranks say of themselves?
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <vector>

#include "core/base/check.hpp"
#include "exec/launcher/status_record.hpp"

namespace xdc {

// Both ends; the ranks write, and inherit that end.
class StatusPipe {
 public:
  StatusPipe() {
    XDC_CHECK(::pipe2(ends_.data(), O_CLOEXEC | O_NONBLOCK) == 0);
    constexpr int kHeld = 1 << 20;
    ::fcntl(ends_[0], F_SETPIPE_SZ, kHeld);  // of what comes between two looks; where the system allows it
  }
  ~StatusPipe() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  StatusPipe(const StatusPipe&) = delete;
  StatusPipe& operator=(const StatusPipe&) = delete;

  int read_end() const { return ends_[0]; }
  int write_end() const { return ends_[1]; }
  // Records are written whole, so whole ones are read.
  std::vector<StatusRecord> take() {
    std::vector<StatusRecord> all;
    std::array<StatusRecord, 512> some;
    ssize_t n = 0;
    while ((n = ::read(ends_[0], some.data(), sizeof some)) > 0) {
      all.insert(all.end(), some.begin(), some.begin() + n / static_cast<ssize_t>(sizeof(StatusRecord)));
    }
    return all;
  }

 private:
  std::array<int, 2> ends_{-1, -1};
};

}  // namespace xdc
