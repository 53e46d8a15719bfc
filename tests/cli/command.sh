#!/usr/bin/env bash
# contend run -- COMMAND runs a user's command as the worker. Tests what the command receives, what is compared, the
# messages about commands that misbehave, and that no process remains.
. tests/lib/cli.sh
without_gnuplot
export CONTEND_LIBCUDA=/nowhere CONTEND_LIBNVML=/nowhere

one=("$CONTEND_BINARY" run --force --workers 2 --placement sized --rounds 1 --time 0.1 --no-baselines --no-canary
    --no-plots --host h)

try() { # try CODE PATTERN OUT [OPTION...] -- COMMAND...: one placement, one round
    local code=$1 pattern=$2 out=$3
    shift 3
    expect "$code" "$pattern" "${one[@]}" --force --out "$scratch/$out" "$@"
}
said() { # said OUT PATTERN: in what the workers' commands printed
    grep -qE -- "$2" "$scratch/$1"/command-output/*.txt || fail "no /$2/ in the output of $1"
}
gone() { # gone PATTERN
    none_of_this_test "$1" || fail "left running: $(pgrep -af -- "$1")"
}

# A warm-up is a whole run of the command, which may take longer than the progress limit. A warm-up that never ends is
# killed.
stuck() {
    try 3 'no progress within .* s while (setup|warming)' stuck --warmup 0.1 --setup-limit 3 --limit 1 -- sleep 7537
    gone 'sleep 7537'
}
in_background try 0 'runs/s' warm --warmup 0.1 --setup-limit 10 -- sh -c 'mkdir "$0" || exit 0; sleep 11' "$scratch/warmed"
in_background stuck

# Placeholders are replaced, the environment is set, and argv is otherwise unchanged.
try 0 'runs/s' words -- sh -c 'echo "[$*] $CONTEND_WORKER/$CONTEND_WORKERS $CONTEND_CPUS
    omp=$OMP_NUM_THREADS"' sh '{worker}of{workers}' 'a  b' '{"x": {y1}}' '{{node}}' '$HOME' '{cpus}' '{node}'
said words '^\[0of2 a  b \{"x": \{y1\}\} \{node\} \$HOME [0-9,-]+ [0-9,-]+\] 0/2 [0-9,-]+$'
said words 'omp=[0-9]+'
# A link in place of the folder for outputs is not followed.
mkdir "$scratch/linked" "$scratch/elsewhere"
ln -s "$scratch/elsewhere" "$scratch/linked/command-output"
try 2 "linked/command-output' is no folder, or a link" linked -- true
[ -z "$(ls -A "$scratch/elsewhere")" ] || fail "written through a link: $(ls -A "$scratch/elsewhere")"
# For a command that fails, the error is reported, without a message that plots are missing.
try 3 'the command exited with status 3' fails -- sh -c 'exit 3'
! "${one[@]}" --out "$scratch/fails" -- sh -c 'exit 3' 2>&1 | grep 'no plot' || fail "plots are missed that nobody wants"
! "$CONTEND_BINARY" run -n 1 -P none --rounds 1 --time 0.1 --no-canary --out "$scratch/fails" -- sh -c 'exit 3' 2>&1 |
    grep 'no plot' || fail "plots are missed where nothing was measured"

# The command inherits none of contend's descriptors, but the memory policy that contend was started with.
# shellcheck disable=SC2016 # the inner shell's
try 0 'runs/s' descriptors -- sh -c 'ls -l /proc/$$/fd'
! grep -E 'memfd|eventfd' "$scratch"/descriptors/command-output/*.txt || fail "descriptors of ours in the command"
# SIGPIPE ends the command but not its worker: the command has the default action. So have commands of a variant.
# shellcheck disable=SC2016 # the inner shell's
try 0 'runs/s' pipes -- sh -c 'sed -n "s/SigIgn/command/p" /proc/$$/status; sed -n "s/SigIgn/worker/p" /proc/$PPID/status'
said pipes '^command:.*[02468ace][0-9a-f]{3}$'
said pipes '^worker:.*[13579bdf][0-9a-f]{3}$'
"$CONTEND_BINARY" ab --workers 1 --placement none --rounds 1 --time 0.01 --host h --out "$scratch/pipes_of" -V plain \
    -V "v=before:grep SigIgn /proc/self/status > $scratch/before" -V v=after:true -- true > "$scratch/said" 2>&1 < /dev/null
grep -qE '[02468ace][0-9a-f]{3}$' "$scratch/before" || fail "before: ignores SIGPIPE: $(cat "$scratch/before" "$scratch/said")"
if numactl --preferred=0 true 2>/dev/null; then
    for policy in --membind=0 --preferred=0 --localalloc; do
        expect 0 'runs/s' numactl "$policy" "${one[@]}" --out "$scratch/policy" -- true
    done
fi
try 2 'unknown placeholder \{wroker\}; did you mean' bad -- echo '{wroker}'
try 3 'the command asks for \{gpu\}, and worker 0 has none' gpu -- echo '{gpu}'
[ ! -e "$scratch/bad" ] || fail "a wrong placeholder made a directory"

# Several numbers of workers make curves; a curve ends at the last possible number. The smallest number has to be
# possible.
more=$(($(nproc) + 1))
expect 0 "highest throughput: [0-9]+ workers? under " "$CONTEND_BINARY" run --workers 1..2,$more \
    --placement none,partition --rounds 1 --time 0.05 --no-canary --host h --out "$scratch/curves" -- sleep 0.05
grep -q "^ *$more .* -$" "$scratch/curves/summary.txt" || fail "no line of $more workers: $(cat "$scratch/curves/summary.txt")"
grep -q "^# contend line_chart" "$scratch/curves/plots/workers.dat" || fail "no curve of work"
grep -q "^# contend line_chart" "$scratch/curves/plots/workers_efficiency.dat" || fail "no curve of efficiency"
grep -q "partition,$more,.*,skipped," "$scratch/curves/rows.csv" || fail "no skipped row: $(cat "$scratch/curves/rows.csv")"
expect 0 '^\| 1 worker \| runs/s \|' "$CONTEND_BINARY" report --markdown "$scratch/curves"
expect 2 'cannot give each of' "$CONTEND_BINARY" run --workers $more,$((more + 1)) --placement partition -- true
for counts in 1.. ..3 3-1 1-2-3 2..x 1..17; do
    expect 2 'such as 1,2,4 or 1..4' "$CONTEND_BINARY" run --workers "$counts" --placement none -- true
done

# OMP_NUM_THREADS of the user is kept if the placement does not set it.
expect 0 'runs/s' env OMP_NUM_THREADS=7 "$CONTEND_BINARY" run --workers 2 --placement none --rounds 1 \
    --time 0.05 --no-baselines --no-canary --no-plots --out "$scratch/omp" -- sh -c 'echo omp=$OMP_NUM_THREADS'
said omp '^omp=7$'

# Invalid command lines.
try 2 "no program 'contend-no-such' in PATH" none -- contend-no-such
try 2 "cannot execute '/etc/passwd'" none -- /etc/passwd
try 2 "no command after '--': options such as --metric" none --metric '([0-9]+)'
expect 2 "unknown option '--sample'" "$CONTEND_BINARY" bench prep --sample
try 2 "no command: type it after '--'" none --
try 2 "a scenario, or a command after '--'" none true -- true
try 2 "'./train' is a command, not a scenario: it goes after '--', as in 'contend run -- ./train'" none ./train
try 2 'no regular expression' none --metric '([0-9' -- true
try 2 "'.d' in 'rate \(.d\+\)' is not in POSIX's extended expressions: write \[0-9\]" none --metric 'rate (\d+)' -- true
try 2 'has 0 groups' none --metric 'rate' -- true
try 2 'duration says how long' none --duration 1 -- true
try 2 'one of them' none --steps-by-lines --metric '([0-9]+)' -- true
try 2 'has no parameters' none -p a=b -- true
[ ! -e "$scratch/none" ] || fail "a wrong command line made a directory"

# Commands that fail, each with its reason.
try 3 'exited with status 3; its last line: no data' status -- sh -c 'echo no data >&2; exit 3'
answer=$("${one[@]}" --out "$scratch/status" -- false 2>&1 < /dev/null)
[[ $answer == *"nothing was measured"* && $answer != *"no plot"* ]] || fail "says more than that: $answer"
try 3 'killed by signal 11 ' signal -- sh -c 'kill -SEGV $$'
try 3 'nothing that --metric matches; its last line: hello' nothing --metric 'rate ([0-9.]+)' \
    -- echo hello
# The first run without a match ends it: others would have none either. The canary may come before it.
for seed in 1 2 3 4 5 6 7 8; do
    expect 3 'nothing was measured: worker [01]: the command printed nothing that --metric' "$CONTEND_BINARY" run -n 2 \
        --rounds 2 --time 0.02 --no-plots --host h --force --out "$scratch/once" --seed $seed \
        --metric 'rate ([0-9.]+)' -- sh -c 'echo x >> "$0"' "$scratch/ran"
    [ "$(wc -l < "$scratch/ran")" -le 2 ] || fail "ran $(wc -l < "$scratch/ran") times without a match, seed $seed"
    rm "$scratch/ran"
done
try 3 "metric is 'nan', no number" nan --metric 'rate ([0-9.a-z]+)' -- echo rate nan
try 3 "metric is '-1', no number" minus --metric 'rate (.*)' -- echo rate -1
try 3 'left no metric in ' file --metric-file "$scratch/m{worker}" -- true
try 3 'ended without a line that counts' lines --steps-by-lines --line '^step' -- echo hello
try 3 'exited with status [0-9]+; its last line: .*(tty|terminal|device)' tty -- sh -c ': < /dev/tty'
grep -q ',failed,' "$scratch/status/rows.csv" || fail "no failed row: $(cat "$scratch/status/rows.csv")"

# A command that goes into the background is killed, even in a session of its own.
try 3 'went into the background: it ended, and left 1 process' daemon -- \
    sh -c 'setsid sleep 7531 > /dev/null 2>&1 &'
gone 'sleep 7531'

# The metric is the last number of the output, or of a file; with --less-is-better its inverse counts.
try 0 'metric' metric --metric 'rate ([0-9.]+)' -- sh -c 'echo rate 1; echo rate 25'
[ "$(cell "$scratch/metric/rows.csv" sized 2 throughput median)" = 50 ] || fail "no rate of 2 x 25"
try 0 'metric' cost --metric 'took ([0-9.]+)' --less-is-better -- echo took 0.25
[ "$(cell "$scratch/cost/rows.csv" sized 2 throughput median)" = 8 ] || fail "no rate of 2 / 0.25"
try 0 'metric' file --metric-file "$scratch/m{worker}" -- sh -c 'echo 4 > "$0"' "$scratch/m{worker}"
[ "$(cell "$scratch/file/rows.csv" sized 2 throughput median)" = 8 ] || fail "no rate of 2 x 4"

# The user may name any unit, and it is escaped everywhere.
try 0 'images/s' unit --metric 'rate ([0-9.]+)' --unit images/s -- echo rate 25
try 2 'a unit is' unit2 --metric '(1)' --unit "$(printf 'a\033[2Jb')" -- echo 1
try 2 'unit needs' unit2 --unit s -- true
"${one[@]}" --out "$scratch/odd" --metric '([0-9]+)' --unit '<b>",;$(x)`%s' -- echo 5 > "$scratch/said" 2>&1 < /dev/null ||
    fail "an odd unit: $(cat "$scratch/said")"
grep -qF '"<b>"",;$(x)`%s"' "$scratch/odd/rows.csv" || fail "the unit is not quoted in rows.csv"
"$CONTEND_BINARY" report --html "$scratch/odd.html" "$scratch/odd" > "$scratch/again" 2>&1 < /dev/null ||
    fail "report: $(cat "$scratch/again")"
grep -qF '&lt;b&gt;' "$scratch/odd.html" || fail "no unit in the page"
grep -qF '<b>"' "$scratch/odd.html" && fail "the unit is markup in the page"

# Commands that never end, with a number or with lines as steps. They get SIGTERM, then SIGKILL.
try 0 'metric' endless --duration 0.3 --metric 'n=([0-9]+)' -- \
    sh -c 'echo n=5; while :; do sleep 7532; done'
gone 'sleep 7532'
try 0 'did not end at SIGTERM and w' deaf --duration 0.3 --grace 0.2 --metric 'n=([0-9]+)' -- \
    sh -c 'trap "" TERM; echo n=5; while :; do sleep 7533; done'
gone 'sleep 7533'
try 0 'lines/s' lines --steps-by-lines --line '^step' --duration 0.3 --warmup 0.05 -- \
    sh -c 'while :; do echo step; echo other; sleep 0.01; done'
# The report calls a whole run of the command a run, not a step.
grep -q ' step  *p95 ' "$scratch/lines/summary.txt" || fail "a line is no step: $(cat "$scratch/lines/summary.txt")"
grep -q ' run  *p95 ' "$scratch/words/summary.txt" || fail "a whole run is reported as a step: $(cat "$scratch/words/summary.txt")"
! grep -q 'of a step\|^  step' "$scratch/words/summary.txt" || fail "a whole run is reported as a step: $(cat "$scratch/words/summary.txt")"
expect 0 '\| run \| p95' "$CONTEND_BINARY" report --markdown "$scratch/words"
try 0 'metric.*' cut --duration 0.2 --limit 0.5 --metric 'n=([0-9]+)' -- \
    sh -c 'echo n=5; exec sleep 7534'
gone 'sleep 7534'

# A command that exceeds the limit gives a lower bound, and is killed.
try 0 'more than|>' long --limit 0.5 -- sh -c 'sleep 7535 & wait'
gone 'sleep 7535'

# The same holds without pidfds: an old kernel, or a sandbox that refuses them.
for refused in 'pidfd_open ENOSYS' 'pidfd_send_signal ENOSYS' 'pidfd_open EPERM'; do
    # shellcheck disable=SC2086 # two words
    "$CONTEND_REFUSE" $refused true || { [ $? != 77 ] || break; }
    # shellcheck disable=SC2086
    expect 0 'more than|>' "$CONTEND_REFUSE" $refused "${one[@]}" --out "$scratch/refused" --limit 0.5 -- \
        sh -c 'sleep 7538 & wait'
    gone 'sleep 7538'
done

# Too much output is cut, and the report says so.
try 0 "of the command's output were dropped" flood --duration 0.3 --metric '(1)' -- \
    sh -c 'echo 1; exec yes'
find "$scratch/flood/command-output" -size +1100k | grep -q . && fail "a flood was kept whole"
gone '^yes'

# A command that sets its own CPUs is named.
if [ "$(nproc)" -gt 1 ] && command -v taskset > /dev/null; then
    all=$(taskset -cp $$ | sed 's/.*: //')
    "$CONTEND_BINARY" run --workers 2 --placement partition --rounds 1 --time 0.1 --no-baselines --no-canary \
        --no-plots --out "$scratch/mask" -- sh -c 'taskset -cp "$0" $$ > /dev/null; sleep 1' "$all" \
        > "$scratch/said" 2> "$scratch/log" < /dev/null || fail "exit $?: $(cat "$scratch/log")"
    tr -s ' \n' ' ' < "$scratch/said" > "$scratch/line"
    grep -q "under partition.*sets its own CPUs: the placement does not apply" "$scratch/line" ||
        fail "no mask named: $(cat "$scratch/said")"
    grep -q '"id": "mask_changed"' "$scratch/mask/run.json" || fail "no mask_changed in run.json"

    # A command that binds itself only for moments, as libraries do to probe CPUs, is not named.
    # shellcheck disable=SC2016 # the inner shell's
    "$CONTEND_BINARY" run --workers 2 --placement none --rounds 1 --time 0.1 --no-baselines --no-canary \
        --no-plots --out "$scratch/moments" -- sh -c 'for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
            taskset -cp 0 $$; taskset -cp "$0" $$; sleep 0.03; done > /dev/null' "$all" \
        > "$scratch/said" 2> "$scratch/log" < /dev/null || fail "exit $?: $(cat "$scratch/log")"
    ! grep -q "its CPUs by itself" "$scratch/said" || fail "moments are named: $(cat "$scratch/said")"
fi

# An interrupted run leaves no process, and keeps the earlier result.
"${one[@]}" --out "$scratch/words" -- sh -c 'sleep 7536 & setsid sleep 7536 & wait' > "$scratch/log" 2>&1 < /dev/null &
pid=$!
sleepers() {
    [ "$(pids_of_this_test '^sleep 7536' | wc -l)" = 4 ]
}
wait_for 30 sleepers || fail "no sleepers of two workers"
kill -INT "$pid"
wait "$pid"
[ $? = 130 ] || fail "no exit code 130: $(cat "$scratch/log")"
gone 'sleep 7536'
said words '^\[0of2 '
[ ! -e "$scratch/words/.contend-run" ] || fail "a work directory is left"

# report prints the same summary as the run, with the command that applies it.
"$CONTEND_BINARY" report "$scratch/metric" > "$scratch/again" 2> "$scratch/log" < /dev/null ||
    fail "report: $(cat "$scratch/log")"
grep -q '1 round' "$scratch/again" || fail "nothing read back: $(cat "$scratch/again")"

# Commands as variants of an ab, and one command under several variants.
ab=("$CONTEND_BINARY" ab --workers 2 --placement sized --time 0.05 --max-time 60 --host h)
expect 0 'B .*SLOWER|SLOWER' "${ab[@]}" --out "$scratch/ab" -- 'sleep 0.02' "sh -c 'sleep \"0.2\"'"
grep -q 'sleep 0.02' "$scratch/ab/run.json" || fail "no command in run.json"
expect 0 'SLOWER' "${ab[@]}" --out "$scratch/ab2" -V plain -V slow=env:T=0.2 -- sh -c 'sleep ${T:-0.02}'
expect 2 'ab compares 2 to 8 commands' "${ab[@]}" -- 'sleep 1'
expect 2 'a quote is not closed' "${ab[@]}" -- 'sleep 1' "sh -c 'sleep 1"
expect 2 'a scenario, or commands' "${ab[@]}" pipeline -- true false
expect 2 "no program 'contend-no-such'" "${ab[@]}" -- true contend-no-such
expect 2 "no program 'sleep {worker}': .* leave them out" "${ab[@]}" -V a -V b -- 'sleep {worker}'
expect 2 'build: compares builds of contend, not commands' "${ab[@]}" -V a -V b=build:/bin/true -- true

# The sample worker, or the reason why it cannot run.
if command -v python3 > /dev/null; then
    expect 0 'runs/s' "$CONTEND_BINARY" run --sample --workers 2 --placement sized --rounds 1 --time 0.1 \
        --no-baselines --no-canary --no-plots --out "$scratch/sample" -- --batches 2 --items 4
    said sample 'rate: [0-9.]+ items/s'
fi
expect 3 'skipped: the sample worker needs python3' env PATH=/nonexistent "$CONTEND_BINARY" run --sample
finish
