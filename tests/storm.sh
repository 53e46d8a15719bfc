#!/usr/bin/env bash
# Kills or signals short runs at random moments, in directories that may hold an earlier result. Afterwards no process
# is left, no round that was reported as done is lost, and every file is complete.
#
#   tests/storm.sh [--seed N] [--count N] [--mpi] [--keep DIR]
#
# --seed repeats the choices of an earlier storm; moments repeat only as precisely as the machine allows. --mpi starts
# jobs of two ranks, --keep saves the directories and logs of failures in DIR. CONTEND_FAKE and CONTEND_BINARY are the
# program, as for all tests. Everything runs in a PID namespace of its own: every process left there belongs to a run,
# and no signal can reach another process.
set -u

usage() {
    sed -n 's/^# \{0,1\}//; 2,/^set/p' "$0" >&2
    exit 2
}

seed=$((($$ * 7919 + $(date +%s)) % 32768)) count="" mpi=0 keep="" inside=0
while [ $# -gt 0 ]; do
    case $1 in
    --seed) seed=${2:?} && shift ;;
    --count) count=${2:?} && shift ;;
    --keep) keep=${2:?} && shift ;;
    --mpi) mpi=1 ;;
    --inside) inside=1 ;;
    *) usage ;;
    esac
    shift
done
[ -n "$count" ] || count=$((mpi ? 100 : 200))

if [ "$inside" = 0 ]; then
    . tests/lib/cli.sh
    . tests/lib/mpi.sh
    needs jq
    unshare -pf --mount-proc true 2>/dev/null || skip "no PID namespaces here (needs root)"
    [ "$mpi" = 0 ] || needs_mpi
    set -- --inside --seed "$seed" --count "$count"
    [ -z "$keep" ] || set -- "$@" --keep "$keep"
    [ "$mpi" = 0 ] || set -- "$@" --mpi
    export TMPDIR=$scratch # it goes with ours, see below
    unshare -pf --mount-proc bash "$0" "$@" </dev/null
    exit
fi

. tests/lib/cli.sh
. tests/lib/mpi.sh
trap - EXIT # a shell that is about to become a run would obey it when it is struck
exec 2>"$scratch/notices" # the shell tells of every job that was killed
set -m # each run has a process group, as at a terminal, so that SIGTSTP stops it
RANDOM=$seed
rounds=6
mkdir "$scratch/tmp"
export TMPDIR=$scratch/tmp
declare -A tally=() codes=()
between=0

# --- what is started ---------------------------------------------------------------------------

start() { # start OUT ROUNDS [option...]: $run, which leads a process group
    local out=$1 rounds=$2
    shift 2
    : >"$log" # now: the shell of the background may be struck before it does
    if [ "$mpi" = 1 ]; then
        mpirun -n 2 --oversubscribe --allow-run-as-root --bind-to none "$CONTEND_FAKE" bench faketeam \
            --rounds "$rounds" --time 0.05 --warmup 0.01 --out "$out" "$@" >"$scratch/stdout" 2>>"$log" &
    else
        "$CONTEND_FAKE" run fake --placement none --workers 2 --rounds "$rounds" --time 0.05 \
            --warmup 0.01 --out "$out" "$@" >"$scratch/stdout" 2>>"$log" &
    fi
    run=$!
}

rounds_said() {
    grep -c 'contend: round [0-9]* of [0-9]* done' "$log"
}

