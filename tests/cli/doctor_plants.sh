#!/usr/bin/env bash
# contend doctor on planted faults: the first finding is the fault, and the printed fix gains what doctor says, by the
# job's own counter. Healthy jobs have no finding.
#
# CONTEND_PLANTS=NAME... runs only these plants. The test needs an idle machine, because it compares speeds.
. tests/lib/cli.sh
: "${CONTEND_JOB:?}" "${CONTEND_BUSY:?}"
. tests/lib/plant.sh
needs two-cpus
[ "$(nproc)" = 2 ] || skip "its faults are those of two CPUs: with more, a mask of two is one itself"
watch_s=${CONTEND_PLANTS_WATCH:-3} count_s=${CONTEND_PLANTS_COUNT:-3}
idle_share() { # of all CPUs, in percent, for two seconds
    local a b
    mapfile -t a < <(awk '/^cpu /{ print $5; print $2 + $3 + $4 + $5 + $6 + $7 + $8 + $9 }' /proc/stat)
    sleep 2
    mapfile -t b < <(awk '/^cpu /{ print $5; print $2 + $3 + $4 + $5 + $6 + $7 + $8 + $9 }' /proc/stat)
    echo $((100 * (b[0] - a[0]) / (b[1] - a[1])))
}
[ "$(idle_share)" -ge 90 ] || [ -n "${CONTEND_PLANTS:-}" ] || skip "the machine is not quiet"
named_right=0 gained_right=0 nplants=0 nsteady=0 last=0

end_plants() { # and what they started
    mapfile -t -O "${#faulty[@]}" faulty < <(pids_of_this_test "$scratch/count")
    end_faults
    rm -f "$scratch"/count*
}
trap 'end_plants; [ -z "$group" ] || rmdir "$group"; rm -rf "$scratch"' EXIT

# A job's last argument is the file with its counter.
job() { plant "${before[@]}" "$CONTEND_JOB" "$@" "count=$scratch/count.${#faulty[@]}"; }

# Prints the pieces of work per second of all jobs, and the share of the CPUs used by other processes meanwhile.
rate() {
    python3 - "$count_s" "$scratch" "${faulty[@]}" <<'END'
import glob, os, struct, sys, time

def pieces():
    return sum(struct.unpack("Q", open(f, "rb").read(8))[0] for f in glob.glob(sys.argv[2] + "/count*"))

def cpu_times(roots):
    """Clock ticks: of all CPUs, those in use, those of the jobs, of doctor and of this."""
    ticks = [int(x) for x in open("/proc/stat").readline().split()[1:9]]
    parents, used, own = {}, {}, set(roots) | {os.getpid()}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            name, rest = open(f"/proc/{pid}/stat").read().rsplit(")", 1)
        except OSError:
            continue
        rest = rest.split()
        parents[int(pid)], used[int(pid)] = int(rest[1]), int(rest[11]) + int(rest[12])
        if "(contend" in name:
            own.add(int(pid))
    for _ in range(8):
        own |= {pid for pid, parent in parents.items() if parent in own}
    return sum(ticks), sum(ticks) - ticks[3] - ticks[4], {p: used[p] for p in own if p in used}

roots = [int(pid) for pid in sys.argv[3:]]
a, t, then = pieces(), time.monotonic(), cpu_times(roots)
time.sleep(float(sys.argv[1]))
b, u, now = pieces(), time.monotonic(), cpu_times(roots)
ours = sum(used - then[2].get(pid, 0) for pid, used in now[2].items())
print((b - a) / (u - t), max(0, now[1] - then[1] - ours) / (now[0] - then[0]))
END
}
counts() { # every one of them
    python3 - "$scratch" <<'END'
import glob, sys
files = glob.glob(sys.argv[1] + "/count*")
sys.exit(not files or not all(any(open(f, "rb").read(8)) for f in files))
END
}

look() { # look PID...: the id, the least and the largest gain, and the command of the first finding, a line each
    local options=() pid
    for pid in "$@"; do options+=(--pid "$pid"); done
    "$CONTEND_BINARY" doctor --json --time "$watch_s" "${options[@]}" >"$scratch/seen"
    python3 - "$scratch/seen" <<'END'
import json, sys
found = json.load(open(sys.argv[1]))["findings"] or [{}]
gain = found[0].get("gain") or 0
most = "inf" if found[0].get("gain_at_least") else found[0].get("gain_most") or gain
print(found[0].get("id", "nothing"), gain, most, found[0].get("command") or "", sep="\n")
END
}

