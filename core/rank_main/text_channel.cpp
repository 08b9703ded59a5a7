#include "core/rank_main/text_channel.hpp"

#include <fmt/format.h>

namespace xdc {
namespace {

constexpr uint64_t kLongestText = 64 << 20;

}  // namespace

Status TextChannel::wait(WorkPtr work, Rank peer, Deadline deadline) {
  Work* const works[] = {work.get()};
  const auto done = communicator_->wait_any(works, deadline);
  if (done.ok()) return ok_status();
  // Unfinished work breaks its channel: what it borrows is about to go.
  communicator_->abort(done.error());
  return with_context(done.error(), "checkpoint: waiting for " + cluster_.describe(peer));
}

Status TextChannel::tell(Rank to, uint64_t kind, const std::string& text, Deadline deadline) {
  XDC_TRY(wait(communicator_->isend(to, {{kind, text.size(), 0, 0}}, {}, {0, Traffic::control}), to, deadline));
  if (text.empty()) return ok_status();
  std::string copy = text;
  const Bytes bytes{Space::host, reinterpret_cast<std::byte*>(copy.data()), copy.size()};
  return wait(communicator_->isend(to, {}, bytes, {static_cast<int64_t>(copy.size()), Traffic::control}), to, deadline);
}

Result<TextChannel::Message> TextChannel::hear(Rank from, Deadline deadline) {
  ControlWords words;
  XDC_TRY(wait(communicator_->irecv(from, &words, {}), from, deadline));
  Message message{words.word[0], {}};
  if (words.word[1] > kLongestText) {
    return Error{ErrorCode::failed, fmt::format("checkpoint: {} announces {} bytes of text", cluster_.describe(from), words.word[1])};
  }
  message.text.resize(words.word[1]);
  if (message.text.empty()) return message;
  const Bytes bytes{Space::host, reinterpret_cast<std::byte*>(message.text.data()), message.text.size()};
  XDC_TRY(wait(communicator_->irecv(from, &words, bytes), from, deadline));
  return message;
}

}  // namespace xdc
