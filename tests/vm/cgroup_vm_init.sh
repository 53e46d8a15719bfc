#!/bin/busybox sh
# shellcheck shell=dash
# Process 1 of the virtual machine that tests/vm/cgroup_vm.sh boots: a kernel whose controllers are all
# of cgroup v2. Runs the program and what it emits there, and prints lines "RESULT NAME VALUE".
trap 'poweroff -f' EXIT
/bin/busybox --install -s /bin
export PATH=/bin HOME=/tmp LD_LIBRARY_PATH=/lib NO_COLOR=1
mount -t devtmpfs none /dev
mount -t proc none /proc
mount -t sysfs none /sys
mount -t tmpfs none /tmp
mount -t cgroup2 none /sys/fs/cgroup
hostname cgroup-vm
cd /tmp || exit
tree=/sys/fs/cgroup

result() {
    echo "RESULT $*"
}
left() {
    ls -d $tree/contend-* 2>/dev/null | wc -l
}
measure() { # measure NAME ARGUMENT...
    name=$1
    shift
    contend run pipeline --device sim --workers 2 --rounds 1 --time 0.3 --warmup 0.05 --limit 60s \
        --setup-limit 300s -p rows=256 -p cols=64 -p window=16 --no-canary --no-plots --out "$name" "$@" >"$name.log" 2>&1 </dev/null
    result "$name.code" $?
    result "$name.left" "$(left)"
    sed 's/^/# /' "$name.log" | head -n 40
}

measure bound --bind cgroup --placement partition,none --no-baselines
result bound.cpus "$(grep -o '"cpus_actual": "[^"]*"' bound/run.json | sort -u | cut -d'"' -f4 | xargs)"
result bound.skipped "$(grep -c ',skipped,.*cgroup' bound/rows.csv)"
measure quota --cpu-max 0.2 --placement partition --no-baselines
result quota.said "$(grep -c 'CPU quotas stopped workers' quota.log)"
# What the quota stopped is a part of the steps' time of its own.
result quota.parts "$(awk -F, '$9 == "step_time_mean" { whole = $14 } $9 ~ /^(oncpu|runqueue_wait|throttled|blocked)_per_step$/ { sum += $14; part[$9] = $14 }
    END { ok = part["throttled_per_step"] > 0 && part["runqueue_wait_per_step"] >= 0 && sum > 0.99 * whole && sum < 1.01 * whole
          print ok ? "add up" : whole " of " sum " with " part["throttled_per_step"] }' quota/rows.csv)"
measure both --bind cgroup --cpu-max 0.5 --placement partition

# A run that is killed: what it leaves is removed by the next one.
contend run pipeline --device sim --workers 2 --rounds 1 --time 30 --no-canary --no-plots --bind cgroup \
    --placement partition --no-baselines --out killed >killed.log 2>&1 </dev/null &
run=$!
tries=600
until [ -n "$(cat $tree/contend-*/worker-1/cgroup.procs 2>/dev/null)" ] || [ $((tries -= 1)) = 0 ]; do sleep 0.1; done
result killed.effective "$(cat $tree/contend-*/worker-*/cpuset.cpus.effective | xargs)"
kill -9 $run
wait $run
result killed.left "$(left)"
tries=100
until ! pidof contend >/dev/null || [ $((tries -= 1)) = 0 ]; do sleep 0.1; done
measure next --bind cgroup --placement partition --no-baselines

# The scenario `cgroup`: what it makes is gone at its end, and where it is interrupted or killed. Cores
# that are emulated have no times worth a look; who is given less must be seen to have had less.
mkdir /disk
mount -t ext4 /dev/nvme0n1 /disk 2>/dev/null && export TMPDIR=/disk
limits="run cgroup --rounds 1 --limit 300s --setup-limit 300s -p rows=64 -p cols=64 -p window=16 --no-canary --no-plots"
# value METRIC KEY: the median of the first row that has them.
value() {
    grep "$2" limits/rows.csv | sed -n "s/.*,$1,[^,]*,[^,]*,[0-9]*,[0-9]*,\([0-9.e+-]*\),.*/\1/p" | head -n 1
}
before=$(cat $tree/cgroup.subtree_control)
# shellcheck disable=SC2086 # of words
contend $limits --out limits >limits.log 2>&1 </dev/null
result limits.code $?
result limits.left "$(left)"
[ "$(cat $tree/cgroup.subtree_control)" = "$before" ] && result limits.handed_on same
result limits.events "$(value limit_events 'limit=memory.max') $(value limit_events 'limit=pids.max')"
result limits.oom "$(grep -c ',skipped,.*the kernel killed it for lack of memory' limits/rows.csv)"
result limits.pids "$(grep -c ',skipped,.*pids.max of 1 for a team of 2 threads: .*libgomp' limits/rows.csv)"
awk -v half="$(value cpus_used 'cpus=0.5;period=100;team=all')" -v all="$(value cpus_used 'limit=none;cpus=2')" \
    'BEGIN { exit !(half > 0 && half < 0.8 && all > half) }' && result limits.given yes
refaults=$(value refaults 'limit=memory.max')
result limits.refaults "$(awk -v n="${refaults:-none}" 'BEGIN { if (n == "none") print n; else print (n > 0) ? "yes" : "no" }')"
sed 's/^/# /' limits.log | tail -n 60
for signal in INT KILL; do
    # shellcheck disable=SC2086 # of words
    contend $limits --out cut >/dev/null 2>&1 </dev/null &
    run=$!
    tries=600
    until [ -n "$(ls -d $tree/contend-*/worker-* 2>/dev/null)" ] || [ $((tries -= 1)) = 0 ]; do sleep 0.1; done
    kill -$signal $run
    wait $run
    tries=100
    until [ "$(left)" = 0 ] || [ $((tries -= 1)) = 0 ]; do sleep 0.1; done
    result limits_$signal.left "$(left)"
done
unset TMPDIR

# Without permission; and where a process of ours fills a cgroup that has limits.
adduser -D -H tester 2>/dev/null
mkdir $tree/limited
echo +memory >$tree/cgroup.subtree_control
echo 1G >$tree/limited/memory.max
# shellcheck disable=SC2016
sh -c 'echo $$ >/sys/fs/cgroup/limited/cgroup.procs; exec contend run pipeline --device sim --workers 2 --rounds 1 \
    --time 0.1 --no-canary --no-plots --bind cgroup --placement partition --no-baselines --out limited' >limited.log 2>&1
result limited.code $?
result limited.said "$(grep -c 'has a limit, memory.max' limited/rows.csv)"

result end yes
sync
