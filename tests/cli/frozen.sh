#!/usr/bin/env bash
# The kernel may hold a worker that cannot be killed, for example on a disk that does not answer. The run still ends,
# says so, and keeps earlier measurements. A freezer of cgroup v1, which blocks SIGKILL, holds the worker, in a PID
# namespace of its own.
. tests/lib/pid_namespace.sh || exit
. tests/lib/cli.sh
freezer=$(awk '$3 == "cgroup" && $4 ~ /(^|,)freezer(,|$)/ { print $2; exit }' /proc/self/mounts)
groups=$freezer/contend-test-$$-$RANDOM
[ -n "$freezer" ] && mkdir "$groups-measured" "$groups-asked" 2>/dev/null || skip "no freezer of cgroup v1 to be had"
clear_away() {
    local group
    for group in "$groups-measured" "$groups-asked"; do
        echo THAWED > "$group/freezer.state"
        wait_for 30 rmdir "$group" 2>/dev/null
    done
    rm -rf "$scratch"
}
trap clear_away EXIT

# For the run $run, whose results are in $out and whose worker is frozen in $group:
group_is() { # group_is STATE
    [ "$(cat "$group/freezer.state")" = "$1" ]
}
one_round() { # on disk
    [ "$(wc -l 2>/dev/null < "$out/rounds.csv" || echo 0)" -gt 1 ]
}
caught() { # a worker that has not ended before it was held
    pgrep -P "$run" -f ' __worker ' | head -1 > "$group/cgroup.procs" && echo FROZEN > "$group/freezer.state" &&
        wait_for 30 group_is FROZEN && grep -q . "$group/cgroup.procs" && return
    echo THAWED > "$group/freezer.state"
    return 1
}
# hold NAME LIMIT: starts a run with one frozen worker
hold() {
    out=$scratch/$1 group=$groups-$1
    "$CONTEND_FAKE" run fake --placement none --workers 2 --rounds 1000 --warmup 0.01 --no-plots --no-baselines \
        --out "$out" --time 3 --limit "$2" --setup-limit 10 > "$out.log" 2>&1 < /dev/null &
    run=$!
    wait_for 60 one_round || fail "no round: $(cat "$out.log")"
    wait_for 60 caught 2>/dev/null || fail "no worker is held"
}
end() { # end CODE PATTERN
    wait_for 200 ended "$run" || { fail "it hangs: $(cat "$out.log")" && kill -KILL "$run"; }
    wait "$run"
    code=$?
    [ "$code" = "$1" ] || fail "exit $code, expected $1: $(cat "$out.log")"
    grep -q "$2" "$out.log" || fail "no /$2/: $(cat "$out.log")"
    [ "$(cell "$out/rows.csv" none 2 throughput rounds)" -ge 1 ] || fail "no finished round in rows.csv"
    [ ! -e "$out/.contend-run" ] || fail "a work directory is left"
    echo THAWED > "$group/freezer.state"
    wait_for 30 group_is THAWED || fail "not thawed"
}

# Frozen while it is measured, or at its end.
measured() {
    hold measured 1
    end 3 'error: worker [01] cannot be ended: the kernel holds process'
}
# Asked to end while frozen.
asked() {
    hold asked 1000
    kill -INT "$run"
    end 130 'warning: worker [01] cannot be ended: the kernel holds process'
}
in_background measured
asked
finish
