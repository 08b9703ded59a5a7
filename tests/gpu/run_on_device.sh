#!/usr/bin/env bash
# Do the GPU rooms work on this machine's GPU? Configures, builds and runs every test labelled gpu; a test that is skipped
# for want of any GPU counts as a failure here. Tests that need several GPUs are skipped with their reason where there is one.
#   tests/gpu/run_on_device.sh [BUILD_FOLDER]      default: build/gpu-device
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../tools/stages.sh"
trap report_failure EXIT
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=${1:-build/gpu-device}

stage "the GPUs that are here"
command -v nvidia-smi >/dev/null || die "there is no nvidia-smi: is NVIDIA's driver installed?"
nvidia-smi --query-gpu=index,name,memory.total,driver_version,compute_cap --format=csv

stage "set up"
tools/setup

stage "build the GPU tests"
launcher=""
if command -v ccache >/dev/null; then
  launcher=ccache
fi
cmake --preset release -B "$build" -DXDC_CUDA=ON -DCMAKE_CXX_COMPILER_LAUNCHER="$launcher"
cmake --build "$build" --parallel "$(nproc)" --target test_gpu test_contract_cuda test_cuda_summary

stage "tests labelled gpu"
# One after the other: they share the GPU and its memory.
log=$(mktemp)
failed=0
ctest --test-dir "$build" -L gpu --output-on-failure --no-tests=error -VV --parallel 1 </dev/null >"$log" 2>&1 || failed=1
grep -E 'xdc skipped|Passed|Failed|Skipped|tests passed' "$log" || true
if grep -q 'xdc skipped: no usable GPU' "$log"; then
  failed=1
fi
if ((failed == 1)); then
  cat "$log"
fi
rm -f "$log"
"$build"/tests/gpu/test_cuda_summary --success "asking this machine answers, with devices or with a reason"
summarise_stages
((failed == 0)) || die "GPU tests failed, or found no GPU"
