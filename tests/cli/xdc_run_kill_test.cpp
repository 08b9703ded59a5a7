// Is there an intact checkpoint to go on from, wherever in its saving a rank is killed? Each call that changes a file below the
// checkpoints' directory is a place to be killed at (kill_at.cpp); what is resumed ends with xdc-sim's bits.
#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/cli/checkpoint_runs.hpp"

namespace xdc::cli {
namespace {

namespace fs = std::filesystem;
using Lines = std::vector<std::string>;

Lines lines_of(const std::string& path) {
  std::istringstream text(read(path));
  Lines lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

struct Victim {
  std::string variant, directory;
  int member = 0;
};

// The environment for it.
Lines watched(const Folder& folder, const std::string& member, int64_t n) {
  return {"LD_PRELOAD=" XDC_KILL_AT, "KILL_AT_MEMBER=" + member, fmt::format("KILL_AT_CALL={}", n), "KILL_AT_BELOW=" + folder.file("saved"),
          "KILL_AT_LOG=" + folder.file("calls")};
}

// From here on the checkpoint of step 4 is written.
bool is_after_the_first(const std::string& call) {
  // Whoever begins removes what others have left, or not filled yet: half a file, an empty folder.
  const bool removes = call.starts_with("unlink ") && call.find('~') == std::string::npos;
  return removes || call.find("/step-000008") != std::string::npos || call.find("/step-000012") != std::string::npos;
}

class Kills {
 public:
  Kills() { write_scenario(folder_); }

  // Every call that this member's saving makes in a run that nobody disturbs.
  Lines calls_of(const Victim& victim) {
    const auto ended = train(victim, 0);
    INFO(ended.err);
    REQUIRE(ended.code == 0);
    expected_ = simulated(folder_, run_of(victim));
    CHECK(digests_in(folder_.file("run.json")) == expected_);
    return lines_of(folder_.file("calls"));
  }

  // The member is killed at its n-th call, and the run resumed; or begun again, where the first checkpoint was being written. False:
  // another member was the first to make a directory, and this one has had fewer calls.
  bool kill_at(const Victim& victim, int64_t n) {
    const auto killed = train(victim, n);
    const auto calls = lines_of(folder_.file("calls"));
    if (killed.code == 0 && static_cast<int64_t>(calls.size()) < n) return false;
    REQUIRE(static_cast<int64_t>(calls.size()) == n);
    const std::string last = calls.back();
    const bool saved_before = std::any_of(calls.begin(), calls.end(), is_after_the_first);
    INFO(fmt::format("{} member {}, call {}: {}\n{}", victim.variant, victim.member, n, last, killed.err));
    REQUIRE(killed.code == 3);
    CHECK(killed.err.find("was killed by signal 9") != std::string::npos);
    const auto saved = saved_steps(directory(victim));
    CHECK((!saved_before || !saved.empty()));
    auto arguments = arguments_of(victim);
    if (!saved.empty()) arguments.emplace_back("--resume");
    const auto rest = run(folder_, arguments);
    INFO(rest.err);
    REQUIRE(rest.code == 0);
    // The newest that has a manifest is intact: nothing had to be passed over.
    CHECK(rest.err.find("is not used") == std::string::npos);
    if (!saved.empty()) CHECK(report_in(folder_.file("run.json")).at("variants")[0].at("resumed_at") == saved.back());
    CHECK(digests_in(folder_.file("run.json")) == expected_);
    // Who saves again leaves nothing of what was half done.
    if (!saved.empty() && saved.back() == 12) return true;
    CHECK(saved_steps(directory(victim)) == std::vector<int64_t>{12});
    for (const auto& entry : fs::recursive_directory_iterator(directory(victim))) {
      INFO(entry.path());
      CHECK(entry.path().native().find("step-000012") != std::string::npos);
      CHECK(entry.path().native().find('~') == std::string::npos);
    }
    return true;
  }

 private:
  std::string directory(const Victim& victim) const { return folder_.file("saved/" + victim.directory); }
  Lines arguments_of(const Victim& victim) const {
    auto arguments = run_of(victim);
    arguments.insert(arguments.end(), {"--checkpoint", folder_.file("saved"), "--json", folder_.file("run.json")});
    return arguments;
  }

  // Three are saved, and each takes the place of the one before.
  static Lines run_of(const Victim& victim) {
    return {"--variant", victim.variant, "--set", steps(12), "--set", "checkpoint.every=4", "--set", "checkpoint.keep=1"};
  }

  Ended train(const Victim& victim, int64_t n) {
    fs::remove_all(folder_.file("saved"));
    fs::remove(folder_.file("calls"));
    return run(folder_, arguments_of(victim), watched(folder_, std::to_string(victim.member), n));
  }

  Folder folder_;
  std::map<std::string, std::string> expected_;
};

// Every `stride`-th place, from a different one for each victim. How many.
int kill_everywhere(const Victim& victim, size_t stride) {
  Kills kills;
  const auto calls = kills.calls_of(victim);
  std::set<std::string> kinds;
  for (const auto& call : calls) kinds.insert(call.substr(0, call.find(' ')));
  if (victim.member == 0) {
    CHECK(kinds == std::set<std::string>{"create", "fsync", "mkdir", "rename", "rmdir", "tear", "unlink", "write"});
  }
  int killed = 0;
  for (size_t n = 1 + static_cast<size_t>(victim.member) % stride; n <= calls.size(); n += stride) {
    killed += kills.kill_at(victim, static_cast<int64_t>(n)) ? 1 : 0;
  }
  fmt::print("{}, member {}: killed at {} of {} calls\n", victim.variant, victim.member, killed, calls.size());
  return killed;
}

}  // namespace

TEST_CASE("wherever in its saving a rank is killed, the run is resumed and ends with the same bits", "[cli]") {
  CHECK(kill_everywhere({"tree int8", "tree-int8", 0}, 7) >= 10);
  CHECK(kill_everywhere({"tree int8", "tree-int8", 2}, 6) >= 3);
}

// What strace saw of calls that change files below the directory, as kill_at.cpp names them.
std::map<std::string, int> calls_in_trace(const Folder& folder) {
  const std::map<std::string, std::string> names{
      {"openat", "create"}, {"unlinkat", "unlink"}, {"mkdirat", "mkdir"}, {"renameat", "rename"}};
  std::map<std::string, int> counts;
  for (const auto& line : lines_of(folder.file("trace"))) {
    const auto begin = line.find_first_not_of("0123456789 "), end = line.find('(');
    if (end == std::string::npos || line.find(folder.file("saved")) == std::string::npos) continue;
    std::string call = line.substr(begin, end - begin);
    // What is written into another file may well be the directory's name.
    const bool by_descriptor = std::isdigit(static_cast<unsigned char>(line[end + 1])) != 0;
    if (by_descriptor && line.find('<' + folder.file("saved")) != line.find('<')) continue;
    if (call == "openat" && line.find("O_CREAT") == std::string::npos) continue;
    if (call == "unlinkat" && line.find("AT_REMOVEDIR") != std::string::npos) call = "rmdir";
    const auto name = names.find(call);
    ++counts[name == names.end() ? call : name->second];
  }
  return counts;
}

std::string as_text(const std::map<std::string, int>& counts) {
  std::string text;
  for (const auto& [name, count] : counts) text += fmt::format("{} {}\n", name, count);
  return text;
}

TEST_CASE("the calls at which a rank can be killed are all that change a file below the directory", "[cli]") {
  const Folder folder;
  write_scenario(folder);
  if (std::system("strace -qq -e trace=none true > /dev/null 2>&1") != 0) {
    WARN("strace cannot look at processes here; what it would have seen is not compared");
    return;
  }
  std::string command;
  for (const auto& variable : watched(folder, "any", 0)) command += fmt::format("'{}' ", variable);
  command = fmt::format(
      "cd '{}' && env {} strace -f -qq -y -o trace -e "
      "trace=openat,open,creat,write,pwrite64,writev,pwritev,pwritev2,sendfile,copy_file_range,ftruncate,truncate,fallocate,fsync,"
      "fdatasync,"
      "msync,rename,renameat,renameat2,link,linkat,symlink,symlinkat,mkdir,mkdirat,unlink,unlinkat,rmdir "
      "'{}' scenario.toml --variant 'tree int8' --set checkpoint.keep=1 --set '{}' --checkpoint '{}' > out 2>&1",
      folder.path().native(), command, XDC_RUN, steps(8), folder.file("saved"));
  const int code = std::system(command.c_str());
  INFO(read(folder.file("out")));
  REQUIRE(code == 0);
  std::map<std::string, int> counted;
  for (const auto& line : lines_of(folder.file("calls"))) ++counted[line.substr(0, line.find(' '))];
  CHECK(counted["tear"] == counted["write"]);
  counted.erase("tear");
  CHECK(counted.size() == 7);
  CHECK(as_text(calls_in_trace(folder)) == as_text(counted));
}

// By hand, some minutes: test_cli_xdc_run_kill "[everywhere]"
TEST_CASE("at every single call, whatever a member keeps", "[.everywhere]") {
  int killed = 0;
  for (const auto& [variant, directory, members] : std::vector<std::tuple<std::string, std::string, int>>{
           {"tree int8", "tree-int8", 3}, {"momentum", "momentum", 1}, {"servers", "servers", 5}, {"local", "local", 3}}) {
    for (int member = 0; member < members; ++member) killed += kill_everywhere({variant, directory, member}, 1);
  }
  fmt::print("killed at {} calls\n", killed);
}

}  // namespace xdc::cli
