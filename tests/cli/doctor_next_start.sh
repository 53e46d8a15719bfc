#!/usr/bin/env bash
# contend doctor prints a command for the next start. Pasted unchanged, it gives each worker its former GPU and rank.
. tests/lib/cli.sh
: "${CONTEND_JOB:?}"
. tests/lib/plant.sh
. tests/lib/look.sh
needs taskset two-cpus
[ -z "$CONTEND_SANITIZE" ] || skip "the sanitizers start all threads themselves"
! grep -qE '/(docker|libpod)|kubepods|/system\.slice/[^/]+\.service' /proc/self/cgroup ||
    skip "here a container or a unit is what starts jobs"
unset CUDA_VISIBLE_DEVICES LOCAL_RANK MASTER_ADDR KUBERNETES_SERVICE_HOST OMPI_COMM_WORLD_SIZE PMI_SIZE SLURM_JOB_ID \
    TORCHELASTIC_RUN_ID
export OMP_NUM_THREADS=4
hostile="\$(touch $scratch/ran); it's \`touch $scratch/ran\` \"a  b\" \\ &"

jobs_of_ours() {
    local pid
    for pid in $(pids_of_this_test "$CONTEND_JOB omp"); do
        ! [ "/proc/$pid/exe" -ef "$CONTEND_JOB" ] || echo "$pid"
    done
}
two_jobs() { [ "$(jobs_of_ours | wc -l)" = 2 ]; }

# started_with: prints each job's file, and the settings with which the job was started.
started_with() {
    local pid
    for pid in $(jobs_of_ours); do
        tr '\0' '\n' <"/proc/$pid/cmdline" | sed -n "s|^count=$scratch/||p"
        tr '\0' '\n' <"/proc/$pid/environ" |
            grep -E '^(CUDA_VISIBLE_DEVICES|LOCAL_RANK|MASTER_ADDR|OMP_NUM_THREADS)=' | LC_ALL=C sort
    done | paste -sd' ' | sed 's/ \(one\|two\) /\n\1 /g' | LC_ALL=C sort
}

# next_start EXPECTED: checks the line printed for the planted processes, and its effect.
next_start() {
    local pids
    wait_for 60 two_jobs || fail "the jobs do not run"
    mapfile -t pids < <(jobs_of_ours)
    sees_all more_threads_than_cpus "${pids[@]}" || fail "too many threads are not seen: $(cat "$scratch/seen")"
    grep -q 'carries neither its directory nor the rest of its environment' "$scratch/seen" ||
        fail "not said what the line lacks: $(cat "$scratch/seen")"
    command=$(command_of more_threads_than_cpus)
    faulty+=("${pids[@]}")
    end_faults
    plant taskset -c "$first,$second" env -u OMP_NUM_THREADS sh -c "$command"
    wait_for 60 two_jobs || fail "two jobs do not run: $command"
    [ "$(started_with)" = "$1" ] || fail "pasted: $command"$'\n'"started: $(started_with)"$'\n'"instead of: $1"
    [ ! -e "$scratch/ran" ] || fail "a value was run: $command"
    mapfile -t -O "${#faulty[@]}" faulty < <(jobs_of_ours)
    end_faults
}

start() { # start GPU RANK FILE
    plant taskset -c "$first,$second" env CUDA_VISIBLE_DEVICES="$1" LOCAL_RANK="$2" MASTER_ADDR="$hostile" \
        "$CONTEND_JOB" omp "count=$scratch/$3"
}
start 1 0 one
start 0 1 two
next_start "one CUDA_VISIBLE_DEVICES=1 LOCAL_RANK=0 MASTER_ADDR=$hostile OMP_NUM_THREADS=1
two CUDA_VISIBLE_DEVICES=0 LOCAL_RANK=1 MASTER_ADDR=$hostile OMP_NUM_THREADS=1"

# A launcher that sets the ranks itself, sleeps, and was started on some of the GPUs.
cat >"$scratch/torchrun" <<END
#!/bin/sh
export TORCHELASTIC_RUN_ID=none
LOCAL_RANK=0 "$CONTEND_JOB" omp "count=$scratch/one" &
LOCAL_RANK=1 "$CONTEND_JOB" omp "count=$scratch/two" &
wait
END
chmod +x "$scratch/torchrun"
plant taskset -c "$first,$second" env CUDA_VISIBLE_DEVICES=2,3 "$scratch/torchrun" train.py
next_start "one CUDA_VISIBLE_DEVICES=2,3 LOCAL_RANK=0 OMP_NUM_THREADS=1
two CUDA_VISIBLE_DEVICES=2,3 LOCAL_RANK=1 OMP_NUM_THREADS=1"
finish
