#!/usr/bin/env bash
# If the kernel refuses a new process (ulimit -u, pids.max of a container), the worker's row has that reason, and no
# other process is touched. Runs in a PID namespace of its own: a signal to process "-1" would reach every process.
. tests/lib/pid_namespace.sh || exit
. tests/lib/cli.sh
export ASAN_OPTIONS=detect_leaks=0 # who looks for leaks starts a process, too

# The limit counts a user's processes over the whole machine, so the test takes a user that has none.
uid=$((1900000000 + RANDOM))
as_user() {
    setpriv --reuid "$uid" --clear-groups -- "$@"
}
as_user true 2>/dev/null || skip "no other user can be taken on"
mkdir "$scratch/bin" "$scratch/out"
cp "$CONTEND_BINARY" "$scratch/bin/contend" && cp "$CONTEND_FAKE" "$scratch/bin/contend-fake"
chmod 755 "$scratch" "$scratch/bin" && chmod 777 "$scratch/out"

as_user sleep 1000 &
bystander=$!
is_left_alone() { # is_left_alone WHAT
    kill -0 "$bystander" 2>/dev/null || { fail "$1: another process of the user was killed" && finish; }
}

# refused PROCESSES CODE PATTERN COMMAND...: runs it with that limit; beside the bystander, the program is the second
# process.
refused() {
    local processes=$1 code=$2 pattern=$3
    shift 3
    # shellcheck disable=SC2016 # for the shell inside
    expect "$code" "$pattern" setpriv --reuid "$uid" --clear-groups -- \
        bash -c 'cd / && ulimit -u "$0" && exec "$@"' "$processes" "$@"
    is_left_alone "$*"
}

refused 2 3 'nothing was measured: worker 0: cannot be started, too many processes' \
    "$scratch/bin/contend" run pipeline --device sim --rounds 2 --time 0.05 -p rows=64 -n 2 --no-plots \
    -P none --out "$scratch/out/none"
[ "$(grep -c ',failed,"worker 0: cannot be started' "$scratch/out/none/rows.csv")" -ge 1 ] ||
    fail "no row with the reason: $(cat "$scratch/out/none/rows.csv")"

# Only one of two workers can start: it is ended, the other's row has the reason, and the run continues.
refused 3 3 'round 2 of 2' "$scratch/bin/contend-fake" bench fake -n 2 --rounds 2 --time 0.1 \
    --no-plots --out "$scratch/out/one"
grep -q ',failed,"worker 1: cannot be started' "$scratch/out/one/rows.csv" ||
    fail "no row with the reason: $(cat "$scratch/out/one/rows.csv")"

# Commands that need a process only to try or to draw something.
refused 2 2 'cannot start a process that tries the topology' "$scratch/bin/contend" info --xml \
    'package:2 core:2 pu:1'
kill "$bystander"
finish
