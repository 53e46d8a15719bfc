#!/usr/bin/env bash
# A worker that fails, hangs, crashes or reports wrong CPUs becomes a row with status and reason.
. tests/lib/cli.sh
export ASAN_OPTIONS=handle_segv=0 # under the sanitizers, too, a crash ends by its signal
cpus=$(nproc)

# fake MODE CODE STATUS REASON [option...]: runs the fake benchmark and checks code, status and reason.
fake() {
    local mode=$1 code=$2 status=$3 reason=$4 out="$scratch/$1"
    shift 4
    expect "$code" . "$CONTEND_FAKE" run fake --placement none --workers 2 --rounds 2 --time 0.1 \
        --warmup 0.01 --limit 10 --setup-limit 20 --no-plots --out "$out" -p "mode=$mode" "$@"
    grep -E "^[^,]*,fake,none,2,.*,$status," "$out/rows.csv" | grep -q -- "$reason" ||
        fail "mode $mode: no row with status $status and '$reason':"$'\n'"$(cat "$out/rows.csv")"
}

fake fail-setup 3 failed 'worker 0: the fake is told to fail its setup'
fake fail-run 3 failed 'worker 0: the fake is told to fail its run'
fake hang-teardown 3 failed 'worker 0: the fake is told to fail its run'
fake fail-check 3 failed 'worker 0: the fake is told that its result is wrong'
fake skip 3 skipped 'worker 0: the fake is told to skip'
fake scribble 3 skipped 'worker 0: the fake is told to skip' -p bad_worker=1 --rounds 12 --no-baselines
in_background fake hang-setup 3 hung 'worker 0: no progress within .* while setup' --setup-limit 6 --rounds 1 --no-baselines
fake hang-run 0 censored 'did not end within the limit' --limit 1
fake crash 3 failed 'worker 1: killed by signal 11 (Segmentation fault)' -p bad_worker=1
fake exit 3 failed 'worker 0: exited with status 7'
if [ "$cpus" -gt 1 ]; then
    fake shrink-mask 3 failed 'bound to CPUs .* planned'
fi
fake ok 0 '(ok|noisy)' ''

# If nothing at all was measured, stderr says so once, and the exit code is 3. If a part was measured, the run succeeds.
"$CONTEND_FAKE" run fake --placement none,sized --workers 2 --rounds 2 --time 0.1 --warmup 0.01 \
    --no-plots --out "$scratch/nothing" -p mode=skip > "$scratch/stdout" 2> "$scratch/stderr"
code=$?
[ "$code" = 3 ] || fail "nothing was measured, and exit $code"
said=$(grep -c 'error: nothing was measured: worker 0: the fake is told to skip' "$scratch/stderr")
[ "$said" = 1 ] || fail "said $said times that nothing was measured: $(cat "$scratch/stderr")"
grep -q '"status": "failed"' "$scratch/nothing/run.json" ||
    fail "nothing was measured, and run.json: $(grep '"status"' "$scratch/nothing/run.json")"
expect 0 'worker 1: the fake is told to skip' "$CONTEND_FAKE" run fake --placement none --workers 1,2 \
    --rounds 1 --time 0.1 --warmup 0.01 --no-plots --out "$scratch/part" -p mode=skip -p bad_worker=1
expect 0 'expected time' "$CONTEND_FAKE" run fake -p mode=skip --dry-run

# Ten items per 2 ms step, two workers: at most 10,000 items/s, and not far below even on a busy machine.
throughput=$(cell "$scratch/ok/rows.csv" none 2 throughput median)
awk -v x="$throughput" 'BEGIN { exit !(x > 500 && x <= 10000) }' || fail "throughput $throughput"

# A hang is cut off at the limit: the time is a lower bound of about a second.
bound=$(cell "$scratch/hang-run/rows.csv" none 2 step_time max)
awk -v x="$bound" 'BEGIN { exit !(x > 0.3 && x < 30) }' || fail "censored at $bound s"

# The samples of every finished worker are on disk, the censored one marked.
grep -q ',censored$' "$scratch/hang-run/samples.csv" || fail "no censored sample"

# Background load is listed in the plan, but not measured.
expect 0 . "$CONTEND_FAKE" run busy --placement none --workers 1 --rounds 1 --time 0.1 --no-plots \
    --out "$scratch/busy"
[ "$(columns "$scratch/busy/samples.csv" worker | sort -u)" = 0 ] ||
    fail "samples of other than worker 0: $(columns "$scratch/busy/samples.csv" worker | sort -u)"
grep -q '"background": true' "$scratch/busy/run.json" || fail "no background worker in run.json"
# A scan has one row for each metric and key, over the rounds; the harness times nothing itself.
expect 0 . "$CONTEND_FAKE" bench fakescan --rounds 2 --time 0.1 --no-plots --out "$scratch/scan"
# The baseline of a scan is one worker, labelled "alone"; that of a team is labelled "without load".
expect 0 'fakescan, alone' "$CONTEND_FAKE" bench fakescan --workers 2 --rounds 1 --time 0.1 \
    --no-plots --out "$scratch/two"
rows=$(columns "$scratch/scan/rows.csv" metric params rounds median)
[ "$rows" = "cpus,slots=1,2,$cpus
square,slots=1;a=0,2,0
square,slots=1;a=1,2,1
square,slots=1;a=2,2,4
doubt,slots=1,2,0.5" ] || fail "rows of a scan: $rows"

# Values that a scan could not measure are separate rows, and the run fails.
expect 3 'failed: the fake is told to fail at 1' "$CONTEND_FAKE" bench fakepart --rounds 2 \
    --time 0.1 --no-plots --force --out "$scratch/part"
rows=$(columns "$scratch/part/rows.csv" metric params rounds median status reason |
    sed '1s/,[a-z]*,[^,]*$//') # noisy on a busy machine
[ "$rows" = "square,slots=1;a=0,2,0
square,slots=1;a=1,0,,failed,the fake is told to fail at 1
square,slots=1;a=2,0,,skipped,the fake is told that there is no 2" ] ||
    fail "rows of a scan that has a part of its values: $rows"

# A scan that keeps no value is still a row, except as background, where no values are asked for.
expect 3 'nothing was measured: worker 0: .*kept no value' "$CONTEND_FAKE" bench fakemute --rounds 2 \
    --time 0.1 --no-plots --out "$scratch/mute"
[ "$(wc -l < "$scratch/mute/rows.csv")" = 2 ] &&
    grep -q ',fakemute,.*,status,.*,skipped,worker 0: .*kept no value' "$scratch/mute/rows.csv" ||
    fail "not one skipped row of a scan without values: $(cat "$scratch/mute/rows.csv")"
expect 0 . "$CONTEND_FAKE" bench fake --background fakemute --rounds 1 --time 0.1 --no-plots \
    --out "$scratch/behind"
expect 0 'rank_sum' "$CONTEND_FAKE" bench faketeam -n 2 -p mode=no-value -p bad_worker=1 --rounds 1 \
    --time 0.1 --no-plots --out "$scratch/rank1"
expect 3 'skipped: worker 0: .*kept no value' "$CONTEND_FAKE" bench faketeam -n 2 -p mode=no-value \
    -p bad_worker=-1 --rounds 1 --time 0.1 --no-plots --out "$scratch/ranks"
finish
