// May a run go on from this checkpoint, and what of it does it take? With the ranks and batches that it had: everything, and ends with the
// same bits. With others in the same datacenters: what all workers agree on, and every sample of the epoch still exactly once.
#pragma once

#include <string>

#include "core/checkpoint/manifest.hpp"
#include "core/validate/run_spec.hpp"

namespace xdc {

// Who keeps what, and how: a member's own file fits only where all of it is the same.
std::string layout_of(const RunSpec& spec);
// What a change of ranks leaves as it is: the cut into buckets, and which server keeps which part.
std::string lasting_layout_of(const RunSpec& spec);

// Empty: it may. Else why not, and what is possible.
std::string reason_against(const Manifest& manifest, const RunSpec& spec);

// Workers' own files are not taken: who they were written for is not there any more. Servers' always are.
bool drops_workers_files(const Manifest& manifest, const RunSpec& spec);
// What is said of it.
std::string describe_dropped(const Manifest& manifest, const RunSpec& spec);

// How samples are dealt from the checkpoint's step on.
SampleSchedule::Deals deals_after(const Manifest& manifest, const RunSpec& spec);

}  // namespace xdc
