// How does a lane wait, and who says what for? One semaphore per waiter, woken by whoever changes what it waits for; the
// waiter looks for itself whether that is enough. A deadline is an event of the agenda, so time-outs are exact.
//
// No mutex, condition variable or barrier of SimGrid's: a killed lane would leave them locked.
#pragma once

#include <memory>
#include <string>
#include <type_traits>

#include "sim/agenda.hpp"

namespace xdc {

// A borrowed callable, for the length of one call.
template <class Signature>
class FunctionRef;
template <class R>
class FunctionRef<R()> {
 public:
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef>) FunctionRef(F&& f)  // NOLINT: meant to convert
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(f)))),
        call_([](void* object) -> R { return (*static_cast<std::remove_reference_t<F>*>(object))(); }) {}
  R operator()() const { return call_(object_); }

 private:
  void* object_;
  R (*call_)(void*);
};

// What a blocked lane waits for, in words; asked only when the run is stuck.
using Describe = FunctionRef<std::string()>;

class WaitPoint {
 public:
  explicit WaitPoint(Agenda& agenda) : agenda_(agenda), state_(std::make_shared<State>()) {}

  // Blocks the calling lane until `ready` or the deadline; returns what ready() said last. Whatever becomes ready at the very
  // deadline wins, however late in that moment. One lane at a time.
  bool wait(Deadline deadline, FunctionRef<bool()> ready, Describe describe);

  // The waiter, if there is one, looks again. From lanes and from the agenda.
  void wake();

 private:
  void park(Describe describe, Deadline deadline);

  // Shared with the frame that waits: when all lanes are killed, it may be unwound after its WaitPoint is gone.
  struct State {
    sg::SemaphorePtr semaphore = sg::Semaphore::create(0);
    bool parked = false;
    bool woken = false;
  };
  Agenda& agenda_;
  std::shared_ptr<State> state_;
};

}  // namespace xdc
