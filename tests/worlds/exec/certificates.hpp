// Certificates for a test, good and bad, in a directory of its own.
#pragma once

#include <string>

namespace xdc {

class Certificates {
 public:
  Certificates();
  ~Certificates();
  Certificates(const Certificates&) = delete;
  Certificates& operator=(const Certificates&) = delete;

  const std::string& directory() const { return directory_; }
  // NAME.pem and NAME.key, signed by this authority, for the DNS name `dns` (empty: NAME.xdc), valid from and to so many seconds from now.
  void make(const std::string& name, const std::string& dns = {}, long from_s = -60, long to_s = 3600) const;

 private:
  std::string directory_;
  void* authority_ = nullptr;
  void* authority_key_ = nullptr;
};

}  // namespace xdc
