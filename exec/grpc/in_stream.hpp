// How does one connection from a peer live? A call on our server, read piece by piece; the other way goes how much has come.
#pragma once

#include <grpcpp/generic/async_generic_service.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "exec/grpc/frame.hpp"
#include "exec/grpc/tag.hpp"

namespace xdc {

class Inbound;
struct ChannelState;

class InStream final : public std::enable_shared_from_this<InStream> {
 public:
  // What a caller says of itself, and by its certificate is.
  struct Caller {
    std::string run;
    uint64_t epoch = 0;
    std::string purpose;
    std::string members_digest;
    MemberId from = -1;
    MemberId to = -1;
    int stream = 0;
    std::vector<std::string> names;  // in its certificate; none in plaintext
  };
  using Arrived = std::function<void(const std::shared_ptr<InStream>&, bool ok)>;

  explicit InStream(Arrived arrived) : arrived_(std::move(arrived)) {}

  // Waits for the next call that reaches the server; `arrived` hears of it, with ok = false when the server shuts down.
  void listen(grpc::AsyncGenericService& service, grpc::ServerCompletionQueue* queue);
  // nullopt: not one of our calls.
  std::optional<Caller> caller() const;
  std::string peer_address() const { return context_.peer(); }

  // From now on it belongs to a channel: assign, before the channel's owner can see it, then accept, without the channel's lock. Once.
  void assign(std::shared_ptr<ChannelState> state, std::shared_ptr<Inbound> owner, int index);
  void accept(uint64_t received);
  // Nothing is wanted any more: the peer reads why. Any lane, not with the lock.
  void finish(const grpc::Status& why);

  // With the channel's lock, held; they may let go of it meanwhile.
  void read_more(std::unique_lock<std::mutex>& lock);
  void tell_received(std::unique_lock<std::mutex>& lock, uint64_t pieces);

  int index() const { return index_; }
  // Under the lock.
  bool over() const { return over_; }

 private:
  void on_arrived(bool ok);
  void on_accepted(bool ok);
  void on_read(bool ok);
  void on_told(bool ok);
  void on_finished(bool) {}  // the tag kept the call alive until its status was on its way

  const Arrived arrived_;
  grpc::GenericServerContext context_;
  grpc::GenericServerAsyncReaderWriter call_{&context_};
  grpc::ByteBuffer message_;  // of the read under way
  StreamTag<InStream> arrived_tag_{&InStream::on_arrived};
  StreamTag<InStream> accepted_tag_{&InStream::on_accepted};
  StreamTag<InStream> read_tag_{&InStream::on_read};
  StreamTag<InStream> told_tag_{&InStream::on_told};
  StreamTag<InStream> finished_tag_{&InStream::on_finished};

  std::shared_ptr<ChannelState> state_;
  std::shared_ptr<Inbound> owner_;
  int index_ = 0;
  std::atomic<bool> finishing_{false};

  // Guarded by the channel's lock.
  bool open_ = false;
  bool reading_ = false;
  bool over_ = false;  // nothing more can be read
  bool telling_ = false;
  uint64_t told_ = 0, to_tell_ = 0;
};

}  // namespace xdc
