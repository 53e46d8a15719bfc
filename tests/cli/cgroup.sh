#!/usr/bin/env bash
# --bind cgroup without a version 2 cpuset: the run is skipped with a reason, and nothing runs unbound.
# tests/vm/cgroup_vm.sh tests the other case. Also tests --cpu-max, if version 1 has that controller.
. tests/lib/cli.sh
export NO_COLOR=1
expect 2 "bind: invalid value 'mark'; did you mean 'mask'\? valid: mask, cgroup" "$CONTEND_BINARY" run --bind mark
mounted=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)
if [ -n "$mounted" ] && grep -qw cpuset "$mounted/cgroup.controllers"; then
    [ "$failures" = 0 ] && echo "SKIP: cgroup v2 has a cpuset here" && exit 77
else
    expect 3 'nothing was measured' "$CONTEND_FAKE" bench fake --rounds 1 --time 0.1 --no-plots --bind cgroup \
        --out "$scratch/here"
    grep -Eq ",skipped,.*cgroup" "$scratch/here/rows.csv" || fail "no reason: $(cat "$scratch/here/rows.csv")"
fi

tree=/sys/fs/cgroup/cpu
if [ -w $tree/cpu.cfs_quota_us ] && [ "$(sed -n 's/.*:cpu[,:][^/]*//p' /proc/self/cgroup)" = / ]; then
    run=("$CONTEND_BINARY" run pipeline --device sim --workers 1 --placement none --rounds 1 -p rows=64 -p cols=64
        -p window=16 --no-canary --no-baselines --no-plots)
    "${run[@]}" --time 60 --cpu-max 0.1 --out "$scratch/killed" >"$scratch/killed.log" 2>&1 &
    killed=$!
    # shellcheck disable=SC2317 # called by wait_for
    is_in_its_own() { grep -q . $tree/contend-*-$killed-*/worker-0/cgroup.procs 2>/dev/null; }
    wait_for 20 is_in_its_own || fail "no cgroup of a worker: $(cat "$scratch/killed.log")"
    expect_equal "quota of a worker" "$(cat $tree/contend-*-$killed-*/worker-0/cpu.cfs_quota_us)" 10000
    kill -9 $killed
    wait $killed 2>/dev/null
    wait_for 20 eval '! is_in_its_own' || fail "a worker outlives its run"
    expect 0 'CPU quotas stopped workers' "${run[@]}" --time 1 --cpu-max 0.1 --out "$scratch/quota"
    expect_equal "cgroups left" "$(find $tree -maxdepth 1 -name "contend-*-$killed-*")" ""
    awk -v s="$(cell "$scratch/quota/rows.csv" none 1 throttled_per_step median)" 'BEGIN { exit !(s > 0) }' ||
        fail "nobody was stopped: $(cat "$scratch/quota/rows.csv")"
fi
finish
