// How do the members of a view agree on one NCCL communicator? The first makes its id, the store carries it to the others.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "core/base/time.hpp"
#include "core/seam/fabric.hpp"
#include "core/seam/store.hpp"

namespace xdc {

using DescribeMember = std::function<std::string(MemberId)>;  // "beijing rank 3"

// What one member does; the object is used once. Keys: nccl/<epoch>/<purpose>/<first member>/{id, here/<member>}. The first
// member is part of it because every datacenter opens the same purpose in a view of its own.
class NcclRendezvous {
 public:
  // Requires self to be in the view. All references outlive the object.
  NcclRendezvous(Store& store, const View& view, std::string_view purpose, MemberId self, DescribeMember describe);

  // Returns the id: that of `make_id` on the first member, which is called there only; the same bytes everywhere else.
  // Errors: those of make_id; timeout, naming whom it waits for; failed, when (epoch, purpose) was used before.
  Result<std::string> exchange(const std::function<Result<std::string>()>& make_id, Deadline deadline);

  // "beijing rank 1, beijing rank 3": who has not come as far as exchange(); for the message when NCCL waits in vain.
  // Empty when all have come, or the store does not say before the deadline.
  std::string missing(Deadline deadline) const;

 private:
  std::string key(std::string_view what) const;

  Store& store_;
  const View& view_;
  const std::string prefix_;
  const MemberId self_;
  const DescribeMember describe_;
};

// Any bytes as lower-case hexadecimal digits and back: stores hold text.
std::string to_hex(std::string_view bytes);
// Errors: failed, for anything that to_hex does not return.
Result<std::string> from_hex(std::string_view digits);

}  // namespace xdc
