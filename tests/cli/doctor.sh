#!/usr/bin/env bash
# contend doctor finds planted faults, with the right processes and a command that removes the finding when run. Healthy
# processes have no finding.
. tests/lib/cli.sh
: "${CONTEND_BUSY:?}" "${CONTEND_JOB:?}"
. tests/lib/plant.sh
. tests/lib/look.sh
allowed=$(nproc)
[ "$allowed" -ge 2 ] || skip "one CPU has no wrong masks"

misses() { # misses ID PID...; a longer look misses less
    local id=$1 watch_s=1.5
    shift
    for _ in 1 2 3 4 5 6 7 8; do
        look "$@"
        [ -n "$(named "$id")" ] || return 0
    done
    return 1
}

# found ID "PIDS": one finding of that id names exactly these pids.
found() {
    named "$1" | grep -qxF "$2" || fail "no finding $1 of $2: $(cat "$scratch/seen")"
}

# mended ID PID...: runs the finding's command, after which the finding is gone.
mended() {
    local id=$1 command
    command=$(command_of "$id")
    [ -n "$command" ] || fail "$id has no command"
    sh -c "$command" >/dev/null || fail "$id: cannot run $command"
    shift
    misses "$id" "$@" || fail "$id is still there after: $command"$'\n'"$(cat "$scratch/seen")"
}

# 1, 4: two processes on one CPU.
plant taskset -c "$first" "$CONTEND_BUSY"
plant taskset -c "$first" "$CONTEND_BUSY"
a=${faulty[0]} b=${faulty[1]}
sees_all masks_overlap "$a" "$b" || fail "two on one CPU are not seen: $(cat "$scratch/seen")"
sees run_queue "$a"
[ -n "$(named run_queue)" ] || fail "their waiting is not seen"
grep -q 'others' "$scratch/seen" || fail "nobody is blamed for it"
sees masks_overlap "$a" "$b"
mended masks_overlap "$a" "$b"
end_faults

idle_ticks() { awk -v cpu="cpu$second" '$1 == cpu { print $5 }' /proc/stat; }

# beside ID PID: a finding that needs the second CPU to be idle, and no other load on the first, is found and fixed. It
# is left out if others kept the CPUs busy in every look.
beside() {
    local idle watch_s
    for watch_s in 0.5 1.5 1.5 3 3 3 3 3; do
        idle=$(idle_ticks)
        look "$2"
        idle=$(($(idle_ticks) - idle))
        if [ -n "$(named "$1")" ]; then
            found "$1" "$2"
            mended "$1" "$2"
            return
        fi
        if [ "$watch_s" = 3 ] && [ "$idle" -ge 240 ] && ! grep -q 'others [1-9][0-9]%' "$scratch/seen"; then
            fail "$1: the other CPU idles, and is not seen: $(cat "$scratch/seen")"
            return
        fi
    done
    leave_out "$1, as others had both CPUs in each look"
}

# 5, 27: threads that bound themselves to one CPU, or started there, while another CPU idles.
plant "$CONTEND_BUSY" threads=3 on="$first"
beside idle_beside_queue "${faulty[0]}"
end_faults
plant taskset -c "$first" "$CONTEND_BUSY" threads=2
beside narrow_mask "${faulty[0]}"
end_faults

# 6: a launcher bound to one CPU, and a team below it.
plant taskset -c "$first" sh -c '"$1" threads=3; :' - "$CONTEND_BUSY"
wait_for 20 pgrep -P "${faulty[0]}" >/dev/null
team=$(pgrep -P "${faulty[0]}")
faulty+=("$team")
sees inherited_mask "$team" || fail "an inherited mask is not seen: $(cat "$scratch/seen")"
found inherited_mask "$team"
sees inherited_mask "$team"
mended inherited_mask "$team"
end_faults

# 28: a pool whose processes bind themselves to one CPU, while their parent is not bound.
plant python3 tests/lib/pool.py compute 2 "$scratch/count" "$first"
both_are_bound() { [ "$(pgrep -P "${faulty[0]}" | xargs -n 1 taskset -cp 2>/dev/null | grep -c ": $first\$")" = 2 ]; }
wait_for 60 both_are_bound || fail "the pool did not bind itself"
mapfile -t -O 1 faulty < <(pgrep -P "${faulty[0]}")
sees narrowed_children "${faulty[@]:1}" || fail "a narrowed mask is not seen: $(cat "$scratch/seen")"
found narrowed_children "${faulty[*]:1}"
mended narrowed_children "${faulty[@]:1}"
end_faults

