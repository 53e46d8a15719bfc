#!/usr/bin/env bash
# A neighbour on the worker's CPUs: contend doctor prints the command for the weight that counts between them, which is
# another one in the same session, in another session and in another cgroup. Each command gives the worker the CPUs.
. tests/lib/pid_namespace.sh
. tests/lib/cli.sh
. tests/lib/plant.sh
: "${CONTEND_BUSY:?}"
n=$(nproc)
groups=()
trap 'end_faults; [ ${#groups[@]} = 0 ] || rmdir "${groups[@]}"; rm -rf "$scratch"' EXIT

ticks() { awk '{ print $14 + $15 }' "/proc/$1/stat"; }
share() { # share JOB NEIGHBOUR: of the CPU time of both in two seconds, the job's, in percent
    local a b
    a=$(ticks "$1") b=$(ticks "$2")
    sleep 2
    echo $((100 * ($(ticks "$1") - a) / ($(ticks "$1") - a + $(ticks "$2") - b + 1)))
}
has_the_cpus() { [ "$(share "$job" "$neighbour")" -ge 75 ]; }
lacks_the_cpus() { ! has_the_cpus; }
finds() { # finds [OPTION...]: the command is in $command
    "$CONTEND_BINARY" doctor --json --time 1.5 --pid "$job" "$@" >"$scratch/seen"
    command=$(python3 - "$scratch/seen" <<'END'
import json, sys
for found in json.load(open(sys.argv[1]))["findings"]:
    if found["id"] == "run_queue" and found["command"] and 1 < found["gain"] <= found["gain_most"]:
        print(found["command"])
END
    )
    [ -n "$command" ]
}
# follow NAME COMMAND: checks and runs doctor's command; NEIGHBOUR in it stands for the pid.
follow() {
    wait_for 5 finds || fail "$1: $(cat "$scratch/seen")"
    expect_equal "$1" "$command" "${2//NEIGHBOUR/$neighbour}"
    wait_for 5 lacks_the_cpus || fail "$1: there is nothing to gain"
    sh -c "$command" >/dev/null || fail "$1: $command"
    wait_for 5 has_the_cpus || fail "$1: the worker has $(share "$job" "$neighbour")%"
    end_faults
}
neighbours() { # neighbours COMMAND...: a worker, and its neighbour by that command
    plant "$CONTEND_BUSY" "threads=$n"
    job=$!
    plant "$@" "$CONTEND_BUSY" "threads=$((2 * n))"
    neighbour=$!
}

# shellcheck disable=SC2016 # the shell of the command expands it
renice='renice -n 19 -p $(ls /proc/NEIGHBOUR/task)'
neighbours env
follow 'the same session' "$renice"

# Autogroups count in the root cgroup only.
cpu=/sys/fs/cgroup path=$(sed -n 's/^0:://p' /proc/self/cgroup)
if [ -e $cpu/cpu/cpu.shares ]; then
    cpu=$cpu/cpu path=$(sed -n 's/^[0-9]*:\(cpu\|.*,cpu\)\(,.*\)\?://p' /proc/self/cgroup)
fi
other=$renice
if [ "$(cat /proc/sys/kernel/sched_autogroup_enabled 2>/dev/null)" = 1 ] && [ "$path" = / ] &&
    [ ! -e $cpu/cpu.weight ] && { [ $cpu = /sys/fs/cgroup ] || [ -e $cpu/release_agent ]; }; then
    other='echo 19 > /proc/NEIGHBOUR/autogroup'
fi
neighbours setsid
follow 'another session' "$other"

for _ in a b; do
    group=$(mktemp -d $cpu/contend-XXXXXX 2>/dev/null) && groups+=("$group")
done
weight=${groups[1]:-}/cpu.weight command='echo 1'
[ -e "$weight" ] || weight=${groups[1]:-}/cpu.shares command='echo 10'
if [ -w "$weight" ]; then
    # shellcheck disable=SC2016
    enter=(sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"')
    plant "${enter[@]}" "${groups[0]}" "$CONTEND_BUSY" "threads=$n"
    job=$!
    plant "${enter[@]}" "${groups[1]}" "$CONTEND_BUSY" "threads=$((2 * n))"
    neighbour=$!
    follow 'another cgroup' "$command | tee $weight"
else
    echo "left out: no cgroup for CPU time here that is ours"
fi

# Version 2, on a made-up machine.
plant python3 tests/lib/cgroup_v2.py "$scratch/v2"
is_ready() { [ -e "$scratch/v2/ready" ]; }
wait_for 20 is_ready
job=100
finds --root "$scratch/v2" || fail "version 2: $(cat "$scratch/seen")"
expect_equal 'version 2' "$command" 'systemctl set-property --runtime b.slice CPUWeight=1'
finish
