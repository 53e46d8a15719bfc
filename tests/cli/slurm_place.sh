#!/usr/bin/env bash
# The text of `place --emit slurm` under sbatch and salloc, and `comms` under srun, which passes signals to the command.
. tests/lib/slurm.sh
needs jq two-cpus
start_slurm task/affinity
unset NCCL_PROFILER_PLUGIN CONTEND_COMMS_DIR
export OUT=$scratch/out

# ---- a placement ----

cpus=$("$CONTEND_BINARY" place -n 2 -P partition --json 2>/dev/null | jq -r '[.workers[].cpus] | join(" ")')
"$CONTEND_BINARY" place -n 2 -P partition --emit slurm -- sh -c \
    'sed -n "s/^Cpus_allowed_list:[[:space:]]*//p" /proc/self/status >"$OUT/$1"' sh '{worker}' >"$scratch/job" 2>"$scratch/err" ||
    fail "$(cat "$scratch/err")"

# binds HOW COMMAND...: checks that each worker ran on the CPUs of the plan.
binds() {
    local how=$1 got
    shift
    rm -rf "$OUT"
    mkdir "$OUT"
    timeout 100 "$@" >"$scratch/said" 2>&1 </dev/null || fail "$how: $(cat "$scratch/said")"
    got=$(cat "$OUT/0" "$OUT/1" | paste -sd' ')
    [ "$got" = "$cpus" ] || fail "$how: CPUs '$got', planned '$cpus': $(cat "$scratch/said")"
}
binds salloc salloc -N 1 --exclusive sh "$scratch/job"
binds sbatch sbatch --wait --chdir "$scratch" -o "$scratch/log" "$scratch/job"

# Slurm itself binds, and not only the commands in its tasks.
masks=$(sed -n 's/.*--cpu-bind=\(mask_cpu:[^ ]*\) .*/\1/p' "$scratch/job")
# shellcheck disable=SC2016
binds srun srun -N 1 -n 2 "--cpu-bind=$masks" sh -c \
    'sed -n "s/^Cpus_allowed_list:[[:space:]]*//p" /proc/self/status >"$OUT/$SLURM_PROCID"'
# A job without these CPUs is refused, and does not run on others.
code=0
taskset -c "${cpus#* }" sh -c "$(sed 's/^exec srun.*/SLURM_PROCID=0 sh -c "$task"/' "$scratch/job")" >"$scratch/said" 2>&1 || code=$?
[ "$code" = 2 ] && grep -q 'refused: CPU' "$scratch/said" || fail "exit $code: $(cat "$scratch/said")"

# ---- comms ----

# The logs of all tasks form one job.
# shellcheck disable=SC2016
timeout 100 srun -n 2 --overcommit "$CONTEND_BINARY" comms --out "$scratch/job-comms" -- sh -c \
    '"$CONTEND_STUB_NCCL" - 5 "init:e0:2:$SLURM_PROCID:2:" coll:AllReduce:ncclFloat32:1000:0:RING:SIMPLE:2:3:0 finalize' \
    >"$scratch/said" 2>&1 || fail "comms under srun: $(cat "$scratch/said")"
grep -q "this is only task [01] of 2: 'contend comms --read $scratch/job-comms' has all" "$scratch/said" ||
    fail "$(cat "$scratch/said")"
got=$("$CONTEND_BINARY" comms --read "$scratch/job-comms" --json |
    jq -c '[(.logs | length), (.communicators[] | [.ranks, (.present | length), .calls[0].calls])]')
[ "$got" = '[2,[2,2,3]]' ] || fail "comms: $got"

# The signal that Slurm sends before a job ends, to save state: the command receives it, and continues.
cat >"$scratch/saves" <<'END'
#!/bin/sh
trap 'echo >"$OUT/saved.$SLURM_PROCID"' USR1
echo >"$OUT/ready.$SLURM_PROCID"
until [ -e "$OUT/saved.$SLURM_PROCID" ]; do sleep 0.1; done
exit 7
END
chmod +x "$scratch/saves"
rm -rf "$OUT"
mkdir "$OUT"
both() {
    [ -e "$OUT/$1.0" ] && [ -e "$OUT/$1.1" ]
}
timeout 100 srun -n 2 --overcommit --job-name saves "$CONTEND_BINARY" comms -- "$scratch/saves" >"$scratch/said" 2>&1 &
job=$!
wait_for 60 both ready || fail "the job did not begin: $(cat "$scratch/said")"
scancel --name saves --signal USR1
wait "$job"
code=$?
both saved || fail "USR1 did not reach both: $(cat "$scratch/said")"
[ "$code" = 7 ] || fail "exit code $code, expected the command's: $(cat "$scratch/said")"
finish