if [ -z "$CONTEND_SANITIZE" ]; then # which starts all threads itself
# 16: teams that spin at barriers. The finding's command starts the job again, with the thread count that it prints.
plant env -u OMP_NUM_THREADS taskset -c "$first,$second" "$CONTEND_JOB" omp "count=$scratch/one"
plant env -u OMP_NUM_THREADS taskset -c "$first,$second" "$CONTEND_JOB" omp "count=$scratch/two"
sees_all more_threads_than_cpus "${faulty[@]}" || fail "teams that spin are not seen: $(cat "$scratch/seen")"
grep -q 'Their runtime is libgomp, which reads OMP_NUM_THREADS' "$scratch/seen" || fail "16: $(cat "$scratch/seen")"
command=$(command_of more_threads_than_cpus)
end_faults
plant taskset -c "$first,$second" sh -c "$command"
misses more_threads_than_cpus "${faulty[0]}" || fail "16: $(cat "$scratch/seen")"
mapfile -t -O "${#faulty[@]}" faulty < <(pids_of_this_test "$CONTEND_JOB omp")
end_faults

# For a barrier of the program's own, doctor suggests no variable.
plant taskset -c "$first,$second" "$CONTEND_JOB" own threads=4 "count=$scratch/own"
sees more_threads_than_cpus "${faulty[0]}" || fail "a barrier of its own is not seen: $(cat "$scratch/seen")"
grep -q 'The code of job starts them; its setting is not known' "$scratch/seen" ||
    fail "16: $(cat "$scratch/seen")"
! grep -q 'NUM_THREADS' "$scratch/seen" || fail "a variable that it does not read: $(cat "$scratch/seen")"
end_faults
fi

# 7: a process bound by taskset without -a.
plant "$CONTEND_BUSY" threads=1
has_two_threads() {
    [ "$(find "/proc/${faulty[0]}/task" -mindepth 1 -maxdepth 1 | wc -l)" = 2 ]
}
wait_for 60 has_two_threads || fail "7: no thread was made"
taskset -cp "$first" "${faulty[0]}" >/dev/null
# A thread counts if it uses at least a fifth of a CPU.
is_starved() {
    python3 -c 'import json, sys
seen = json.load(open(sys.argv[1]))
sys.exit(seen["processes"][0]["cpu_s"] > 0.25 * seen["watched_s"])' "$scratch/seen"
}
if sees leader_alone "${faulty[0]}"; then
    found leader_alone "${faulty[0]}"
    mended leader_alone "${faulty[0]}"
elif is_starved; then
    leave_out "a leader bound alone, as others leave its process less than a quarter of a CPU"
else
    fail "a leader bound alone is not seen: $(cat "$scratch/seen")"
fi
end_faults

# 17, 18, 19: recognised by mapped files and by the environment at start. The files only have the names of libraries.
mkdir "$scratch/a" "$scratch/b"
for name in libcuda.so.1 libgomp.so.1 a/libgomp.so.1; do head -c 4096 /dev/zero >"$scratch/$name"; done
plant env GOMP_CPU_AFFINITY=0 OMP_PROC_BIND=true "$CONTEND_BUSY" map="$scratch/libgomp.so.1"
sees openmp_settings "${faulty[0]}" || fail "settings that clash are not seen: $(cat "$scratch/seen")"
found openmp_settings "${faulty[0]}"
command=$(command_of openmp_settings)
end_faults
plant sh -c "export GOMP_CPU_AFFINITY=0 OMP_PROC_BIND=true; $command; exec \"\$@\"" - \
    "$CONTEND_BUSY" map="$scratch/libgomp.so.1"
sleep 0.2
misses openmp_settings "${faulty[0]}" || fail "17: $(cat "$scratch/seen")"
end_faults

plant "$CONTEND_BUSY" map="$scratch/libgomp.so.1" map="$scratch/a/libgomp.so.1"
sees openmp_settings "${faulty[0]}" || fail "two runtimes are not seen: $(cat "$scratch/seen")"
grep -q 'two OpenMP runtimes' "$scratch/seen" || fail "two runtimes are not named"
end_faults

# 18: a process that only maps the driver has no context, and so does not spin for a GPU. A process that NVML lists may.
plant taskset -c "$first" "$CONTEND_BUSY" map="$scratch/libcuda.so.1"
plant taskset -c "$first" "$CONTEND_BUSY" map="$scratch/libcuda.so.1"
look "${faulty[@]}"
[ -z "$(named spin_wait)" ] || fail "a mapped driver is taken for a context: $(cat "$scratch/seen")"
if [ "$(readlink /proc/self/ns/pid)" = 'pid:[4026531836]' ]; then
    export FAKE_GPU="pid=${faulty[0]}" CONTEND_LIBNVML=$CONTEND_FAKE_DRIVER
    sees spin_wait "${faulty[@]}" || fail "a spinning wait is not seen: $(cat "$scratch/seen")"
    found spin_wait "${faulty[0]}"
    unset FAKE_GPU CONTEND_LIBNVML
fi
end_faults

