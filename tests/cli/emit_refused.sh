#!/usr/bin/env bash
# A table of refusals x formats: runs each text of `place --emit` that can run here while one system call is refused or
# one setting inherited. A cell has the exit code, and for each worker the CPUs (of its team, its children and its plain
# threads, written once if equal), its threads and its memory policy. "+" marks what the text reported.
. tests/lib/cli.sh
. tests/lib/quota.sh
needs two-cpus numactl
export NO_COLOR=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 IMAGE=image SAW=$scratch/saw
unset CUDA_VISIBLE_DEVICES "${!OMP_@}" "${!GOMP_@}" "${!KMP_@}" "${!MKL_@}" "${!OPENBLAS_@}"
"$CONTEND_REFUSE" set_mempolicy EPERM true || skip "no system call can be refused here"
mkdir "$scratch/without"
formats="commands sh numactl env systemd docker slurm torchrun"
! command -v mpirun >/dev/null || formats="$formats mpirun"

cat >"$scratch/worker" <<SH
#!/bin/sh
"$CONTEND_MASKS" >"\$SAW/\$1"
echo "\$OMP_NUM_THREADS \$MKL_NUM_THREADS \$OPENBLAS_NUM_THREADS" >"\$SAW/\$1.threads"
SH
chmod +x "$scratch/worker"

. tests/lib/stand_ins.sh
stand_in torchrun <<'SH'
while [ "$1" != --no-python ]; do
    case $1 in --nproc-per-node=*) n=${1#*=} ;; esac
    shift
done
shift
worst=0
for rank in $(seq 0 $((n - 1))); do
    LOCAL_RANK=$rank "$@"
    code=$?
    [ $code -le $worst ] || worst=$code
done
exit $worst
SH
stand_in srun <<'SH'
while [ "$1" != sh ]; do
    case $1 in --ntasks=*) n=${1#*=} ;; esac
    shift
done
worst=0
for rank in $(seq 0 $((n - 1))); do
    SLURM_PROCID=$rank "$@"
    code=$?
    [ $code -le $worst ] || worst=$code
done
exit $worst
SH
# A PATH with all programs but numactl.
for folder in /usr/local/sbin /usr/local/bin /usr/sbin /usr/bin /sbin /bin; do
    ln -s "$folder"/* "$scratch/without" 2>/dev/null
done
rm -f "$scratch/without/numactl"

# emitted FORMAT OPTION...: writes the text to $scratch/text.
emitted() {
    local format=$1
    shift
    "$CONTEND_BINARY" place --emit "$format" "$@" -- ./worker '{worker}' >"$scratch/text" 2>"$scratch/stderr" ||
        fail "place --emit $format $*: $(cat "$scratch/stderr")"
    # Only the block of commands is pasted.
    [ "$format" != commands ] || sed -i -n '/^Commands/,$p' "$scratch/text" && sed -i '/^Commands/d' "$scratch/text"
}
# worker_of N: prints "CPUS tTHREADS MEMORY".
worker_of() {
    local team forked plain memory cpus threads
    [ -s "$SAW/$1" ] || { echo none && return; }
    read -r _ team _ forked _ plain _ memory <"$SAW/$1"
    read -r threads _ <"$SAW/$1.threads"
    cpus=$team
    [ "$team" = "$forked" ] && [ "$team" = "$plain" ] || cpus="$team(fork $forked,plain $plain)"
    echo "$cpus t$threads $memory"
}
# runs PREFIX...: runs the text behind the prefix. Sets $cell; the messages are in $scratch/said.
runs() {
    local code notes=
    rm -rf "$SAW"
    mkdir "$SAW"
    (cd "$scratch" && PATH=$scratch/bin:${path:-$PATH} timeout 60 "$@" sh ./text) >"$scratch/said" 2>&1 </dev/null
    code=$?
    ! grep -q 'memory is not bound' "$scratch/said" || notes=" +memory"
    ! grep -q 'refused: CPU' "$scratch/said" || notes="$notes +refused"
    ! grep -q 'annot be bound here\|taskset: failed' "$scratch/said" || notes="$notes +CPUs"
    cell="$code $(worker_of 0), $(worker_of 1)$notes"
}
# expect_cell EXPECTED...: the cell equals one of these.
expect_cell() {
    local expected
    printf '%-16s %-9s %s\n' "$refusal" "$format" "$cell"
    for expected in "$@"; do
        [ "$cell" != "$expected" ] || return 0
    done
    fail "$refusal, $format: expected '$1': $(cat "$scratch/said" "$scratch/stderr")"
}

cpus=$("$CONTEND_BINARY" place -n 2 -P partition --json 2>/dev/null | sed -n 's/.*"cpus": "\([^"]*\)".*/\1/p' | xargs)
first=${cpus% *} second=${cpus#* }
# A team of several threads on one slice writes the list once per thread.
team_of() {
    local n i list=$1
    n=$("$CONTEND_BINARY" place -n 2 -P partition --json 2>/dev/null | sed -n 's/.*"threads": \([0-9]*\).*/\1/p' | sed -n "$2p")
    for ((i = 1; i < n; i++)); do list=$list/$1; done
    [ "$n" = 1 ] && echo "$1 t1" || echo "$list(fork $1,plain $1) t$n"
}
one=$(team_of "$first" 1) two=$(team_of "$second" 2)
# Formats bind memory by numactl or a similar tool. docker sets a cpuset, which is not a policy.
bind=" bind"
numactl --membind=0 true 2>/dev/null || bind=
memory_of() {
    case $1 in sh | env | docker) echo default ;; *) echo bind ;; esac
}
says_memory() { # it is said that memory is not bound
    case $1 in sh | env | commands) ;; *) echo " +memory" ;; esac
}

