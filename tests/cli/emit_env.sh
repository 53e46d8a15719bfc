#!/usr/bin/env bash
# place --emit env: a worker's child processes and plain threads may use all CPUs of the slice, unless one CPU per
# thread was asked for.
. tests/lib/cli.sh
needs two-cpus
unset "${!OMP_@}" "${!GOMP_@}" "${!KMP_@}"
cpus=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)
first=$(echo "$cpus" | sed 's/[,-].*//')
second=$(taskset -c "$cpus" sh -c 'sed -n "s/^Cpus_allowed_list:[[:space:]]*//p" /proc/self/status' | sed -E 's/^([0-9]+)-.*/\1 +/; s/^[0-9]+,([0-9]+).*/\1/')
[ "${second#* }" != + ] || second=$((first + 1))

# A machine of four CPUs, of which a worker has the first two; they are replaced by two CPUs of this machine.
"$CONTEND_BINARY" place --xml "package:1 core:4 pu:1" -n 2 -P partition --emit env -- sh -c '"$MASKS" >"$OUT.$0"' '{worker}' \
    >"$scratch/text" 2>"$scratch/err" || fail "$(cat "$scratch/err")"
sed -i "s/^may .*//; s/bind \"{0:2}\" 0-1 \"{0}:2\"/bind \"{$first,$second}\" $first,$second \"{$first},{$second}\"/
    s/bind \"{2:2}\" 2-3 \"{2}:2\"/bind \"{$first,$second}\" $first,$second \"{$first},{$second}\"/" "$scratch/text"
[ "$(grep -c "bind \"{$first,$second}\"" "$scratch/text")" = 2 ] || fail "no such text: $(cat "$scratch/text")"
both=$first,$second
[ "$second" != $((first + 1)) ] || both=$first-$second
export MASKS=$CONTEND_MASKS OUT=$scratch/out
# gives HOW EXPECTED: checks both workers with OPENMP=HOW.
gives() {
    local worker
    rm -f "$OUT".*
    env ${1:+"OPENMP=$1"} sh "$scratch/text" >"$scratch/said" 2>&1 || fail "OPENMP=$1: $(cat "$scratch/said")"
    for worker in 0 1; do
        [ "$(cut -d' ' -f1-6 "$OUT.$worker")" = "$2" ] || fail "OPENMP=$1: $(cat "$OUT.$worker"), not $2"
    done
}
gives "" "team $both/$both fork $both plain $both"
gives slice "team $both/$both fork $both plain $both"
gives each "team $first/$second fork $first plain $first"
gives gomp "team $first/$second fork $first plain $first"
expect 2 'OPENMP is slice, each, gomp or kmp' env OPENMP=x sh "$scratch/text"
# The text explains the effect of each choice.
grep -q '^# .*forks, such as data loaders' "$scratch/text" || fail "nothing of forked processes"
! grep -qi 'no other threads' "$scratch/text" || fail "other threads are said to be free"

# Inherited OpenMP settings have no effect.
for inherited in "OMP_PLACES={$first}" OMP_PROC_BIND=close "GOMP_CPU_AFFINITY=$first" OMP_THREAD_LIMIT=1; do
    env "$inherited" sh "$scratch/text" || fail "$inherited"
    [ "$(cut -d' ' -f1-6 "$OUT.0")" = "team $both/$both fork $both plain $both" ] || fail "$inherited: $(cat "$OUT.0")"
done
finish