plant env CUDA_LAUNCH_BLOCKING=1 "$CONTEND_BUSY" map="$scratch/libcuda.so.1"
plant env CUDA_LAUNCH_BLOCKING=1 "$CONTEND_BUSY"
sees debugging "${faulty[@]}" || fail "debugging is not seen: $(cat "$scratch/seen")"
found debugging "${faulty[0]}"
[ "$(named debugging)" = "${faulty[0]}" ] || fail "one without libcuda is named, too"
command=$(command_of debugging)
end_faults
plant sh -c "export CUDA_LAUNCH_BLOCKING=1; $command; exec \"\$@\"" - "$CONTEND_BUSY" map="$scratch/libcuda.so.1"
sleep 0.2
misses debugging "${faulty[0]}" || fail "19: $(cat "$scratch/seen")"
end_faults

# 2, 3: a quota of a tenth of a CPU, by either cgroup version: even a busy machine grants that much.
make_group() {
    if [ -e /sys/fs/cgroup/cpu/cpu.cfs_quota_us ]; then
        group=$(mktemp -d /sys/fs/cgroup/cpu/contend-XXXXXX 2>/dev/null) &&
            echo 100000 >"$group/cpu.cfs_period_us" && echo 10000 >"$group/cpu.cfs_quota_us"
    elif grep -qw cpu /sys/fs/cgroup/cgroup.subtree_control 2>/dev/null; then
        group=$(mktemp -d /sys/fs/cgroup/contend-XXXXXX 2>/dev/null) &&
            echo "10000 100000" >"$group/cpu.max"
    fi
}
if [ "$(id -u)" = 0 ] && make_group && [ -n "$group" ]; then
    plant sh -c 'echo $$ >"$0/cgroup.procs" && exec "$1" threads=2' "$group" "$CONTEND_BUSY"
    sleep 0.3
    sees team_over_quota "${faulty[0]}" || fail "a team over its quota is not seen: $(cat "$scratch/seen")"
    found team_over_quota "${faulty[0]}"
    grep -q 'Start it with 1\.' "$scratch/seen" || fail "2: another team: $(cat "$scratch/seen")"
    sees throttled "${faulty[0]}" || fail "a quota is not seen: $(cat "$scratch/seen")"
    found throttled "${faulty[0]}"
    mended throttled "${faulty[0]}"
    misses team_over_quota "${faulty[0]}" || fail "2: $(cat "$scratch/seen")"
    end_faults
    rmdir "$group" && group=
fi

# --apply and --undo, on two processes that may run anywhere.
mask_of() { taskset -cp "$1" | sed 's/.*: //'; }
state=$scratch/state
plant "$CONTEND_BUSY" threads=1
plant "$CONTEND_BUSY" threads=1
a=${faulty[0]} b=${faulty[1]} before=$(mask_of "$a")
apply=("$CONTEND_BINARY" doctor --time 0.5 --pid "$a" --pid "$b" --state "$state" --apply --force)
expect 2 'without a terminal, --apply needs --yes' "${apply[@]}"
[ "$(mask_of "$a")" = "$before" ] || fail "bound without being asked to"
expect 2 "placement 'none' binds nothing" "${apply[@]}" --yes --placement none
expect 2 'apply excludes --json and --undo$' "${apply[@]}" --undo
# A wrong placement is refused before anything is watched, also where nothing is busy.
sleep 60 &
expect 2 "unknown placement 'nope'" "$CONTEND_BINARY" doctor --time 0.5 --pid $! --apply --yes --placement nope
idle=$("$CONTEND_BINARY" doctor --time 0.5 --pid $! --state "$scratch/idle" --apply --yes)
[ "$(tail -n 1 <<<"$idle")" = 'nothing was changed: no busy process can be bound' ] || fail "nothing busy: $idle"
[ ! -e "$scratch/idle" ] || fail "a state of no change"
kill $!
expect 0 'bound 2 processes' "${apply[@]}" --yes
[ "$(mask_of "$a")" != "$before" ] && [ "$(mask_of "$a")" != "$(mask_of "$b")" ] ||
    fail "bound to $(mask_of "$a") and $(mask_of "$b")"
for task in /proc/"$a"/task/*; do
    [ "$(mask_of "${task##*/}")" = "$(mask_of "$a")" ] || fail "a thread is not bound"
