// What may nobody call, and what may core not call?
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "tests/tidy/tidy.hpp"

namespace xdc::tidy {
namespace {

struct Ban {
  std::string word;  // whole words; a word that ends in "_" or "::" also begins longer ones
  std::string reason;
};

// Core decides, it does not act: time, lanes and chance come through the seam or from core/base/rng.
const std::vector<Ban> kCoreBans = {
    {"<thread>", "lanes come from the seam"},
    {"<mutex>", "lanes meet through signals of the seam"},
    {"<shared_mutex>", "lanes meet through signals of the seam"},
    {"<condition_variable>", "lanes meet through signals of the seam"},
    {"<future>", "lanes come from the seam"},
    {"<semaphore>", "lanes meet through signals of the seam"},
    {"<latch>", "lanes meet through signals of the seam"},
    {"<barrier>", "lanes meet through signals of the seam"},
    {"<stop_token>", "lanes come from the seam"},
    {"<pthread.h>", "lanes come from the seam"},
    {"<chrono>", "time comes from the seam's clock"},
    {"<ctime>", "time comes from the seam's clock"},
    {"<time.h>", "time comes from the seam's clock"},
    {"<sys/time.h>", "time comes from the seam's clock"},
    {"<random>", "draws come from core/base/rng"},
    {"std::uniform_", "distributions differ between standard libraries: core/base/rng has its own"},
    {"std::random_device", "draws come from core/base/rng"},
    {"rand", "draws come from core/base/rng"},
    {"srand", "draws come from core/base/rng"},
    {"random_shuffle", "draws come from core/base/rng"},
    {"std::shuffle", "draws come from core/base/rng"},
    {"getenv", "what a run does is in its scenario, not in the environment"},
    {"secure_getenv", "what a run does is in its scenario, not in the environment"},
    {"clock_gettime", "time comes from the seam's clock"},
    {"gettimeofday", "time comes from the seam's clock"},
    {"std::clock", "time comes from the seam's clock"},
    {"std::time", "time comes from the seam's clock"},
    {"usleep", "time comes from the seam's clock"},
    {"nanosleep", "time comes from the seam's clock"},
    {"sleep_for", "time comes from the seam's clock"},
    {"thread_local", "a lane is not a thread in both worlds"},
    {"pthread_", "lanes come from the seam"},
};

const std::vector<Ban> kBansForAll = {
    {"<cassert>", "XDC_CHECK is always on, assert is not"},
    {"<assert.h>", "XDC_CHECK is always on, assert is not"},
};

bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

bool has_word(std::string_view line, std::string_view word) {
  const bool opens = is_word(word.front());
  const bool closes = is_word(word.back()) && word.back() != '_';
  for (size_t at = line.find(word); at != std::string_view::npos; at = line.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((!opens || at == 0 || !is_word(line[at - 1])) && (!closes || end == line.size() || !is_word(line[end]))) {
      return true;
    }
  }
  return false;
}

// catch (...), however it is spaced or broken over lines.
void find_catch_all(const SourceFile& file, std::vector<Violation>& found) {
  std::string all;
  std::vector<size_t> line_of;
  for (size_t i = 0; i < file.code.size(); ++i) {
    for (const char c : file.code[i]) {
      if (c != ' ' && c != '\t') {
        all += c;
        line_of.push_back(i + 1);
      }
    }
  }
  for (size_t at = all.find("catch(...)"); at != std::string::npos; at = all.find("catch(...)", at + 1)) {
    found.push_back({file.path, line_of[at], "catch-all", "exceptions are caught by named type"});
  }
}

}  // namespace

std::vector<Violation> check_calls(const std::vector<SourceFile>& tree) {
  std::vector<Violation> found;
  for (const auto& file : tree) {
    if (!file.is_cpp()) {
      continue;
    }
    find_catch_all(file, found);
    const bool core = file.path.starts_with("core/");
    const bool product = !file.path.starts_with("tests/");
    for (size_t i = 0; i < file.code.size(); ++i) {
      const auto look = [&](const std::vector<Ban>& bans, const std::string& rule) {
        for (const auto& ban : bans) {
          if (has_word(file.code[i], ban.word)) {
            found.push_back({file.path, i + 1, rule, fmt::format("{}: {}", ban.word, ban.reason)});
          }
        }
      };
      look(kBansForAll, "banned");
      if (core) {
        look(kCoreBans, "banned in core");
      }
      if (product && has_word(file.code[i], "throw")) {
        found.push_back({file.path, i + 1, "banned", "throw: expected failures are Result or Status, bugs are XDC_CHECK"});
      }
    }
  }
  return found;
}

}  // namespace xdc::tidy
