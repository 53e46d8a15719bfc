#!/usr/bin/env bash
# contend doctor --gpu-procs in a container with its own PIDs. NVML lists host PIDs. A process here with the same number
# counts only if it has a device of the driver open.
. tests/lib/cli.sh
: "${CONTEND_BUSY:?}"
needs python3
unshare -mpf --mount-proc true 2>/dev/null || skip "needs root, for a namespace of pids"
if [ "${1-}" != inside ]; then
    rm -rf "$scratch"
    trap - EXIT
    exec unshare -mpf --mount-proc --kill-child bash "$0" inside
fi

"$CONTEND_BUSY" >/dev/null &
stranger=$!
# Mounts a private /dev with a file in place of the device.
unshare -m sh -c 'mount -t tmpfs none /dev && : >/dev/nvidia0 && exec 3</dev/nvidia0 "$1"' - "$CONTEND_BUSY" \
    >"$scratch/out" 2>&1 &
user=$!
trap 'kill "$stranger" "$user" 2>/dev/null; rm -rf "$scratch"' EXIT
is_busy() { grep -qz busy "/proc/$1/cmdline" && [ "$(readlink "/proc/$1/exe")" = "$(realpath "$CONTEND_BUSY")" ]; }
wait_for 60 is_busy "$user" || fail "not started: $(cat "$scratch/out")"
wait_for 60 is_busy "$stranger"
export CONTEND_LIBNVML=$CONTEND_FAKE_DRIVER
expect 3 'NVML lists no GPU process' env FAKE_GPU="pid=$stranger" "$CONTEND_BINARY" doctor --gpu-procs --time 0.5
FAKE_GPU="pid=$user" "$CONTEND_BINARY" doctor --gpu-procs --time 0.5 --json >"$scratch/seen"
python3 -c 'import json, sys
sys.exit([p["pid"] for p in json.load(open(sys.argv[1]))["processes"]] != [int(sys.argv[2])])' \
    "$scratch/seen" "$user" || fail "not the one that has a GPU open: $(cat "$scratch/seen")"
finish
