#!/usr/bin/env bash
# If stdin, stdout or stderr is closed, no file of the run takes its descriptor number.
. tests/lib/cli.sh
needs jq
run=("$CONTEND_FAKE" run fake --placement none --workers 2 --no-baselines --rounds 2 --time 0.1
    --warmup 0.01 --no-plots)

check() { # check OUT CODE
    [ "$2" = 0 ] || fail "$1: exit $2"
    head -n 1 "$scratch/$1/samples.csv" | grep -q '^run_id,round,order,scenario,.*,status$' ||
        fail "$1: samples.csv begins with: $(head -n 2 "$scratch/$1/samples.csv")"
    awk -F, 'NF != 17 { exit 1 }' "$scratch/$1/samples.csv" || fail "$1: a broken line"
    jq -e '.status == "complete"' "$scratch/$1/run.json" > /dev/null || fail "$1: run.json"
    ! grep -rl 'contend: ' "$scratch/$1" || fail "$1: messages among the results"
}
"${run[@]}" --out "$scratch/all" <&- >&- 2>&-
check all $?
"${run[@]}" --out "$scratch/stdin" > "$scratch/log" 2>&1 <&-
check stdin $?
"${run[@]}" --out "$scratch/stdout" 2> "$scratch/log" < /dev/null >&-
check stdout $?
"${run[@]}" --out "$scratch/stderr" > "$scratch/log" < /dev/null 2>&-
check stderr $?
finish
