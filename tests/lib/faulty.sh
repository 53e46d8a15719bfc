# shellcheck shell=bash disable=SC2154,SC2034
# Sourced after cli.sh: two jobs with wrong masks, for tests of contend doctor --verify.
: "${CONTEND_BUSY:?}"
. tests/lib/plant.sh
needs taskset two-cpus
state=$scratch/state

# masks: CPU masks of all threads of the planted processes.
masks() {
    local pid
    for pid in "${faulty[@]}"; do
        grep -h Cpus_allowed_list /proc/"$pid"/task/*/status | cut -f2
    done
}
all_on_first() { ! masks | grep -qvx "$first"; }
one_moved() { masks | grep -qx "$second"; }
unbound() { [ ! -e "$state" ] && all_on_first; }

# start_jobs: starts two jobs on one CPU while another may idle. verify is the command that tries to fix them; on a busy
# machine no finding does, hence --force.
start_jobs() {
    plant taskset -c "$first" "$CONTEND_BUSY" threads=1 log="$scratch/a.log"
    plant taskset -c "$first" "$CONTEND_BUSY" threads=1 log="$scratch/b:c.log"
    wait_for 60 test -s "$scratch/a.log" -a -s "$scratch/b:c.log" || fail "the jobs do not log"
    verify=("$CONTEND_BINARY" doctor --time 1.2 --pid "${faulty[0]}" --pid "${faulty[1]}" --state "$state"
        --verify "lines:$scratch/a.log" --verify "lines:$scratch/b:c.log:^step" --block 1.6 --force)
}
