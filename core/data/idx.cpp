// Maps and checks IDX files.
#include "core/data/idx.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "core/base/check.hpp"

namespace xdc {
namespace {

constexpr uint32_t kImagesMagic = 0x00000803;
constexpr uint32_t kLabelsMagic = 0x00000801;
constexpr size_t kWord = 4;
constexpr uint64_t kMostItems = 1U << 30;
constexpr uint32_t kMostPixels = 1U << 12;  // rows and columns, each

// A whole file, read-only, for as long as this lives.
class MappedFile {
 public:
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  MappedFile(MappedFile&& other) noexcept : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~MappedFile() {
    if (data_ != nullptr) {
      ::munmap(data_, size_);
    }
  }

  static Result<MappedFile> open(const std::string& path) {
    const auto failed = [&](const char* what) {
      return Error{ErrorCode::invalid, fmt::format("{}: {}: {}", path, what, std::strerror(errno))};
    };
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) {
      return failed("cannot be opened");
    }
    struct stat status {};
    if (::fstat(file, &status) != 0) {
      Error error = failed("cannot be looked at");
      ::close(file);
      return error;
    }
    if (!S_ISREG(status.st_mode) || status.st_size == 0) {
      ::close(file);
      return Error{ErrorCode::invalid, fmt::format("{}: is {}", path, S_ISREG(status.st_mode) ? "empty" : "no file")};
    }
    const auto size = static_cast<size_t>(status.st_size);
    void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
    const int why = errno;
    ::close(file);
    errno = why;
    if (data == MAP_FAILED) {
      return failed("cannot be mapped");
    }
    return MappedFile(data, size);
  }

  std::span<const uint8_t> bytes() const { return {static_cast<const uint8_t*>(data_), size_}; }

