#!/usr/bin/env bash
# The first sentence of a run has the number of its table, and the command below it works unchanged. A run on a busy
# machine says so, and who used it.
. tests/lib/cli.sh
needs two-cpus
out=$scratch/r placements=none,sized,same,partition
expect 0 'relative to none, by round' "$CONTEND_BINARY" run --device sim --rounds 3 --time 0.1 --warmup 0.01 \
    --placement "$placements" --no-plots --out "$out"
# The first table, one placement a line.
sed -n '/^[0-9]* workers/,/^$/p' "$out/summary.txt" > "$scratch/table"

# Table and sentence have the same number. On a busy machine the sentence has none.
said=$(tr '\n' ' ' < "$out/summary.txt")
read -r name ratio interval < <(awk '/^[a-z-]+\*/ { name = $1; sub(/[*~]+$/, "", name); sub(/^[^ ]+ +[<>]?[0-9.]+( [kMG])? +/, ""); print name, $1, $2 }' "$scratch/table")
case $said in
*"recommended: "*)
    [[ $said == *"recommended: $name"*", $ratio the default, range ${interval%-*}x to ${interval#*-}x"* ||
        $said == *"recommended: $name"*", at least ${interval%-*}x the default in "* ||
        $said == *"recommended: $name"*", between ${interval%-*}x and ${interval#*-}x the default"* ||
        $said == *"recommended: $name"*", $ratio the default in one round"* ]] ||
        { cat "$out/summary.txt"; fail "the sentence has another number than the table: $name $ratio $interval"; }
    ;;
*) [[ $said == *"no measurable gain: leave it as it is"* || $said == *"no measurable gain so far: leave it as it is"* || $said == *"no recommendation: "* ]] || fail "nothing is said: $said" ;;
esac
case $said in *"--placement same"* | *"--placement none"* | *"--placement remote"*) fail "nobody should: $said" ;; esac
command=$(sed -n 's/^to apply it: //p' "$out/summary.txt")
if [ -n "$command" ]; then
    words=()
    eval "words=($command)" # quoted for a shell, where the path has a blank
    [[ "${words[0]} ${words[1]}" == "$CONTEND_BINARY place" ]] || fail "not how it was started: $command"
    expect 0 'OMP_|taskset|numactl' bash -c "$command"
fi

# Contended placements vary from launch to launch: rounds before time.
expect 0 'device sim, 6 rounds or more, until it is clear, 0\.3 s' "$CONTEND_BINARY" run --device sim --placement "$placements" --dry-run
expect 0 'device sim, 6 rounds or more, until it is clear, 3 s' "$CONTEND_BINARY" run --device sim --placement "$placements" --time 3 --dry-run
expect 0 'device sim, 7 rounds' "$CONTEND_BINARY" run --device sim --placement "$placements" --rounds 7 --dry-run
expect 0 'device none, 3 rounds' "$CONTEND_BINARY" run memory --dry-run
expect 0 '^  mem_latency +worker 0: CPUs ' "$CONTEND_BINARY" run memory --dry-run

# Two busy programs per CPU beside sleeping workers: one round is no evidence, the summary names the programs, and --strict
# exits with an error.
loops=()
for _ in $(seq $((2 * $(nproc)))); do
    while :; do :; done &
    loops+=($!)
done
expect 4 'other programs used [0-9]+% of the CPUs: ' "$CONTEND_FAKE" run fake --workers 2 \
    --placement none,sized --rounds 1 --time 0.5 --warmup 0.01 --no-plots --strict --force --out "$out"
kill "${loops[@]}"
wait "${loops[@]}" 2>/dev/null
head -n 1 "$out/summary.txt" | grep -q '^no recommendation: 1 round is too few' ||
    fail "not said first: $(head "$out/summary.txt")"
said=$(tr '\n' ' ' < "$out/summary.txt")
[[ $said =~ 'Most CPU time: '.*'(pid '[0-9]+') '[0-9]+% ]] || fail "nobody is named: $said"
grep -q '"id": "busy"' "$out/run.json" || fail "no finding in run.json"
grep -q '"status": "complete"' "$out/run.json" || fail "a busy machine makes no run incomplete"
! grep -q '^~' "$out/summary.txt" || fail "said again: $(grep '^~' "$out/summary.txt")"

# The exit code is 0 on an idle machine, and without --strict.
code=0
"$CONTEND_FAKE" run fake --workers 2 --placement none,sized --rounds 1 --time 0.2 --warmup 0.01 \
    --no-plots --strict --force --out "$out" > /dev/null 2>&1 || code=$?
busy=0
! grep -q '"id": "busy"' "$out/run.json" || busy=4
[ "$code" = "$busy" ] || fail "exit $code, but the finding says $busy"
finish
