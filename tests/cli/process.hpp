// How does a test start a program, and what did it say?
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace xdc::cli {

struct Finished {
  int exit_code = -1;  // 128 + signal when it was killed
  std::string out, err;
};

class Process {
 public:
  // argv[0] is looked up in PATH. stdin is empty. `environment` is added to this process's own ("NAME=value").
  explicit Process(const std::vector<std::string>& argv, const std::vector<std::string>& environment = {});
  ~Process();  // kills what still runs
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  void send(int signal) const;
  // Reads until something in `err` or `out` contains the text; false at the end of both or after 30 seconds.
  bool wait_for_output(const std::string& text);
  // Ends it with SIGKILL after 120 seconds, which no test should need.
  Finished finish();

 private:
  bool read_some(int timeout_ms);

  pid_t pid_ = -1;
  int out_fd_ = -1, err_fd_ = -1;
  Finished result_;
};

// xdc-sim with these arguments, to its end.
Finished sim(const std::vector<std::string>& arguments, const std::vector<std::string>& environment = {});

}  // namespace xdc::cli
