#!/bin/sh
# Slurm's HealthCheckProgram and Prolog: drains this node when `contend validate` fails, with its sentence as the reason,
#   and resumes it when it passes again. Never changes a node that somebody else drained. Exit code: 0, also where nothing
#   was judged; 1: the node is drained, so that a prolog starts no job on it; 2: OPTIONS or Slurm.
# To change: OPTIONS, below: what this kind of node must have. Try it by hand on a node first: a wrong option exits with 2.
# Tried: shellcheck; slurmctld and slurmd 22.05, as HealthCheckProgram and Prolog (tests/cli/slurm_health.sh). Untried: GPUs.
set -u
: "${CONTEND=contend}" "${OPTIONS=--expect gpus=8}" "${LIMIT_S=10}" "${SLURMD_NODENAME:=$(hostname -s)}"
PATH=${PATH:-/bin}:/usr/local/bin:/usr/bin:/bin # slurmd may set none
node() { scontrol show node "$SLURMD_NODENAME" | sed -n "s/^ *$1=//p"; }
code=0
# shellcheck disable=SC2086
why=$(timeout -k 2 "$LIMIT_S" "$CONTEND" validate --no-measure --brief $OPTIONS) || code=$?
state=$(node State) reason=$(node Reason)
[ "$state" ] || { echo "$0: no node $SLURMD_NODENAME" >&2 && exit 2; }
state=${state%% *} ours=
case $state:$reason in *DRAIN*:"contend: "*) ours=yes ;; esac
case $code in
0)
    [ ! "$ours" ] || exec scontrol update NodeName="$SLURMD_NODENAME" State=UNDRAIN
    exit
    ;;
1 | 3) ;;
4) echo "$0: $why" >&2 && exit ;;
124 | 137) why="ERROR: contend validate gave no verdict in $LIMIT_S s" ;;
*) echo "$0: contend validate: exit $code" >&2 && exit 2 ;;
esac
why="contend: $why"
case $ours:$state:$reason in
*:"$why [root@"*) ;; # said already
yes:* | :IDLE:* | :ALLOCATED:* | :MIXED:* | :COMPLETING:*)
    scontrol update NodeName="$SLURMD_NODENAME" State=DRAIN Reason="$why" || exit 2
    ;;
esac
exit 1
