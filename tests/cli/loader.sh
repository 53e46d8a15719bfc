#!/usr/bin/env bash
# Loader processes end with their worker, however it ends. Without Python the loaders in C still run.
. tests/lib/cli.sh
export CONTEND_LIBCUDA=/nowhere CONTEND_LIBNVML=/nowhere

quick=(--rounds 1 --no-canary --no-plots --host h -p rows=64 -p cols=40 -p gpu_ms=1)

# An empty PATH: rows of Python are skipped, with the reason.
mkdir "$scratch/empty"
env PATH="$scratch/empty" "$CONTEND_BINARY" bench loader --workers 1 --placement none --time 0.1 "${quick[@]}" \
    --out "$scratch/none" > "$scratch/said" 2>&1 < /dev/null || fail "without Python: exit $?: $(cat "$scratch/said")"
grep -q 'no python3 in PATH' "$scratch/said" || fail "not said: $(cat "$scratch/said")"
rows=$scratch/none/rows.csv
[ "$(grep -c 'lang=c;by=[a-z]*;loaders=1,sim,batches,1/s,' "$rows")" = 2 ] || fail "no batches: $(cat "$rows")"
grep -q 'lang=python;by=thread,sim,starvation,.*,skipped,no python3 in PATH' "$rows" || fail "no reason: $(cat "$rows")"
grep -q 'lang=python;by=[a-z]*;loaders=' "$rows" && fail "Python without Python: $(cat "$rows")"

expect 2 "loaders.*64" "$CONTEND_BINARY" bench loader -p loaders=65
expect 2 "mode.*python-process" "$CONTEND_BINARY" bench loader -p mode=fork
expect 2 "where.*rest" "$CONTEND_BINARY" bench loader -p where=there
expect 2 "mask=parent needs mode=process" "$CONTEND_BINARY" bench loader -p mode=thread -p mask=parent
expect 2 "mask=first-core needs.* where=slice" "$CONTEND_BINARY" bench loader -p mode=process -p where=rest -p mask=first-core
expect 3 "where=rest: the workers have all CPUs" "$CONTEND_BINARY" bench loader --workers 1 --placement none \
    --time 0.1 "${quick[@]}" -p mode=thread -p where=rest --out "$scratch/rest"

# An interrupt, and a kill.
command -v python3 > /dev/null || finish
loaders='Loaders of contend'
loading() {
    [ -n "$(pids_of_this_test "$loaders")" ]
}
for signal in INT KILL; do
    "$CONTEND_BINARY" bench loader --workers 1 --placement none --time 60 "${quick[@]}" \
        -p mode=python-process --out "$scratch/$signal" > "$scratch/said" 2>&1 < /dev/null &
    pid=$!
    wait_for 60 loading || fail "no loaders: $(cat "$scratch/said")"
    kill -"$signal" "$pid"
    wait "$pid" 2> /dev/null
    wait_for 60 none_of_this_test "$loaders" || fail "$signal: left running: $(pids_of_this_test "$loaders")"
    wait_for 60 none_of_this_test contend || fail "$signal: left running: $(pids_of_this_test contend)"
done
finish