echo "refusal          format    exit, worker 0, worker 1: CPUs, threads, memory; + what was said"
for format in $formats; do
    path=$PATH
    emitted "$format" -n 2 -P partition --mem bind
    memory=$(memory_of "$format")
    plain="0 $one default, $two default"

    refusal=nothing
    [ -z "$bind" ] || { runs && expect_cell "0 $one $memory, $two $memory"; }
    [ "$format" != docker ] || grep -q '^cpuset.mems ' "$SAW/docker" || fail "docker: no nodes"

    # Pasted lines depend on the place where they were made, so they are made under the same refusal.
    refusal=set_mempolicy
    [ "$format" != commands ] || "$CONTEND_REFUSE" set_mempolicy EPERM "$CONTEND_BINARY" place -n 2 -P partition \
        --mem bind -- ./worker '{worker}' | sed -n '/^Commands/,$p' | sed 1d >"$scratch/text"
    export DOCKER_REFUSES=--cpuset-mems
    runs "$CONTEND_REFUSE" set_mempolicy EPERM
    expect_cell "$plain$(says_memory "$format")"
    unset DOCKER_REFUSES
    emitted "$format" -n 2 -P partition --mem bind

    # Some versions of numactl call get_mempolicy first, and if that fails bind no CPUs either.
    if [ "$format" != commands ] && [ "$format" != docker ]; then
        refusal=get_mempolicy
        runs "$CONTEND_REFUSE" get_mempolicy EPERM
        case $format in
        sh | env) is "0 $one ?, $two ?" ;;
        *) is "0 $one ?, $two ? +memory" "0 $one ?, $two ?" ;;
        esac
        refusal="no numactl"
        path=$scratch/without
        runs
        path=$PATH
        expect_cell "$plain$(case $format in sh | env | docker) ;; *) echo " +memory" ;; esac)"
    fi

    # A worker that cannot be bound does not start. OpenMP does not report the failure.
    refusal=setaffinity
    runs "$CONTEND_REFUSE" sched_setaffinity EPERM
    case $format in
    commands) is "0 none, none +CPUs" "0 none, none" ;;
    env)
        case $cell in "0 "*" +CPUs") is "$cell" ;; *) is "0 ... +CPUs" ;; esac
        ;;
    mpirun) case $cell in "0 none"* | [1-9]*" none, none"*) is "$cell" ;; *) is "1 none, none +CPUs" ;; esac ;;
    numactl | slurm | torchrun) is "1 none, none +memory +CPUs" ;;
    systemd) is "1 none, none +memory +CPUs" "1 none, none +CPUs" ;;
    *) is "1 none, none +CPUs" ;;
    esac

    refusal="narrower mask"
    runs taskset -c "$first"
    case $format in
    commands) is "0 $one bind, none +CPUs" "0 $one bind, none" ;;
    torchrun | slurm) is "2 $one bind, none +refused" ;;
    *) is "2 none, none +refused" ;;
    esac

    # Texts see the inherited setting when they run; pasted lines only know settings at the time they are made.
    for inherited in "GOMP_CPU_AFFINITY=$second" OMP_PROC_BIND=true "OMP_PLACES={$second}" OMP_THREAD_LIMIT=1 \
        "KMP_AFFINITY=explicit,proclist=[$second]"; do
        refusal=${inherited%%=*}
        [ "$format" != commands ] || env "$inherited" "$CONTEND_BINARY" place -n 2 -P partition --mem bind -- ./worker '{worker}' |
            sed -n '/^Commands/,$p' | sed 1d >"$scratch/text"
        [ -z "$bind" ] || { runs env "$inherited" && expect_cell "0 $one $memory, $two $memory"; }
    done
    # The plan sets all variables that size teams.
    [ "$format" = commands ] || { runs env MKL_NUM_THREADS=77 OPENBLAS_NUM_THREADS=77 OMP_NUM_THREADS=77 &&
        read -r a b c <"$SAW/0.threads" && [ "$a $b $c" = "$a $a $a" ] && [ "$a" != 77 ]; } ||
        fail "$format: threads $(cat "$SAW/0.threads")"