# Prints pids of the runs' processes whose command line matches. Starts no process per pid.
processes() { # processes PATTERN
    local dir words state
    for dir in /proc/[0-9]*; do
        case ${dir#/proc/} in 1 | "$BASHPID") continue ;; esac
        { read -r words <"$dir/stat"; } 2>/dev/null || continue
        words=${words##*) } && state=${words%% *}
        [[ $state != [ZX] ]] || continue
        words=""
        { words=$(tr '\0' ' ' <"$dir/cmdline"); } 2>/dev/null
        [[ $words =~ $1 ]] && echo "${dir#/proc/}"
    done
}

# strike_one_of PATTERN: waits until a process matches, then kills a random one of them.
strike_one_of() {
    local pids=()
    while is_alive "$run" && [ ${#pids[@]} = 0 ]; do
        mapfile -t pids < <(processes "$1")
    done
    [ ${#pids[@]} = 0 ] || kill -KILL "${pids[RANDOM % ${#pids[@]}]}"
}

pause_ms() {
    [ "$1" -le 0 ] || sleep "$(printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)))"
}

is_alive() { # not a zombie
    local words
    { read -r words <"/proc/$1/stat"; } 2>/dev/null || return 1
    words=${words##*) }
    [ "${words%% *}" != Z ]
}

# --- when to strike, and how -------------------------------------------------------------------

# Either any moment, or just after a round is reported as done, when files are written.
wait_for_moment() {
    local after=$((RANDOM % rounds)) said=0
    if ((RANDOM % 2)); then
        pause_ms $((RANDOM % length_ms))
        return
    fi
    while is_alive "$run" && said=$(rounds_said) && [ "$said" -le "$after" ]; do
        sleep 0.005
    done
    pause_ms $((RANDOM % 3 ? RANDOM % 12 : RANDOM % 60))
}

strike() { # strike KIND; what it strikes may have ended
    case $1 in
    kill) kill -KILL "$run" ;;
    term) kill -TERM "$run" ;;
    int) kill -INT "$run" ;;
    hup) kill -HUP "$run" ;;
    term-twice)
        kill -TERM "$run"
        pause_ms $((RANDOM % 40))
        kill -TERM "$run"
        ;;
    int-then-kill)
        kill -INT "$run"
        pause_ms $((RANDOM % 40))
        kill -KILL "$run"
        ;;
    stop-and-go)
        kill -TSTP "$run"
        pause_ms $((RANDOM % 500))
        kill -CONT "$run"
        ;;
    int-group) kill -INT -- "-$run" ;;
    term-group) kill -TERM -- "-$run" ;;
    kill-group) kill -KILL -- "-$run" ;;
    kill-worker) strike_one_of "^$CONTEND_FAKE __worker" ;;
    kill-rank) strike_one_of "^$CONTEND_FAKE bench" ;;
    nothing) ;;
    esac 2>/dev/null
}

kinds=(kill kill term int hup term-twice int-then-kill stop-and-go int-group term-group kill-group
    kill-worker nothing)
[ "$mpi" = 0 ] || kinds=(kill term int hup term-twice int-then-kill int-group term-group kill-group
    kill-worker kill-rank kill-rank nothing)

# --- what must hold ----------------------------------------------------------------------------

wrong() { # wrong WHAT WHY...
    local what=$1
    shift
    tally[$what]=$((${tally[$what]:-0} + 1))
    bad+="    $what: $*"$'\n'
}

is_killed() { # mpirun, too, kills: a second after it was told to end, or told twice
    [ "$mpi" = 1 ] && [[ $kind != nothing && $kind != kill-worker ]] && return
    [[ $kind == kill || $kind == kill-group || $kind == int-then-kill || $kind == kill-rank ]]
}

# The allowed exit codes. A signal that comes before the program handles it ends the program directly.
check_code() {
    local right
    [ "$mpi" = 0 ] || return 0 # that of mpirun, which says what it wants
    case $kind in
    kill | kill-group) right="137 0" ;;
    int-then-kill) right="130 137 0" ;;
    stop-and-go | nothing) right="0" ;;
    kill-worker) right="3 0" ;;
    hup) right="130 0 129" ;;
    *) right="130 0 143" ;;
    esac
    [[ " $right " == *" $code "* ]] || wrong exit-code "$code after $kind"
    if [ "$code" -gt 130 ] && [ "$code" != 137 ] && [ "$said" -gt 0 ]; then
        wrong exit-code "$code after $kind, in the middle of the run"
    fi
}

lines_of_csv() { # lines_of_csv FILE COLUMNS: every line has as many fields, and an end
    [ -z "$(tail -c 1 "$1")" ] || echo "the last line of ${1##*/} is cut off"
    awk -F, -v columns="$2" '{ whole = $0; gsub(/"([^"]|"")*"/, "q"); n = split($0, field, ",") }
        n != columns { print FILENAME " line " NR ": " whole; exit }' "$1"
}

