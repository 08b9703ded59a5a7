# Sourced by the scripts beside it: how is each stage announced and timed, and how does a failure end?
# shellcheck shell=bash

stage_name=""
stage_started=0
script_started=$SECONDS
stage_summary=()
cause_said=0

say() { printf '%s\n' "$*"; }
die() {
  printf 'error: %s\n' "$*" >&2
  cause_said=1
  exit 1
}

# Ends the stage before, if any, and starts the one named.
stage() {
  end_stage
  stage_name=$1
  stage_started=$SECONDS
  say "== $stage_name"
}

end_stage() {
  if [[ -n $stage_name ]]; then
    stage_summary+=("$(printf '%5d s  %s' $((SECONDS - stage_started)) "$stage_name")")
    say "== done in $((SECONDS - stage_started)) s: $stage_name"
    stage_name=""
  fi
}

# What was done, one stage a line, and the total.
summarise_stages() {
  end_stage
  say "== stages"
  printf '   %s\n' "${stage_summary[@]}"
  printf '   %5d s  in all\n' $((SECONDS - script_started))
}

# A script stopped by `set -e` says in which stage; set by every script as: trap report_failure EXIT
report_failure() {
  local status=$?
  if ((status != 0 && (cause_said == 0 || ${#stage_name} > 0))); then
    printf 'error: %s stopped with status %d%s\n' "${0##*/}" "$status" "${stage_name:+ in stage: $stage_name}" >&2
  fi
}

repository_root() { cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd; }

# configure_and_build PRESET [TARGET...]: the CMake preset, in build/PRESET; without a target, everything.
configure_and_build() {
  local preset=$1 launcher=""
  shift
  if command -v ccache >/dev/null; then
    launcher=ccache
  fi
  local -a targets=()
  if (($# > 0)); then
    targets=(--target "$@")
  fi
  cmake --preset "$preset" -DCMAKE_CXX_COMPILER_LAUNCHER="$launcher"
  cmake --build --preset "$preset" --parallel "$(nproc)" "${targets[@]}"
}
