#!/usr/bin/env bash
# LeNet training on one core: xdc portable and native beside PyTorch from Debian, in turn, and the ratios.
#
#   tests/bench/lenet/compare.sh BENCH_LENET [rounds] [seconds] [adam|none]
#
# Installs python3-torch and libopenblas0-pthread where they are missing. PyTorch runs twice a round: in the environment as it
# is, and without OPENBLAS_CORETYPE and OPENBLAS_L2_SIZE, which may hold its BLAS to another processor's code.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
bench=${1:?usage: compare.sh BENCH_LENET [rounds] [seconds] [adam|none]}
rounds=${2:-5} seconds=${3:-2} optimizer=${4:-adam}

for package in python3-torch libopenblas0-pthread; do
  if [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) != installed ]]; then
    as_root=()
    ((EUID == 0)) || as_root=(sudo)
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 install --no-install-recommends "$package"
  fi
done

export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
unset_blas=(env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE)
torch=(/usr/bin/python3 "$here/torch_lenet.py")

grep -m1 'model name' /proc/cpuinfo
"${torch[@]}" --about
echo "OPENBLAS_CORETYPE=${OPENBLAS_CORETYPE:-(unset)} OPENBLAS_L2_SIZE=${OPENBLAS_L2_SIZE:-(unset)}"
results=$(mktemp)
trap 'rm -f "$results"' EXIT
for ((round = 1; round <= rounds; ++round)); do
  {
    "$bench" portable "$seconds" "$optimizer"
    "${torch[@]}" "$seconds" "$optimizer"
    "$bench" native "$seconds" "$optimizer"
    "${unset_blas[@]}" "${torch[@]}" "$seconds" "$optimizer" | sed 's/^torch/torch-unset/'
  } | sed "s/^/$round /" | tee -a "$results"
done

# Ratios within a round see the same load of the machine; the median of rounds is what counts.
/usr/bin/python3 - "$results" <<'PYTHON'
import statistics
import sys

speed = {}
for line in open(sys.argv[1], encoding="ascii"):
    turn, who, *rest = line.split()
    if who != "#":
        speed[int(turn), who, int(rest[0])] = float(rest[1])
rounds = sorted({turn for turn, _, _ in speed})
for batch in (32, 64):
    for who in ("portable", "native", "torch", "torch-unset"):
        values = [speed[turn, who, batch] for turn in rounds]
        print(f"batch {batch} {who:12} median {statistics.median(values):7.0f} images/s, best {max(values):7.0f}")
    for who in ("portable", "native"):
        for rival in ("torch", "torch-unset"):
            ratios = [speed[turn, who, batch] / speed[turn, rival, batch] for turn in rounds]
            print(f"batch {batch} {who}/{rival}: median {statistics.median(ratios):.2f}, least {min(ratios):.2f}")
PYTHON
