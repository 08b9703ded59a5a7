#include "core/checkpoint/folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/base/digest.hpp"

namespace xdc {
namespace {

constexpr std::string_view kPrefix = "step-";

// Of "step-000123/...". nullopt: another name.
std::optional<int64_t> step_of(std::string_view name) {
  const auto slash = name.find('/');
  if (!name.starts_with(kPrefix) || slash == std::string_view::npos) return std::nullopt;
  const auto digits = name.substr(kPrefix.size(), slash - kPrefix.size());
  int64_t step = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), step);
  if (error != std::errc() || end != digits.data() + digits.size() || step < 0) return std::nullopt;
  return checkpoint_folder(step) == name.substr(0, slash) ? std::optional(step) : std::nullopt;
}

std::string_view file_of(std::string_view name) { return name.substr(name.find('/') + 1); }

std::string path_of(int64_t step, std::string_view file) { return fmt::format("{}/{}", checkpoint_folder(step), file); }

}  // namespace

std::string checkpoint_folder(int64_t step) { return fmt::format("{}{:06}", kPrefix, step); }

std::string piece_file(std::string_view label) {
  std::string name;
  for (const char c : label) {
    const bool lower = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
    name += lower ? c : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : '-';
  }
  return name + ".safetensors";
}

Result<std::vector<int64_t>> CheckpointFolder::steps() {
  XDC_TRY_ASSIGN(const auto names, storage_.list(kPrefix));
  std::vector<int64_t> out;
  for (const auto& name : names) {
    const auto step = step_of(name);
    if (step && file_of(name) == kManifestFile) out.push_back(*step);
  }
  std::sort(out.rbegin(), out.rend());
  return out;
}

Result<Manifest> CheckpointFolder::manifest(int64_t step) {
  const auto name = path_of(step, kManifestFile);
  const auto contents = storage_.get(name);
  if (!contents.ok()) return Error{ErrorCode::failed, contents.error().message};
  auto manifest = manifest_from_json({reinterpret_cast<const char*>(contents.value().data()), contents.value().size()});
  if (!manifest.ok()) return Error{ErrorCode::failed, fmt::format("{}: {}", name, manifest.error().message)};
  if (manifest.value().step != step) return Error{ErrorCode::failed, fmt::format("{}: it is that of step {}", name, manifest.value().step)};
  return manifest;
}

Result<std::vector<std::byte>> CheckpointFolder::read(const Manifest& manifest, const PieceFile& file) {
  const auto name = path_of(manifest.step, file.name);
  auto contents = storage_.get(name);
  if (!contents.ok()) return Error{ErrorCode::failed, contents.error().message};
  if (static_cast<int64_t>(contents.value().size()) != file.size) {
    return Error{ErrorCode::failed, fmt::format("{}: {} bytes, where {} were written", name, contents.value().size(), file.size)};
  }
  if (digest(std::span<const std::byte>(contents.value())) != file.digest) {
    return Error{ErrorCode::failed, fmt::format("{}: damaged, its bytes are not those that were written", name)};
  }
  return contents;
}

Status CheckpointFolder::write(int64_t step, std::string_view file, std::span<const std::byte> contents) {
  return storage_.put(path_of(step, file), contents);
}

Status CheckpointFolder::write(int64_t step, std::string_view file, const Storage::Parts& next) {
  return storage_.put_parts(path_of(step, file), next);
}

Status CheckpointFolder::write(const Manifest& manifest) {
  const auto text = to_json(manifest);
  return write(manifest.step, kManifestFile, std::as_bytes(std::span(text)));
}

Status CheckpointFolder::prune(const std::set<int64_t>& kept, int64_t newest, std::string_view only_file) {
  XDC_TRY_ASSIGN(auto names, storage_.list(kPrefix));
  // Whatever is left half removed has no manifest any more.
  std::stable_partition(names.begin(), names.end(), [](const std::string& name) { return file_of(name) == kManifestFile; });
  for (const auto& name : names) {
    const auto step = step_of(name);
    if (!step || *step > newest || kept.contains(*step) || (!only_file.empty() && file_of(name) != only_file)) continue;
    XDC_TRY(storage_.remove(name));
  }
  return ok_status();
}

Result<std::set<int64_t>> steps_to_keep(CheckpointFolder& folder, int64_t newest, int64_t keep, std::string_view best) {
  std::set<int64_t> kept{newest};
  XDC_TRY_ASSIGN(const auto steps, folder.steps());
  std::optional<double> best_value;
  std::optional<int64_t> best_step;
  for (const int64_t step : steps) {
    if (step > newest) continue;
    if (static_cast<int64_t>(kept.size()) < keep) kept.insert(step);
    if (best.empty()) continue;
    const auto manifest = folder.manifest(step);
    if (!manifest.ok()) continue;
    const auto& value = best == "accuracy" ? manifest.value().accuracy : manifest.value().loss;
    // Newest first: of equals the newest stays.
    if (value && (!best_value || (best == "accuracy" ? *value > *best_value : *value < *best_value))) {
      best_value = value;
      best_step = step;
    }
  }
  if (best_step) kept.insert(*best_step);
  return kept;
}

}  // namespace xdc