# The command for restarts that a finding cannot print: the program needs an option of its own.
again=''

# True if two rates are within 20% of each other.
alike() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a > 0 && b > 0 && a < 1.2 * b && b < 1.2 * a) }'; }

# steady RATE OTHERS: true if the previous rate was alike and other processes used less than 3% of the CPUs.
steady() {
    local before_that=$last
    last=0
    awk -v share="$2" 'BEGIN { exit !(share < 0.03) }' || return 1
    last=$1
    alike "$1" "$before_that"
}

# follow NAME ID: checks doctor's first finding on the planted jobs, and the gain of its command. Some rates jump from
# one second to the next, and other programs disturb this host. So a gain is judged only from steady rates, within ten
# looks.
follow() {
    local name=$1 expected=$2 id gain most command counter was is others settled=0 predicted='not known'
    wait_for 100 counts || fail "$name: a job does not count"
    sleep 0.5
    last=0
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        rate >"$scratch/was" & # while doctor looks
        counter=$!
        mapfile -t said < <(look "${looked_at[@]:-${faulty[@]}}")
        wait "$counter"
        read -r was others <"$scratch/was"
        ! steady "$was" "$others" || { settled=1 && break; }
    done
    id=${said[0]} gain=${said[1]} most=${said[2]} command=${said[3]}
    nplants=$((nplants + 1))
    if [ "$id" = "$expected" ]; then
        named_right=$((named_right + 1))
    else
        fail "$name: its first finding is $id, not $expected: $(cat "$scratch/seen")"
    fi
    [ -z "$again" ] || command=$again
    case $command in
    *NUM_THREADS=* | *count=*) # a new start
        end_plants
        plant sh -c "$command"
        ;;
    taskset* | sudo* | renice* | echo* | systemctl*) sh -c "$command" >/dev/null ;;
    esac
    wait_for 100 counts || fail "$name: a job does not count any more"
    sleep 0.5
    last=0
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        read -r is others < <(rate)
        ! steady "$is" "$others" || { settled=$((settled + 1)) && break; }
    done
    [ "$gain" = 0 ] || predicted=$(printf '%.3g' "$gain")
    [ "$most" != inf ] || predicted="at least $predicted"
    read -r ratio right < <(python3 - "$was" "$is" "$gain" "$most" <<'END'
import sys
was, now, gain, most = map(float, sys.argv[1:])
ratio = now / max(was, 1e-9)
print(f"{ratio:.2f}", int(gain == 0 or 0.8 * gain <= ratio <= 1.25 * most))
END
    )
    if [ "$settled" = 2 ]; then
        nsteady=$((nsteady + 1)) gained_right=$((gained_right + right))
    fi
    printf '%-14s %-24s predicted %-13s got %-8s %s\n' "$name" "$id" "$predicted" "$ratio" "$(
        [ "$settled" = 2 ] || echo 'no steady rate'
        [ "$right" = 1 ] || echo 'not within 20%'
    )"
    end_plants
    again='' looked_at=() before=()
}

wanted() { [ -z "${CONTEND_PLANTS:-}" ] || [[ " $CONTEND_PLANTS " == *" $1 "* ]]; }
before=() looked_at=()
has_openblas() { python3 -c 'import ctypes; ctypes.CDLL("libopenblas.so.0")' 2>/dev/null; }

if wanted openmp; then # two teams, each as large as the machine
    before=(env -u OMP_NUM_THREADS taskset -c "$first,$second")
    job omp && job omp
    follow openmp more_threads_than_cpus
fi
if wanted openmp_many; then
    before=(env OMP_NUM_THREADS=16 taskset -c "$first,$second")
    job omp
    follow openmp_many more_threads_than_cpus
fi
if wanted own_barrier; then # threads of the program's own, which no variable sets
    before=(taskset -c "$first,$second")
    job own threads=4
    again="taskset -c $first,$second $CONTEND_JOB own threads=2 count=$scratch/count.0"
    follow own_barrier more_threads_than_cpus
