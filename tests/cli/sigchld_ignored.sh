#!/usr/bin/env bash
# Processes whose end cannot be waited for: an ignored SIGCHLD is inherited from the parent, or a sandbox refuses the
# system calls. Nothing waits forever.
. tests/lib/cli.sh
export ASAN_OPTIONS=detect_leaks=0:handle_segv=0 # who looks for leaks waits for a process, too
run_fake=("$CONTEND_FAKE" bench fake -n 2 --rounds 2 --time 0.1 --no-plots --out)
# within COMMAND...: a run that does not end fails the test; it may block SIGTERM.
within=(timeout -k 5 100)

if env --ignore-signal=CHLD true 2>/dev/null; then
    expect 0 'Results' "${within[@]}" env --ignore-signal=CHLD "${run_fake[@]}" "$scratch/ignored"
    grep -q ',none,2,.*,throughput,.*,2,2,' "$scratch/ignored/rows.csv" ||
        fail "not two rounds: $(cat "$scratch/ignored/rows.csv")"
    expect 3 'killed by signal 11' "${within[@]}" env --ignore-signal=CHLD "$CONTEND_FAKE" bench fake \
        -p mode=crash --rounds 1 --time 0.1 --no-plots --out "$scratch/crash"
    expect 0 'synthetic' "${within[@]}" env --ignore-signal=CHLD "$CONTEND_BINARY" info \
        --xml 'package:2 core:2 pu:1'
fi

"$CONTEND_REFUSE" wait4 ECHILD true || { [ $? != 77 ] || finish; }
# The pidfd tells when a worker ended. Its row has the status that the worker reported itself.
expect 0 'Results' "${within[@]}" "$CONTEND_REFUSE" wait4 ECHILD "${run_fake[@]}" "$scratch/wait4"
expect 3 'worker 0: gone while .*nothing says how it ended' "${within[@]}" "$CONTEND_REFUSE" wait4 \
    ECHILD "$CONTEND_FAKE" bench fake -p mode=exit --rounds 1 --time 0.1 --no-plots --out "$scratch/exit"
expect 2 'nothing says how the process that tried the topology ended' "${within[@]}" \
    "$CONTEND_REFUSE" wait4 ECHILD "$CONTEND_BINARY" info --xml 'package:2 core:2 pu:1'
# No system call tells how a worker ended.
expect 3 'worker 0: gone while .*nothing says how it ended' "${within[@]}" "$CONTEND_REFUSE" wait4 \
    ECHILD "$CONTEND_REFUSE" pidfd_open ENOSYS "${run_fake[@]}" "$scratch/neither"
expect 0 'Results' "${within[@]}" "$CONTEND_REFUSE" pidfd_open ENOSYS "${run_fake[@]}" "$scratch/old"

# Which CPUs exist is unknown: an error, where hwloc would loop forever.
for command in info 'run pipeline --device sim --dry-run' place; do
    # shellcheck disable=SC2086
    expect 2 'sched_getaffinity; under a sandbox' "${within[@]}" "$CONTEND_REFUSE" \
        sched_getaffinity EPERM "$CONTEND_BINARY" $command
done
finish
