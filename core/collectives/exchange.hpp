// What do all exchanges share? The place where they run, the words that travel in front of every payload, and the encoding,
// waiting and adding between messages.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/codec/codec.hpp"
#include "core/collectives/geometry.hpp"
#include "core/collectives/residuals.hpp"
#include "core/seam/device.hpp"
#include "core/seam/fabric.hpp"
#include "core/seam/kernels.hpp"

namespace xdc {

// Small sums that travel with the payload and are added wherever it is added. Every rank knows how many samples a round
// must have; a total that differs means that a contribution is missing or doubled.
struct ControlSum {
  int64_t samples = 0;
  int64_t stop_votes = 0;  // ranks whose clock has passed the time to stop
  friend ControlSum operator+(ControlSum a, ControlSum b) { return {a.samples + b.samples, a.stop_votes + b.stop_votes}; }
  friend bool operator==(ControlSum, ControlSum) = default;
};

// The sums that came with several pieces of one round: all must be the same, or a contribution is missing in one of them.
class AgreedSum {
 public:
  // Errors: failed, when an earlier piece came with another sum. A piece that nothing came with is passed over.
  Status meet(const std::optional<ControlSum>& sum);
  // nullopt: nothing came with any piece.
  const std::optional<ControlSum>& value() const { return value_; }

 private:
  std::optional<ControlSum> value_;
};

// Which message this is. A receiver that gets another one than it is due fails: the ranks act in different order.
enum class Phase : uint8_t {
  reduce_scatter = 1,
  all_gather = 2,
  contribution = 3,
  push = 4,
  pull = 5,
  vote = 6,
  verdict = 7,
  snapshot = 8
};

struct MessageTag {
  int64_t round = 0;
  Phase phase = Phase::reduce_scatter;
  int bucket = 0;
  int part = 0;
};

ControlWords to_control(const MessageTag& tag, ControlSum sum);
// The sum, when the words carry this tag. Errors: failed, saying what came and what was due.
Result<ControlSum> from_control(const ControlWords& words, const MessageTag& due);

// Device memory for one bucket's exchange: handed out piece by piece, all taken back at once. Grows to what the largest
// bucket needs and stays there.
class Scratch {
 public:
  explicit Scratch(Device& device) : device_(device) {}
  // Errors: failed, when the device is full.
  Result<Bytes> take(int64_t bytes);
  void reset();

 private:
  Device& device_;
  std::vector<std::unique_ptr<Buffer>> chunks_;
  size_t chunk_ = 0;  // the one in use
  size_t used_ = 0;   // of it
};

// How this member encodes in this round.
struct Coding {
  TierCodecs codecs;
  uint64_t seed = 0;
  uint32_t member = 0;                // who draws the rounding
  Residuals before = {}, after = {};  // where a codec has error feedback: those of the state before the round, and of the one after
};

// Where an exchange runs: one communication lane of one member. `describe` names a rank of the communicator for messages. All ranges in
// this room are planned ones; `geometry` knows which elements they are, and what they count for.
struct ExchangeSite {
  Device& device;
  Stream stream;
  Communicator& communicator;
  Scratch& scratch;
  std::function<std::string(Rank)> describe;
  Geometry geometry;
  Coding coding = {};

  const CodecSpec& codec(Tier tier) const { return coding.codecs.of(tier); }
};

// Which exchange this is.
struct ExchangeCall {
  int64_t round = 0;
  int bucket = 0;
  Deadline deadline;
};

// What is encoded: elements `range` of the flat buffer, on their way through a tier.
struct Encoding {
  Tier tier = Tier::wan;
  Encoded what = Encoded::contribution;
  Range range;
  int hop = 0;  // how often it has been added to on its way
};

// A range as it travels: its real slice, encoded. An empty range is a message of control words alone.
struct WireTensor {
  Range range = {};
  CodecSpec codec = {};  // none: the elements themselves
  Bytes bytes = {};
};

// A range without a codec; `slice` holds its elements, or is the place for them.
inline WireTensor plain(Range range, Tensor slice) { return {range, {}, slice.bytes}; }

// In what follows `slice` is the real slice of the range, and the modelled device is charged for the planned elements.

// Enqueues the encoding of `slice`; the result is on the way when the stream says so. Codec none: the tensor's own bytes.
Result<WireTensor> encode(ExchangeSite& site, const ExchangeCall& call, const Encoding& encoding, Tensor slice);
// Where a range is to be received. With codec none these are the elements.
Result<WireTensor> inbox(ExchangeSite& site, const CodecSpec& codec, Range range);
// The elements of a received message: with codec none the bytes themselves, else decoded into new scratch.
// Errors: failed, when the bytes are no encoding.
Result<Tensor> decoded(ExchangeSite& site, const WireTensor& wire);
// slice = decode(wire): what an encoder does to the copy that it keeps. Nothing with codec none.
Status keep_decoded(ExchangeSite& site, const WireTensor& wire, Tensor slice);
void add(ExchangeSite& site, Range range, Tensor acc, Tensor slice);
void copy(ExchangeSite& site, Range range, Tensor to, Tensor from);

// Blocks until all that was enqueued on the site's stream is done.
Status finish(ExchangeSite& site, Deadline deadline);

// A message under way, with what is needed to say what it was. Dropped before it is finished, by a return that something else
// made necessary, it breaks its communicator: half an exchange is none, and the bytes it borrows are about to go.
struct Transfer {
  Transfer() = default;
  Transfer(Transfer&&) = default;
  Transfer& operator=(Transfer&& other);
  ~Transfer();

  Communicator* communicator = nullptr;
  WorkPtr work;
  Rank peer = 0;
  bool sending = false;
  MessageTag tag;
  std::unique_ptr<ControlWords> control;  // receiving
  WireTensor wire;
};

// Starts a message. What travels is finished (see finish()).
Transfer send(ExchangeSite& site, Rank to, const MessageTag& tag, ControlSum sum, const WireTensor& wire);
Transfer receive(ExchangeSite& site, Rank from, const MessageTag& tag, const WireTensor& wire);

// Waits for one transfer. The sum is what came with it (zero when sending). Errors name peer, round, bucket and part, and break
// the communicator: also a timeout, because an exchange that misses a message cannot go on.
Result<ControlSum> await(ExchangeSite& site, Transfer& transfer, Deadline deadline);
Status await_all(ExchangeSite& site, std::vector<Transfer>& transfers, Deadline deadline);

// The ranks of a communicator that reduce something together, in the order of addition.
struct Group {
  std::vector<Rank> ranks;
  int me = 0;  // index into ranks
  int size() const { return static_cast<int>(ranks.size()); }
};

}  // namespace xdc
