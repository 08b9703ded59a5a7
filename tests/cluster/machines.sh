# Sourced: makes machines to run on. Network namespaces, one a datacenter, joined by a bridge in a namespace of its own, so that this machine's
# network is left as it is. Needs root and ip netns, and says so otherwise; leaves no namespace, process or file.
# shellcheck shell=bash

me=xdc$$
folder=$(mktemp -d)
pids=()
machine_names=()

skip() {
  echo "xdc skipped: $*"
  exit 0
}

clean_up() {
  for pid in "${pids[@]}"; do kill -KILL "$pid" 2> /dev/null || true; done
  wait
  for name in line "${machine_names[@]}"; do ip netns del "$me-$name" 2> /dev/null || true; done
  rm -rf "$folder"
}
trap clean_up EXIT

# make_machines NAME...: the first is at 10.99.1.1, the next at 10.99.2.1, ...
make_machines() {
  [ "$(id -u)" = 0 ] || skip "network namespaces need root"
  command -v ip > /dev/null || skip "there is no ip (package iproute2)"
  ip netns add "$me-line" 2> "$folder/why" || skip "no network namespace can be made: $(cat "$folder/why")"
  ip -n "$me-line" link add joint type bridge
  ip -n "$me-line" link set joint up
  local name number=0
  for name in "$@"; do
    number=$((number + 1))
    ip netns add "$me-$name"
    machine_names+=("$name")
    ip -n "$me-$name" link set lo up
    ip -n "$me-line" link add "to$number" type veth peer name wan netns "$me-$name"
    ip -n "$me-line" link set "to$number" master joint up
    ip -n "$me-$name" address add "10.99.$number.1/16" dev wan
    ip -n "$me-$name" link set wan up
  done
}

# limit_rate RATE: of what each machine sends, as tc writes it ("1gbit").
limit_rate() {
  local name
  for name in "${machine_names[@]}"; do
    ip netns exec "$me-$name" tc qdisc add dev wan root tbf rate "$1" burst 128kb latency 50ms 2> "$folder/why" ||
      skip "no rate can be set: $(cat "$folder/why")"
  done
}

# on NAME COMMAND...: runs it on that machine, in the background, with its output in $folder/LOG ($log, default NAME).out
on() {
  local name=$1
  shift
  ip netns exec "$me-$name" "$@" > "$folder/${log:-$name}.out" 2>&1 &
  pids+=($!)
}

# Ends when all that was started has; prints what they said when one of them failed.
all_end_well() {
  local failed=0 pid out
  for pid in "${pids[@]}"; do wait "$pid" || failed=1; done
  pids=()
  if [ $failed = 1 ]; then
    for out in "$folder"/*.out; do echo "== $(basename "$out" .out)" && cat "$out"; done >&2
    exit 1
  fi
}
