#include "exec/launcher/endpoint.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace xdc {

namespace {

constexpr int kMostPort = 65'535;

Error wrong(std::string_view text, std::string_view why) { return {ErrorCode::invalid, fmt::format("\"{}\" {}", text, why)}; }

bool is_ipv6_address(std::string_view host) {
  in6_addr address{};
  return ::inet_pton(AF_INET6, std::string(host).c_str(), &address) == 1;
}

Error answer_ipv6(std::string_view text) {
  const auto open = text.find('['), close = text.find(']');
  if (open != 0 || close == std::string_view::npos) {
    return wrong(text, "has several colons: an IPv6 address stands in brackets, as in \"[::1]:6170\" (and IPv6 is not supported yet)");
  }
  if (!is_ipv6_address(text.substr(1, close - 1))) {
    return wrong(text, "has no IPv6 address in its brackets");
  }
  return wrong(text, "is an IPv6 address, which the fabric does not support yet; use the machine's IPv4 address");
}

}  // namespace

std::string to_string(const Endpoint& endpoint) { return fmt::format("{}:{}", endpoint.host, endpoint.port); }

bool is_ipv4_address(std::string_view host) {
  in_addr address{};
  return ::inet_pton(AF_INET, std::string(host).c_str(), &address) == 1;
}

bool is_loopback(std::string_view host) { return is_ipv4_address(host) && host.starts_with("127."); }

std::optional<int> parse_number(std::string_view text) {
  constexpr size_t kMostDigits = 9;
  int number = 0;
  if (text.empty() || text.size() > kMostDigits || !std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; })) {
    return std::nullopt;
  }
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) {
      break;
    }
    text.remove_prefix(end + 1);
    if (text.empty()) {
      parts.emplace_back();  // what follows the last separator
    }
  }
  return parts;
}

Result<Endpoint> parse_endpoint(std::string_view text) {
  if (text.starts_with('[') || std::count(text.begin(), text.end(), ':') > 1) {
    return answer_ipv6(text);
  }
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    return wrong(text, "has no port; ADDRESS:PORT is wanted, as in \"10.1.0.1:6170\"");
  }
  const auto host = text.substr(0, colon);
  if (!is_ipv4_address(host)) {
    return wrong(text, "does not begin with an IPv4 address; names are not looked up, so that every machine means the same one");
  }
  const auto port = parse_number(text.substr(colon + 1));
  if (!port || *port < 1 || *port > kMostPort) {
    return wrong(text, fmt::format("has no port between 1 and {}", kMostPort));
  }
  return Endpoint{std::string(host), *port};
}

Result<std::vector<Endpoint>> parse_endpoints(std::string_view text) {
  std::vector<Endpoint> endpoints;
  const auto parts = split(text, ',');
  for (const auto& part : parts) {
    if (part.empty()) {
      return wrong(text, "has an empty entry between its commas");
    }
    XDC_TRY_ASSIGN(Endpoint endpoint, parse_endpoint(part));
    const auto same = std::find(endpoints.begin(), endpoints.end(), endpoint);
    if (same != endpoints.end()) {
      return wrong(text, fmt::format("has {} twice, as numbers {} and {}: two members cannot listen at one port", part,
                                     same - endpoints.begin(), endpoints.size()));
    }
    endpoints.push_back(std::move(endpoint));
  }
  if (endpoints.empty()) {
    return wrong(text, "names no endpoint");
  }
  return endpoints;
}

}  // namespace xdc
