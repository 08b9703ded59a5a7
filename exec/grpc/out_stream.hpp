// How does one connection to a peer live? It opens a call, writes pieces, hears what has come, and where the line resumes it begins anew.
#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/generic/generic_stub.h>

#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "exec/grpc/frame.hpp"
#include "exec/grpc/line.hpp"
#include "exec/grpc/security.hpp"
#include "exec/grpc/socket.hpp"
#include "exec/grpc/tag.hpp"
#include "exec/grpc/wire_meter.hpp"

namespace xdc {

class Outbound;
struct ChannelState;
struct Operation;

// To whom, as whom, and how.
struct Dial {
  std::string run, members_digest;
  MemberId from = 0, to = 0;
  std::string address;
  std::string label;                   // of the peer, as in its certificate
  const Security* security = nullptr;  // null: plaintext
  Line line;
  grpc::CompletionQueue* queue = nullptr;
  WireMeter* meter = nullptr;

  // Contents are copied: what may be sent again must outlast the caller's memory, and TLS copies anyway.
  bool copies() const { return line.resumes || security != nullptr; }
};

// A TCP connection of its own. Where payloads are lent it is a socket of ours: shutting that down makes gRPC let go of them even when the
// peer has stopped reading. Otherwise gRPC connects, and a call is cancelled.
class OutStream final : public std::enable_shared_from_this<OutStream> {
 public:
  OutStream(const std::shared_ptr<Outbound>& owner, std::shared_ptr<ChannelState> state, int index);

  // Calls with a lock want the channel's, held, and may let go of it meanwhile.
  Status start(std::unique_lock<std::mutex>& lock, Socket socket = {});
  // After a pause. Requires over().
  void start_again(std::unique_lock<std::mutex>& lock);
  // Requires ready(): one write at a time is gRPC's rule. `operation`: whose last piece this is, if anyone wants to know.
  // The slices are gone when it returns.
  void write(std::unique_lock<std::mutex>& lock, std::span<grpc::Slice> slices, bool more_follows, std::shared_ptr<Operation> operation);
  // Nothing more will be written.
  void writes_done(std::unique_lock<std::mutex>& lock);
  void sever(std::unique_lock<std::mutex>& lock);

  // Under the lock.
  bool ready() const { return accepted_ && !writing_ && !stopped_ && !done_; }
  // Taken by a writer that prepares its piece without the lock; then it writes, or gives back.
  void reserve() { writing_ = true; }
  void give_back(std::unique_lock<std::mutex>& lock);
  bool usable() const { return grpc_ != nullptr && !finished_ && !stopped_; }
  bool over() const { return over_; }
  bool connecting() const { return !accepted_ && !over_; }
  int index() const { return index_; }

 private:
  void on_started(bool ok);
  void on_metadata(bool ok);
  void on_read(bool ok);
  void on_written(bool ok);
  void on_finished(bool ok);
  void on_pause_over(bool ok);
  void read_more();
  void settle(std::unique_lock<std::mutex>& lock);

  // What gRPC keeps for a call. Its stream holds on to lent memory until the call is destroyed, so that is done as soon as it has ended.
  struct Transport {
    std::unique_ptr<grpc::GenericStub> stub;  // destroyed last
    grpc::ClientContext context;
    std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call;
    grpc::ByteBuffer read;
    grpc::Status status;
  };

  const std::weak_ptr<Outbound> owner_;  // outlives what it started
  const std::shared_ptr<ChannelState> state_;
  const int index_;
  StreamTag<OutStream> started_tag_{&OutStream::on_started};
  StreamTag<OutStream> metadata_tag_{&OutStream::on_metadata};
  StreamTag<OutStream> read_tag_{&OutStream::on_read};
  StreamTag<OutStream> written_tag_{&OutStream::on_written};
  StreamTag<OutStream> finished_tag_{&OutStream::on_finished};
  StreamTag<OutStream> pause_tag_{&OutStream::on_pause_over};

  // Guarded by the channel's lock.
  std::unique_ptr<Transport> grpc_;
  Socket socket_;  // a duplicate of gRPC's; none where it connects
  std::shared_ptr<grpc::Alarm> alarm_;
  Duration pause_{0};
  bool accepted_ = false;
  bool writing_ = false;
  int calling_ = 0;       // threads inside gRPC with the call; it must not be destroyed under them
  bool stopped_ = false;  // a write failed: the call is ending, and says why soon
  bool done_ = false;     // writes_done
  bool finished_ = false;
  bool over_ = false;
  std::shared_ptr<Operation> last_of_;  // whose last piece is in the write under way
};

}  // namespace xdc
