# shellcheck shell=bash disable=SC2154
# Sourced after cli.sh: stand-ins for systemd-run and docker in $scratch/bin, which start emitted texts.
mkdir -p "$scratch/bin"

# A stand-in interprets the options that matter, and starts the command.
stand_in() { # stand_in NAME: its body on stdin
    { echo '#!/bin/sh' && cat; } >"$scratch/bin/$1"
    chmod +x "$scratch/bin/$1"
}
stand_in systemd-run <<'SH'
# As systemd: clears our environment, replaces $$ by $, and exits 242 if memory cannot be bound.
while [ "$1" != -- ]; do
    case $1 in
    --setenv=*) export "${1#--setenv=}" ;;
    CPUAffinity=*) cpus=${1#*=} ;;
    NUMAPolicy=*) policy=${1#*=} ;;
    NUMAMask=*) nodes=${1#*=} ;;
    UnsetEnvironment=*) unset ${1#*=} ;;
    esac
    shift
done
shift
n=$#
for word in "$@"; do
    set -- "$@" "$(printf '%s.' "$word" | sed 's/\$\$/$/g')"
done
shift $n
for word in "$@"; do
    set -- "$@" "${word%.}"
    shift
done
if [ "${policy:-}" ]; then
    numactl "--mem$policy=$nodes" true 2>/dev/null || exit 242
    set -- numactl "--mem$policy=$nodes" -- "$@"
fi
exec ${cpus:+taskset -c "$cpus"} "$@"
SH
stand_in docker <<'SH'
# A container does not inherit our environment. The daemon refuses the option in $DOCKER_REFUSES.
[ "$1" != rm ] || exit 0
unset OMP_PROC_BIND OMP_PLACES GOMP_CPU_AFFINITY OMP_THREAD_LIMIT
while [ "$1" != image ]; do
    [ "$1" != "${DOCKER_REFUSES:-}" ] || { echo "Requested memory nodes are not available" >&2 && exit 125; }
    case $1 in --env) export "$2" ;; --cpuset-cpus) cpus=$2 ;; --cpuset-mems) mems=$2 ;; esac
    shift
done
shift
[ -z "${mems:-}" ] || echo "cpuset.mems $mems" >"$SAW/docker"
exec ${cpus:+taskset -c "$cpus"} "$@"
SH
