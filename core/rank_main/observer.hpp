// How is a model evaluated that no two ranks agree on while it trains? The servers show the first rank their elements whenever as many
// samples as k * eval_every steps have are applied; it evaluates them on a lane of its own. Nobody's step waits for that, and the
// messages count as control: observation belongs to no step.
#pragma once

#include <memory>
#include <vector>

#include "core/collectives/exchange.hpp"
#include "core/rank_main/trainee.hpp"

namespace xdc {

// Whether there is anything to be seen. In a phantom run there is, too: it takes the time and the bytes of a real one.
bool observes(const RunSpec& spec);

// A server's side.
class Shown {
 public:
  Shown(Env& env, const RunSpec& spec, Range owned, Stream stream);
  Status connect(Deadline deadline);
  // After an update: `samples` are applied by now, `parameters` are what is owned.
  Status after(int64_t samples, Tensor parameters);
  // There is nothing more to come; waits until all has left.
  Status finish();
  void abort(const Error& error);

 private:
  ExchangeSite site();
  Status send_header(bool over);

  Env& env_;
  const RunSpec& spec_;
  const SampleSchedule schedule_;
  Range owned_;
  Stream stream_;
  Scratch scratch_;
  int64_t shown_ = 0;  // snapshots so far
  std::unique_ptr<Buffer> copy_;
  std::vector<Transfer> on_the_way_;
  std::unique_ptr<Communicator> communicator_;
};

// The first rank's side.
class Observer {
 public:
  explicit Observer(Trainee& trainee);
  ~Observer();
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;
  // Connects and starts to watch.
  Status start(Deadline deadline);
  // Waits for the last snapshot.
  Status finish();
  void abort(const Error& error);

 private:
  Status watch();

  Trainee& trainee_;
  std::unique_ptr<Buffer> parameters_;
  Scratch scratch_;
  std::unique_ptr<Communicator> communicator_;
  Status outcome_ = ok_status();
  std::unique_ptr<Lane> lane_;
};

}  // namespace xdc
