#!/usr/bin/env bash
# srun starts the ranks: a Slurm of one node, which runs only as long as this test, with files, ports
# and numbers of jobs of its own. Slurm as Debian packages it (slurmctld, slurmd, munge), with PMIx or
# PMI-2.
# Its ports are those of a network of its own, whose second address makes it one that getaddrinfo
# takes for connected. Where there can be none, others may have them.
network='ip link set lo up && ip addr add 10.213.8.1/32 dev lo && exec "$@"'
if [ "${1-}" != --inside ] && unshare --net sh -c "$network" sh true 2>/dev/null; then
    exec unshare --net sh -c "$network" sh bash "$0" --inside
fi
. tests/lib/cli.sh
. tests/lib/mpi.sh
needs_mpi
[ "$(id -u)" = 0 ] || skip "only root can start slurmd"
for tool in slurmctld slurmd munged srun; do
    command -v "$tool" >/dev/null || PATH=$PATH:/usr/sbin
    command -v "$tool" >/dev/null || skip "no $tool (Debian: slurmctld slurmd slurm-client munge)"
done

host=$(hostname -s)
port=$((20000 + $$ % 20000))
export SLURM_CONF=$scratch/slurm.conf
stop_slurm() {
    local pid
    for pid in "$scratch"/slurmd.pid "$scratch"/slurmctld.pid "$scratch"/munged.pid; do
        [ ! -s "$pid" ] || kill "$(cat "$pid")" 2>/dev/null
    done
}
trap 'stop_slurm; sleep 1; rm -rf "$scratch"' EXIT

chmod 0755 "$scratch"
mkdir -p "$scratch"/{spool,state,munge}
chmod 0711 "$scratch/munge"
(umask 077 && head -c 1024 /dev/urandom >"$scratch/munge.key")
munged --force --socket "$scratch/munge/socket" --key-file "$scratch/munge.key" \
    --log-file "$scratch/munged.log" --pid-file "$scratch/munged.pid" \
    --seed-file "$scratch/munge.seed" >"$scratch/refused" 2>&1 ||
    skip "munged does not start: $(cat "$scratch/refused")"

cat >"$SLURM_CONF" <<CONF
ClusterName=contend-test
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$scratch/munge/socket
CredType=cred/munge
FirstJobId=$((1 + $$ % 60000)) # MPI names shared memory by it
SlurmctldPort=$port
SlurmdPort=$((port + 1))
SlurmctldPidFile=$scratch/slurmctld.pid
SlurmdPidFile=$scratch/slurmd.pid
SlurmctldLogFile=$scratch/slurmctld.log
SlurmdLogFile=$scratch/slurmd.log
SlurmdSpoolDir=$scratch/spool
StateSaveLocation=$scratch/state
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/linear
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=$host Default=YES MaxTime=INFINITE State=UP OverSubscribe=YES
CONF
slurmctld -c >"$scratch/refused" 2>&1 || skip "slurmctld does not start: $(cat "$scratch/refused")"
slurmd >"$scratch/refused" 2>&1 || skip "slurmd does not start: $(cat "$scratch/refused")"
node_is_up() {
    sinfo -h -o %T 2>/dev/null | grep -q idle
}
wait_for 30 node_is_up ||
    skip "no idle node: $(sinfo 2>&1) $(tail -n 3 "$scratch/slurmd.log" "$scratch/slurmctld.log" 2>&1)"

# Which way to MPI do Slurm and MPI have in common?
how=
for way in pmix pmi2; do
    srun --mpi=list 2>&1 | grep -q "$way" || continue
    timeout 60 srun --mpi=$way --overcommit -n 2 "$CONTEND_FAKE" bench faketeam --rounds 1 \
        --time 0.1 --no-plots --out "$scratch/$way" >"$scratch/refused" 2>&1 && how=$way && break
done
[ -n "$how" ] || skip "srun and MPI have no PMI in common: $(tail -n 5 "$scratch/refused")"

out=$scratch/good
expect 0 "Results: $out" srun "--mpi=$how" --overcommit -n 2 "$CONTEND_BINARY" bench collective \
    -p end=4K -p factor=8 --rounds 1 --time 1 --limit 300 --no-plots --out "$out"
check_collective "$out" 2
grep -q '2 ranks started by srun' "$out/run.json" || fail "run.json does not say who started it"

# One task is a plain run, and a shell inside an allocation is none of a job's.
expect 0 'Results' srun -n 1 "$CONTEND_FAKE" bench fake --rounds 1 --time 0.1 --no-plots \
    --out "$scratch/one"
expect 0 'Results' salloc -n 2 --overcommit "$CONTEND_FAKE" bench fake --rounds 1 --time 0.1 \
    --no-plots --out "$scratch/shell"

# Tasks that MPI cannot know of: refused, instead of two runs that overwrite each other.
expect 2 'srun started 2 tasks and no way' srun --mpi=none --overcommit -n 2 "$CONTEND_FAKE" bench \
    faketeam --rounds 1 --time 0.1 --no-plots --out "$scratch/none"

# A worker that dies is named, and the exit code is the run's.
expect 3 'rank 1 \(host .*\): killed by signal 9' srun "--mpi=$how" --overcommit -n 2 \
    "$CONTEND_FAKE" bench faketeam -p mode=crash -p bad_worker=1 --rounds 1 --time 0.1 --no-plots \
    --out "$scratch/worker"
finish
