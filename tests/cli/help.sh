#!/usr/bin/env bash
# Every way to ask for help prints it on stdout, only for the named command.
. tests/lib/cli.sh

# the_same LINE LINE: both command lines print the same.
the_same() {
    local one two
    # shellcheck disable=SC2086
    one=$("$CONTEND_BINARY" $1 2>&1) || fail "exit $?: $1"
    # shellcheck disable=SC2086
    two=$("$CONTEND_BINARY" $2 2>&1) || fail "exit $?: $2"
    [ "$one" = "$two" ] || fail "'$1' prints other things than '$2'"
}
# names WHAT: prints the names below that heading of `contend info`.
names() {
    "$CONTEND_BINARY" info | awk -v what="$1" '/^[A-Z]/ { on = $1 == what } on && /^  [a-z]/ { print $1 }'
}

shown=$("$CONTEND_BINARY" help | sed -n 's/^  \([a-z]*\) .*/\1/p' | paste -sd' ')
expect_equal "commands in the list" "$shown" 'run bench tune place predict doctor validate ab compare info comms report'
expect_equal "groups of the list" "$("$CONTEND_BINARY" help | sed -n '/^[A-Z][a-z]*:$/p' | paste -sd' ')" 'Measure: Fix: Accept: Compare: Look:'
commands=$(tr ' ' '\n' <<<"$shown completion man version help")
for command in '' $commands; do
    # shellcheck disable=SC2086
    expect 0 '^usage: contend' "$CONTEND_BINARY" $command --help
    the_same "help $command" "$command --help"
    # Two blanks separate an example from what it is for, also after a long line.
    # shellcheck disable=SC2086
    run_on=$("$CONTEND_BINARY" $command --help |
        awk '/^[A-Z]/ { on = /^Examples/ } on && /^  contend/ && substr($0, 3) !~ /  [^ ]/')
    [ -z "$run_on" ] || fail "no blank between example and text: $run_on"
done
# Options after '--' belong to the user's command.
wrong=$("$CONTEND_BINARY" man --markdown | grep -e '^### .* -- .*\[options\]')
[ -z "$wrong" ] || fail "options after '--': $wrong"
the_same help --help
the_same help -h
the_same version --version
the_same version -V
expect 2 '^usage: contend' "$CONTEND_BINARY"

# The version, with the commit if there is one.
commit=$(git -C "$CONTEND_SOURCE_DIR" describe --always --abbrev=10 '--exclude=*' 2>/dev/null)
expect 0 "^contend [0-9]+\.[0-9]+\.[0-9]+${commit:+ \(commit [0-9a-f]+(-dirty)?\)}\$" "$CONTEND_BINARY" version

# The help of run has its options; the help of a scenario has only that scenario's parameters.
expect 0 '^  -P, --placement' "$CONTEND_BINARY" run --help
expect 0 '^  -p, --param NAME=VALUE' "$CONTEND_BINARY" bench --help
! "$CONTEND_BINARY" run --help | grep -q '^Parameters of' || fail "parameters in the help of run"
for line in 'run memory' 'run --rounds 3 memory' 'help run memory'; do
    # shellcheck disable=SC2086
    said=$("$CONTEND_BINARY" $line --help | sed -n 's/^Parameters of \([a-z_]*\) .*/\1/p' | paste -sd' ')
    [ "$said" = 'mem_bandwidth mem_latency loaded_latency cache_thrash' ] || fail "$line --help: $said"
done
for command in run tune ab; do # the help of a scenario is that of the command which was typed
    expect 0 "^usage: contend $command pipeline" "$CONTEND_BINARY" "$command" pipeline --help
    expect 0 "^'contend $command --help' shows" "$CONTEND_BINARY" "$command" pipeline --help
done
expect 0 '^  this scenario sets op=allreduce' "$CONTEND_BINARY" run allreduce --help
expect 0 '^  and measures it again with op=allreduce;factor=8, the rest by default' \
    "$CONTEND_BINARY" run allreduce --help
