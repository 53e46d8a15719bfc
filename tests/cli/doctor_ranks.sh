#!/usr/bin/env bash
# contend doctor names ranks that poll for each other on fewer CPUs than ranks, and the command that it prints cures them.
# It leaves alone ranks that have a CPU each or yield, and says "the same total" only where samples show no spinning.
. tests/lib/cli.sh
: "${CONTEND_JOB:?}" "${CONTEND_STUB_MPI:?}" "${CONTEND_REFUSE:?}"
. tests/lib/plant.sh
. tests/lib/look.sh
needs two-cpus
cpus=$(nproc)
[ "$cpus" -le 8 ] || skip "too many ranks are needed on $cpus CPUs"
[ -z "$CONTEND_SANITIZE" ] || skip "the sanitizers start threads of their own"
unset KUBERNETES_SERVICE_HOST OMPI_MCA_mpi_yield_when_idle OMPI_MCA_mpi_oversubscribe PMI_SIZE SLURM_JOB_ID

# A launcher as Open MPI's: mpirun [-x NAME=VALUE] -n RANKS PROGRAM...
cat >"$scratch/mpirun" <<'END'
#!/bin/bash
while [[ $1 == -* ]]; do
    case $1 in
    -x) export "${2?}" ;;
    -n) export OMPI_COMM_WORLD_SIZE=$2 ;;
    esac
    shift 2
done
for ((rank = 0; rank < OMPI_COMM_WORLD_SIZE; rank++)); do
    OMPI_COMM_WORLD_RANK=$rank "$@" "ranks=$OMPI_COMM_WORLD_SIZE" &
done
wait
END
chmod +x "$scratch/mpirun"

jobs_of_ours() {
    local pid
    for pid in $(pids_of_this_test "$CONTEND_JOB"); do
        ! [ "/proc/$pid/exe" -ef "$CONTEND_JOB" ] || echo "$pid"
    done
}
are_jobs() { [ "$(jobs_of_ours | wc -l)" = "$1" ]; }
started() { # started N: waits for N jobs; sets pids
    wait_for 60 are_jobs "$1" || fail "no $1 jobs run"
    mapfile -t pids < <(jobs_of_ours)
}
end_jobs() {
    mapfile -t -O "${#faulty[@]}" faulty < <(jobs_of_ours)
    end_faults
    rm -f "$scratch/page" "$scratch/count"
}
ranks() { # ranks N
    plant "$scratch/mpirun" -n "$1" "$CONTEND_JOB" rank "count=$scratch/count" \
        "mpi=$CONTEND_STUB_MPI" "page=$scratch/page"
    started "$1"
}
steps() { od -An -tu8 "$scratch/count"; }
rate() { # steps in two seconds
    local before
    before=$(steps)
    sleep 2
    echo $(($(steps) - before))
}
says() { # says ID: the severity, and whether its sentence claims the same total; a line each
    python3 - "$scratch/seen" "$1" <<'END'
import json, sys
for finding in json.load(open(sys.argv[1]))["findings"]:
    if finding["id"] == sys.argv[2]:
        print(finding["severity"], "same total" in finding["sentence"])
END
}

# sees_as ID "SEVERITY CLAIM" PID...: looks until it says so. On a busy machine, a short look has too few samples.
sees_as() {
    local id=$1 expected=$2 watch_s
    shift 2
    for watch_s in 1 3 5 8 8; do
        look "$@"
        [ "$(says "$id")" != "$expected" ] || return 0
    done
    fail "$id is not '$expected': $(cat "$scratch/seen")"
}

ranks "$cpus"
look "${pids[@]}"
[ -z "$(named ranks_poll)" ] || fail "ranks with a CPU each are named: $(cat "$scratch/seen")"
end_jobs

ranks $((2 * cpus))
sees_as ranks_poll 'bad False' "${pids[@]}"
command=$(command_of ranks_poll)
was=$(rate)
end_jobs
plant sh -c "$command"
started $((2 * cpus))
watch_s=2
look "${pids[@]}"
[ -z "$(named ranks_poll)" ] || fail "ranks that yield are named: $(cat "$scratch/seen")"
! grep -q 'same total' "$scratch/seen" || fail "the same total is claimed of ranks: $(cat "$scratch/seen")"
is=$(rate)
[ "$is" -ge $((2 * was)) ] || fail "$was -> $is steps by: $command"
end_jobs

serial() { # as many processes that only compute
    local i
    for ((i = 0; i < 2 * cpus; i++)); do plant "$CONTEND_JOB" compute "count=$scratch/count"; done
    started $((2 * cpus))
}
serial
sees_as masks_overlap 'note True' "${pids[@]}"
end_jobs

# Without samples, ranks are a warning, and nothing is said of the total.
"$CONTEND_REFUSE" perf_event_open EPERM true || finish # no system call can be refused here
printf '#!/bin/sh\nexec "%s" perf_event_open EPERM "%s" "$@"\n' "$CONTEND_REFUSE" "$CONTEND_BINARY" >"$scratch/blind"
chmod +x "$scratch/blind"
CONTEND_BINARY=$scratch/blind
ranks $((2 * cpus))
sees_as ranks_poll 'doubt False' "${pids[@]}"
end_jobs
serial
sees_as masks_overlap 'note False' "${pids[@]}"
end_jobs
finish
