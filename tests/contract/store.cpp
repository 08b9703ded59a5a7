// Do members agree through the store, and does storage keep what it was given?
#include <catch2/catch.hpp>

#include "tests/contract/world.hpp"

namespace xdc::contract {
namespace {

Deadline soon(Env& env) { return env.clock.now() + seconds(60); }

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  return {data, data + text.size()};
}

}  // namespace

TEST_CASE("a key has the revision of its last write, and revisions only grow", "[store]") {
  hold(setting_of({1}), [](Env& env, MemberId) {
    const auto absent = env.store.get("a", soon(env));
    XDC_EXPECT(absent.ok() && !absent.value().has_value());
    const auto first = env.store.put_if("a", "1", 0, nullptr, soon(env));
    const auto other = env.store.put_if("b", "", kAnyRevision, nullptr, soon(env));
    XDC_REQUIRE(first.ok() && other.ok());
    XDC_EXPECT(first.value() >= 1 && other.value() > first.value());
    XDC_EXPECT(env.store.put_if("a", "2", 0, nullptr, soon(env)).value() == 0);
    XDC_EXPECT(env.store.put_if("a", "2", other.value(), nullptr, soon(env)).value() == 0);
    const auto second = env.store.put_if("a", "2", first.value(), nullptr, soon(env)).value();
    XDC_EXPECT(second > other.value());
    const auto entry = env.store.get("a", soon(env)).value();
    XDC_EXPECT(entry.has_value() && entry->value == "2" && entry->revision == second);
    const auto empty = env.store.get("b", soon(env)).value();
    XDC_EXPECT(empty.has_value() && empty->value.empty());
  });
}

TEST_CASE("of many members who put an absent key exactly one wins", "[store]") {
  const auto setting = setting_of({3, 3});
  hold(setting, [](Env& env, MemberId me) {
    for (int i = 0; i < 20; ++i) {
      const auto key = "race/" + std::to_string(i);
      const auto revision = env.store.put_if(key, std::to_string(me), 0, nullptr, soon(env));
      XDC_EXPECT_OK(revision);
      const auto entry = env.store.get(key, soon(env)).value();
      XDC_REQUIRE(entry.has_value());
      XDC_EXPECT((entry->value == std::to_string(me)) == (revision.value() != 0));
      XDC_EXPECT(revision.value() == 0 || entry->revision == revision.value());
    }
  });
}

TEST_CASE("counting up through put_if loses no update", "[store]") {
  const auto setting = setting_of({4});
  hold(setting, [](Env& env, MemberId me) {
    for (int i = 0; i < 10;) {
      const auto entry = env.store.get("count", soon(env)).value();
      const int count = entry ? std::stoi(entry->value) : 0;
      i += env.store.put_if("count", std::to_string(count + 1), entry ? entry->revision : 0, nullptr, soon(env)).value() != 0 ? 1 : 0;
    }
    XDC_EXPECT_OK(env.store.put_if("done/" + std::to_string(me), "", 0, nullptr, soon(env)));
    for (int other = 0; other < 4; ++other) {
      XDC_EXPECT_OK(env.store.watch("done/" + std::to_string(other), 0, soon(env)));
    }
    XDC_EXPECT(env.store.get("count", soon(env)).value()->value == "40");
  });
}

TEST_CASE("watch returns what is there, waits for what is not, and keeps its deadline", "[store]") {
  const auto setting = setting_of({1, 1});
  hold(setting, [](Env& env, MemberId me) {
    if (me == 0) {
      env.clock.sleep_until(env.clock.now() + milliseconds(150));
      XDC_EXPECT_OK(env.store.put_if("key", "one", 0, nullptr, soon(env)));
      const auto seen = env.store.watch("seen", 0, soon(env));
      XDC_EXPECT_OK(seen);
      XDC_EXPECT_OK(env.store.put_if("key", "two", kAnyRevision, nullptr, soon(env)));
      return;
    }
    const auto deadline = env.clock.now() + milliseconds(30);
    XDC_EXPECT_ERROR(ErrorCode::timeout, env.store.watch("never", 0, deadline));
    XDC_EXPECT(env.clock.now() >= deadline);
    const auto one = env.store.watch("key", 0, soon(env));
    XDC_REQUIRE(one.ok());
    XDC_EXPECT(one.value().value == "one");
    XDC_EXPECT(env.store.watch("key", one.value().revision - 1, soon(env)).value().revision == one.value().revision);
    XDC_EXPECT_OK(env.store.put_if("seen", "", 0, nullptr, soon(env)));
    const auto two = env.store.watch("key", one.value().revision, soon(env));
    XDC_REQUIRE(two.ok());
    XDC_EXPECT(two.value().value == "two" && two.value().revision > one.value().revision);
  });
}

