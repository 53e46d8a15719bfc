#!/usr/bin/env bash
# contend doctor --verify tries a fix on a running job, or on a job that it starts, and reports whether there is a gain.
# If nothing can be measured, it says what to type instead.
. tests/lib/cli.sh
. tests/lib/faulty.sh

# of KEY: prints a value of the verification in $scratch/seen.
of() {
    python3 - "$scratch/seen" "$1" <<'END'
import json, sys
value = json.load(open(sys.argv[1]))["verify"][sys.argv[2]]
print("" if value is None else value)
END
}

# idle_of CPU: prints the CPU's idle time so far, in hundredths of a second.
idle_of() { awk -v cpu="cpu$1" '$1 == cpu { print $5 }' /proc/stat; }

start_jobs
# doctor itself runs on the jobs' CPU, and still moves a job to the idle CPU.
idle=$(idle_of "$second") begin=$(date +%s%N)
taskset -c "$first" "$CONTEND_BINARY" doctor --time 1.2 --pid "${faulty[0]}" --pid "${faulty[1]}" --state "$state" \
    --apply --force --yes >"$scratch/seen" 2>&1
idled=$(($(idle_of "$second") - idle)) lasted=$((($(date +%s%N) - begin) / 10000000))
one_moved || [ "$idled" -lt $((lasted * 9 / 10)) ] ||
    fail "the other CPU idled for ${idled}0 of ${lasted}0 ms, and nothing moved: $(cat "$scratch/seen")"
"$CONTEND_BINARY" doctor --undo --state "$state" >"$scratch/seen" 2>&1
unbound || fail "not undone: $(masks)"
idle=$(idle_of "$second")
"${verify[@]}" --max-time 11.5 --yes --json >"$scratch/seen" 2>"$scratch/errors"
code=$?
idled=$(($(idle_of "$second") - idle)) # in half of 12 s it may: with it there is work for that CPU
unbound || fail "not undone: $(masks)"
[ "$(of kept)" = False ] || fail "kept without being asked to"
[ "$(python3 -c 'import json, sys; print(len(json.load(open(sys.argv[1]))["verify"]["pairs"]))' "$scratch/seen")" -ge 2 ] ||
    fail "fewer than two pairs: $(cat "$scratch/seen")"
case $code:$(of verdict) in
0:proven)
    python3 -c 'import sys; low, gain, high = map(float, sys.argv[1:]); sys.exit(not 1 < low <= gain <= high)' \
        "$(of low)" "$(of gain)" "$(of high)" || fail "a gain that is none: $(cat "$scratch/seen")"
    of command | grep -Eq -- "--pid ${faulty[0]} --pid ${faulty[1]}|taskset -acp [0-9,-]+ (${faulty[0]}|${faulty[1]})$" ||
        fail "no command: $(of command)"
    ;;
1:none | 4:unclear) [ "$idled" -lt 400 ] || fail "the other CPU idled for ${idled}0 ms: $(cat "$scratch/seen")" ;;
*) fail "exit $code: $(cat "$scratch/seen" "$scratch/errors")" ;;
esac
proven=$code

# The fix is kept if the user asked for that and there is a gain.
if [ "$proven" = 0 ]; then
    output=$("${verify[@]}" --max-time 8 --yes --keep 2>&1)
    if printf '%s' "$output" | grep -q '^UNDO  *contend doctor --undo'; then
        one_moved || fail "not kept: $(masks)"
        expect 0 'still bound by an earlier --apply' \
            sh -c '"$@" || [ $? = 1 ]' - "$CONTEND_BINARY" doctor --time 0.3 --pid "$$" --state "$state"
        expect 0 '[12] process(es)? may run where (it|they) could before' "$CONTEND_BINARY" doctor --undo --state "$state"
    fi
    unbound || fail "not undone: $output"
fi

end_faults

# No fix helps: the job's printed rate stays the same.
plant taskset -c "$first" "$CONTEND_BUSY"
plant taskset -c "$first" "$CONTEND_BUSY"
rate=("$CONTEND_BINARY" doctor --time 1.2 --pid "${faulty[0]}" --pid "${faulty[1]}" --state "$state"
    --block 1.6 --max-time 8 --yes --force)
expect 1 'VERDICT  no gain: undone: 1x the speed \(1x to 1x\), 7\.38 k -> 7\.38 k' "${rate[@]}" --verify 'rate:echo 7381'
unbound || fail "no gain: $(masks)"
expect 2 'prints no number|is no number' "${rate[@]}" --verify 'rate:echo fast'
expect 2 'the counter fell from' "${rate[@]}" --verify "counter:echo \$((\$(date +%s) * -1 + 9999999999))"
expect 3 'takes longer than 2 s' "${rate[@]}" --verify 'rate:sleep 100; echo 1'
unbound || fail "a command that fails: $(masks)"

# The cost to another process at work. On a crowded machine other processes may be named that have a larger share,
# and the fix may move only one of the two.
plant taskset -c "$second" "$CONTEND_BUSY"
"${rate[@]}" --verify 'rate:echo 7' --json >"$scratch/seen" 2>"$scratch/errors"
grep -Eq 'The other busy processes had [0-9.]+ CPUs before and [0-9.]+ with it' "$scratch/errors" &&
    grep -Eq '^  .* \([0-9]+\).*: [0-9.]+ -> [0-9.]+ CPUs$' "$scratch/errors" ||
    fail "not said what it cost others: $(cat "$scratch/errors")"
