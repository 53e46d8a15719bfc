#!/usr/bin/env bash
# Does contend comms name the planted rank and cause? DDP over NCCL (ddp_causes.py) on all GPUs, by hand, on a machine with
# PyTorch and two GPUs or more. With gloo there is nothing to see: it loads no plugin of NCCL.
#
#   tests/peers/ddp_causes.sh OUT [CAUSE...]     CONTEND=./build/release/contend PYTHON=python3 RUNS=3 HEALTHY=6 PAIRS=8 SECONDS_EACH=6
#
# Causes: oversubscribed mask shared quota loader pause healthy overhead (all by default). The cause is planted on the last
# rank. quota needs root and a writable cgroup. OUT/causes.csv and the last lines have the table; stops after LIMIT seconds (480).
set -u
[ $# -gt 0 ] || { sed -n '2,/^set/{/^set/!p}' "$0"; exit 2; }
mkdir -p "$1"
out=$(readlink -f "$1") here=$(dirname "$(readlink -f "$0")")
shift
contend=$(readlink -f "${CONTEND:-$here/../../build/release/contend}") python=${PYTHON:-python3}
gpus=${GPUS:-$(nvidia-smi -L | grep -c ^GPU)} each=${SECONDS_EACH:-6} limit=${LIMIT:-480} group=
causes=("$@")
[ ${#causes[@]} -gt 0 ] || causes=(oversubscribed mask shared quota loader pause healthy overhead)
trap '[ -z "$group" ] || rmdir "$group"' EXIT
echo cause,run,rank,found,sentence,verdict >"$out/causes.csv"
declare -A wanted=([oversubscribed]=run_queue [mask]=run_queue [shared]=run_queue [quota]=throttled [loader]=sleep [pause]=sleep)

# The last rank alone goes into a cgroup with a quota of 30% of a CPU.
make_quota() {
    local root=/sys/fs/cgroup
    [ ! -e $root/cpu/cpu.cfs_quota_us ] || root=$root/cpu
    group=$(mktemp -d $root/contend-XXXXXX) || return
    if [ -e "$group/cpu.max" ]; then
        echo "30000 100000" >"$group/cpu.max"
    else
        echo 30000 >"$group/cpu.cfs_quota_us"
    fi
}

# train CAUSE COMMAND...: one run, by COMMAND; its output is in $out/output.txt.
train() {
    local cause=$1
    shift
    CONTEND_GROUP=$group timeout 90 "$@" "$python" -m torch.distributed.run --standalone --nproc-per-node "$gpus" \
        "$here/ddp_causes.py" "$cause" "$each" >"$out/output.txt" 2>&1
}

# judge CAUSE RUN: reads the logs, and adds a row. The communicator with most calls is that of the gradients.
judge() {
    "$contend" comms --read "$out/logs" --json >"$out/$1-$2.json" 2>>"$out/log.txt"
    "$python" - "$out/$1-$2.json" "$1" "$2" "$((gpus - 1))" "${wanted[$1]:-}" <<'PY' | tee -a "$out/causes.csv"
import json, sys
path, cause, run, rank, wanted = sys.argv[1:]
try:
    found = json.load(open(path))
except ValueError:
    sys.exit(print(f"{cause},{run},,,no logs,FAILED"))
said = [f for f in found["findings"] if f["id"] == "comms_late_cause"]
named = [(r["rank"], r["cause"]) for c in found["communicators"] for r in (c["arrival"] or {"ranks": []})["ranks"] if r["cause"]]
ranks = {str(r) for r, _ in named}
text = said[0]["sentence"] if said else ""
# A thread that sleeps until the process's others get one of its CPUs waits for these CPUs.
right = not named if not wanted else ranks == {rank} and all(
    c == wanted or wanted == "run_queue" and "its own threads use all" in text for _, c in named)
print(f'{cause},{run},{" ".join(sorted(ranks))},{" ".join(sorted({c for _, c in named}))},"{text}",{"right" if right else "WRONG"}')
PY
}

study() { # study CAUSE RUNS
    local run
    if [ "$1" = quota ] && ! make_quota; then
        echo "quota,,,,no writable cgroup,skipped" | tee -a "$out/causes.csv"
        return
    fi
    for ((run = 1; run <= $2 && SECONDS < limit; run++)); do
        rm -rf "$out/logs"
        train "$1" "$contend" comms --out "$out/logs" -- || tail -n 5 "$out/output.txt"
        judge "$1" "$run"
    done
}

overhead() { # with and without comms in alternation, the order of each pair swapped
    local i way
    echo run,comms,step_ms >"$out/overhead.csv"
    for ((i = 0; i < ${PAIRS:-8} && SECONDS < limit; i++)); do
        for way in $((i % 2)) $((1 - i % 2)); do
            rm -rf "$out/logs"
            if [ "$way" = 1 ]; then train none "$contend" comms --out "$out/logs" --; else train none env; fi
            echo "$i,$way,$(awk '$1 == "step_ms" { print $2 }' "$out/output.txt")" | tee -a "$out/overhead.csv"
        done
    done
    awk -F, 'NR > 1 && $3 { ms[$1, $2] = $3; n = $1 } END { for (i = 0; i <= n; i++) if (ms[i, 0] && ms[i, 1]) {
        m++; sum += log(ms[i, 1] / ms[i, 0]) } if (m) printf "overhead: %.2f%% over %d pairs\n", 100 * (exp(sum / m) - 1), m }' "$out/overhead.csv"
}

for cause in "${causes[@]}"; do
    case $cause in
    overhead) overhead ;;
    healthy) study healthy "${HEALTHY:-6}" ;;
    *) study "$cause" "${RUNS:-3}" ;;
    esac
done
awk -F, 'NR > 1 { n[$1]++; right[$1] += $NF == "right" } END { for (c in n) print c ": " right[c] " of " n[c] " right" }' "$out/causes.csv"
