// Does the simulator stop a program that a real device or transport would let get away with it? Each mistake ends the process
// with a message; so each runs in a child of its own.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/contract/world.hpp"

namespace xdc::contract {
namespace {

// What the process that ran the body wrote to stderr before a check ended it.
std::string last_words(const Setting& setting, const Body& body) {
  const auto path = std::filesystem::temp_directory_path() / fmt::format("xdc-strictness-{}", getpid());
  std::fflush(stderr);
  const int saved = dup(STDERR_FILENO);
  const int file = open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
  dup2(file, STDERR_FILENO);
  const auto problems = world().run(setting, body);
  dup2(saved, STDERR_FILENO);
  close(saved);
  close(file);
  std::ifstream in(path);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  std::filesystem::remove(path);
  INFO(text);
  CHECK(problems.size() == 1);  // it ended early
  CHECK(text.find("a check failed, this is a bug") != std::string::npos);
  return text;
}

bool names(const std::string& text, std::string_view part) {
  INFO(text);
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a buffer that a stream still writes cannot be sent") {
  const auto setting = setting_of({1, 1});
  const auto words = last_words(setting, [view = setting.cluster.everyone(1)](Env& env, MemberId me) {
    auto communicator = env.fabric.connect(view, "early", kNoDeadline).value();
    const auto buffer = env.device.allocate(Space::device, 1'000).value();
    const auto stream = env.device.make_stream("backward");
    if (me != 0) {
      ControlWords control;
      const auto work = communicator->irecv(0, &control, buffer->bytes());
      Work* const works[] = {work.get()};
      communicator->wait_any(works, kNoDeadline).ok();
      return;
    }
    env.device.charge(stream, {1e9, 0});
    env.device.clear(stream, buffer->bytes().slice(500, 100));
    const auto fine = communicator->isend(1, {}, buffer->bytes().slice(0, 500), {500, Traffic::payload});  // beside it
    const auto bad = communicator->isend(1, {}, buffer->bytes(), {1'000, Traffic::payload});
  });
  CHECK(names(words, "memory is sent that stream backward writes"));
  CHECK(names(words, "dc0 rank 0, lane main"));
  CHECK(names(words, "contract"));
}

TEST_CASE("a kernel cannot read what another stream still writes") {
  const auto words = last_words(setting_of({1}), [](Env& env, MemberId) {
    const auto writer = env.device.make_stream("writer");
    const auto reader = env.device.make_stream("reader");
    const auto buffer = env.device.allocate(Space::device, 8).value();
    const auto x = Tensor::flat(buffer->bytes(), DType::f32, 2);
    env.device.charge(writer, {1e9, 0});
    env.device.kernels().scale(writer, x, 2);
    env.device.kernels().scale(writer, x, 2);  // its own order is fine
    env.device.stream_wait(reader, env.device.record(writer));
    env.device.kernels().scale(reader, x, 2);  // and so is this
    env.device.charge(writer, {1e9, 0});
    env.device.kernels().scale(writer, x, 2);
    const auto third = env.device.make_stream("third");
    env.device.kernels().scale(third, x, 2);
  });
  CHECK(names(words, "stream third reads memory that stream writer writes until later"));
}

TEST_CASE("a finished buffer may be sent again and again, and freed memory is forgotten") {
  const auto setting = setting_of({1, 1});
  hold(setting, [view = setting.cluster.everyone(1)](Env& env, MemberId me) {
    auto communicator = env.fabric.connect(view, "fine", kNoDeadline).value();
    const auto stream = env.device.make_stream("s");
    for (int i = 0; i < 20; ++i) {
      const auto buffer = env.device.allocate(Space::device, 1'000).value();
      env.device.charge(stream, {1e8, 0});
      env.device.clear(stream, buffer->bytes());
      if (i % 2 == 0) continue;  // freed while it is written
      XDC_EXPECT_OK(env.device.wait(env.device.record(stream), kNoDeadline));
      ControlWords control;
      const auto work = me == 0 ? communicator->isend(1, {}, buffer->bytes(), {1'000, Traffic::payload})
                                : communicator->irecv(0, &control, buffer->bytes());
      Work* const works[] = {work.get()};
      XDC_EXPECT_OK(communicator->wait_any(works, kNoDeadline));
    }
  });
}

TEST_CASE("an unfinished message cannot be dropped") {
  const auto setting = setting_of({1, 1});
  const auto words = last_words(setting, [view = setting.cluster.everyone(1)](Env& env, MemberId me) {
    auto communicator = env.fabric.connect(view, "dropped", kNoDeadline).value();
    ControlWords control;
    if (me == 0) (void)communicator->irecv(1, &control, {});
    env.clock.sleep_until(TimePoint{1'000});
  });
  CHECK(names(words, "a work is destroyed before it is finished"));
}

TEST_CASE("a lane cannot be left unjoined") {
  CHECK(names(last_words(setting_of({1}), [](Env& env, MemberId) { (void)env.lanes.spawn("stray", [] {}); }), "lane stray"));
}

TEST_CASE("ranks that call different collectives are told so") {
  const auto setting = setting_of({2});
  const auto words = last_words(setting, [view = setting.cluster.everyone(1)](Env& env, MemberId me) {
    auto collectives = env.fabric.native_collectives(view, "inside", kNoDeadline).value();
    const auto buffer = env.device.allocate(Space::device, 4'000).value();
    const auto tensor = Tensor::flat(buffer->bytes(), DType::f32, 1'000);
    (void)(me == 0 ? collectives->all_reduce(tensor, 4'000, kNoDeadline) : collectives->broadcast(tensor, 0, 4'000, kNoDeadline));
  });
  CHECK(names(words, "all_reduce"));
  CHECK(names(words, "broadcast"));
}

TEST_CASE("a channel is connected once by each member") {
  const auto setting = setting_of({2});
  const auto words = last_words(setting, [view = setting.cluster.everyone(1)](Env& env, MemberId) {
    auto first = env.fabric.connect(view, "twice", kNoDeadline);
    auto second = env.fabric.connect(view, "twice", kNoDeadline);
  });
  CHECK(names(words, "connects \"twice\" of view 1 twice"));
}

TEST_CASE("members that mean different views by one name are told so") {
  const auto setting = setting_of({3});
  hold(setting, [](Env& env, MemberId me) {
    const View view{1, me == 0 ? std::vector<MemberId>{0, 1} : std::vector<MemberId>{0, 1, 2}};
    if (me == 1) env.clock.sleep_until(TimePoint{10});
    const auto communicator = env.fabric.connect(view, "mixed", env.clock.now() + milliseconds(1));
    XDC_EXPECT_ERROR(me == 1 ? ErrorCode::view_changed : ErrorCode::timeout, communicator);
  });
}

TEST_CASE("a full device says how much was asked for, is in use and there") {
  hold(setting_of({1}), [](Env& env, MemberId) {  // 4 GiB
    auto first = env.device.allocate(Space::device, size_t{1} << 30);
    XDC_EXPECT_OK(first);
    const auto second = env.device.allocate(Space::device, size_t{7} << 29);
    XDC_EXPECT_ERROR(ErrorCode::failed, second);
    XDC_REQUIRE(!second.ok());
    for (const auto* part : {"dc0 rank 0", "cpu", "3.76 GB", "1.07 GB", "4.29 GB"}) {
      if (second.error().message.find(part) == std::string::npos) note(std::string(part) + " is not in: " + second.error().message);
    }
    XDC_EXPECT_OK(env.device.allocate(Space::pinned, 1'000));  // is not the device's
    std::move(first).value().reset();
  });
}

TEST_CASE("real and phantom payloads do not mix") {
  const auto setting = setting_of({2});
  hold(setting, [view = setting.cluster.everyone(1)](Env& env, MemberId me) {
    auto communicator = env.fabric.connect(view, "mixed", kNoDeadline).value();
    const auto buffer = env.device.allocate(Space::host, 100).value();
    ControlWords control;
    const auto work = me == 0 ? communicator->isend(1, {}, Bytes{Space::device, nullptr, 100}, {100, Traffic::payload})
                              : communicator->irecv(0, &control, buffer->bytes());
    Work* const works[] = {work.get()};
    const auto finished = communicator->wait_any(works, kNoDeadline);
    if (me == 1) XDC_EXPECT_ERROR(ErrorCode::failed, finished);
  });
}

}  // namespace xdc::contract
