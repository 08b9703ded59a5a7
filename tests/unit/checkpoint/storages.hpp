// Storage in memory, and one that fails when it is told to.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/seam/storage.hpp"

namespace xdc {

class MapStorage final : public Storage {
 public:
  Status put(std::string_view name, std::span<const std::byte> contents) override {
    files.insert_or_assign(std::string(name), std::vector<std::byte>(contents.begin(), contents.end()));
    order.push_back("put " + std::string(name));
    return ok_status();
  }
  Result<std::vector<std::byte>> get(std::string_view name) override {
    const auto found = files.find(name);
    if (found == files.end()) return Error{ErrorCode::invalid, "there is no " + std::string(name)};
    return found->second;
  }
  Result<std::vector<std::string>> list(std::string_view prefix) override {
    std::vector<std::string> names;
    for (const auto& [name, contents] : files) {
      if (name.starts_with(prefix)) names.push_back(name);
    }
    return names;
  }
  Status remove(std::string_view name) override {
    files.erase(std::string(name));
    order.push_back("remove " + std::string(name));
    return ok_status();
  }

  std::map<std::string, std::vector<std::byte>, std::less<>> files;
  std::vector<std::string> order;
};

// Passes on what it is asked, and counts it. Its n-th call fails, or does less than it says.
class FaultyStorage final : public Storage {
 public:
  enum class Fault {
    none,
    fails,          // nothing is done
    fails_late,     // it is done, and an error is returned all the same: a line was lost behind it
    loses_the_end,  // of what is put or got, and says nothing
    flips_a_bit,    // likewise
  };

  explicit FaultyStorage(Storage& storage, int64_t at = 0, Fault fault = Fault::none) : storage_(storage), at_(at), fault_(fault) {}
  int64_t calls() const { return calls_; }

  Status put(std::string_view name, std::span<const std::byte> contents) override {
    const Fault fault = next();
    if (fault == Fault::fails) return disk_full(name);
    const auto spoiled = spoil({contents.begin(), contents.end()}, fault);
    XDC_TRY(storage_.put(name, spoiled));
    return fault == Fault::fails_late ? disk_full(name) : ok_status();
  }
  Result<std::vector<std::byte>> get(std::string_view name) override {
    const Fault fault = next();
    if (fault == Fault::fails || fault == Fault::fails_late) return disk_full(name).error();
    XDC_TRY_ASSIGN(auto contents, storage_.get(name));
    return spoil(std::move(contents), fault);
  }
  Result<std::vector<std::string>> list(std::string_view prefix) override {
    const Fault fault = next();
    return fault == Fault::none ? storage_.list(prefix) : disk_full(prefix).error();
  }
  Status remove(std::string_view name) override {
    const Fault fault = next();
    if (fault != Fault::none && fault != Fault::fails_late) return disk_full(name);
    XDC_TRY(storage_.remove(name));
    return fault == Fault::fails_late ? disk_full(name) : ok_status();
  }

 private:
  Fault next() { return ++calls_ == at_ ? fault_ : Fault::none; }
  static Status disk_full(std::string_view name) { return Error{ErrorCode::failed, "the disk has no room for " + std::string(name)}; }
  static std::vector<std::byte> spoil(std::vector<std::byte> contents, Fault fault) {
    if (fault == Fault::loses_the_end) contents.resize(contents.size() / 2);
    if (fault == Fault::flips_a_bit && !contents.empty()) contents[contents.size() / 3] ^= std::byte{16};
    return contents;
  }

  Storage& storage_;
  const int64_t at_;
  const Fault fault_;
  int64_t calls_ = 0;
};

}  // namespace xdc
