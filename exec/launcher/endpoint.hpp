// Which machine and port does a text name? Whole texts only: nothing is matched by its beginning.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"

namespace xdc {

struct Endpoint {
  std::string host;  // IPv4, "10.1.0.1"
  int port = 0;
  bool operator==(const Endpoint&) const = default;
  auto operator<=>(const Endpoint&) const = default;
};

std::string to_string(const Endpoint& endpoint);

// "10.1.0.1:6170". Errors: invalid, for a missing or impossible port, a name, and for IPv6 ("[::1]:6170"), which is understood and not
// supported by the fabric.
Result<Endpoint> parse_endpoint(std::string_view text);
// "10.1.0.1:6170,10.1.0.2:6170". Errors: invalid, also for an empty entry and for one that is there twice.
Result<std::vector<Endpoint>> parse_endpoints(std::string_view text);

bool is_ipv4_address(std::string_view host);
bool is_loopback(std::string_view host);  // 127.0.0.0/8

// All of it, or nullopt: "6170" and not "6170x", "+1", " 1". At most nine digits.
std::optional<int> parse_number(std::string_view text);
// At each `separator`; an empty text is no part at all.
std::vector<std::string> split(std::string_view text, char separator);

}  // namespace xdc
