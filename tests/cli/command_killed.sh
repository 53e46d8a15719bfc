#!/usr/bin/env bash
# If a worker is killed, contend ends the processes of its command, and no others of contend's descendants. Runs in a
# PID namespace of its own, because it kills processes.
. tests/lib/pid_namespace.sh || exit
. tests/lib/cli.sh

# The command's shell ends with its worker; the sleeper in a session of its own does not.
"$CONTEND_BINARY" run --workers 1 --placement none --rounds 1 --no-baselines --no-canary --no-plots --host h \
    --out "$scratch/killed" -- sh -c 'setsid sleep 7540 & sleep 7541' > "$scratch/said" 2>&1 < /dev/null &
pid=$!
both() {
    [ "$(pgrep -cx sleep)" = 2 ]
}
wait_for 30 both || fail "no sleepers: $(cat "$scratch/said")"
worker=$(pgrep -P "$pid" | head -1)
kill -KILL "$worker"
wait "$pid"
code=$?
[ "$code" = 3 ] || fail "exit $code, not 3: $(cat "$scratch/said")"
[ "$(pgrep -cx sleep)" = 0 ] || fail "left running: $(pgrep -ax sleep)"

# If contend is killed, its workers end their commands, even workers that were stopped meanwhile.
four() {
    [ "$(pgrep -cx sleep)" = 4 ]
}
nobody() {
    ! pgrep -x sleep > /dev/null && ! pgrep -f ' __worker ' > /dev/null
}
for stopped in no yes; do
    "$CONTEND_BINARY" run --workers 2 --placement none --rounds 1 --no-baselines --no-canary --no-plots --host h \
        --out "$scratch/alone" -- sh -c 'setsid sleep 7543 & sleep 7544' > "$scratch/said" 2>&1 < /dev/null &
    pid=$!
    wait_for 30 four || fail "no sleepers: $(cat "$scratch/said")"
    [ $stopped = no ] || pkill -STOP -P "$pid"
    kill -KILL "$pid"
    wait "$pid" 2>/dev/null
    wait_for 60 nobody || fail "stopped: $stopped, left running: $(pgrep -af 'sleep|__worker')"
    pkill -KILL -x sleep
    pkill -KILL -f ' __worker '
done

# A process that a variant's before: put into the background does not belong to the command.
ln -s "$(command -v sleep)" "$scratch/variantload"
"$CONTEND_BINARY" ab --workers 1 --placement none --rounds 2 --host h --out "$scratch/load" -V plain \
    -V "load=before:setsid $scratch/variantload 7542 > /dev/null 2>&1 & until pgrep -x variantload > /dev/null; do sleep 0.01; done" \
    -V 'load=after:pkill -x variantload' -V 'load=check:pgrep -cx variantload || :' -- sh -c 'pgrep -cx variantload; sleep 0.1' > "$scratch/said" 2>&1 < /dev/null
grep -qx 1 "$scratch"/load/command-output/* || fail "a variant's load was ended: $(cat "$scratch/said")"
pgrep -x variantload > /dev/null && fail "left running: $(pgrep -ax variantload)"
finish
