#include "exec/grpc/security.hpp"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cerrno>
#include <ctime>
#include <fstream>
#include <memory>
#include <sstream>
#include <system_error>

namespace xdc {

namespace {

template <auto Free>
struct Freeing {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};
using Bio = std::unique_ptr<BIO, Freeing<BIO_free_all>>;
using Certificate = std::unique_ptr<X509, Freeing<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freeing<EVP_PKEY_free>>;
using Trust = std::unique_ptr<X509_STORE, Freeing<X509_STORE_free>>;
using Check = std::unique_ptr<X509_STORE_CTX, Freeing<X509_STORE_CTX_free>>;

constexpr const char* kMakeThem = "tools/make_certs TOPOLOGY DIR makes them";

Result<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) {
    return Error{ErrorCode::invalid, fmt::format("{}: {}; {}", path, std::generic_category().message(errno == 0 ? EIO : errno), kMakeThem)};
  }
  return text.str();
}

Bio memory_of(const std::string& pem) { return Bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()))); }

Result<Certificate> parse_certificate(const std::string& pem, const std::string& path) {
  Certificate certificate(PEM_read_bio_X509(memory_of(pem).get(), nullptr, nullptr, nullptr));
  if (!certificate) {
    return Error{ErrorCode::invalid, fmt::format("{} is no certificate in PEM form; {}", path, kMakeThem)};
  }
  return certificate;
}

std::string date_of(const ASN1_TIME* time) {
  std::tm date{};
  if (ASN1_TIME_to_tm(time, &date) != 1) {
    return "an unreadable date";
  }
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02} UTC", date.tm_year + 1900, date.tm_mon + 1, date.tm_mday, date.tm_hour,
                     date.tm_min, date.tm_sec);
}

// Validity in time, and that the authority signed it.
Status verify(X509* authority, X509* certificate, const std::string& path, const std::string& directory) {
  const Trust trust(X509_STORE_new());
  const Check check(X509_STORE_CTX_new());
  if (!trust || !check || X509_STORE_add_cert(trust.get(), authority) != 1 ||
      X509_STORE_CTX_init(check.get(), trust.get(), certificate, nullptr) != 1) {
    return Error{ErrorCode::failed, fmt::format("{}: it cannot be checked: OpenSSL has no memory", path)};
  }
  if (X509_verify_cert(check.get()) == 1) {
    return ok_status();
  }
  const int why = X509_STORE_CTX_get_error(check.get());
  const X509* at = X509_STORE_CTX_get_current_cert(check.get());
  const std::string which = at == authority ? directory + "/ca.pem" : path;
  if (at != nullptr && why == X509_V_ERR_CERT_HAS_EXPIRED) {
    return Error{ErrorCode::invalid, fmt::format("{} has expired, at {}; {}", which, date_of(X509_get0_notAfter(at)), kMakeThem)};
  }
  if (at != nullptr && why == X509_V_ERR_CERT_NOT_YET_VALID) {
    return Error{ErrorCode::invalid,
                 fmt::format("{} is not valid before {}: is this machine's clock right?", which, date_of(X509_get0_notBefore(at)))};
  }
  return Error{ErrorCode::invalid, fmt::format("{} was not signed by {}/ca.pem ({})", path, directory, X509_verify_cert_error_string(why))};
}

struct Papers {
  Security security;
  Certificate certificate;
};

Result<Papers> load(const std::string& directory, const std::string& name) {
  const std::string authority_path = directory + "/ca.pem", path = fmt::format("{}/{}.pem", directory, name),
                    key_path = fmt::format("{}/{}.key", directory, name);
  Papers papers{{name, directory, {}, {}, {}}, nullptr};
  XDC_TRY_ASSIGN(papers.security.authority_pem, read_file(authority_path));
  XDC_TRY_ASSIGN(papers.security.certificate_pem, read_file(path));
  XDC_TRY_ASSIGN(papers.security.key_pem, read_file(key_path));
  XDC_TRY_ASSIGN(const Certificate authority, parse_certificate(papers.security.authority_pem, authority_path));
  XDC_TRY_ASSIGN(papers.certificate, parse_certificate(papers.security.certificate_pem, path));
  const Key key(PEM_read_bio_PrivateKey(memory_of(papers.security.key_pem).get(), nullptr, nullptr, nullptr));
  if (!key) {
    return Error{ErrorCode::invalid, fmt::format("{} is no private key in PEM form without a password; {}", key_path, kMakeThem)};
  }
  if (X509_check_private_key(papers.certificate.get(), key.get()) != 1) {
    ERR_clear_error();
    return Error{ErrorCode::invalid, fmt::format("{} is not the key of {}; {}", key_path, path, kMakeThem)};
  }
  const std::string dns = dns_name(name);
  if (X509_check_host(papers.certificate.get(), dns.data(), dns.size(), X509_CHECK_FLAG_NO_WILDCARDS, nullptr) != 1) {
    return Error{ErrorCode::invalid, fmt::format("{} is of somebody else: it lacks the DNS name {}; {}", path, dns, kMakeThem)};
  }
  XDC_TRY(verify(authority.get(), papers.certificate.get(), path, directory));
  return papers;
}

}  // namespace

std::string dns_name(const std::string& name) { return name + ".xdc"; }

Result<Security> load_security(const std::string& directory, const std::string& name) {
  XDC_TRY_ASSIGN(Papers papers, load(directory, name));
  return std::move(papers.security);
}

Result<std::string> describe_certificate(const std::string& directory, const std::string& name) {
  XDC_TRY_ASSIGN(const Papers papers, load(directory, name));
  return fmt::format("valid until {}", date_of(X509_get0_notAfter(papers.certificate.get())));
}

}  // namespace xdc