# The files of a result must agree with each other, to the last line.
check_result() { # check_result DIR
    local dir=$1 bytes done_json done_rows done_samples why
    jq -e . "$dir/run.json" >/dev/null 2>"$scratch/why" ||
        { wrong torn "run.json: $(cat "$scratch/why")" && return; }
    [ -e "$dir/rounds.csv" ] && [ -e "$dir/samples.csv" ] || { wrong torn "a file is missing" && return; }
    if [ ! -e "$dir/rows.csv" ]; then # it was killed
        "$CONTEND_BINARY" report --json "$dir" >"$scratch/why" 2>&1 </dev/null || grep -q 'no round of it' "$scratch/why" ||
            wrong torn "unreadable: $(tail -n 1 "$scratch/why")"
        check_status "$(jq -r .status "$dir/run.json")" "$(jq '.rounds_done // 0' "$dir/run.json")"
        return
    fi
    bytes=$(jq '.samples_bytes // empty' "$dir/run.json")
    head -c "${bytes:-$(stat -c %s "$dir/samples.csv")}" "$dir/samples.csv" >"$scratch/samples.csv"
    [ -z "$bytes" ] || [ "$(stat -c %s "$scratch/samples.csv")" = "$bytes" ] ||
        wrong torn "samples.csv has less than samples_bytes $bytes"
    why=$(
        lines_of_csv "$dir/rows.csv" 22
        lines_of_csv "$dir/rounds.csv" 15
        lines_of_csv "$scratch/samples.csv" 17
    )
    [ -z "$why" ] || wrong torn "$why"
    done_json=$(jq '.rounds_done // 0' "$dir/run.json")
    done_rows=$(awk '{ gsub(/"([^"]|"")*"/, "q"); split($0, f, ",") } NR > 1 && f[12] > n { n = f[12] }
        END { print n + 0 }' "$dir/rows.csv")
    done_samples=$(tail -n +2 "$scratch/samples.csv" | cut -d, -f2 | sort -un | wc -l)
    [[ " $done_json $(spoilt "$done_json") " == *" $done_rows "* ]] ||
        wrong disagree "run.json has $done_json rounds, rows.csv $done_rows"
    [[ " $done_json $(spoilt "$done_json") " == *" $done_samples "* ]] ||
        wrong disagree "run.json has $done_json rounds, samples.csv $done_samples"
    why=$(tail -n +2 "$dir/rows.csv" | cut -d, -f1 | sort -u)
    [ -z "$why" ] || [ "$why" = "$(jq -r .run_id "$dir/run.json")" ] ||
        wrong disagree "run.json and rows.csv are of different runs"
    check_status "$(jq -r .status "$dir/run.json")" "$done_json"
}

# A job has one arm. If one of its processes was killed (also by mpirun, after a signal told mpirun to end), the round
# has no value of that arm.
is_spoilt() {
    [ "$mpi" = 1 ] && [ "$kind" != nothing ]
}
spoilt() { # spoilt ROUNDS: how many of them then have one
    ! is_spoilt || echo $(($1 - 1))
}

check_status() { # check_status STATUS ROUNDS
    case $1 in
    failed) is_spoilt || [ "$2" = "$planned" ] || wrong disagree "$1 with $2 of $planned rounds" ;;
    complete) [ "$2" = "$planned" ] || wrong disagree "$1 with $2 of $planned rounds" ;;
    interrupted) [ "$code" != 0 ] || wrong disagree "exit 0, and run.json says interrupted" ;;
    *) wrong disagree "status $1" ;;
    esac
}

# A kill may come while files are moved into place: the next program that opens the directory completes the move.
settle() { # settle OUT
    [ -e "$1/.contend-run/run.json" ] || return 0
    between=$((between + 1))
    "$CONTEND_BINARY" report "$1" >/dev/null 2>&1
    [ ! -e "$1/.contend-run" ] || wrong torn "contend report did not end what was begun"
}

# The directory holds either the complete earlier result with its figures, or the new result with every reported round.
check_directory() {
    local out=$scratch/out new
    settle "$out"
    if [ ! -e "$out/run.json" ]; then
        [ ! -e "$before/run.json" ] || wrong lost-result "the earlier one is gone, and no other there"
        [ "$said" = 0 ] || wrong lost-round "$said were done, and there is no run.json"
        [ -z "$(ls "$out"/*.csv 2>/dev/null)" ] || wrong torn "files without run.json"
        return
    fi
    if cmp -s "$out/run.json" "$before/run.json"; then
        new=$(diff -rq -x .contend-run "$before" "$out" 2>&1) && new=""
        [ -z "$new" ] || wrong torn "not all is of the earlier result: $new"
        [ "$said" = 0 ] || wrong lost-round "$said were done, and the earlier result is there"
        [ "$code" != 0 ] || wrong lost-result "exit 0, and the earlier result is there"
        return
    fi
    planned=$rounds
    check_result "$out"
    new=$(awk -F, 'NR > 1 && $12 >= n { n = $12 + 1 } END { print n + 0 }' "$out/rounds.csv" 2>/dev/null)
    [ "${new:-0}" -ge "$said" ] || wrong lost-round "$said were done, ${new:-none} in rounds.csv"
    is_killed || new=$(find "$out" -name '*.tmp' -o -name '.contend-run' -o -name '*.new')
    is_killed || [ -z "$new" ] || wrong litter "$new"
}

