// Who is let in, and does whoever is not hear why, on both sides?
#include "exec/grpc/security.hpp"

#include <fstream>

#include "exec/grpc/grpc_store.hpp"
#include "exec/grpc/store_server.hpp"
#include "tests/worlds/exec/certificates.hpp"
#include "tests/worlds/exec/members.hpp"

namespace xdc {

namespace {

std::string label_of(MemberId member) { return fmt::format("rank{}.town", member); }

Security papers(const Certificates& of, const std::string& name) {
  auto loaded = load_security(of.directory(), name);
  REQUIRE(loaded.ok());
  return std::move(loaded).value();
}

// What a member shows; null: plaintext.
using Shown = std::array<const Security*, 2>;

// Both members connect; the errors, empty where there was none. `claims`: as whom the second speaks.
std::array<std::string, 2> meet(const Shown& shown, Duration patience = seconds(20)) {
  SteadyClock clock;
  MemoryStore store(clock);
  std::array<std::unique_ptr<GrpcFabric>, 2> fabrics;
  for (MemberId self = 0; self < 2; ++self) {
    GrpcFabric::Options options{.self = self, .run = "test", .describe = describe_member};
    options.security = shown[static_cast<size_t>(self)];
    options.label = label_of;
    options.line = [](MemberId) { return line_between(2, 1e9, milliseconds(1)); };
    auto started = GrpcFabric::start(std::move(options), clock, store, clock.now() + seconds(30));
    REQUIRE(started.ok());
    fabrics[static_cast<size_t>(self)] = std::move(started).value();
  }
  std::array<std::string, 2> errors;
  const auto talk = [&](size_t self) {
    auto channel = fabrics[self]->connect({1, {0, 1}}, "talk", clock.now() + patience);
    if (!channel.ok()) {
      errors[self] = channel.error().message;
      return;
    }
    std::vector<std::byte> out(3'000'000, static_cast<std::byte>(self + 1)), in(out.size());
    const auto sent = channel.value()->isend(static_cast<Rank>(1 - self), {}, bytes_of(out), wire_of(out));
    const auto received = channel.value()->irecv(static_cast<Rank>(1 - self), nullptr, bytes_of(in));
    const auto finished = wait_one(*channel.value(), received, clock.now() + seconds(30));
    const auto left = wait_one(*channel.value(), sent, clock.now() + seconds(30));
    errors[self] = !finished.ok() ? finished.error().message : !left.ok() ? left.error().message : "";
    if (errors[self].empty() && in != std::vector<std::byte>(in.size(), static_cast<std::byte>(2 - self))) {
      errors[self] = "other bytes came";
    }
  };
  std::thread other([&] { talk(1); });
  talk(0);
  other.join();
  return errors;
}

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string why_not(const Certificates& of, const std::string& name) {
  const auto loaded = load_security(of.directory(), name);
  return loaded.ok() ? "" : loaded.error().message;
}

}  // namespace

TEST_CASE("members with certificates of one authority speak over TLS", "[exec]") {
  const Certificates good;
  good.make("rank0.town");
  good.make("rank1.town");
  const Security a = papers(good, "rank0.town"), b = papers(good, "rank1.town");
  const auto errors = meet({&a, &b});
  CHECK(errors[0].empty());
  CHECK(errors[1].empty());
}

TEST_CASE("a valid certificate of another member does not do for this one", "[exec]") {
  const Certificates good;
  good.make("rank0.town");
  good.make("rank2.town");
  const Security a = papers(good, "rank0.town"), b = papers(good, "rank2.town");
  const auto errors = meet({&a, &b});
  CAPTURE(errors[0], errors[1]);
  CHECK(says(errors[0], "another member"));
  CHECK(says(errors[1], "your certificate is of rank2.town, not of rank1.town"));
}

TEST_CASE("a certificate of another authority is refused by both", "[exec]") {
  const Certificates ours, theirs;
  ours.make("rank0.town");
  theirs.make("rank1.town");
  const Security a = papers(ours, "rank0.town"), b = papers(theirs, "rank1.town");
  const auto errors = meet({&a, &b});
  CAPTURE(errors[0], errors[1]);
  CHECK(says(errors[0], "not to be trusted"));
  CHECK(says(errors[1], "not to be trusted"));
}

TEST_CASE("plaintext and TLS do not speak, and both say so", "[exec]") {
  const Certificates good;
  good.make("rank0.town");
  const Security a = papers(good, "rank0.town");
  const auto errors = meet({&a, nullptr});
  CAPTURE(errors[0], errors[1]);
  CHECK(says(errors[0], "does not speak TLS"));
  CHECK(says(errors[1], "member 0"));
  CHECK(says(errors[1], "plaintext"));
}

TEST_CASE("papers that cannot do are found before anybody is asked", "[exec]") {
  const Certificates good;
  CHECK(says(why_not(good, "rank0.town"), "rank0.town.pem"));
  good.make("old", "", -7200, -3600);
  CHECK(says(why_not(good, "old"), "has expired"));
  good.make("young", "", 3600, 7200);
  CHECK(says(why_not(good, "young"), "is not valid before"));
  good.make("other", "rank1.town.xdc");
  CHECK(says(why_not(good, "other"), "lacks the DNS name other.xdc"));
  good.make("star", "*.xdc");
  CHECK(says(why_not(good, "star"), "lacks the DNS name"));
  const Certificates theirs;
  theirs.make("foreign");
  for (const char* end : {".pem", ".key"}) {
    std::ofstream(good.directory() + "/foreign" + end) << std::ifstream(theirs.directory() + "/foreign" + end).rdbuf();
  }
  CHECK(says(why_not(good, "foreign"), "was not signed by"));
  good.make("mixed");
  std::ofstream(good.directory() + "/mixed.key") << std::ifstream(good.directory() + "/old.key").rdbuf();
  CHECK(says(why_not(good, "mixed"), "is not the key of"));
  std::ofstream(good.directory() + "/mixed.pem") << "nonsense";
  CHECK(says(why_not(good, "mixed"), "is no certificate"));
}

TEST_CASE("the store lets nobody write what is another's, and speaks to nobody without papers", "[exec]") {
  const Certificates good;
  good.make("launcher.town");
  good.make("rank1.town");
  SteadyClock clock;
  MemoryStore facts(clock);
  const Security keeper = papers(good, "launcher.town"), rank = papers(good, "rank1.town");
  const auto may_write = [](const std::vector<std::string>& names, std::string_view key) {
    return names == std::vector<std::string>{"rank1.town"} && key == "address/1";
  };
  const auto server = std::move(StoreServer::start(facts, clock, {"127.0.0.1:0", &keeper, may_write})).value();
  GrpcStore store({server->address(), "launcher.town", &rank}, clock);
  const Deadline deadline = clock.now() + seconds(20);
  CHECK(store.put_if("address/1", "here", 0, nullptr, deadline).ok());
  const auto refused = store.put_if("address/2", "here", 0, nullptr, deadline);
  REQUIRE(!refused.ok());
  CHECK(says(refused.error().message, "rank1.town"));
  GrpcStore stranger({server->address(), "", nullptr}, clock);
  CHECK(!stranger.get("address/1", clock.now() + seconds(1)).ok());
  GrpcStore misled({server->address(), "launcher.elsewhere", &rank}, clock);
  const auto other = misled.get("address/1", deadline);
  REQUIRE(!other.ok());
  CHECK(says(other.error().message, "another member"));
}

}  // namespace xdc
