#!/usr/bin/env bash
# However a run ends, it leaves no worker, no shared memory and no temporary file.
. tests/lib/cli.sh

workers_of() { # PIDs of workers of the runs started here
    pids_of_this_test ' __worker( |$)'
}
shm_before=$(ls /dev/shm 2>/dev/null)
export TMPDIR=$scratch/tmp
mkdir "$TMPDIR"

start() { # start OUT ROUNDS [option...]: a run in the background, until a round is on disk
    local out=$1 rounds=$2
    shift 2
    "$CONTEND_FAKE" run fake --placement none,sized --workers 2 --rounds "$rounds" --time 0.3 \
        --warmup 0.01 --no-plots --out "$out" "$@" > "$out.log" 2>&1 &
    run=$!
    wait_for 60 on_disk "$out" || fail "no round finished within a minute: $(cat "$out.log")"
}
on_disk() { # on_disk OUT: it has a row, and the next round runs
    [ "$(wc -l < "$1/rounds.csv" 2>/dev/null || echo 0)" -gt 1 ] && [ -n "$(workers_of)" ]
}

# After kill -9 of the parent, all workers end within a moment.
start "$scratch/kill" 1000
kill -9 "$run"
wait "$run" 2>/dev/null
none_left() {
    [ -z "$(workers_of)" ]
}
wait_for 20 none_left || fail "workers left after kill -9 of the parent: $(workers_of)"
find "$scratch/kill" -name '*.tmp' | grep . && fail "temporary file left"
grep -q '"status": "interrupted"' "$scratch/kill/run.json" || fail "run.json does not say interrupted"

# SIGINT and SIGTERM: exit 130, the finished rounds are kept, and run.json says interrupted.
for signal in INT TERM; do
    out="$scratch/$signal"
    start "$out" 1000
    kill -"$signal" "$run"
    wait "$run"
    code=$?
    [ "$code" = 130 ] || fail "SIG$signal: exit $code, expected 130"
    [ -z "$(workers_of)" ] || fail "SIG$signal: workers left"
    # What was measured is shown, with the command that shows it again.
    grep -q '^sized[~ ]' "$out.log" || fail "SIG$signal: no table: $(cat "$out.log")"
    grep -q "contend report -v $out\$" "$out.log" || fail "SIG$signal: no report line: $(cat "$out.log")"
    rounds=$(cell "$out/rows.csv" none 2 throughput rounds)
    [ "${rounds:-0}" -ge 1 ] || fail "SIG$signal: no finished round in rows.csv"
    grep -q '"status": "interrupted"' "$out/run.json" || fail "SIG$signal: run.json says otherwise"
    grep -q "\"rounds_done\": $rounds" "$out/run.json" || fail "SIG$signal: rounds differ"
done

# kill -9 of one worker: a row with the reason, and the run continues.
start "$scratch/worker" 2 --placement none --no-baselines --time 3
victim=$(workers_of | head -n 1)
kill -9 "$victim"
wait "$run"
code=$?
[ "$code" = 3 ] || fail "killed worker: exit $code, expected 3"
grep -q 'killed by signal 9' "$scratch/worker/rows.csv" || fail "no reason for the killed worker"
[ -z "$(workers_of)" ] || fail "workers left after a killed one"

# The reader of the output ends first, as tee does at Ctrl-C: the run still ends and cleans up.
exec {unread}> >(:)
wait $!
"$CONTEND_FAKE" run fake --placement none --workers 2 --rounds 2 --time 0.1 --warmup 0.01 --no-plots \
    --no-baselines --out "$scratch/unread" 2>&"$unread" > "$scratch/unread.log" < /dev/null
code=$?
[ "$code" = 0 ] || fail "nobody reads the log: exit $code, expected 0"
rounds=$(cell "$scratch/unread/rows.csv" none 2 throughput rounds)
[ "$rounds" = 2 ] || fail "nobody reads the log: ${rounds:-no} rounds in rows.csv"
grep -q 'Results: ' "$scratch/unread.log" || fail "nobody reads the log: no table"
[ ! -e "$scratch/unread/.contend-run" ] || fail "nobody reads the log: a work directory is left"

# Only names of contend's own: MPI jobs of other tests create and remove files there, too.
left=$(comm -13 <(echo "$shm_before") <(ls /dev/shm 2>/dev/null) | grep '^contend')
[ -z "$left" ] || fail "shared memory left in /dev/shm: $left"
[ -z "$(ls "$TMPDIR")" ] || fail "temporary files left: $(ls "$TMPDIR")"
finish