nobody_is_left() {
    left=$(processes .)
    [ -z "$left" ]
}

check_orphans() {
    local pid
    wait_for 20 nobody_is_left && return
    for pid in $left; do
        wrong orphan "$pid $(tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null)"
        kill -KILL "$pid" 2>/dev/null
    done
    wait_for 20 nobody_is_left
}

# --- one after the other -----------------------------------------------------------------------

wait_for_end() {
    local patience=$((mpi ? 240 : 90)) # ranks wait 70 s for one that is lost
    local limit=$((SECONDS + patience))
    while is_alive "$run"; do
        if [ "$SECONDS" -ge "$limit" ]; then
            wrong hung "still there $patience s after $kind"
            kill -KILL -- "-$run" "$run" 2>/dev/null
            break
        fi
        sleep 0.01
    done
    wait "$run" 2>/dev/null
    code=$?
}

# Prepares the directory for the next run: none, an earlier result, or what the last run left.
prepare() {
    before=$scratch/before
    rm -rf "$before"
    case $((RANDOM % 3)) in
    0) rm -rf "$scratch/out" ;;
    1) rm -rf "$scratch/out" && cp -r "$scratch/earlier" "$scratch/out" ;;
    2) [ "$last_was_good" = 1 ] || rm -rf "$scratch/out" ;;
    esac
    mkdir "$before"
    [ ! -e "$scratch/out" ] || cp -rT "$scratch/out" "$before"
}

report_of_one() { # report_of_one NUMBER
    last_was_good=1
    [ -n "$bad" ] || return
    last_was_good=0
    printf 'trial %d, %s, exit %d, %d rounds were said to be done:\n%s' "$1" "$kind" "$code" "$said" "$bad"
    [ -n "$keep" ] || return
    mkdir -p "$keep/$1"
    cp -r "$scratch/out" "$before" "$log" "$keep/$1" 2>/dev/null
}

one() { # one NUMBER
    local options=() plots=$((RANDOM % 3))
    kind=${kinds[RANDOM % ${#kinds[@]}]}
    bad=""
    [ "$plots" = 0 ] || options+=(--no-plots)
    prepare
    start "$scratch/out" "$rounds" --seed "$((RANDOM + 1))" "${options[@]}"
    wait_for_moment
    strike "$kind"
    wait_for_end
    said=$(rounds_said)
    check_code
    check_orphans
    check_directory
    if [ "$mpi" = 0 ] && [ -n "$(ls -A "$TMPDIR")" ]; then
        wrong litter "in TMPDIR: $(ls -A "$TMPDIR")"
    fi
    rm -rf "${TMPDIR:?}"/*
    codes["$kind=$code"]=$((${codes["$kind=$code"]:-0} + 1))
    report_of_one "$1"
}

now_ms() {
    echo $((${EPOCHREALTIME/[.,]/} / 1000))
}

measure_one() { # how long a run takes that nothing befalls
    local begin
    begin=$(now_ms)
    start "$scratch/out" "$rounds"
    wait "$run"
    length_ms=$(($(now_ms) - begin + 200))
}

summarise() {
    local ended what violations=0 summary="$count runs"
    for ended in "${!codes[@]}"; do echo "$ended x ${codes[$ended]}"; done | sort | paste -sd ',' | sed 's/,/, /g'
    for what in orphan lost-round lost-result torn disagree exit-code hung litter; do
        summary+=", $what ${tally[$what]:-0}"
        violations=$((violations + ${tally[$what]:-0}))
    done
    echo "$summary; killed while files took their places: $between (seed $seed)"
    grep -vE 'line [0-9]+: +[0-9]+ [A-Z][a-z]+|^\[[0-9]+\]' "$scratch/notices"
    [ "$violations" = 0 ]
}

log=$scratch/log
echo "storm of $count, seed $seed$([ "$mpi" = 0 ] || echo ', two ranks'): $CONTEND_FAKE"
start "$scratch/earlier" 2 --seed 1
wait "$run" || { cat "$log" && exit 1; } # its run.json has another time than all that follow
measure_one
last_was_good=0
for ((i = 1; i <= count; i++)); do
    one "$i"
done
summarise
exit
