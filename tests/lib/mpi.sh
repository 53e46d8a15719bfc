# shellcheck shell=bash
# Sourced by tests/cli/mpi*.sh and slurm.sh, after tests/lib/cli.sh: helpers that start jobs of several ranks.

# Allows root to run mpirun. If ranks outnumber cores, they share cores, and yield while they wait.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
export TMPDIR=${scratch:?} # MPI's sessions of other jobs come and go in /tmp
export ASAN_OPTIONS=detect_leaks=0 # MPI keeps what it has until the end
export CONTEND_MPI_MODULE="$CONTEND_BUILD_DIR/contend_mpi.so"

needs_mpi() {
    needs mpirun
    [ -e "$CONTEND_MPI_MODULE" ] || skip "needs mpicc, when it is built"
}

# rank_of PID: its rank, as mpirun or srun set it; nothing for other processes.
rank_of() {
    tr '\0' '\n' <"/proc/$1/environ" 2>/dev/null |
        sed -n 's/^\(OMPI_COMM_WORLD_RANK\|SLURM_PROCID\)=//p' | head -n 1
}

# pids PATTERN RANK: processes of this test that have that rank and a matching command line.
pids() {
    local pid
    for pid in $(pids_of_this_test "$1"); do
        [ "$(rank_of "$pid")" != "$2" ] || echo "$pid"
    done
}

# Waits until a run in the background has finished its first round.
first_round() { # first_round LOG
    grep -qs 'round 1 of' "$1"
}

# check_collective DIR RANKS: checks that there are rows of device mpi, each with a bus bandwidth above 0.
check_collective() {
    awk -F, -v ranks="$2" '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $at["device"] != "mpi" || $at["workers"] != ranks { print "not mpi with " ranks ": " $0; bad = 1 }
        $at["status"] != "ok" && $at["status"] != "noisy" { print "status: " $0; bad = 1 }
        $at["metric"] == "collective_busbw" { n++; if ($at["median"] <= 0) { print "no bandwidth: " $0; bad = 1 } }
        END { if (!n) print "no collective_busbw at all"; exit bad || !n }
    ' "$1/rows.csv" || fail "rows of $1"
}
