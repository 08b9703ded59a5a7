#!/usr/bin/env bash
# What does core's machine code ask for that it may not have? A header cannot hide a call from the linker.
#   core_symbols.sh NM ARCHIVE...            fails and names every forbidden undefined symbol
#   core_symbols.sh --needed READELF PROGRAM fails on a shared library that core may not use
set -euo pipefail

if [[ $1 == --needed ]]; then
  needed=$("$2" -d "$3" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
  # Sanitized builds bring the sanitizers' run-time libraries.
  other=$(grep -vE '^(lib(fmt|dnnl|xxhash|gomp|stdc\+\+|m|gcc_s|c|asan|ubsan|tsan)|ld-linux.*)\.so' <<<"$needed" || true)
  if [[ -n $other ]]; then
    printf 'core alone needs libraries it may not use: %s\n' "$other"
    exit 1
  fi
  printf 'core alone needs only: %s\n' "${needed//$'\n'/ }"
  exit 0
fi

nm=$1
shift
forbidden='^('
forbidden+='pthread_(create|join|mutex_.*|cond_.*|rwlock_.*|key_create)|thrd_create|sem_(wait|post)'
forbidden+='|clock_gettime|gettimeofday|time|clock|nanosleep|usleep|sleep'
forbidden+='|getenv|secure_getenv|setenv|putenv|rand|srand|random|drand48|getrandom|getentropy'
forbidden+='|_ZNSt13random_device.*|_ZNSt6thread.*|_ZNSt18condition_variable.*|_ZNSt6chrono.*3nowEv'
forbidden+='|_ZNK?7simgrid.*|sg_.*|xbt_.*|_ZNK?4grpc.*|grpc_.*|_ZNK?6google8protobuf.*|cu(da|dnn|blas)?[A-Z].*|nccl[A-Z].*'
forbidden+=')(@.*)?$'

found=0
checked=0
for archive in "$@"; do
  symbols=$("$nm" --undefined-only --format=posix "$archive")
  checked=$((checked + 1))
  while read -r symbol; do
    printf '%s asks for %s\n' "${archive##*/}" "$symbol"
    found=1
  done < <(awk 'NF >= 2 { print $1 }' <<<"$symbols" | sort -u | grep -E "$forbidden" || true)
done
if ((checked == 0)); then
  printf 'no archive was given\n'
  exit 1
fi
printf '%d archives looked at\n' "$checked"
exit $found
