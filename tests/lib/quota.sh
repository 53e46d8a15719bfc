# shellcheck shell=bash
# Sourced after tests/lib/cli.sh: a cgroup for this test, with a quota of CPU time.
group=
# shellcheck disable=SC2154 # cli.sh's scratch
trap '[ -z "$group" ] || rmdir "$group"; rm -rf "$scratch"' EXIT

# make_group: sets $group, or fails if no cgroup can be made; commands behind "${within[@]}" run in
# it.
make_group() {
    local root=/sys/fs/cgroup
    [ "$(id -u)" = 0 ] || return
    if [ -e $root/cpu/cpu.cfs_quota_us ]; then # version 1
        root=$root/cpu
    else
        grep -qw cpu $root/cgroup.subtree_control 2>/dev/null || return
    fi
    group=$(mktemp -d $root/contend-XXXXXX 2>/dev/null) || return
    # shellcheck disable=SC2016,SC2034 # the inner shell's; for those who source this
    within=(sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group")
}

# quota PERCENT: sets the quota, in percent of one CPU.
quota() {
    if [ -e "$group/cpu.cfs_quota_us" ]; then
        echo 100000 >"$group/cpu.cfs_period_us" && echo "$(($1 * 1000))" >"$group/cpu.cfs_quota_us"
    else
        echo "$(($1 * 1000)) 100000" >"$group/cpu.max"
    fi
}