done

# Policies that are only preferences.
for policy in preferred interleave; do
    format=numactl refusal="nothing ($policy)"
    emitted numactl -n 2 -P partition --mem "$policy"
    [ -z "$bind" ] || { runs && expect_cell "0 $one $policy, $two $policy"; }
    refusal="set_mempolicy"
    runs "$CONTEND_REFUSE" set_mempolicy EPERM
    expect_cell "0 $one default, $two default +memory"
done

# Permanent units say what to delete, and systemd accepts them.
emitted systemd -n 2 -P partition --mem bind
mkdir "$scratch/units"
(cd "$scratch" && sh ./text units "$scratch/units") || fail "the units are not written"
for part in 242/NUMA_POLICY '^NUMAPolicy=bind' '^UnsetEnvironment=OMP_PROC_BIND .*GOMP_CPU_AFFINITY'; do
    grep -q "$part" "$scratch/units/contend-worker-1.service" || fail "no $part: $(cat "$scratch/units/"*1.service)"
done
if command -v systemd-analyze >/dev/null; then
    systemd-analyze verify "$scratch"/units/*.service >"$scratch/said" 2>&1 && [ ! -s "$scratch/said" ] ||
        fail "systemd-analyze verify: $(cat "$scratch/said")"
fi

# A quota: teams are as large as the granted time.
make_group && quota 100
for format in $formats; do
    [ -n "$group" ] || break
    refusal="quota of 1 CPU"
    "${within[@]}" "$CONTEND_BINARY" place --emit "$format" -n 1 -P sized -- ./worker '{worker}' >"$scratch/text" 2>"$scratch/stderr"
    [ "$format" = commands ] || grep -q 'CPU quota: the cgroup grants the time of 1 CPU,' "$scratch/stderr" ||
        fail "$format: the quota is not said: $(cat "$scratch/stderr")"
    grep -q 'CPU quota: the cgroup grants' "$scratch/text" || fail "$format: the text does not say the quota"
    [ "$format" != commands ] || sed -i '1,/^Commands/d' "$scratch/text"
    runs "${within[@]}"
    case $cell in "0 "*" t1 default, none") is "$cell" ;; *) is "0 ... t1 default, none" ;; esac
done
finish
