// Do files keep the promises of Storage?
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <thread>

#include "exec/host/file_storage.hpp"

namespace xdc {

namespace {

class Directory {
 public:
  Directory() : path_(std::filesystem::temp_directory_path() / fmt::format("xdc-storage-{}", ::getpid())) {
    std::filesystem::remove_all(path_);
  }
  ~Directory() { std::filesystem::remove_all(path_); }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  std::string path() const { return path_.native(); }

 private:
  std::filesystem::path path_;
};

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  return {data, data + text.size()};
}

}  // namespace

TEST_CASE("files hold what was put last and are listed by prefix in order", "[exec]") {
  const Directory directory;
  FileStorage storage(directory.path());
  REQUIRE(storage.list("").value().empty());
  for (const auto* name : {"b", "a/y", "a/x", "ab"}) {
    REQUIRE(storage.put(name, bytes_of(name)).ok());
  }
  REQUIRE(storage.put("b", bytes_of("longer than before")).ok());
  REQUIRE(storage.put("b", {}).ok());
  REQUIRE(storage.get("b").value().empty());
  REQUIRE(storage.get("a/x").value() == bytes_of("a/x"));
  REQUIRE(storage.list("").value() == std::vector<std::string>{"a/x", "a/y", "ab", "b"});
  REQUIRE(storage.list("a").value() == std::vector<std::string>{"a/x", "a/y", "ab"});
  REQUIRE(storage.list("a/").value() == std::vector<std::string>{"a/x", "a/y"});
  REQUIRE(storage.remove("a/x").ok());
  REQUIRE(storage.remove("a/x").ok());
  REQUIRE(storage.remove("no/such").ok());
  REQUIRE(storage.get("a/x").error().code == ErrorCode::invalid);
  REQUIRE(storage.get("a").error().code == ErrorCode::invalid);  // a directory
}

TEST_CASE("what is put part by part is one file, and none at all when a part cannot be made", "[exec]") {
  const Directory directory;
  FileStorage storage(directory.path());
  const std::vector<std::string> parts{"one, ", "two, ", "three"};
  size_t next = 0;
  const auto in_turn = [&]() -> Result<std::span<const std::byte>> {
    return next < parts.size() ? std::as_bytes(std::span(parts[next++])) : std::span<const std::byte>();
  };
  REQUIRE(storage.put_parts("a/model", in_turn).ok());
  REQUIRE(storage.get("a/model").value() == bytes_of("one, two, three"));
  next = 0;
  const auto breaks = [&]() -> Result<std::span<const std::byte>> {
    if (next == 2) return Error{ErrorCode::failed, "the device is gone"};
    return std::as_bytes(std::span(parts[next++]));
  };
  REQUIRE(storage.put_parts("a/model", breaks).error().message == "the device is gone");
  REQUIRE(storage.get("a/model").value() == bytes_of("one, two, three"));
  REQUIRE(storage.list("").value() == std::vector<std::string>{"a/model"});
  REQUIRE(std::distance(std::filesystem::recursive_directory_iterator(directory.path()), {}) == 2);
}

TEST_CASE("names that could leave the directory are refused", "[exec]") {
  const Directory directory;
  FileStorage storage(directory.path());
  for (const auto* name : {"", "/", "/etc/x", "..", "a/../b", "./a", "a//b", "a/", "A", "a~1", "a b", "\xc3\xa4"}) {
    CAPTURE(name);
    REQUIRE(storage.put(name, {}).error().code == ErrorCode::invalid);
    REQUIRE(storage.get(name).error().code == ErrorCode::invalid);
    REQUIRE(storage.remove(name).error().code == ErrorCode::invalid);
  }
  REQUIRE(!std::filesystem::exists(directory.path()));
}

TEST_CASE("what a killed writer left behind is neither listed nor in the way", "[exec]") {
  const Directory directory;
  FileStorage storage(directory.path());
  REQUIRE(storage.put("model", bytes_of("old")).ok());
  std::ofstream(directory.path() + "/model~999-0") << "half of the n";
  REQUIRE(storage.list("").value() == std::vector<std::string>{"model"});
  REQUIRE(storage.put("model", bytes_of("new")).ok());
  REQUIRE(storage.get("model").value() == bytes_of("new"));
}

