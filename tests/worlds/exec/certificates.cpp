#include "tests/worlds/exec/certificates.hpp"

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <filesystem>

#include "core/base/check.hpp"

namespace xdc {

namespace {

X509* certificate_for(EVP_PKEY* key, const std::string& name, long from_s, long to_s) {
  static long serial = 0;
  X509* certificate = X509_new();
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), ++serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate), from_s);
  X509_gmtime_adj(X509_getm_notAfter(certificate), to_s);
  X509_set_pubkey(certificate, key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>(name.c_str()),
                             -1, -1, 0);
  return certificate;
}

void extend(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  XDC_CHECK(extension != nullptr);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

template <class Write>
void write_pem(const std::string& path, Write write) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  XDC_CHECK(file != nullptr);
  const int written = write(file);
  XDC_CHECK(std::fclose(file) == 0);
  XDC_CHECK(written == 1);
}

}  // namespace

Certificates::Certificates() {
  std::string path = (std::filesystem::temp_directory_path() / "xdc-certificates-XXXXXX").native();
  XDC_CHECK(::mkdtemp(path.data()) != nullptr);
  directory_ = path;
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* certificate = certificate_for(key, "authority of a test", -60, 3600);
  X509_set_issuer_name(certificate, X509_get_subject_name(certificate));
  extend(certificate, certificate, NID_basic_constraints, "critical,CA:TRUE");
  XDC_CHECK(X509_sign(certificate, key, EVP_sha256()) > 0);
  write_pem(directory_ + "/ca.pem", [&](std::FILE* file) { return PEM_write_X509(file, certificate); });
  authority_ = certificate;
  authority_key_ = key;
}

Certificates::~Certificates() {
  X509_free(static_cast<X509*>(authority_));
  EVP_PKEY_free(static_cast<EVP_PKEY*>(authority_key_));
  std::filesystem::remove_all(directory_);
}

void Certificates::make(const std::string& name, const std::string& dns, long from_s, long to_s) const {
  auto* authority = static_cast<X509*>(authority_);
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* certificate = certificate_for(key, name, from_s, to_s);
  X509_set_issuer_name(certificate, X509_get_subject_name(authority));
  extend(certificate, authority, NID_subject_alt_name, "DNS:" + (dns.empty() ? name + ".xdc" : dns));
  XDC_CHECK(X509_sign(certificate, static_cast<EVP_PKEY*>(authority_key_), EVP_sha256()) > 0);
  write_pem(directory_ + "/" + name + ".pem", [&](std::FILE* file) { return PEM_write_X509(file, certificate); });
  write_pem(directory_ + "/" + name + ".key",
            [&](std::FILE* file) { return PEM_write_PrivateKey(file, key, nullptr, nullptr, 0, nullptr, nullptr); });
  X509_free(certificate);
  EVP_PKEY_free(key);
}

}  // namespace xdc