python3 - "$scratch/seen" <<'END' || fail "no others in the JSON: $(cat "$scratch/seen")"
import json, sys
others = json.load(open(sys.argv[1]))["verify"]["others"]
sys.exit(not others or any(one["cpus_before"] is None or one["cpus_after"] is None for one in others))
END
end_faults

# Reports which user owns the processes. A user may not bind another user's processes.
if [ "$(id -u)" = 0 ] && setpriv --reuid 4242 --clear-groups true 2>/dev/null; then
    plant setpriv --reuid 4242 --clear-groups "$CONTEND_BUSY"
    plant "$CONTEND_BUSY"
    wait_for 60 grep -q '^Uid:.4242' "/proc/${faulty[0]}/status" || fail "no process of another user"
    at_work() {
        "$CONTEND_BINARY" doctor --time 1 --state "$state" --apply --force "$@" 2>&1
        [ ! -e "$state" ] || fail "bound without being asked to"
    }
    output=$(at_work --pid "${faulty[0]}" --pid "${faulty[1]}")
    printf '%s' "$output" | grep -q "busy (${faulty[0]}) of user 4242, and what it started: CPUs" ||
        fail "not said whose: $output"
    for _ in 1 2 3 4 5 6 7 8; do # on a crowded machine it may have less than 5% of a CPU
        output=$(at_work --pid "${faulty[1]}")
        ! printf '%s' "$output" | grep -q "^  busy (${faulty[0]}) of user 4242: " || break
    done
    printf '%s' "$output" | grep -q "^  busy (${faulty[0]}) of user 4242: \|^  and .* more" ||
        fail "not said who is at work: $output"
    cp "$CONTEND_BINARY" "$CONTEND_BINARY-doctor" "$scratch"
    chmod 755 "$scratch"
    output=$(setpriv --reuid 4242 --clear-groups "$scratch/contend" doctor --time 1 --state "$scratch/none" \
        --apply --force --pid "${faulty[1]}" 2>&1)
    printf '%s' "$output" | grep -q "busy (${faulty[1]}) of root belongs to another user: only root can bind it" || fail "whose? $output"
    end_faults
fi

restart=("$CONTEND_BINARY" doctor --time 1.5 --state "$state" --block 1.6 --yes --verify lines:-)
# A job that doctor starts, which needs a second to start and makes 10x the steps without a variable. The gain is found
# even if the time allows few starts. Its steps are sleeps.
head -c 4096 /dev/zero >"$scratch/libgomp.so.1"
cat >"$scratch/job" <<END
taskset -c $first "$CONTEND_BUSY" map="$scratch/libgomp.so.1" &
pause=0.015
[ -z "\$GOMP_CPU_AFFINITY" ] || pause=0.2
sleep 1
while echo step; do sleep \$pause; done
END
for _ in 1 2 3; do # a crowded machine may leave it less than two steps in a block
    GOMP_CPU_AFFINITY=$first OMP_PROC_BIND=true "${restart[@]}" --max-time 20 \
        --restart "exec taskset -c $second sh '$scratch/job'" --json >"$scratch/seen" 2>"$scratch/errors"
    code=$?
    grep -q 'reported too little in a block' "$scratch/errors" || break
done
[ "$code:$(of verdict):$(of command)" = '0:proven:unset GOMP_CPU_AFFINITY' ] ||
    fail "a large gain by a restart: exit $code: $(cat "$scratch/seen" "$scratch/errors")"
none_of_this_test "map=$scratch" || fail "the job is still there"
ended=("$CONTEND_BINARY" doctor --time 0.5 --yes --state "$state" --restart 'echo no such model; exit 1')
expect 3 'ended before it reported.*its last line: no such model' "${ended[@]}" --verify 'file:-:([0-9.]+) it/s'
expect 3 'ended while it was measured.*its last line: no such model' "${ended[@]}" --verify lines:-
# Two processes on one CPU: this fix applies to running processes, not to a start.
crowd="taskset -c $first '$CONTEND_BUSY' & taskset -c $first '$CONTEND_BUSY' & while echo step; do sleep 0.1; done"
expect 4 'nothing to try' "${restart[@]}" --max-time 20 --restart "$crowd"
expect 3 'did not report its speed in time' "${restart[@]}" --max-time 8 --restart 'sleep 100'
: >"$scratch/silent.log"

# Messages that say what to type.
bad() { # bad PATTERN OPTION...
    local pattern=$1
    shift
    expect 2 "$pattern" "$CONTEND_BINARY" doctor "$@"
}
bad "'cpu' is no metric: type --verify lines:LOG, file:LOG:REGEX" --verify cpu
bad 'no such file|No such file.*type --verify lines:LOG' --verify "lines:$scratch/none"
bad 'which number of a line is the rate' --verify "file:$scratch/silent.log"
bad 'has 0 groups' --verify "file:$scratch/silent.log:rate"
bad 'is no regular expression' --verify "lines:$scratch/silent.log:(["
bad 'name its log, or start it by --restart' --verify lines:-
bad 'COMMAND: no command' --verify rate:
bad 'give all workers one kind' --verify 'rate:echo 1' --verify "lines:$scratch/silent.log"
bad 'needs --verify file: or rate:' --verify "lines:$scratch/silent.log" --less-is-better
bad 'is too short for 4 blocks of 4 s: type --max-time 17' --verify 'rate:echo 1' --max-time 10
bad 'need --verify' --keep
bad 'verify excludes --apply and --undo$' --verify 'rate:echo 1' --apply
finish
