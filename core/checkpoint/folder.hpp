// Which checkpoints lie in a member's storage, are they intact, and which are to go? Names are step-000123/FILE; the manifest is the
// commit point: written last, removed first.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/checkpoint/manifest.hpp"
#include "core/seam/storage.hpp"

namespace xdc {

inline constexpr const char* kManifestFile = "manifest.json";
inline constexpr const char* kParametersFile = "parameters.safetensors";
inline constexpr const char* kOptimizerFile = "optimizer.safetensors";

// "step-000123"
std::string checkpoint_folder(int64_t step);
// "rank3.beijing.safetensors": what a member alone has, under a name that any storage takes.
std::string piece_file(std::string_view label);

class CheckpointFolder {
 public:
  explicit CheckpointFolder(Storage& storage) : storage_(storage) {}

  // Those with a manifest, newest first, sound or not.
  Result<std::vector<int64_t>> steps();
  // Errors: failed, with the file and what is wrong with it.
  Result<Manifest> manifest(int64_t step);
  // A file's contents, held against the manifest. Errors: failed, likewise.
  Result<std::vector<std::byte>> read(const Manifest& manifest, const PieceFile& file);

  Status write(int64_t step, std::string_view file, std::span<const std::byte> contents);
  Status write(int64_t step, std::string_view file, const Storage::Parts& next);
  Status write(const Manifest& manifest);

  // Removes what lies under other steps up to `newest`, manifests first: all of it, or the file of one name alone.
  Status prune(const std::set<int64_t>& kept, int64_t newest, std::string_view only_file = {});

 private:
  Storage& storage_;
};

// The newest `keep` of steps up to `newest`, and the best by metric ("accuracy", "loss"; empty: none).
Result<std::set<int64_t>> steps_to_keep(CheckpointFolder& folder, int64_t newest, int64_t keep, std::string_view best);

}  // namespace xdc