TEST_CASE("keys vanish with the lease that they were put under", "[store]") {
  hold(setting_of({1}), [](Env& env, MemberId) {
    const auto ttl = milliseconds(1500);
    auto lease = env.store.lease(ttl, soon(env));
    XDC_REQUIRE(lease.ok());
    XDC_EXPECT_OK(env.store.put_if("under", "x", 0, lease.value().get(), soon(env)));
    XDC_EXPECT_OK(env.store.put_if("beside", "y", 0, nullptr, soon(env)));
    // Kept alive beyond its time while it is held.
    env.clock.sleep_until(env.clock.now() + ttl * 3);
    XDC_EXPECT(env.store.get("under", soon(env)).value().has_value());
    auto held = std::move(lease).value();
    held.reset();
    env.clock.sleep_until(env.clock.now() + ttl * 2);
    XDC_EXPECT(!env.store.get("under", soon(env)).value().has_value());
    XDC_EXPECT(env.store.get("beside", soon(env)).value().has_value());
    XDC_EXPECT(env.store.put_if("under", "z", 0, nullptr, soon(env)).value() != 0);
  });
}

TEST_CASE("storage keeps whole values under plain names", "[storage]") {
  hold(setting_of({1}), [](Env& env, MemberId) {
    const std::string big(100'000, 'q');
    XDC_EXPECT_OK(env.storage.put("run/step-2/part.0", bytes_of("two")));
    XDC_EXPECT_OK(env.storage.put("run/step-1/part.0", bytes_of("one")));
    XDC_EXPECT_OK(env.storage.put("run/step-1/part.0", bytes_of(big)));  // replaces
    XDC_EXPECT_OK(env.storage.put("other", {}));
    const auto got = env.storage.get("run/step-1/part.0");
    XDC_EXPECT(got.ok() && got.value() == bytes_of(big));
    XDC_EXPECT(env.storage.get("other").ok() && env.storage.get("other").value().empty());
    const auto names = env.storage.list("run/");
    XDC_EXPECT(names.ok() && names.value() == (std::vector<std::string>{"run/step-1/part.0", "run/step-2/part.0"}));
    XDC_EXPECT(env.storage.list("").value().size() == 3);
    XDC_EXPECT(env.storage.list("run/step-2").value().size() == 1);
    XDC_EXPECT(env.storage.list("nothing").value().empty());
    XDC_EXPECT_OK(env.storage.remove("run/step-1/part.0"));
    XDC_EXPECT_OK(env.storage.remove("run/step-1/part.0"));
    XDC_EXPECT_ERROR(ErrorCode::invalid, env.storage.get("run/step-1/part.0"));
    XDC_EXPECT_ERROR(ErrorCode::invalid, env.storage.get("never"));
  });
}

TEST_CASE("storage refuses names that would lead elsewhere", "[storage]") {
  hold(setting_of({1}), [](Env& env, MemberId) {
    for (const auto* name : {"", "/", "/etc/passwd", "../up", "a/../b", "a//b", "a/", ".", "UPPER", "sp ace", "new\nline", "nul\x01"}) {
      const auto put = env.storage.put(name, bytes_of("x"));
      const auto get = env.storage.get(name);
      if (put.ok() || put.error().code != ErrorCode::invalid) note(std::string("put takes the name \"") + name + "\"");
      if (get.ok() || get.error().code != ErrorCode::invalid) note(std::string("get takes the name \"") + name + "\"");
    }
    XDC_EXPECT(env.storage.list("").value().empty());
  });
}

}  // namespace xdc::contract
