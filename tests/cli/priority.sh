#!/usr/bin/env bash
# Nice levels, policies and weights of workers, as /proc and the cgroup show them to a worker; one that is refused.
. tests/lib/cli.sh
export NO_COLOR=1 log=$scratch/log
weight_file=/sys/fs/cgroup/cpu/cpu.shares
weights=()
[ -w $weight_file ] && [ "$(id -u)" = 0 ] && weights=(-V light=weight:50 -V light=env:WHO=light)

# A worker writes its nice level, its policy (0 other, 3 batch, 5 idle) and the weight of its cgroup; then of all
# workers of the run, the background too: nice level and class.
cat >"$scratch/worker" <<'END'
set -- $(sed 's/.*) //' /proc/$$/stat | cut -d' ' -f17,39) \
    $(cat "/sys/fs/cgroup/cpu$(sed -n 's/.*:cpu://p' /proc/self/cgroup)/cpu.shares" 2>/dev/null)
echo "${WHO:-base} $*" >>"$log"
ps -o ni=,cls= --ppid $(ps -o ppid= -p $PPID) >>"$log.all" || :
END
ab=("$CONTEND_BINARY" ab --workers 1 --placement none --rounds 1 --time 0.1)
"${ab[@]}" -V base -V nice=nice:7 -V nice=env:WHO=nice -V batch=sched:batch -V batch=env:WHO=batch \
    -V idle=sched:idle -V idle=env:WHO=idle "${weights[@]}" --out "$scratch/ab" -- sh "$scratch/worker" \
    >"$scratch/said" 2>&1 # one round has no verdict: any exit code
own=$(nice)
expect_equal "nice level of the base" "$(awk '$1 == "base" { print $2, $3; exit }' "$log")" "$own 0"
expect_equal "nice:7" "$(awk '$1 == "nice" { print $2, $3; exit }' "$log")" "7 0"
expect_equal "sched:batch" "$(awk '$1 == "batch" { print $2, $3; exit }' "$log")" "$own 3"
expect_equal "sched:idle" "$(awk '$1 == "idle" { print $2, $3; exit }' "$log")" "$own 5"
[ "${#weights[@]}" = 0 ] || expect_equal "weight:50" "$(awk '$1 == "light" { print $4; exit }' "$log")" 512
jq -e '.variants[] | select(.name == "nice") | .priority.nice == 7 and .background_priority == null' \
    "$scratch/ab/run.json" >/dev/null || fail "run.json has no nice level"

# As options, of the background too. tune takes the same.
run=("$CONTEND_BINARY" run --workers 1 --placement none --rounds 1 --time 0.1 --no-canary --no-baselines --no-plots)
expect 0 '' "${run[@]}" --nice 3 --background prep --background-workers 1 --background-sched idle \
    --out "$scratch/run" -- sh -c ". $scratch/worker; sleep 0.2"
grep -Eq '^ *3 +TS' "$log.all" || fail "no worker at nice level 3: $(cat "$log.all")"
grep -Eq ' IDL' "$log.all" || fail "no background worker of SCHED_IDLE: $(cat "$log.all")"
: >"$log"
expect 0 '' "$CONTEND_BINARY" tune --workers 1 --placement none,partition --threads 1 --reserve 0 --wait auto --rounds 1 --time 0.1 \
    --sched batch --out "$scratch/tune" -- sh "$scratch/worker"
expect_equal "--sched batch of tune" "$(awk '{ print $3; exit }' "$log")" 3

# What the kernel refuses is a row with its reason.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    expect 3 'nothing was measured' setpriv --bounding-set=-sys_nice "${run[@]}" --nice=-5 --out "$scratch/refused" \
        -- sh "$scratch/worker"
    grep -q ',skipped,.*nice level -5 is refused' "$scratch/refused/rows.csv" ||
        fail "no reason: $(cat "$scratch/refused/rows.csv")"
fi
expect 2 "sched: invalid value 'fifo'" "$CONTEND_BINARY" run --sched fifo
finish
