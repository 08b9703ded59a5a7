// Can any text, read as a scenario and its topology, do more than be refused? Run by tools/fuzz.
//
// An input is the scenario's text, then a line "=====", then the topology's. First the scenario is read as it stands; then with
// data of a size that can be made, so that what survives reading goes on through validate with every registry there is.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/validate/validate.hpp"

namespace {

// A file in memory with a path.
class MemoryFile {
 public:
  MemoryFile() : fd_(::memfd_create("fuzz", 0)), path_("/proc/self/fd/" + std::to_string(fd_)) {}
  ~MemoryFile() { ::close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  void hold(std::string_view text) {
    if (::ftruncate(fd_, 0) != 0 || ::pwrite(fd_, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
      std::abort();
    }
  }
  const std::string& path() const { return path_; }

 private:
  int fd_;
  std::string path_;
};

constexpr std::string_view kBetween = "\n=====\n";

// A refusal says something, and nothing that was refused is run.
void read_twice(const std::string& scenario, const std::string& topology) {
  xdc::Diagnostics first;
  const auto as_written = xdc::read_scenario(scenario, {}, first);
  if (!as_written && first.errors().empty()) {
    std::abort();
  }
  if (!first.errors().empty()) {
    return;
  }
  xdc::Diagnostics second;
  const auto small = xdc::read_scenario(
      scenario,
      {"topology=\"" + topology + "\"", "payload=phantom", "data={ source = \"generated\", train_samples = 4000, test_samples = 10 }"}, second);
  if (!small) {
    std::abort();  // the same file, and options that are right
  }
  const auto plans = xdc::validate(*small, second);
  if (second.errors().empty() && plans.size() != small->variants.size()) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static MemoryFile scenario, topology;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t at = text.find(kBetween);
  scenario.hold(text.substr(0, at));
  topology.hold(at == std::string_view::npos ? "" : text.substr(at + kBetween.size()));
  read_twice(scenario.path(), topology.path());
  // Any text is a topology of its own, too.
  xdc::Diagnostics diagnostics;
  if (!xdc::read_topology(scenario.path(), diagnostics).ok() && diagnostics.errors().empty()) {
    std::abort();
  }
  return 0;
}