# A switch (0 or 1) states both values and its default; it has no placeholder.
for bench in $(names Benchmarks); do
    "$CONTEND_BINARY" bench "$bench" --help >"$scratch/bench"
    head -n 1 "$scratch/bench" | grep -q "^usage: contend bench $bench" || fail "bench $bench --help: $(head -n 1 "$scratch/bench")"
    switches=$(awk '
        /^[^ ]/ { on = /^Parameters of/ }
        on && /^  [a-z]/ { if (text != "") print text; text = $2 ~ /^[A-Z]/ ? "" : $1 }
        on && text != "" { sub(/^ +/, " "); text = text $0 }
        END { if (text != "") print text }' "$scratch/bench" | grep -v '(0 or 1, default [01])')
    [ -z "$switches" ] || fail "bench $bench --help does not tell the default: $switches"
done
expect 0 '\(0 or 1, default 0\)' "$CONTEND_BINARY" bench train --help
expect 0 '^  op OP ' "$CONTEND_BINARY" bench collective --help
expect 0 'has no parameters' "$CONTEND_BINARY" bench core_to_core --help
for scenario in $(names Scenarios); do
    expect 0 "^usage: contend run $scenario" "$CONTEND_BINARY" run "$scenario" --help
    expect 0 "^  contend run $scenario   " "$CONTEND_BINARY" run "$scenario" --help
    # Every example is valid; 3: nothing of it can run here.
    while read -r line; do
        # shellcheck disable=SC2086
        "$CONTEND_BINARY" ${line#contend } --dry-run >"$scratch/dry" 2>&1 </dev/null
        [[ $? = [03] ]] || fail "$line: $(cat "$scratch/dry")"
    done < <("$CONTEND_BINARY" run "$scenario" --help | sed -n '/^Examples:/,$s/^  \(contend .*\)   .*/\1/p')
done
expect 0 '^  contend run pipeline -P none,sized  ' "$CONTEND_BINARY" run pipeline --help
expect 0 '^  contend run dose --dose cpu=10,30%  ' "$CONTEND_BINARY" run dose --help
expect 0 'dose of cpu=0,5,10,20,40,60%,$' "$CONTEND_BINARY" run dose --help
expect 0 '^usage: contend' "$CONTEND_BINARY" tune pipeline --help
! "$CONTEND_BINARY" tune pipeline --help | grep 'contend run' || fail "examples of run in the help of tune"
[ -n "$(names Scenarios)" ] && [ -n "$(names Benchmarks)" ] || fail "nothing in the list"

# The scenarios that a command accepts.
expect 0 '^  pipeline, ' "$CONTEND_BINARY" tune --help
! "$CONTEND_BINARY" tune --help | grep -qw memory || fail "tune offers a scenario that it refuses"
# Every benchmark has its family.
expect 0 '^  memory +mem_bandwidth' "$CONTEND_BINARY" bench --help
"$CONTEND_BINARY" bench --help >"$scratch/bench"
for bench in $(names Benchmarks); do
    grep -qw "$bench" "$scratch/bench" || fail "bench --help lacks $bench"
done

# The short help fits on a screen and leads to the full help, which has everything in the manual.
for command in $commands; do
    "$CONTEND_BINARY" "$command" --help >"$scratch/short"
    "$CONTEND_BINARY" "$command" --help-all >"$scratch/long"
    [ "$(wc -l <"$scratch/short")" -le 40 ] || fail "$command --help has $(wc -l <"$scratch/short") lines"
    grep -q -- '--help-all' "$scratch/short" || ! grep -q '^  .*--' "$scratch/short" || fail "$command --help ends there"
    [ "$(tr -cd '(' <"$scratch/short" | wc -c)" = "$(tr -cd ')' <"$scratch/short" | wc -c)" ] ||
        fail "$command --help cuts a parenthesis"
    for option in $(sed -n '/^Examples:/,$p' "$scratch/short" | grep -oE -- ' -(-[a-z-]+|[a-zA-Z])' | grep -v -- --help-all); do
        grep -qE -- "^  (-., )?$option\\>|^  $option, " "$scratch/long" ||
            [[ "$(grep -e " -- .*$option" "$scratch/short")" ]] || fail "an example of $command has $option"
    done
done
for option in limit sample cpu-max trace; do
    ! "$CONTEND_BINARY" run --help | grep -q -- "--$option" || fail "the short help of run has --$option"
    expect 0 "^  --$option " "$CONTEND_BINARY" run --help-all
done
# Options that only contend's own tests use are accepted, and not documented.
for text in "$("$CONTEND_BINARY" man --markdown)" "$(for shell in bash fish zsh; do "$CONTEND_BINARY" completion $shell; done)" \
    "$("$CONTEND_BINARY" doctor --help-all)" "$("$CONTEND_BINARY" bench pipeline --help)"; do
    ! grep -E -- '--root|-l root|`busy |^  busy | busy=' <<<"$text" || fail "shown: an option of tests"
done
expect 2 "unknown option '--rot'; see" "$CONTEND_BINARY" doctor --rot
expect 2 "unknown parameter 'buys'; known: rows.*overlap$" "$CONTEND_BINARY" run -p buys=1
expect 0 'expected time' "$CONTEND_BINARY" run --dry-run -p busy=1
the_same 'run --help-all' 'run --rounds 3 --help-all --help'

# Nothing is wider than 80 columns.
for line in help 'bench collective --help' 'run all --dry-run' $(sed 's/$/_--help/' <<<"$commands"); do
    line=${line//_/ }
    # shellcheck disable=SC2086
    long=$("$CONTEND_BINARY" $line 2>/dev/null | awk 'length > 80')
    [ -z "$long" ] || fail "$line: $long"
done
finish
