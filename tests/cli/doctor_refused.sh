#!/usr/bin/env bash
# A sandbox that refuses sched_getaffinity: contend doctor reads the masks from /proc.
. tests/lib/cli.sh
. tests/lib/plant.sh
needs taskset
"$CONTEND_REFUSE" sched_getaffinity EPERM true || skip "no system call can be refused here"

plant taskset -c "$first" "$CONTEND_BUSY" threads=2
plant taskset -c "$first" "$CONTEND_BUSY" threads=2
"$CONTEND_REFUSE" sched_getaffinity EPERM "$CONTEND_BINARY" doctor --time 1 --pid "${faulty[0]}" --pid "${faulty[1]}" \
    --json >"$scratch/seen" 2>"$scratch/errors"
python3 - "$scratch/seen" "$first" "${faulty[@]}" <<'END' || fail "$(cat "$scratch/seen" "$scratch/errors")"
import json, sys
seen = json.load(open(sys.argv[1]))
cpus = {p["pid"]: p["cpus"] for p in seen["processes"]}
said = " ".join(f["sentence"] for f in seen["findings"])
sys.exit(any(cpus[int(pid)] != sys.argv[2] for pid in sys.argv[3:]) or " 0 CPUs" in said)
END
finish
