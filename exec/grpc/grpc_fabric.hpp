// How do members on real machines find and reach each other? Addresses through the store, streams over gRPC.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/seam/fabric.hpp"
#include "core/seam/store.hpp"
#include "exec/grpc/line.hpp"
#include "exec/grpc/security.hpp"
#include "exec/host/steady_clock.hpp"

namespace xdc {

class GrpcFabric final : public Fabric {
 public:
  struct Options {
    MemberId self = 0;
    // The same for all members of a run: a call of another run that finds a port taken over is refused.
    std::string run;
    // "beijing rank 3"
    std::function<std::string(MemberId)> describe;
    // A CPU's device memory is sent without a copy; that of a GPU cannot be.
    bool device_memory_is_host = true;
    Duration lease = seconds(3);
    // Where to listen, and what the others are told; port 0 is a free one.
    std::string listen = "127.0.0.1:0";
    // Null: plaintext. Then `label` says what stands in a member's certificate, "rank3.beijing". Outlives the fabric.
    const Security* security = nullptr;
    std::function<std::string(MemberId)> label = {};
    // What the line to a member is like; empty: all stand in one datacenter. With `security` every line resumes.
    std::function<Line(MemberId)> line = {};
  };

  // Listens and publishes its address under "address/<member>" with a lease. Clock and store outlive it.
  static Result<std::unique_ptr<GrpcFabric>> start(Options options, const SteadyClock& clock, Store& store, Deadline deadline);
  // Requires that its communicators are gone. Waits a little for what they sent to be taken.
  ~GrpcFabric() override;

  Result<std::unique_ptr<Communicator>> connect(const View& view, std::string_view purpose, Deadline deadline) override;
  Result<std::unique_ptr<Collectives>> native_collectives(const View& view, std::string_view purpose, Deadline deadline) override;
  std::vector<TrafficCount> traffic() const override;

  const std::string& address() const;

  class Impl;

 private:
  explicit GrpcFabric(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Under which key a member's address stands in the store.
std::string address_key(MemberId member);

}  // namespace xdc
