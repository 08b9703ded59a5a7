#include "core/checkpoint/safetensors.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace xdc {
namespace {

// Two tensors, and one without elements between them.
std::vector<std::byte> example() {
  const SafetensorsLayout layout({{"a", {2, 1}}, {"empty", {0, 7}}, {"b", {3}}}, {{"step", "7"}});
  std::vector<std::byte> file(layout.size());
  std::memcpy(file.data(), layout.head().data(), layout.head().size());
  const std::array<float, 5> values{1.5F, -2, 0.25F, 3, 1e-30F};
  std::memcpy(file.data() + layout.offset(0), values.data(), 8);
  std::memcpy(file.data() + layout.offset(2), values.data() + 2, 12);
  return file;
}

std::vector<std::byte> with_header(const std::string& header, size_t data) {
  std::vector<std::byte> file(8 + header.size() + data);
  const uint64_t length = header.size();
  std::memcpy(file.data(), &length, 8);
  std::memcpy(file.data() + 8, header.data(), header.size());
  return file;
}

std::string refusal(const std::string& header, size_t data) {
  const auto read = read_safetensors(with_header(header, data));
  return read.ok() ? "accepted" : read.error().message;
}

}  // namespace

TEST_CASE("a safetensors file is read back with names, shapes and bits") {
  const auto file = example();
  const auto read = read_safetensors(file);
  REQUIRE(read.ok());
  REQUIRE(read.value().size() == 3);
  CHECK(read.value()[0].name == "a");
  CHECK(read.value()[0].shape == std::vector<int64_t>{2, 1});
  CHECK(read.value()[1].bytes.empty());
  float last = 0;
  REQUIRE(read.value()[2].bytes.size() == 12);
  std::memcpy(&last, read.value()[2].bytes.data() + 8, sizeof last);
  CHECK(last == 1e-30F);
}

#ifdef XDC_PYTHON
TEST_CASE("a safetensors file says the same to a reader written from the published description") {
  std::string folder = (std::filesystem::temp_directory_path() / "xdc-safetensors-XXXXXX").string();
  REQUIRE(mkdtemp(folder.data()) != nullptr);
  const auto file = example();
  const auto path = folder + "/example.safetensors", out = folder + "/out";
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
  const auto command = fmt::format("{} {}/tests/unit/checkpoint/read_safetensors.py {} > {} 2>&1", XDC_PYTHON, XDC_SOURCE_DIR, path, out);
  const int status = std::system(command.c_str());
  std::ifstream in(out);
  const std::string said{std::istreambuf_iterator<char>(in), {}};
  std::filesystem::remove_all(folder);
  INFO(said);
  CHECK(status == 0);
  CHECK(said == "a [2, 1] [1.5, -2.0]\nempty [0, 7] []\nb [3] [0.25, 3.0, 1.0000000031710769e-30]\n");
}
#endif

TEST_CASE("a file cut short anywhere is refused") {
  const auto file = example();
  for (size_t size = 0; size < file.size(); ++size) {
    INFO(size);
    CHECK(!read_safetensors(std::span(file).first(size)).ok());
  }
}

TEST_CASE("a header that says what cannot be is refused with the reason") {
  const std::string a = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  CHECK(refusal(a, 8) == "accepted");
  CHECK(refusal(a, 12).find("belong to no tensor") != std::string::npos);
  CHECK(refusal(R"({"a":{"dtype":"F16","shape":[4],"data_offsets":[0,8]}})", 8).find("not F32") != std::string::npos);
  CHECK(refusal(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8).find("disagree") != std::string::npos);
  CHECK(refusal(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8).find("neighbour") != std::string::npos);
  CHECK(refusal(R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}})", 0).find("disagree") != std::string::npos);
  CHECK(refusal(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,8]}})", 8).find("disagree") != std::string::npos);
  CHECK(refusal(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", 8).find("no shape or offsets") != std::string::npos);
  CHECK(refusal(R"({"a":7})", 0).find("no shape or offsets") != std::string::npos);
  CHECK(refusal("[]", 0).find("no JSON object") != std::string::npos);
  std::vector<std::byte> endless(64, std::byte{0xFF});
  CHECK(!read_safetensors(endless).ok());
}

}  // namespace xdc
