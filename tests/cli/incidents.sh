#!/usr/bin/env bash
# contend run incident: runs one incident with its doctor, and checks files and refusals. Speeds on a busy machine are
# not judged.
. tests/lib/cli.sh
needs jq
docs=$PWD/docs/incidents.md
cd "$scratch" || exit 1

# Each incident is listed with the benchmark that measures it, and has a section in the documentation.
"$CONTEND_BINARY" run incidents --dry-run > plan || fail "no plan"
names=$(sed -n 's/^  contend ab \([a-z_]*\).*/\1/p' plan)
[ "$(wc -w <<< "$names")" -ge 15 ] || fail "incidents: $names"
for name in $names; do
    grep -q "^### .*\`$name\`" "$docs" || fail "docs/incidents.md has no section of $name"
done
[ -z "$(awk 'length > 80 && !/contend ab/' plan)" ] || fail "wider than 80 columns: $(cat plan)"

# Doctor names the faulty process, and its fix is tried. Incidents that this machine cannot show are skipped.
"$CONTEND_BINARY" run incident weight_load steal --max-time 8 -o one > out 2> log
code=$?
[ "$code" = 0 ] || [ "$code" = 4 ] || fail "exit code $code: $(cat out log)"
[ "$(jq -c '[.[] | .incident]' one/incidents.json)" = '["weight_load","steal"]' ] || fail "$(cat one/incidents.json)"
[ "$(jq -r '.[1] | .end' one/incidents.json)" = skipped ] || fail "steal: $(cat one/incidents.json)"
[ "$(jq -r '.[0].doctor | [.looked, .named] | @csv' one/incidents.json)" = true,true ] || fail "$(cat one/incidents.json)"
[ "$(jq -r '.[0].doctor.fix' one/incidents.json)" = "export OMP_NUM_THREADS=1" ] || fail "$(cat one/incidents.json)"
grep -q ',weight_load,.*variant=sick' one/weight_load/rows.csv || fail "no row of the sick variant"
[ -s one/report.html ] && [ -s one/weight_load/report.html ] || fail "no page"
[ ! -e one/weight_load/progress ] || fail "the counters were left behind"
[ -z "$(awk 'length > 80' out)" ] || fail "wider than 80 columns: $(cat out)"
wait_for 20 none_of_this_test '__worker\|bench grain' || fail "a load is left"

# A cure does the same work as the sick variant, prompts or checkpoints. Doctor names the second.
others=(tokenizer_loop checkpoint_thread)
"$CONTEND_BINARY" run incident "${others[@]}" --max-time 5 -o others > out 2> log
for name in "${others[@]}"; do
    one=$(jq -c ".[] | select(.incident == \"$name\")" others/incidents.json)
    if jq -e '.end == "skipped" and (.reason | test("prompts came|python3|lock"))' <<< "$one" > nothing; then
        continue # no such Python, or other programs use the CPUs
    fi
    jq -e '[.sick, .cured, .witness_sick, .witness_cured] | all(. != null and . > 0)' <<< "$one" > nothing ||
        fail "$name: $one $(cat log)"
done

names_lock() {
    jq -e '.[-1].doctor.named' "$1/incidents.json" > nothing
}
looks_again() {
    "$CONTEND_BINARY" run incident checkpoint_thread --max-time 5 -o "look$((looks += 1))" > out 2> log
    names_lock "look$looks"
}
looks=0
jq -e '.[1].end == "skipped"' others/incidents.json > nothing || ! grep -q . /proc/self/syscall || names_lock others ||
    retry looks_again || fail "checkpoint_thread: $(cat look*/incidents.json)"

# A collection has a third variant.
"$CONTEND_BINARY" ab rank_collects --max-time 5 -o collects > out 2> log
for collect in own same frozen; do
    grep -qE "collect=$collect;.*,throughput,.*,(ok|noisy)," collects/rows.csv || fail "no row of $collect: $(cat log)"
done

# Nothing was measured.
expect 3 '^skipped: only a hypervisor' "$CONTEND_BINARY" run incident steal -o none
[ "$(jq -r '.[] | .end' none/incidents.json)" = skipped ] || fail "steal alone: $(cat none/incidents.json)"

# The result can be read like all others.
expect 0 'weight_load' "$CONTEND_BINARY" report one/weight_load
expect 2 "unknown incident 'weight_laod'; did you mean 'weight_load'" "$CONTEND_BINARY" run incident weight_laod
expect 2 "'incidents' means all of them" "$CONTEND_BINARY" run incidents weight_load
expect 2 'no incident' "$CONTEND_BINARY" run incident

# An interrupt while doctor looks also ends the load.
"$CONTEND_BINARY" run incident cpuset_team --max-time 5 -o cut > out 2> log &
pid=$!
wait_for 60 eval 'pids_of_this_test "doctor --json" | grep -q .' || fail "no doctor: $(cat log)"
kill -INT "$pid"
wait "$pid"
[ $? = 130 ] || fail "exit code after SIGINT: $(cat log)"
wait_for 20 none_of_this_test '__worker\|bench grain\|doctor' || fail "something is left"
finish
