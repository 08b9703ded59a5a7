// Are good IDX files read right and bad ones refused with their place?
#include "core/data/idx.hpp"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace xdc {
namespace {

namespace fs = std::filesystem;
using Text = std::string;

Text word(uint32_t x) { return {static_cast<char>(x >> 24), static_cast<char>(x >> 16), static_cast<char>(x >> 8), static_cast<char>(x)}; }

// Pixel k of image i is (i * 7 + k) mod 256.
Text images(uint32_t n, uint32_t rows, uint32_t columns) {
  Text text = word(0x803) + word(n) + word(rows) + word(columns);
  for (uint32_t i = 0; i < n; ++i) {
    for (uint32_t k = 0; k < rows * columns; ++k) {
      text += static_cast<char>((i * 7 + k) % 256);
    }
  }
  return text;
}

Text labels(const std::vector<int>& values) {
  Text text = word(0x801) + word(static_cast<uint32_t>(values.size()));
  for (const int v : values) {
    text += static_cast<char>(v);
  }
  return text;
}

// A folder with four good files of 3 training and 2 test samples of 2x3 pixels; removed at the end.
class Folder {
 public:
  Folder() {
    Text name = (fs::temp_directory_path() / "xdc_idx_XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
    write("train-images-idx3-ubyte", images(3, 2, 3));
    write("train-labels-idx1-ubyte", labels({4, 0, 2}));
    write("t10k-images-idx3-ubyte", images(2, 2, 3));
    write("t10k-labels-idx1-ubyte", labels({1, 5}));
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  void write(const Text& name, const Text& contents) const { std::ofstream(path_ / name, std::ios::binary) << contents; }
  void remove(const Text& name) const { fs::remove(path_ / name); }
  void rename(const Text& from, const Text& to) const { fs::rename(path_ / from, path_ / to); }
  Text path() const { return path_.string(); }

  Text refusal() const {
    const auto data = open_idx(path());
    REQUIRE(!data.ok());
    CHECK(data.error().code == ErrorCode::invalid);
    return data.error().message;
  }

 private:
  fs::path path_;
};

TEST_CASE("Four good files become a dataset with their shapes, labels and pixels") {
  const Folder folder;
  const auto opened = open_idx(folder.path());
  REQUIRE(opened.ok());
  const Dataset& data = *opened.value();
  CHECK(data.shape().height == 2);
  CHECK(data.shape().width == 3);
  CHECK(data.shape().channels == 1);
  CHECK(data.shape().classes == 6);  // the greatest label stands in the test files
  CHECK(data.train().size() == 3);
  CHECK(data.test().size() == 2);
  std::vector<float> pixels(2 * 6, -1.0F);
  std::vector<int32_t> got(2, -1);
  data.gather(data.train(), std::vector<int32_t>{2, 1}, pixels, got);
  CHECK(got == std::vector<int32_t>{2, 0});
  CHECK(pixels[0] == 14.0F / 255.0F);
  CHECK(pixels[5] == 19.0F / 255.0F);
  CHECK(pixels[6] == 7.0F / 255.0F);
}

TEST_CASE("Gathering fewer samples than there is room for leaves the rest untouched") {
  const Folder folder;
  const auto opened = open_idx(folder.path());
  REQUIRE(opened.ok());
  std::vector<float> pixels(2 * 6, -1.0F);
  std::vector<int32_t> got(2, -1);
  opened.value()->gather(opened.value()->test(), std::vector<int32_t>{1}, pixels, got);
  CHECK(got == std::vector<int32_t>{5, -1});
  CHECK(pixels[6] == -1.0F);
}

TEST_CASE("File names with a dot are taken too") {
  const Folder folder;
  folder.rename("train-images-idx3-ubyte", "train-images.idx3-ubyte");
  folder.rename("t10k-labels-idx1-ubyte", "t10k-labels.idx1-ubyte");
  CHECK(open_idx(folder.path()).ok());
}

TEST_CASE("A missing folder or file is named, and a compressed one beside it") {
  const Folder folder;
  CHECK_THAT(open_idx(folder.path() + "/nowhere").error().message, Catch::Contains("no such folder"));
  folder.remove("t10k-labels-idx1-ubyte");
  CHECK_THAT(folder.refusal(), Catch::Contains("t10k-labels-idx1-ubyte: cannot be opened"));
  folder.write("t10k-labels-idx1-ubyte.gz", "x");
  CHECK_THAT(folder.refusal(), Catch::Contains("gunzip"));
}

TEST_CASE("Swapped images and labels are recognised") {
  const Folder folder;
  folder.write("train-images-idx3-ubyte", labels({1, 2, 3}));
  CHECK_THAT(folder.refusal(),
             Catch::Contains("train-images-idx3-ubyte: offset 0") && Catch::Contains("mark of labels") && Catch::Contains("swapped?"));
  folder.write("train-images-idx3-ubyte", images(3, 2, 3));
  folder.write("train-labels-idx1-ubyte", images(3, 2, 3));
  CHECK_THAT(folder.refusal(), Catch::Contains("train-labels-idx1-ubyte: offset 0") && Catch::Contains("mark of images"));
}

TEST_CASE("A file that is no IDX file is refused at offset 0") {
  const Folder folder;
  folder.write("train-images-idx3-ubyte", "GIF89a, certainly");
  CHECK_THAT(folder.refusal(), Catch::Contains("offset 0: 0x47494638"));
  folder.write("train-images-idx3-ubyte", Text("\x1f\x8b\x08\x00 and so on", 14));
  CHECK_THAT(folder.refusal(), Catch::Contains("compressed"));
  folder.write("train-images-idx3-ubyte", "");
  CHECK_THAT(folder.refusal(), Catch::Contains("empty"));
}

TEST_CASE("A file cut short at any byte, or too long, is refused with the offset") {
  const Folder folder;
  const Text whole = images(3, 2, 3);
  for (size_t size = 1; size < whole.size(); ++size) {
    folder.write("train-images-idx3-ubyte", whole.substr(0, size));
    CHECK_THAT(folder.refusal(), Catch::Contains("ends at offset " + std::to_string(size)));
  }
  folder.write("train-images-idx3-ubyte", whole + "!!");
  CHECK_THAT(folder.refusal(), Catch::Contains("offset 34: 2 bytes behind the 3 items"));
  folder.write("train-images-idx3-ubyte", whole);
  folder.write("train-labels-idx1-ubyte", labels({4, 0, 2}).substr(0, 10));
  CHECK_THAT(folder.refusal(), Catch::Contains("train-labels-idx1-ubyte: ends at offset 10"));
}

TEST_CASE("Headers that announce nothing, or absurdly much, are refused") {
  const Folder folder;
  folder.write("train-images-idx3-ubyte", word(0x803) + word(0) + word(2) + word(3));
  CHECK_THAT(folder.refusal(), Catch::Contains("offset 4: 0 items"));
  folder.write("train-images-idx3-ubyte", word(0x803) + word(1) + word(0) + word(3));
  CHECK_THAT(folder.refusal(), Catch::Contains("offset 8: 0 rows"));
  folder.write("train-images-idx3-ubyte", word(0x803) + word(1) + word(2) + word(0xFFFFFFFF));
  CHECK_THAT(folder.refusal(), Catch::Contains("offset 12: 4294967295 columns"));
  folder.write("train-images-idx3-ubyte", word(0x803) + word(0xFFFFFFFF) + word(2) + word(3));
  CHECK_THAT(folder.refusal(), Catch::Contains("offset 4: 4294967295 items"));
}

TEST_CASE("Numbers and sizes that differ between files are refused with both files' names") {
  const Folder folder;
  folder.write("train-labels-idx1-ubyte", labels({1, 2}));
  CHECK_THAT(folder.refusal(), Catch::Contains("3 images") && Catch::Contains("train-labels-idx1-ubyte has 2 labels"));
  folder.write("train-labels-idx1-ubyte", labels({1, 2, 3}));
  folder.write("t10k-images-idx3-ubyte", images(2, 2, 4));
  CHECK_THAT(folder.refusal(), Catch::Contains("t10k-images-idx3-ubyte: offset 12: 4 columns") && Catch::Contains("has 3"));
}

}  // namespace
}  // namespace xdc
