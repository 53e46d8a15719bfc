#!/usr/bin/env bash
# Two `contend doctor --apply`, or two --verify, at once: one works, the other one names it and changes nothing. After
# --undo all masks are the original ones.
#
# CONTEND_ROUNDS=N repeats it.
. tests/lib/cli.sh
. tests/lib/faulty.sh
rounds=${CONTEND_ROUNDS:-2}
start_jobs
for _ in $(seq 60); do plant taskset -c "$first" sleep 3000; done # time between the listing and the last binding
pids=()
for pid in "${faulty[@]}"; do pids+=(--pid "$pid"); done

# two HOW...: runs two at once. Each works, or names the one that does, or the state that this one left.
two() {
    local code n=0
    for n in 1 2; do
        "$CONTEND_BINARY" doctor --time 0.5 "${pids[@]}" --state "$state" --force --yes "$@" >"$scratch/said.$n" 2>&1 &
        both[n]=$!
    done
    for n in 1 2; do
        wait "${both[n]}"
        code=$?
        case $code in
        0 | 1 | 4) worked=$((worked + 1)) ;;
        3) grep -Eq "another 'contend doctor' \((${both[1]}|${both[2]})\) is changing masks|earlier --apply \(by (${both[1]}|${both[2]})\)" \
            "$scratch/said.$n" || fail "$*: the other is not named: $(cat "$scratch/said.$n")" ;;
        *) fail "$*: exit $code: $(cat "$scratch/said.$n")" ;;
        esac
    done
}

both=()
for _ in $(seq "$rounds"); do
    worked=0
    two --apply --placement partition
    [ "$worked" -ge 1 ] || fail "--apply: none worked: $(cat "$scratch"/said.*)"
    "$CONTEND_BINARY" doctor --undo --state "$state" >/dev/null 2>&1
    unbound || fail "--apply: not as before: $(masks | sort | uniq -c)"
    two --verify 'rate:echo 7' --block 1.5 --max-time 7
    unbound || fail "--verify: not as before: $(masks | sort | uniq -c)"
    [ ! -e "$state.lock" ] || fail "a lock stays"
done
finish
