#include "core/checkpoint/safetensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

namespace xdc {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kLengthBytes = 8;
constexpr size_t kAlignment = 8;
constexpr uint64_t kLongestHeader = 100'000'000;  // as the published readers have it
constexpr const char* kMetadata = "__metadata__";

uint64_t little_endian(std::span<const std::byte> bytes) {
  uint64_t value = 0;
  for (size_t i = kLengthBytes; i-- > 0;) value = value << 8 | std::to_integer<uint64_t>(bytes[i]);
  return value;
}

// nullopt: a dimension is negative, or the product is too large.
std::optional<uint64_t> product(const std::vector<int64_t>& shape) {
  uint64_t elements = 1;
  for (const int64_t n : shape) {
    if (n < 0 || (n > 0 && elements > (uint64_t{1} << 48) / static_cast<uint64_t>(n))) return std::nullopt;
    elements *= static_cast<uint64_t>(n);
  }
  return elements;
}

Error damaged(const std::string& why) { return {ErrorCode::failed, "no sound safetensors file: " + why}; }

struct Entry {
  std::string name;
  std::vector<int64_t> shape;
  uint64_t begin = 0, end = 0;
};

Result<Entry> read_entry(const std::string& name, const Json& json) {
  const auto numbers = [&json](const char* key) {
    std::optional<std::vector<int64_t>> out;
    const auto found = json.is_object() ? json.find(key) : json.end();
    if (!json.is_object() || found == json.end() || !found->is_array()) return out;
    out.emplace();
    for (const auto& n : *found) {
      if (!n.is_number_integer() ||
          (n.is_number_unsigned() && n.get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())))
        return std::optional<std::vector<int64_t>>{};
      out->push_back(n.get<int64_t>());
    }
    return out;
  };
  const auto shape = numbers("shape"), offsets = numbers("data_offsets");
  if (!shape || !offsets || offsets->size() != 2 || (*offsets)[0] < 0 || (*offsets)[1] < (*offsets)[0]) {
    return damaged(fmt::format("the header's entry of \"{}\" has no shape or offsets", name));
  }
  if (!json.contains("dtype") || json["dtype"] != "F32") return damaged(fmt::format("\"{}\" is not F32", name));
  const auto elements = product(*shape);
  const auto begin = static_cast<uint64_t>((*offsets)[0]), end = static_cast<uint64_t>((*offsets)[1]);
  if (!elements || *elements * sizeof(float) != end - begin) return damaged(fmt::format("shape and offsets of \"{}\" disagree", name));
  return Entry{name, *shape, begin, end};
}

}  // namespace

int64_t TensorEntry::elements() const {
  int64_t n = 1;
  for (const int64_t extent : shape) n *= extent;
  return n;
}

SafetensorsLayout::SafetensorsLayout(std::vector<TensorEntry> tensors, const std::map<std::string, std::string>& metadata) {
  Json header = Json::object();
  header[kMetadata] = metadata;
  for (const auto& tensor : tensors) {
    const auto bytes = static_cast<size_t>(tensor.elements()) * sizeof(float);
    header[tensor.name] = {{"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {data_size_, data_size_ + bytes}}};
    offsets_.push_back(data_size_);
    data_size_ += bytes;
  }
  std::string text = header.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.append((kAlignment - text.size() % kAlignment) % kAlignment, ' ');
  for (size_t i = 0; i < kLengthBytes; ++i) head_.push_back(static_cast<char>(text.size() >> (8 * i) & 0xFF));
  head_ += text;
}

Result<std::vector<ReadTensor>> read_safetensors(std::span<const std::byte> file) {
  if (file.size() < kLengthBytes) return damaged(fmt::format("{} bytes hold no header", file.size()));
  const uint64_t length = little_endian(file);
  if (length > kLongestHeader || length > file.size() - kLengthBytes) {
    return damaged(fmt::format("its header would have {} bytes, the file has {}", length, file.size()));
  }
  const auto* text = reinterpret_cast<const char*>(file.data()) + kLengthBytes;
  const auto header = Json::parse(text, text + length, nullptr, /*allow_exceptions=*/false);
  if (!header.is_object()) return damaged("its header is no JSON object");
  std::vector<Entry> entries;
  for (const auto& [name, json] : header.items()) {
    if (name == kMetadata) continue;
    XDC_TRY_ASSIGN(auto entry, read_entry(name, json));
    entries.push_back(std::move(entry));
  }
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.begin < b.begin; });
  const auto data = file.subspan(kLengthBytes + length);
  std::vector<ReadTensor> out;
  uint64_t at = 0;
  for (auto& entry : entries) {
    if (entry.begin != at || entry.end > data.size())
      return damaged(fmt::format("\"{}\" does not lie behind its neighbour in the file", entry.name));
    at = entry.end;
    out.push_back({std::move(entry.name), std::move(entry.shape), data.subspan(entry.begin, entry.end - entry.begin)});
  }
  if (at != data.size()) return damaged(fmt::format("{} bytes of data belong to no tensor", data.size() - at));
  return out;
}

}  // namespace xdc
