// How is one body of promises run over every implementation of the seam? A World starts one member per entry of a cluster,
// each in an environment of that implementation, and runs the body as its lane; what the bodies find wrong is collected.
//
// The bodies (fabric.cpp, lanes.cpp, ...) are compiled into one executable per world; each executable defines world().
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/topology.hpp"
#include "core/membership/cluster.hpp"
#include "core/seam/env.hpp"
#include "core/validate/run_spec.hpp"

namespace xdc::contract {

// What a body needs to exist. Worlds that do not model the network ignore the lines' figures.
struct Setting {
  Topology topology;
  Cluster cluster;
  PayloadKind payload = PayloadKind::real;
};

// One datacenter per entry, with that many members, one device a node. Between datacenters a direct line each: 1 Gbps and
// 15 ms; inside: 10 Gbps and 50 us. The network is plain, so that times can be worked out by hand.
Setting setting_of(std::vector<int> members_per_datacenter);

using Body = std::function<void(Env&, MemberId)>;

class World {
 public:
  virtual ~World() = default;
  virtual std::string name() const = 0;
  // Time passes only when all lanes wait, and by exactly what is modelled. Elsewhere a body allows for a busy machine.
  virtual bool is_virtual_time() const = 0;
  // Whether native_collectives answers anything but `unsupported`.
  virtual bool has_native_collectives() const = 0;
  // Whether a setting may ask for a phantom payload.
  virtual bool has_phantom_payload() const { return true; }
  // Runs `body` once for every member of the setting, all at the same time, and returns what was found wrong, one line each:
  // failed expectations, and members that could not be started or did not end.
  virtual std::vector<std::string> run(const Setting& setting, const Body& body) = 0;
};

// Defined once in each executable.
World& world();

// Any lane of any member may call; Catch2's own assertions are for one thread only. A world whose members live in other
// processes takes the notes there (take_notes) and hands them over.
void note(std::string problem);
std::vector<std::string> take_notes();
bool expect(bool holds, std::string_view what, std::string_view detail, const char* file, int line);

// Runs the body in the executable's world and fails the Catch2 test with every problem found.
void hold(const Setting& setting, const Body& body);

}  // namespace xdc::contract

// Notes a failure and goes on.
#define XDC_EXPECT(condition) ::xdc::contract::expect(static_cast<bool>(condition), #condition, {}, __FILE__, __LINE__)

// Status or Result: notes its message when it is not ok.
#define XDC_EXPECT_OK(...)                                                                      \
  do {                                                                                          \
    if (const auto& xdc_it = (__VA_ARGS__); !xdc_it.ok()) {                                     \
      ::xdc::contract::expect(false, #__VA_ARGS__, xdc_it.error().message, __FILE__, __LINE__); \
    }                                                                                           \
  } while (false)

// Status or Result: it fails with this code.
#define XDC_EXPECT_ERROR(expected_code, ...)                                                                                           \
  do {                                                                                                                                 \
    if (const auto& xdc_it = (__VA_ARGS__); xdc_it.ok()) {                                                                             \
      ::xdc::contract::expect(false, #__VA_ARGS__, "no error", __FILE__, __LINE__);                                                    \
    } else if (xdc_it.error().code != (expected_code)) {                                                                               \
      ::xdc::contract::expect(false, #__VA_ARGS__, std::string(::xdc::to_string(xdc_it.error().code)) + ": " + xdc_it.error().message, \
                              __FILE__, __LINE__);                                                                                     \
    }                                                                                                                                  \
  } while (false)

// Notes a failure and leaves the lane's function.
#define XDC_REQUIRE(condition)    \
  do {                            \
    if (!XDC_EXPECT(condition)) { \
      return;                     \
    }                             \
  } while (false)
