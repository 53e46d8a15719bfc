#!/usr/bin/env bash
# share/slurm/healthcheck.sh as slurmd runs it: it drains and resumes the node of real daemons.
. tests/lib/slurm.sh
checked=$scratch/checked
for use in health prolog; do # both get their options by a file; each is a whole program, without arguments
    cat > "$scratch/$use" <<END
#!/bin/sh
[ ! -e "$scratch/$use.off" ] || exit 0
export LIMIT_S=60 SLURM_CONF="$scratch/slurm.conf" CONTEND="$(realpath "$CONTEND_BINARY")" OPTIONS="\$(cat "$scratch/options")"
"$PWD/share/slurm/healthcheck.sh" 2>> "$scratch/said"
code=\$?
echo $use \$code >> "$checked"
exit \$code
END
    chmod +x "$scratch/$use"
done
options() { echo "--only expected --expect $1" > "$scratch/new" && mv "$scratch/new" "$scratch/options"; }
options gpus=0
start_slurm task/none 0 "HealthCheckProgram=$scratch/health
HealthCheckInterval=2
Prolog=$scratch/prolog"

stop() { fail "$@"; finish; }
checks() { grep -c "$1" "$checked" 2> /dev/null; }
checked_more() { [ "$(checks "$1")" -ge "$2" ]; }
after_checks() { wait_for 120 checked_more "$1" $(($(checks "$1") + 2)) || stop "no check: $(cat "$checked" "$scratch/slurmd.log")"; }
is() { [ "$(sinfo -h -o '%T %E')" = "$1" ]; }
becomes() { wait_for 120 is "$1" || stop "$1: $(sinfo -h -o '%T %E') $(cat "$checked" "$scratch/said")"; }
sentence='contend: FAIL: CPUs: 2 of the 1000 that are expected'
sentence=${sentence/2/$(nproc --all)}

after_checks 'health 0'
becomes 'idle none'
options gpus=0,cpus=1000
becomes "drained $sentence"
sinfo -R -o '%50E %u %N' | grep -F "${sentence:0:40}" || fail "sinfo -R: $(sinfo -R)"
options gpus=0,cpus=1000,nvme=999
becomes "drained $sentence; 1 more"
# Neither a program that cannot be judged nor a wrong option resumes the node.
options hens=8
after_checks 'health 2'
becomes "drained $sentence; 1 more"
options gpus=0
becomes 'idle none'

# What an administrator drained keeps its reason, whatever is found.
host=$(hostname -s)
scontrol update NodeName="$host" State=DRAIN Reason='the "fan": replace it'
after_checks 'health 0'
options gpus=0,cpus=1000
after_checks 'health 1'
becomes 'drained the "fan": replace it'
touch "$scratch/health.off"
scontrol update NodeName="$host" State=RESUME

# A job on a node with a fault does not start. Slurm keeps the reason that the prolog gave.
becomes 'idle none'
sbatch -H -o /dev/null --wrap "touch $scratch/ran" > "$scratch/submitted"
scontrol release "$(grep -o '[0-9]*$' "$scratch/submitted")"
becomes "drained $sentence"
[ ! -e "$scratch/ran" ] || fail 'the job ran'
grep -q 'prolog 1' "$checked" || fail "no prolog: $(cat "$checked")"
options gpus=0
rm "$scratch/health.off"
becomes 'idle none'
finish