 private:
  MappedFile(void* data, size_t size) : data_(data), size_(size) {}
  void* data_;
  size_t size_;
};

struct IdxFile {
  std::string path;
  MappedFile file;
  std::vector<uint32_t> dims;  // items, then rows and columns of images
  std::span<const uint8_t> data() const { return file.bytes().subspan((1 + dims.size()) * kWord); }
};

uint32_t big_endian(std::span<const uint8_t> bytes, size_t at) {
  return (uint32_t{bytes[at]} << 24) | (uint32_t{bytes[at + 1]} << 16) | (uint32_t{bytes[at + 2]} << 8) | uint32_t{bytes[at + 3]};
}

std::string find_file(const std::string& folder, const std::string& stem, const std::string& kind) {
  const auto path = [&](char separator) { return (std::filesystem::path(folder) / (stem + separator + kind)).string(); };
  std::error_code ignored;
  return !std::filesystem::exists(path('-'), ignored) && std::filesystem::exists(path('.'), ignored) ? path('.') : path('-');
}

Error missing_file(const std::string& path, Error error) {
  std::error_code ignored;
  if (std::filesystem::exists(path + ".gz", ignored)) {
    error.message += "; there is a compressed one: gunzip it";
  }
  return error;
}

std::string wrong_magic(uint32_t magic, uint32_t wanted) {
  if (magic == kImagesMagic || magic == kLabelsMagic) {
    return fmt::format("offset 0: {:#010x} is the mark of {}, {} belong here; are the two files swapped?", magic,
                       magic == kImagesMagic ? "images" : "labels", wanted == kImagesMagic ? "images" : "labels");
  }
  if ((magic >> 16) == 0x1F8B) {
    return "offset 0: the file is compressed: gunzip it";
  }
  return fmt::format("offset 0: {:#010x} where an IDX file has {:#010x}", magic, wanted);
}

Status check_header(const IdxFile& idx) {
  const auto invalid = [&](const std::string& why) { return Error{ErrorCode::invalid, fmt::format("{}: {}", idx.path, why)}; };
  if (idx.dims[0] == 0 || idx.dims[0] > kMostItems) {
    return invalid(fmt::format("offset 4: {} items", idx.dims[0]));
  }
  uint64_t wanted = idx.dims[0];
  for (size_t i = 1; i < idx.dims.size(); ++i) {
    if (idx.dims[i] == 0 || idx.dims[i] > kMostPixels) {
      return invalid(fmt::format("offset {}: {} {}", (1 + i) * kWord, idx.dims[i], i == 1 ? "rows" : "columns"));
    }
    wanted *= idx.dims[i];
  }
  const size_t header = (1 + idx.dims.size()) * kWord;
  const uint64_t size = idx.file.bytes().size();
  if (size < header + wanted) {
    return invalid(fmt::format("ends at offset {}; the header announces {} items, which end at {}: the file is cut short", size,
                               idx.dims[0], header + wanted));
  }
  if (size > header + wanted) {
    return invalid(fmt::format("offset {}: {} bytes behind the {} items that the header announces", header + wanted, size - header - wanted,
                               idx.dims[0]));
  }
  return ok_status();
}

Result<IdxFile> open_file(const std::string& path, uint32_t magic) {
  auto mapped = MappedFile::open(path);
  if (!mapped.ok()) {
    return missing_file(path, mapped.error());
  }
  IdxFile idx{path, std::move(mapped).value(), {}};
  const std::span<const uint8_t> bytes = idx.file.bytes();
  if (bytes.size() < kWord) {
    return Error{ErrorCode::invalid, fmt::format("{}: ends at offset {}, within the first word", path, bytes.size())};
  }
  if (const uint32_t found = big_endian(bytes, 0); found != magic) {
    return Error{ErrorCode::invalid, fmt::format("{}: {}", path, wrong_magic(found, magic))};
  }
  const size_t dims = magic & 0xFFU;
  if (bytes.size() < (1 + dims) * kWord) {
    return Error{ErrorCode::invalid,
                 fmt::format("{}: ends at offset {}, within the header of {} bytes", path, bytes.size(), (1 + dims) * kWord)};
  }
  for (size_t i = 0; i < dims; ++i) {
    idx.dims.push_back(big_endian(bytes, (1 + i) * kWord));
  }
  XDC_TRY(check_header(idx));
  return idx;
}

struct IdxSplit {
  IdxFile images, labels;
  Split view() const { return {images.data(), labels.data()}; }
};

Result<IdxSplit> open_split(const std::string& folder, const std::string& name) {
  XDC_TRY_ASSIGN(IdxFile images, open_file(find_file(folder, name + "-images", "idx3-ubyte"), kImagesMagic));
  XDC_TRY_ASSIGN(IdxFile labels, open_file(find_file(folder, name + "-labels", "idx1-ubyte"), kLabelsMagic));
  if (images.dims[0] != labels.dims[0]) {
    return Error{ErrorCode::invalid,
                 fmt::format("{}: offset 4: {} images, but {} has {} labels", images.path, images.dims[0], labels.path, labels.dims[0])};
  }
  return IdxSplit{std::move(images), std::move(labels)};
}

}  // namespace

Result<std::shared_ptr<const Dataset>> open_idx(const std::string& folder) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(folder, ignored)) {
    return Error{ErrorCode::invalid, fmt::format("{}: no such folder; `tools/get_data mnist` fetches the digits into data/mnist", folder)};
  }
  XDC_TRY_ASSIGN(IdxSplit train, open_split(folder, "train"));
  XDC_TRY_ASSIGN(IdxSplit test, open_split(folder, "t10k"));
  for (const size_t i : {size_t{1}, size_t{2}}) {
    if (train.images.dims[i] != test.images.dims[i]) {
      return Error{ErrorCode::invalid,
                   fmt::format("{}: offset {}: {} {}, but {} has {}", test.images.path, (1 + i) * kWord, test.images.dims[i],
                               i == 1 ? "rows" : "columns", train.images.path, train.images.dims[i])};
    }
  }
  Dataset::Shape shape;
  shape.height = static_cast<int>(train.images.dims[1]);
  shape.width = static_cast<int>(train.images.dims[2]);
  shape.classes = 1 + std::max(*std::ranges::max_element(train.labels.data()), *std::ranges::max_element(test.labels.data()));
  const auto owner = std::make_shared<std::array<IdxSplit, 2>>(std::array<IdxSplit, 2>{std::move(train), std::move(test)});
  return std::shared_ptr<const Dataset>(std::make_shared<Dataset>(shape, (*owner)[0].view(), (*owner)[1].view(), owner));
}

}  // namespace xdc