done
expect 3 'of an earlier --apply \(by [0-9]+\): undo that first, with --undo' "${apply[@]}" --yes --placement same
cp "$state" "$scratch/copy"
expect 0 '2 processes may run where they could before; 0 ended' "$CONTEND_BINARY" doctor --undo --state "$state"
[ "$(mask_of "$a")" = "$before" ] && [ "$(mask_of "$b")" = "$before" ] || fail "not put back"
expect 3 'nothing to undo' "$CONTEND_BINARY" doctor --undo --state "$state"
# A process with the same pid but another start time is left alone.
awk 'NR > 1 && NF > 2 { $2 = $2 - 1; $4 = $4 - 1 } { print }' "$scratch/copy" | sed "/^end/!s/ [0-9,-]*$/ $first/" >"$state"
expect 0 '0 processes may run where they could before; 2 ended' "$CONTEND_BINARY" doctor --undo --state "$state"
[ "$(mask_of "$a")" = "$before" ] || fail "another process was bound"
echo nonsense >"$state"
expect 2 'is no state file' "$CONTEND_BINARY" doctor --undo --state "$state"
head -n 2 "$scratch/copy" >"$state"
expect 2 'is cut short after 1 masks: nothing is undone' "$CONTEND_BINARY" doctor --undo --state "$state"
[ -e "$state" ] || fail "a state that was cut short is gone"
rm "$state"
ln -s "$scratch/copy" "$state"
expect 3 'cannot read' "$CONTEND_BINARY" doctor --undo --state "$state"
expect 3 'undo that first' "${apply[@]}" --yes
[ "$(mask_of "$a")" = "$before" ] && [ -e "$scratch/copy" ] || fail "a link was followed"
rm "$state"
if [ "$(id -u)" = 0 ] && cp "$scratch/copy" "$state" && chown 4242 "$state"; then # as in a user's HOME
    expect 3 'belongs to user 4242' "$CONTEND_BINARY" doctor --undo --state "$state"
    [ -e "$state" ] || fail "another user's state is gone"
    rm "$state"
fi
# In a new home the first binding creates the state's folder; --undo does not.
mkdir "$scratch/home"
at_home=(env -u XDG_STATE_HOME HOME="$scratch/home" "$CONTEND_BINARY" doctor)
expect 3 'nothing to undo' "${at_home[@]}" --undo
[ -z "$(ls -A "$scratch/home")" ] || fail "--undo leaves folders in a home"
expect 0 'bound 2 processes' "${at_home[@]}" --time 0.5 --pid "$a" --pid "$b" --apply --force --yes
[ -s "$scratch/home/.local/state/contend/doctor.state" ] || fail "no state in a new home"
expect 0 '2 processes may run where they could before' "${at_home[@]}" --undo
end_faults

# --gpu-procs: the processes that NVML lists.
expect 3 'no NVIDIA driver here' env CONTEND_LIBNVML=/nonexistent "$CONTEND_BINARY" doctor --gpu-procs
# doctor_gpus.sh tests this in a PID namespace.
if [ "$(readlink /proc/self/ns/pid)" = 'pid:[4026531836]' ]; then
    plant "$CONTEND_BUSY"
    plant "$CONTEND_BUSY"
    FAKE_GPU="pid=${faulty[0]}" CONTEND_LIBNVML=$CONTEND_FAKE_DRIVER "$CONTEND_BINARY" doctor --gpu-procs \
        --time 0.5 --json >"$scratch/seen"
    python3 -c 'import json, sys
pids = [p["pid"] for p in json.load(open(sys.argv[1]))["processes"]]
sys.exit(pids != [int(sys.argv[2])])' "$scratch/seen" "${faulty[0]}" || fail "others than NVML lists: $(cat "$scratch/seen")"
    expect 3 'NVML lists no GPU process' env FAKE_GPU=pid=4194303 CONTEND_LIBNVML="$CONTEND_FAKE_DRIVER" \
        "$CONTEND_BINARY" doctor --gpu-procs --time 0.5
    end_faults
fi

# Processes that cannot be examined.
expect 2 "'x' is not the number of a process" "$CONTEND_BINARY" doctor --pid x
expect 3 'there is no process 4194305' "$CONTEND_BINARY" doctor --pid 4194305
plant sh -c 'sleep 0 & exec sleep 100'
zombie_of() { ps -o pid=,stat= --ppid "$1" | awk '$2 ~ /^Z/ { print $1; found = 1 } END { exit !found }'; }
wait_for 60 zombie_of "${faulty[0]}" >/dev/null
zombie=$(zombie_of "${faulty[0]}")
expect 3 'is a zombie: it has ended' "$CONTEND_BINARY" doctor --pid "$zombie"
end_faults
expect 0 '^\| 16 \| `more_threads_than_cpus`' "$CONTEND_BINARY" doctor --list --markdown

# The manual's table is the program's, without the column of files that a check reads.
"$CONTEND_BINARY" doctor --list --markdown | sed 's/|[^|]*|$/|/' >"$scratch/checks"
grep -q ' | finds |$' "$scratch/checks" || fail "another last column: $(head -n 1 "$scratch/checks")"
sed -n '/^| # | id /,/^$/p' docs/doctor.md | sed '/^$/d' | diff - "$scratch/checks" ||
    fail "docs/doctor.md has another table than 'contend doctor --list --markdown'"
finish
