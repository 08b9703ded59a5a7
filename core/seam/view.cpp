#include <algorithm>

#include "core/seam/env.hpp"

namespace xdc {

Rank View::rank_of(MemberId member) const {
  const auto at = std::lower_bound(members.begin(), members.end(), member);
  return at != members.end() && *at == member ? static_cast<Rank>(at - members.begin()) : -1;
}

}  // namespace xdc
