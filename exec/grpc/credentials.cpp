#include "exec/grpc/credentials.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <grpc/support/log.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <string_view>
#include <system_error>

#include "core/base/log.hpp"
#include "exec/grpc/socket.hpp"

namespace xdc {

namespace {

constexpr std::string_view kDnsEnd = ".xdc";

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// What OpenSSL's words mean to somebody who set up certificates.
std::string_view meaning_of(std::string_view message) {
  struct Meaning {
    std::string_view words, meaning;
  };
  static constexpr Meaning kMeanings[] = {
      {"WRONG_VERSION_NUMBER", "the other side does not speak TLS"},
      {"wrong version number", "the other side does not speak TLS"},
      {"http request", "the other side does not speak TLS"},
      {"peer did not return a certificate", "the other side shows no certificate"},
      {"certificate has expired", "the other side's certificate has expired"},
      {"certificate expired", "the other side says that our certificate has expired"},
      {"unknown ca", "the other side does not trust our certificate: another authority signed it"},
      {"bad certificate", "the other side refuses our certificate"},
      {"certificate verify failed", "the other side's certificate is not to be trusted: another authority signed it, or it has expired"},
      {"CERTIFICATE_VERIFY_FAILED", "the other side's certificate is not to be trusted: another authority signed it, or it has expired"},
      // Two authorities of one name: the signature is tried, and is not right.
      {"EVP lib", "the other side's certificate is not to be trusted: another authority signed it"},
      {"Hostname Verification Check failed", "the other side's certificate is that of another member"},
      {"is not in peer certificate", "the other side's certificate is that of another member"},
  };
  for (const Meaning& meaning : kMeanings) {
    if (has(message, meaning.words)) {
      return meaning.meaning;
    }
  }
  return {};
}

void take_log_line(gpr_log_func_args* line) {
  const std::string_view message(line->message);
  const bool ours = has(line->file, "chttp2_server") && has(message, "andshak");
  if (!ours && line->severity != GPR_LOG_SEVERITY_ERROR) {
    return;
  }
  if (!ours) {
    log(LogLevel::debug, fmt::format("gRPC: {}", message));
    return;
  }
  static std::atomic<int64_t> last_ns{0};
  const int64_t now = std::chrono::steady_clock::now().time_since_epoch().count();
  int64_t before = last_ns.load();
  if ((before == 0 || now - before > 1'000'000'000) && last_ns.compare_exchange_strong(before, now)) {
    log(LogLevel::warning, fmt::format("a connection was refused: {}", explain_handshake(std::string(message))));
  }
}

}  // namespace

std::shared_ptr<grpc::ChannelCredentials> channel_credentials(const Security* security) {
  if (security == nullptr) {
    return grpc::InsecureChannelCredentials();
  }
  return grpc::SslCredentials({security->authority_pem, security->key_pem, security->certificate_pem});
}

std::shared_ptr<grpc::ServerCredentials> server_credentials(const Security* security) {
  report_handshakes();
  if (security == nullptr) {
    return grpc::InsecureServerCredentials();
  }
  grpc::SslServerCredentialsOptions options(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = security->authority_pem;
  options.pem_key_cert_pairs.push_back({security->key_pem, security->certificate_pem});
  return grpc::SslServerCredentials(options);
}

grpc::ChannelArguments channel_arguments(const Security* security, const std::string& peer_name) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);  // a proxy of the user's environment does not reach our members
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  if (security != nullptr) {
    arguments.SetSslTargetNameOverride(dns_name(peer_name));
  }
  return arguments;
}

std::vector<std::string> peer_names(const grpc::AuthContext& context) {
  std::vector<std::string> names;
  if (!context.IsPeerAuthenticated()) {
    return names;
  }
  for (const grpc::string_ref& name : context.FindPropertyValues("x509_subject_alternative_name")) {
    const std::string_view text(name.data(), name.size());
    if (text.ends_with(kDnsEnd)) {
      names.emplace_back(text.substr(0, text.size() - kDnsEnd.size()));
    }
  }
  return names;
}

bool refused(const std::string& message) { return has(message, "Connection refused"); }

bool closed_at_once(const std::string& message) {
  return has(message, "Socket closed") || has(message, "onnection reset") || has(message, "andshake failed");
}

bool handshake_failed(const std::string& message) { return !meaning_of(message).empty(); }

std::string explain_handshake(const std::string& message) {
  const std::string_view meaning = meaning_of(message);
  return meaning.empty() ? message : fmt::format("{} ({})", meaning, message);
}

std::string why_not_listening(const std::string& address) {
  const auto at = parse_address(address);
  if (!at) {
    return fmt::format("\"{}\" is no address like 127.0.0.1:6170", address);
  }
  const Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  ::setsockopt(socket.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(socket.fd(), reinterpret_cast<const sockaddr*>(&*at), sizeof *at) != 0 || ::listen(socket.fd(), 1) != 0) {
    return std::generic_category().message(errno);
  }
  return "it was taken a moment ago";
}

void report_handshakes() {
  [[maybe_unused]] static const bool once = [] {
    gpr_set_log_function(&take_log_line);
    gpr_set_log_verbosity(GPR_LOG_SEVERITY_DEBUG);
    return true;
  }();
}

}  // namespace xdc