TEST_CASE("what killed writers left is removed by the next one, and what a living one writes is not", "[exec]") {
  const Directory directory;
  const auto path = [&](const char* name) { return directory.path() + "/" + name; };
  std::filesystem::create_directories(path("step-1/empty"));
  std::filesystem::create_directories(path("step-2"));
  for (const auto* name :
       {"model~999-0", "step-2/model~1-17", "step-2/model~2-0", "notes~", "notes~1", "notes~1-", "notes~1-x", "notes-1-2"}) {
    std::ofstream(path(name)) << "half";
  }
  // As its writer holds it, which may be a process of another machine.
  const int writing = ::open(path("step-2/model~2-0").c_str(), O_WRONLY);
  REQUIRE(::flock(writing, LOCK_EX) == 0);
  FileStorage storage(directory.path());
  REQUIRE(storage.put("model", bytes_of("new")).ok());
  for (const auto* name : {"step-1", "model~999-0", "step-2/model~1-17"}) {
    CAPTURE(name);
    CHECK(!std::filesystem::exists(path(name)));
  }
  for (const auto* name : {"model", "step-2/model~2-0", "notes~", "notes~1", "notes~1-", "notes~1-x", "notes-1-2"}) {
    CAPTURE(name);
    CHECK(std::filesystem::exists(path(name)));
  }
  ::close(writing);
  // Its writer is gone now.
  REQUIRE(FileStorage(directory.path()).put("model", bytes_of("newer")).ok());
  CHECK(!std::filesystem::exists(path("step-2")));
}

TEST_CASE("writers beside each other and beside those that start lose nothing", "[exec]") {
  const Directory directory;
  std::atomic<int> failed = 0;
  std::vector<std::thread> writers;
  for (int writer = 0; writer < 4; ++writer) {
    writers.emplace_back([&, writer] {
      for (int i = 0; i < 40; ++i) {
        // A new one sweeps. What it removes may take the directory from the others.
        FileStorage storage(directory.path());
        const auto name = fmt::format("step-{}/model{}", i, writer);
        failed += storage.put(name, bytes_of(name)).ok() ? 0 : 1;
        failed += storage.get(name).ok() ? 0 : 1;
        failed += storage.remove(name).ok() ? 0 : 1;
      }
    });
  }
  for (auto& writer : writers) writer.join();
  CHECK(failed == 0);
  CHECK(FileStorage(directory.path()).list("").value().empty());
}

TEST_CASE("a put that fails leaves the old contents and no new file", "[exec]") {
  const Directory directory;
  FileStorage storage(directory.path());
  REQUIRE(storage.put("a/b", bytes_of("x")).ok());
  REQUIRE(storage.put("a", bytes_of("y")).error().code == ErrorCode::failed);  // a directory is in the way
  REQUIRE(storage.put("a/b/c", bytes_of("y")).error().code == ErrorCode::failed);
  REQUIRE(storage.get("a/b").value() == bytes_of("x"));
  size_t entries = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::recursive_directory_iterator(directory.path())) {
    ++entries;
  }
  REQUIRE(entries == 2);  // a, a/b
}

TEST_CASE("a reader beside writers of one name always sees one of them whole", "[exec]") {
  const Directory directory;
  FileStorage storage(directory.path());
  const std::vector<std::byte> ones(100'000, std::byte{1}), twos(50'000, std::byte{2});
  REQUIRE(storage.put("model", ones).ok());
  bool all_put = true;
  std::thread writer([&] {
    for (int i = 0; i < 20; ++i) {
      all_put = all_put && storage.put("model", i % 2 == 0 ? twos : ones).ok();
    }
  });
  for (int i = 0; i < 200; ++i) {
    const auto seen = storage.get("model");
    REQUIRE(seen.ok());
    REQUIRE((seen.value() == ones || seen.value() == twos));
  }
  writer.join();
  REQUIRE(all_put);
}

}  // namespace xdc
