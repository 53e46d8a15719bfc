# shellcheck shell=bash disable=SC2034,SC2154
# Sourced behind cli.sh: processes with a fault, for tests of contend doctor. They end with the test, and so does the
# cgroup that it names as `group`.
needs python3
# CPUs that the test may use; the second is empty where there is one alone.
read -r first second _ < <(python3 -c 'import os; print(*sorted(os.sched_getaffinity(0)))')
group=''
faulty=()

end_faults() {
    [ ${#faulty[@]} = 0 ] || kill -9 "${faulty[@]}" 2>/dev/null
    wait 2>/dev/null
    faulty=()
}
trap 'end_faults; [ -z "$group" ] || rmdir "$group"; rm -rf "$scratch"' EXIT

# plant COMMAND...: starts it; its pid is the last of faulty.
plant() {
    "$@" >/dev/null 2>&1 &
    faulty+=($!)
}
