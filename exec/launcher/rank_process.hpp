// What does a process do that the launcher started? It builds its side of the world and lives one rank's life in it.
#pragma once

#include <string>
#include <vector>

#include "core/validate/run_spec.hpp"

namespace xdc {

struct RankOptions {
  MemberId member = -1;
  std::string store;      // address of the launcher's store
  int64_t origin_ns = 0;  // the monotonic time that all ranks count from
  std::string digest;     // of the scenario, as the launcher read it
  std::string log_directory;
  std::string run;                        // the same for all members: a call of another run is refused
  std::string prefix;                     // of this variant's keys in the store
  std::string listen;                     // "10.1.0.1:6170"; port 0: a free one
  std::string tls_directory;              // empty: plaintext
  std::string keeper;                     // the name in the store's certificate
  bool writes_events = false;             // to a descriptor that the launcher hands over
  bool waits_for_computation = true;      // in a rehearsal; from the command line of the rank
  std::string checkpoint_directory = {};  // from the command line itself; used where the specification says that checkpoints are kept
};

// As options of the program's command line, and back. The names are not for users.
std::vector<std::string> to_arguments(const RankOptions& options);
inline constexpr char kRankOption[] = "--rank-process";
// Of the argument after kRankOption. Errors: invalid.
Result<RankOptions> read_rank_options(const std::string& text);

// Returns the exit code: 0, 2 when the scenario is no longer what the launcher read, 3 when the run failed. Says why on stderr.
int run_rank_process(const RunSpec& spec, const RankOptions& options);

}  // namespace xdc
