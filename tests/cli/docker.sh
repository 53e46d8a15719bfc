#!/usr/bin/env bash
# Runs the output of `place --emit docker` under a Docker daemon started for this test.
. tests/lib/docker.sh
needs two-cpus
needs dockerd docker busybox jq
ldd "$(command -v busybox)" >/dev/null 2>&1 && skip "busybox is not static"

start_docker
mkdir -p "$scratch/root/bin" "$scratch/work"
cp "$(command -v busybox)" "$scratch/root/bin/busybox"
for name in sh df sed sleep true; do
    ln -s busybox "$scratch/root/bin/$name"
done
tar -C "$scratch/root" -c . | docker import - contend-test >/dev/null || skip "no image: $(tail -n 3 "$scratch/log")"
docker run --rm contend-test true >"$scratch/said" 2>&1 || skip "no containers here: $(cat "$scratch/said")"

# Raises the limit of locked memory as far as this daemon may grant it.
locked=$(ulimit -Hl)
[ "$locked" = unlimited ] || export MEMLOCK=$((locked * 1024))
export IMAGE=contend-test SHM=64m
cpus=$("$CONTEND_BINARY" place -n 2 -P partition --json 2>/dev/null | jq -r '.workers[].cpus')

# emitted COMMAND...: writes the text to the file `text` in the directory that the containers see.
emitted() {
    "$CONTEND_BINARY" place -n 2 -P partition --emit docker -- "$@" >"$scratch/work/text" 2>"$scratch/err" ||
        fail "$(cat "$scratch/err")"
}

# Each container has its CPUs, its threads, its unchanged words and its share of memory. The text exits with the worst
# exit code.
# shellcheck disable=SC2016 # not for the shell: that is what is tested
odd='it is $HOME "x" * '\'
emitted sh -c 'me=$1
    sed -n "s/^Cpus_allowed_list:[[:space:]]*//p" /proc/self/status >"/work/$me.cpus"
    printf "%s|%s|%s|" "$OMP_NUM_THREADS" "$2" "$PWD" >"/work/$me.words"
    echo $(($(ulimit -l))) >"/work/$me.locked" 2>/dev/null
    df -k /dev/shm | sed -n "s/^shm *\([0-9]*\) .*/\1/p" >"/work/$me.shm"
    exit $((3 + me))' sh '{worker}' "$odd"
code=0
(cd "$scratch/work" && timeout 100 sh ./text) >"$scratch/said" 2>&1 </dev/null || code=$?
[ "$code" = 4 ] || fail "exit code $code, expected that of worker 1, 4: $(cat "$scratch/said")"
got=$(cat "$scratch/work/0.cpus" "$scratch/work/1.cpus")
[ "$got" = "$cpus" ] || fail "CPUs '$got', planned '$cpus'"
for worker in 0 1; do
    got=$(cat "$scratch/work/$worker.words")
    [ "$got" = "1|$odd|/work|" ] || fail "worker $worker: $got"
    got=$(cat "$scratch/work/$worker.shm")
    [ "$got" = 65536 ] || fail "worker $worker has $got KiB of /dev/shm"
    got=$(cat "$scratch/work/$worker.locked")
    [ "$locked" = unlimited ] || [ "$got" = "$locked" ] || fail "worker $worker may lock $got KiB"
done

# A text that would use CPUs outside the inherited mask is refused.
expect 2 'refused: CPU' taskset -c "$(tail -n 1 <<<"$cpus")" sh "$scratch/work/text"

nothing_runs() {
    [ -z "$(docker ps -q)" ]
}
is_ready() {
    [ -e "$scratch/work/0.ready" ] && [ -e "$scratch/work/1.ready" ]
}
# interrupted: runs the text as a job of its own, since otherwise the shell makes it ignore the signal.
interrupted() {
    rm -f "$scratch"/work/*.ready
    set -m
    (cd "$scratch/work" && exec sh ./text) >"$scratch/said" 2>&1 &
    job=$!
    set +m
    wait_for 60 is_ready || fail "the containers did not begin: $(cat "$scratch/said")"
    kill -INT "$job"
}

# Ctrl-C asks the containers to end; a second Ctrl-C kills the rest.
emitted sh -c 'trap "echo >/work/$1.asked; exit 9" TERM; echo >"/work/$1.ready"; while :; do sleep 0.1; done' sh '{worker}'
interrupted
wait "$job"
code=$?
[ "$code" = 130 ] || fail "exit code $code after Ctrl-C: $(cat "$scratch/said")"
[ -e "$scratch/work/0.asked" ] && [ -e "$scratch/work/1.asked" ] || fail "not both were asked to end"
nothing_runs || fail "left: $(docker ps)"
emitted sh -c 'trap "" TERM INT; echo >"/work/$1.ready"; while :; do sleep 0.1; done' sh '{worker}'
interrupted
sleep 1
[ "$(docker ps -q | wc -l)" = 2 ] || fail "ended at the first Ctrl-C: $(docker ps)"
kill -INT "$job"
wait_for 60 nothing_runs || fail "left: $(docker ps)"
wait "$job"
finish