fi
has_openblas || echo "left out: openblas, python_blas, nested_blas: no libopenblas.so.0"
if wanted openblas && has_openblas; then
    before=(env -u OPENBLAS_NUM_THREADS taskset -c "$first,$second")
    job blas && job blas
    follow openblas more_threads_than_cpus
fi
if wanted python_blas && has_openblas; then # as a pool of processes
    plant taskset -c "$first,$second" python3 tests/lib/pool.py blas 2 "$scratch/count"
    follow python_blas more_threads_than_cpus
fi
if wanted nested_blas && has_openblas; then # as a pool of threads, which share the pool of OpenBLAS
    plant env -u OPENBLAS_NUM_THREADS taskset -c "$first,$second" python3 tests/lib/pool.py nested 4 "$scratch/count"
    follow nested_blas more_threads_than_cpus
fi
if wanted python_pool; then # a launcher that is bound, and what it started
    plant taskset -c "$first" python3 tests/lib/pool.py compute 3 "$scratch/count"
    follow python_pool inherited_mask
fi
if wanted narrowed_pool; then # one that is bound only after it was started
    plant python3 tests/lib/pool.py compute 3 "$scratch/count" "$first"
    follow narrowed_pool narrowed_children
fi
if wanted narrow_mask; then
    before=(taskset -c "$first")
    job compute threads=2
    follow narrow_mask narrow_mask
fi
if wanted inherited; then
    plant taskset -c "$first" sh -c '"$@"; :' - "$CONTEND_JOB" compute threads=3 "count=$scratch/count.0"
    follow inherited inherited_mask
fi
if wanted hot_cpu; then
    before=(taskset -c "$first")
    job compute && job compute
    follow hot_cpu masks_overlap
fi
if wanted three_on_one; then # more processes than CPUs, and a CPU idles
    before=(taskset -c "$first")
    job compute && job compute && job compute
    follow three_on_one masks_overlap
fi
if wanted own_masks; then # threads that bound themselves
    job compute threads=3 "on=$first"
    follow own_masks idle_beside_queue
fi
if wanted neighbour; then # one that was not asked about
    before=(taskset -c "$first")
    job compute
    looked_at=("${faulty[0]}")
    plant "$CONTEND_BUSY" threads=2
    follow neighbour run_queue
fi
make_group() { # half a CPU, of either version
    if [ -e /sys/fs/cgroup/cpu/cpu.cfs_quota_us ]; then
        group=$(mktemp -d /sys/fs/cgroup/cpu/contend-XXXXXX) && echo 50000 >"$group/cpu.cfs_quota_us"
    elif grep -qw cpu /sys/fs/cgroup/cgroup.subtree_control 2>/dev/null; then
        group=$(mktemp -d /sys/fs/cgroup/contend-XXXXXX) && echo "50000 100000" >"$group/cpu.max"
    fi
}
if wanted quota && [ "$(id -u)" = 0 ] && make_group 2>/dev/null && [ -n "$group" ]; then
    plant sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group" \
        taskset -c "$first,$second" "$CONTEND_JOB" compute threads=2 "count=$scratch/count.0"
    follow quota throttled
    wait_for 20 rmdir "$group" && group=''
fi

# healthy NAME: doctor has no finding on the planted jobs.
healthy() {
    sleep 0.5
    mapfile -t said < <(look "${faulty[@]}")
    id=${said[0]}
    [ "$id" = nothing ] || fail "$1 has a finding: $(cat "$scratch/seen")"
    printf '%-14s %s\n' "$1" "$id"
    end_plants
    before=()
}
if wanted healthy; then
    plant sleep 100
    healthy idle
    plant sh -c 'while :; do dd if=/dev/zero of="$0" bs=4k count=64 oflag=dsync; done' "$scratch/disk"
    healthy disk
    job sleep && job sleep
    healthy gpu
    before=(taskset -c "$first") && job compute
    before=(taskset -c "$second") && job compute
    healthy pinned
    plant sh -c 'while :; do /bin/true; done'
    healthy short
fi
echo "$named_right of $nplants plants named first, $gained_right of $nsteady with steady rates gained what was predicted (20%)"
[ "$nsteady" -ge $((nplants - 2)) ] || fail "too few have steady rates: is the machine quiet?"
[ "$gained_right" -ge $((nsteady - 1)) ] || fail "too few gained what was predicted"
finish
