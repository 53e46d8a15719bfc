# shellcheck shell=bash disable=SC2034,SC2154
# Sourced after cli.sh: starts processes with a fault, for tests of contend doctor. The processes and the cgroup $group
# are removed when the test ends.
needs python3
# CPUs that the test may use; the second is empty if there is only one.
read -r first second _ < <(python3 -c 'import os; print(*sorted(os.sched_getaffinity(0)))')
group=''
faulty=()

end_faults() {
    [ ${#faulty[@]} = 0 ] || kill -9 "${faulty[@]}" 2>/dev/null
    wait 2>/dev/null
    faulty=()
}
trap 'end_faults; [ -z "$group" ] || rmdir "$group"; rm -rf "$scratch"' EXIT

# plant COMMAND...: starts it in the background and appends its pid to faulty.
plant() {
    "$@" >/dev/null 2>&1 &
    faulty+=($!)
}
