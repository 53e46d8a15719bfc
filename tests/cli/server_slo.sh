#!/usr/bin/env bash
# --slo: what holds a bound on a client's number is recommended, in run, tune, tune --cores and ab; units of time; bad input.
. tests/lib/cli.sh
needs python3 two-cpus
export CONTEND_LIBCUDA=/nowhere CONTEND_LIBNVML=/nowhere

common=(--time 0.05 --host h --metric 'rate=rate=([0-9]+)' --metric 'p99=p99 ([0-9.]+[mu]?s?)')
run=("$CONTEND_BINARY" run --workers 2 --placement "none,sized" --no-baselines --no-canary --no-plots "${common[@]}")
# Each thread makes it faster, and its p99 worse.
numbers="'rate={threads}0' 'p99 {threads}ms'"
said() { # said FILE PATTERN
    tr '\n' ' ' < "$scratch/$1" | grep -qE -- "$2" || fail "no /$2/ in $1: $(cat "$scratch/$1")"
}

# A number with a unit of time is in seconds. The faster default breaks the bound, so it is left.
with_load=("${run[@]}" --ready 'tcp:{port}' --load "python3 tests/lib/server.py client {port} $numbers")
expect 0 'rate' "${with_load[@]}" --rounds 1 --out "$scratch/free" -- python3 tests/lib/server.py '{port}'
sized=$(cell "$scratch/free/rows.csv" sized 2 p99 median)
expect_equal "the unit" "$(cell "$scratch/free/rows.csv" sized 2 p99 unit)" s
expect 0 'recommended: sized' "${with_load[@]}" --rounds 2 --slo "p99<=$(awk -v s="$sized" 'BEGIN { print 1000 * s }')ms" \
    --out "$scratch/bound" -- python3 tests/lib/server.py '{port}'
said bound/summary.txt 'holds under sized \([^)]*\); does not under none \([^)]*\)\.'
"$CONTEND_BINARY" report "$scratch/bound" > "$scratch/again" 2> /dev/null < /dev/null
said again 'recommended: sized'
grep -q '"slo": "p99<=' "$scratch/bound/run.json" || fail "the bound is not recorded"

# The same without a client. None keeps it, or the unit is another one.
plain=(-- sh -c "echo rate={threads}0; echo p99 {threads}\$UNIT")
UNIT=us expect 0 'nearest is sized' "${run[@]}" --rounds 2 --slo 'p99<=0.5us' \
    --out "$scratch/nowhere" "${plain[@]}"
! grep -q recommended: "$scratch/nowhere/summary.txt" || fail "it recommends what breaks the bound"
expect 0 'only one of both has a unit of time' "${run[@]}" --rounds 1 --slo 'p99<=1ms' --out "$scratch/unit" "${plain[@]}"

# ab lists variants, and tune --cores the fewest cores.
UNIT=s expect 0 'holds under a \([^)]*\), b' "$CONTEND_BINARY" ab --workers 1 --rounds 8 --slo 'rate>=1' "${common[@]}" \
    --out "$scratch/ab" -V a -V b=env:X=1 "${plain[@]}"
cores=("$CONTEND_BINARY" tune --cores --core-counts 1 --workers 1 --rounds 2 --no-canary --no-plots "${common[@]}")
UNIT=s expect 0 'To hold p99<=1h, one worker alone needs 1 core' "${cores[@]}" --slo 'p99<=1h' --out "$scratch/c" "${plain[@]}"
! grep -qE '1 workers|predicted' "$scratch/c/summary.txt" || fail "columns of several workers: $(cat "$scratch/c/summary.txt")"
UNIT=s expect 0 'nearest is cores-1' "${cores[@]}" --slo 'p99<=1ms' --out "$scratch/d" "${plain[@]}"

# tune: a client's CPUs are not those of its servers.
expect 0 'holds under' "$CONTEND_BINARY" tune --workers 1 --max-time 10 --rounds 1 --no-plots "${common[@]}" --slo 'p99<=1h' --out "$scratch/tune" \
    --ready 'tcp:{port}' --load "python3 tests/lib/server.py client {port} $numbers" -- python3 tests/lib/server.py '{port}'
! grep -q 'Clients disturb' "$scratch/tune/summary.txt" || fail "clients and servers share CPUs: $(cat "$scratch/tune/summary.txt")"

none=("${run[@]}" --out "$scratch/none")
expect 2 "no --metric is called 'p9'; known: rate,p99" "${none[@]}" --slo 'p9<=3' "${plain[@]}"
expect 2 "'p99<3' is no bound such as" "${none[@]}" --slo 'p99<3' "${plain[@]}"
expect 2 "option '--slo'" "${none[@]}" --slo
expect 2 'known: none' "$CONTEND_BINARY" run --slo 'p99<=3' --out "$scratch/none" -- true
expect 2 'need one' "$CONTEND_BINARY" run --slo 'p99<=3' --out "$scratch/none"
[ ! -e "$scratch/none" ] || fail "a wrong command line made a directory"
finish
