# shellcheck shell=bash
# Sourced first, with the test's arguments, by tests/cli/slurm*.sh: a Slurm of one node, which runs only during the
# test, with its own files, ports and job numbers. It uses Debian's packages (slurmctld, slurmd, munge). Its ports are
# in a network namespace; a second address makes getaddrinfo accept that network as connected. If no namespace can be
# made, the ports may conflict with those of other programs.
network='ip link set lo up && ip addr add 10.213.8.1/32 dev lo && exec "$@"'
if [ "${1-}" != --inside ] && unshare --net sh -c "$network" sh true 2>/dev/null; then
    exec unshare --net sh -c "$network" sh bash "$0" --inside
fi
. tests/lib/cli.sh

stop_slurm() {
    local pid
    for pid in "$scratch"/slurmd.pid "$scratch"/slurmctld.pid "$scratch"/munged.pid; do
        [ ! -s "$pid" ] || kill "$(cat "$pid")" 2>/dev/null
    done
}

node_is_up() {
    sinfo -h -o %T 2>/dev/null | grep -q idle
}

# start_slurm [TASK_PLUGIN [GPUS [LINES]]]: skips the test if Slurm does not start. Its GPUs are files. LINES: of slurm.conf.
start_slurm() {
    local host port select=select/linear gpus=${2:-0} types=
    PATH=$PATH:/usr/sbin
    needs root slurmctld slurmd munged srun
    host=$(hostname -s)
    port=$((20000 + $$ % 20000))
    export SLURM_CONF=$scratch/slurm.conf
    trap 'stop_slurm; sleep 1; rm -rf "$scratch"' EXIT
    chmod 0755 "$scratch"
    mkdir -p "$scratch"/{spool,state,munge}
    chmod 0711 "$scratch/munge"
    (umask 077 && head -c 1024 /dev/urandom >"$scratch/munge.key")
    munged --force --socket "$scratch/munge/socket" --key-file "$scratch/munge.key" \
        --log-file "$scratch/munged.log" --pid-file "$scratch/munged.pid" \
        --seed-file "$scratch/munge.seed" >"$scratch/refused" 2>&1 ||
        skip "munged does not start: $(cat "$scratch/refused")"
    if [ "$gpus" -gt 0 ]; then
        select=select/cons_tres
        touch $(seq -f "$scratch/gpu%g" 0 $((gpus - 1)))
        echo "Name=gpu File=$scratch/gpu[0-$((gpus - 1))]" >"$scratch/gres.conf"
        types=GresTypes=gpu
    fi
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
TaskPlugin=${1:-task/none}
SelectType=$select
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN${types:+ Gres=gpu:$gpus}
${types:-}
${3:-}
PartitionName=all Nodes=$host Default=YES MaxTime=INFINITE State=UP OverSubscribe=YES
CONF
    slurmctld -c >"$scratch/refused" 2>&1 || skip "slurmctld does not start: $(cat "$scratch/refused")"
    slurmd >"$scratch/refused" 2>&1 || skip "slurmd does not start: $(cat "$scratch/refused")"
    wait_for 30 node_is_up ||
        skip "no idle node: $(sinfo 2>&1) $(tail -n 3 "$scratch/slurmd.log" "$scratch/slurmctld.log" 2>&1)"
}
