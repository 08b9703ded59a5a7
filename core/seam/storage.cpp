#include "core/seam/storage.hpp"

namespace xdc {

Status Storage::put_parts(std::string_view name, const Parts& next) {
  std::vector<std::byte> contents;
  while (true) {
    XDC_TRY_ASSIGN(const auto part, next());
    if (part.empty()) return put(name, contents);
    contents.insert(contents.end(), part.begin(), part.end());
  }
}

}  // namespace xdc
