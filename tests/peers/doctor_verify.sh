#!/usr/bin/env bash
# Two plain PyTorch workers with the threads that they take by themselves, each on a GPU where there are two: what doctor says,
# what its live fix gains, what the fix of the next start gains, and the best that tune finds. By hand,
# on a machine with PyTorch and a GPU; takes less than 4 minutes. Prints at the end what share of tune's
# best the fix reaches.
#
#   tests/peers/doctor_verify.sh [OUT [WORKERS]]       CONTEND=./contend
set -u
here=$(dirname "$(readlink -f "$0")")
out=${1:-$(mktemp -d)} workers=${2:-2} contend=${CONTEND:-$here/../../contend}
mkdir -p "$out"
begun=$SECONDS
pids=()
trap '[ ${#pids[@]} = 0 ] || kill -9 "${pids[@]}" 2>/dev/null' EXIT
unset OMP_NUM_THREADS MKL_NUM_THREADS OPENBLAS_NUM_THREADS OMP_WAIT_POLICY

# step NAME SECONDS COMMAND...: its output and exit code in OUT/NAME.txt.
step() {
    local name=$1 limit=$2
    shift 2
    printf '\n== %s, at %s s: %s\n' "$name" "$((SECONDS - begun))" "$*"
    timeout --kill-after 5 "$limit" "$@" >"$out/$name.txt" 2>&1
    printf 'exit %s\n' "$?" >>"$out/$name.txt"
    tail -n "${lines:-15}" "$out/$name.txt"
}

# number NAME KEY: of "verify" in its JSON.
number() {
    python - "$out/$1.txt" "$2" <<'END'
import json, sys
text = open(sys.argv[1]).read()
try:
    value = json.JSONDecoder().raw_decode(text[text.index("\n{") if text[0] != "{" else 0 :].strip())[0]["verify"][sys.argv[2]]
    print("%.4g" % value if isinstance(value, float) else value)
except (ValueError, KeyError, IndexError):
    print("nan")
END
}

logs=() named=()
for ((i = 0; i < workers; i++)); do
    rm -f "$out/worker$i.log"
    LOCAL_RANK=$i timeout 200 python "$here/torch_worker.py" 150 "$out/worker$i.log" >"$out/worker$i.txt" 2>&1 &
    pids+=($!)
    logs+=(--verify "lines:$out/worker$i.log")
done
for ((i = 0; i < workers; i++)); do
    timeout 60 sh -c 'until [ -s "$1" ]; do sleep 0.2; done' - "$out/worker$i.log" ||
        { echo "worker $i makes no step: $(tail -1 "$out/worker$i.txt")" && exit 1; }
    named+=(--pid "$(pgrep -P "${pids[$i]}")")
done

state=(--state "$out/doctor.state")
lines=40 step doctor 20 "$contend" doctor "${named[@]}" "${state[@]}"
step live 50 "$contend" doctor --time 2 "${named[@]}" "${state[@]}" "${logs[@]}" --max-time 34 --yes --json
kill -9 $(pgrep -P "$(IFS=,; echo "${pids[*]}")") "${pids[@]}" 2>/dev/null
wait 2>/dev/null
pids=()

# The job as its user starts it: a shell line with all workers.
line=
for ((i = 0; i < workers; i++)); do line+="LOCAL_RANK=$i python '$here/torch_worker.py' 600 /dev/stdout & "; done
step restart 85 "$contend" doctor --time 3 "${state[@]}" --verify 'lines:-:^step' --restart "$line wait" \
    --max-time 72 --block 4 --yes --json
step tune 80 "$contend" tune -n "$workers" --metric '^([0-9.]+)$' --max-time 70 -o "$out/tune" \
    -- python "$here/torch_worker.py" 4

best=$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
    $at["metric"] == "throughput" && $at["median"] > best { best = $at["median"]; what = $at["params"] }
    END { print best + 0, what }' "$out/tune/rows.csv" 2>/dev/null)
cat <<END

== after $((SECONDS - begun)) s; steps a second of all workers, in $out
live:    $(number live before) -> $(number live after), $(number live verdict): $(number live gain)x ($(number live low) to $(number live high))
restart: $(number restart before) -> $(number restart after), $(number restart verdict): $(number restart gain)x ($(number restart low) to $(number restart high)) by '$(number restart command)'
tune:    $best
END
python -c 'import sys; print("the fix reaches %.0f%% of the best that tune finds" % (100 * float(sys.argv[1]) / float(sys.argv[2])))' \
    "$(number restart after)" "${best%% *}"
