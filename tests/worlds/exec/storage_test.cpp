// Do files keep the promises of Storage?
#include <fmt/format.h>
#include <unistd.h>

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
