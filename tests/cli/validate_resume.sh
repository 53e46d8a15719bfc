#!/usr/bin/env bash
# A validation that was killed goes on with --resume: what it measured today stays, the rest is measured.
. tests/lib/pid_namespace.sh
. tests/lib/cli.sh
needs jq
export CONTEND_LIBCUDA=/nowhere CONTEND_LIBNVML=/nowhere # also where there is a GPU
validate=("$CONTEND_BINARY" validate --expect gpus=0)
out=$scratch/out/deep

"${validate[@]}" --out "$out" >"$scratch/log" 2>&1 </dev/null &
pid=$!
wait_for 60 test -s "$out/resume.json" || fail "nothing is kept: $(cat "$scratch/log")"
kill -KILL "$pid"
wait "$pid" 2>/dev/null
is "files of a validation that was killed" "$(ls "$out")" resume.json
kept=$(jq -r '.ended | keys | join(" ")' "$out/resume.json")
value=$(jq '.measured[0].value' "$out/resume.json")

# Of another machine, build, profile or day it is of no use, and stays.
refuse() { # refuse WHY FILTER ARGUMENT...
    local why=$1 filter=$2
    shift 2
    mkdir -p "$scratch/bad"
    jq "$filter" "$out/resume.json" >"$scratch/bad/resume.json"
    expect 2 "$why" "${validate[@]}" --resume "$scratch/bad" "$@"
    [ -e "$scratch/bad/resume.json" ] || fail "refused, and removed"
}
refuse "another machine: 'x' then" '.machine = "x"'
refuse "another commit: 'x' then" '.commit = "x"'
refuse "another profile: 'quick' then, 'full' now" . --profile full
refuse 'nothing was measured in the last 24 hours' '.ended[] -= 90000'
refuse 'nothing was measured in the last 24 hours' '.ended = [3] | .measured = "x"'
refuse 'leave out --no-measure' . --no-measure
refuse 'leave out --out' . --out "$scratch/bad"
echo '{' >"$scratch/bad/resume.json"
expect 2 "nothing to go on with: no readable '.*bad/resume.json'" "${validate[@]}" --resume "$scratch/bad"

"${validate[@]}" --resume "$out" --json >"$scratch/json" 2>"$scratch/log" </dev/null
code=$?
[ "$code" = 0 ] || [ "$code" = 1 ] || fail "exit $code: $(cat "$scratch/log")"
is "files of one that has ended" "$(ls "$out" | tr '\n' ' ')" 'summary.txt validate.json '
is "what was measured before" "$(jq -r '.resumed | keys | join(" ")' "$out/validate.json")" "$kept"
is "its first value" "$(jq '.measured[0].value' "$out/validate.json")" "$value"
jq -e '[.measured[].probe] | unique | contains(["cpu_speed", "idle_exit", "memory_bandwidth"])' \
    "$out/validate.json" >/dev/null || fail "not all was measured: $(jq -c '[.measured[].probe] | unique' "$out/validate.json")"
grep -q 'Measured before it was resumed: cpu_speed at 20' "$out/summary.txt" || fail "summary: $(cat "$out/summary.txt")"
expect 2 'nothing to go on with' "${validate[@]}" --resume "$out"
finish
