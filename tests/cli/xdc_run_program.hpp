// xdc-run as a user starts it: a process with its output in files, and the ranks below it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace xdc::cli {

// A folder that goes with the test.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string file(const std::string& name) const { return (path_ / name).native(); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

struct Exit {
  int code = 0;
  int signal = 0;
  double seconds = 0;  // since the wait began
};

class Program {
 public:
  // Runs xdc-run with these arguments in the folder, which takes its output in files that begin with `name`. `environment` is added to
  // this process's own ("NAME=value").
  Program(const Folder& folder, const std::vector<std::string>& arguments, const std::vector<std::string>& environment = {},
          const std::string& name = "");
  ~Program();  // kills what still runs
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  pid_t pid() const { return pid_; }
  void send(int signal) const;
  // nullopt: it still runs.
  std::optional<Exit> wait(double seconds);
  std::string out() const;
  std::string err() const;
  std::vector<pid_t> ranks() const;  // its children

 private:
  pid_t pid_ = -1;
  std::string out_, err_;
  bool ended_ = false;
};

// Runs xdc-run in a folder of its own to an end that must be good within `seconds`: what it printed on stdout.
std::string output_of(const std::vector<std::string>& arguments, double seconds);

// Until it holds, or false after so many seconds.
bool eventually(double seconds, const std::function<bool()>& holds);
bool is_alive(pid_t pid);
std::string read(const std::string& path);

}  // namespace xdc::cli
