#!/usr/bin/env bash
# The affinity mask may have CPUs that are missing in the system's list of online CPUs, as under lxcfs: the mask counts.
# Isolated CPUs are reported.
. tests/lib/cli.sh
needs root two-cpus jq
unshare -m true 2>/dev/null || skip "needs a mount namespace"
cpus=$(taskset -cp $$ | sed 's/.*: //')
[[ ",$cpus," == *[,]0[,-]* && "$(cat /sys/devices/system/cpu/online)" == 0-* ]] || skip "needs CPUs 0 and 1"
mkdir "$scratch/tmp"

# shown LIST FILE COMMAND...: runs it with that list in /sys/devices/system/cpu/FILE.
shown() {
    printf '%s\n' "$1" >"$scratch/list"
    TMPDIR=$scratch/tmp unshare -m sh -c 'mount --make-rprivate / && mount --bind "$0" "/sys/devices/system/cpu/$1" &&
        shift && exec "$@"' "$scratch/list" "$2" "${@:3}"
}
# planned LIST MASK: prints the CPUs of one worker that has all CPUs.
planned() { shown "$1" online taskset -c "$2" "$CONTEND_BINARY" place -n 1 --json 2>"$scratch/stderr" | jq -r '.workers[0].cpus'; }

for list in 0 1 0-1 0-3 '' 7; do
    for mask in 0 1 0-1; do
        [ "$(planned "$list" $mask)" = $mask ] ||
            fail "online '$list', mask $mask: planned on '$(planned "$list" $mask)': $(cat "$scratch/stderr")"
    done
done
planned 0 1 >/dev/null
grep -q "^contend: CPU 1: the system's list of online CPUs lacks" "$scratch/stderr" || fail "place: $(cat "$scratch/stderr")"
planned 0-1 1 >/dev/null
! grep -q 'lacks' "$scratch/stderr" || fail "of a true list: $(cat "$scratch/stderr")"
shown 0 online taskset -c 1 "$CONTEND_BINARY" info >"$scratch/out" || fail "info"
grep -Eq '^CPUs +[0-9]+, of which 1 are allowed: 1$' "$scratch/out" || fail "info: $(cat "$scratch/out")"
shown 0 online taskset -c 1 "$CONTEND_BINARY" info --json | jq -e '.findings[0].id == "cpus_hidden"' >/dev/null || fail "info --json"
shown 0 online "$CONTEND_BINARY" validate --no-measure --only cpus_online >"$scratch/out" || fail "$(cat "$scratch/out")"
shown 0 online taskset -c 1 "$CONTEND_FAKE" run fake --placement none,partition --workers 1 --rounds 1 --time 0.05 \
    --no-plots --out "$scratch/run" >"$scratch/out" 2>&1 || fail "run: $(cat "$scratch/out")"
jq -e '[.. | .cpus_actual? // empty] | length > 0 and all(. == "1")' "$scratch/run/run.json" >/dev/null ||
    fail "run: $(jq -c '[.. | .cpus_actual? // empty]' "$scratch/run/run.json")"
[ -z "$(ls "$scratch/tmp")" ] || fail "left in TMPDIR: $(ls "$scratch/tmp")"

# Isolated CPUs, inside and outside the mask. A team on several isolated CPUs is a doubt for its worker.
shown 0-1 isolated "$CONTEND_BINARY" place -n 1 --cpus 0-1 >"$scratch/out" 2>&1
grep -q 'warning: CPUs 0-1: isolated (isolcpus) and allowed' "$scratch/out" || fail "isolated: $(cat "$scratch/out")"
grep -q '^~ worker 0: threads on isolated CPUs stay' "$scratch/out" || fail "isolated: $(cat "$scratch/out")"
shown 1 isolated taskset -c 0 "$CONTEND_BINARY" info >"$scratch/out"
grep -q '^- CPU 1: isolated (isolcpus) and not in this process' "$scratch/out" || fail "isolated: $(cat "$scratch/out")"
finish
