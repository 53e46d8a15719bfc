#!/usr/bin/env bash
# One workload has one recommendation with one gain: in run, tune, report (text, JSON, Markdown and page), and in place,
# which uses the newest of these results.
. tests/lib/cli.sh
needs two-cpus unshare
without_gnuplot
can_have_idle_stat || skip "needs a mount namespace of its own"
binary=$(realpath "$CONTEND_BINARY") fake=$(realpath "$CONTEND_FAKE")
cd "$scratch" || exit 1
unset OMP_NUM_THREADS

# Known values: a worker's rate depends only on its number of threads, and falls as that rises.
cat >rate <<'SH'
#!/bin/sh
echo "rate $((100000 / ${OMP_NUM_THREADS:-$(nproc)}))"
SH
chmod +x rate
share=$(($(nproc) / 2)) # threads of sized and partition, of two workers

# ratio R: formats it as contend prints it.
ratio() {
    awk -v r="$1" 'BEGIN { printf((r >= 9.95 ? "%.0fx" : r >= 1.95 ? "%.1fx" : "%.2fx"), r) }'
}
# recommended FILE KEY: prints a value of the object "recommended".
recommended() {
    sed -n '/"recommended": {/,/}/s/^ *"'"$2"'": "\{0,1\}\([^",]*\)"\{0,1\},\{0,1\}$/\1/p' "$1"
}
newest() {
    echo results/h/"$(ls results/h | sort | tail -n 1)"
}
# agrees DIR SETTING: all reports on the result name that setting, with its own gain.
agrees() {
    local dir=$1 setting=$2 gain row
    [ "$(recommended "$dir/run.json" setting)" = "$setting" ] ||
        fail "run.json of $dir: $(sed -n '/"recommended"/,/}/p' "$dir/run.json")"
    gain=$(ratio "$(recommended "$dir/run.json" speed_up)")
    recommended "$dir/run.json" command | grep -q -- "--placement $setting" || fail "run.json: another command"
    "$binary" report "$dir" >text 2>/dev/null || fail "report fails"
    tr '\n' ' ' <text | grep -Eq "recommended: ${setting}[^,]*, $gain the default" || fail "the sentence: $(cat text)"
    grep -Eq "^$setting\* .* $gain( |\$)" text || fail "the table: $(cat text)"
    [ "$(grep -c '^[^ ]*\* ' text)" = 1 ] || fail "several are marked: $(cat text)"
    [ "$(grep -c '^to apply it: ' text)" = 1 ] || fail "several commands: $(cat text)"
    grep -q "^to apply it: .* --placement $setting" text || fail "another command: $(cat text)"
    "$binary" report --markdown "$dir" >md || fail "no Markdown"
    grep -Eq "^\| $setting\\\\\* \|.*\| $gain \|" md || fail "Markdown: $(cat md)"
    [ "$(grep -c '^| [^|]*\\\* |' md)" = 1 ] || fail "several in Markdown: $(cat md)"
    row=$(grep -o '<tr class="recommended">.*</tr>' "$dir/report.html")
    grep -Eq "<th scope=\"row\">$setting\*</th>.*<td[^>]*>$gain</td>" <<<"$row" ||
        fail "the page's table: $row"
    [ "$(grep -c 'class="bar recommended"' "$dir/report.html")" = 1 ] || fail "the page marks several bars"
    grep -A1 'class="verdict"' "$dir/report.html" | grep -q "$setting.*$gain" || fail "the page's verdict"
}
# places PATTERN ARGUMENT...: place without --placement prints the pattern, and then plans.
places() {
    local pattern=$1
    shift
    "$binary" place "$@" >plan 2>why || fail "place $*: $(cat why)"
    grep -Eq -- "$pattern" why || fail "place $*: $(cat why), not $pattern"
}

# Without a result: the closest placement, and how to measure.
places "^contend: placement partition is not measured: .*contend tune -- COMMAND" -n 2 --xml "package:1 core:4 pu:1"
grep -q '^partition: ' plan || fail "the nearest: $(cat plan)"

with_idle_stat "$binary" run -n 2 --no-canary --no-baselines --time 0.05 --warmup 0 --rounds 3 --host h -P none,sized,passive,partition --json \
    --metric 'rate ([0-9]+)' -- ./rate >json 2>log || fail "run: $(cat log)"
by_exec=$(newest)
agrees "$by_exec" sized
gain=$(recommended "$by_exec/run.json" speed_up)
[ "$(grep -c '"recommended": true' json)" = 1 ] || fail "not one row is recommended"
"$binary" report --json "$by_exec" >again 2>log || fail "report --json: $(cat log)"
cmp -s json again || fail "report --json prints other rows: $(diff json again | head -n 5)"
grep -B30 '"recommended": true' json | grep -q '"placement": "sized"' || fail "another row is recommended"
awk -v want="$gain" '/"recommended": true/ { on = 1 } on && /"speed_up":/ { gsub(/[^0-9.]/, ""); exit !($0 == want) }' json ||
    fail "the row has another gain than $gain"
awk -v g="$gain" -v all="$(nproc)" -v share="$share" 'BEGIN { want = all / share; exit !(g > want * 0.99 && g < want * 1.01) }' ||
    fail "a gain of $gain, of $(nproc) threads and $share"
places "^contend: recommended by $by_exec \(\./rate\): sized, $(ratio "$gain") the default$" -n 2 -- ./rate
grep -Eq "^  0 +$share " plan || fail "not its threads: $(cat plan)"

sleep 1 # names of results are seconds
with_idle_stat "$binary" tune -n 2 --time 0.05 --max-time 3 --rounds 5 --host h -P none,sized,passive,partition --threads "$share" \
    --reserve 0 --wait auto --json --metric 'rate ([0-9]+)' -- ./rate >json 2>log || fail "tune: $(cat log)"
by_tune=$(newest)
[ "$by_tune" != "$by_exec" ] || fail "no result of its own"
agrees "$by_tune" sized
[ "$(recommended "$by_tune/run.json" speed_up)" = "$gain" ] ||
    fail "tune has $(recommended "$by_tune/run.json" speed_up), exec $gain"
[ "$(grep -c '"recommended": true' json)" = 1 ] || fail "not one setting is recommended: $(cat json)"
"$binary" report --json "$by_tune" >again 2>log || fail "report --json: $(cat log)"
cmp -s json again || fail "report --json prints other rows: $(diff json again | head -n 5)"
[ "$(recommended json setting) $(recommended json speed_up)" = "sized $gain" ] || fail "tune's JSON: $(cat json)"

# Uses the newest result for that machine, command and number of workers, and says so in a comment of the text, too. An
# explicit placement takes precedence.
places "recommended by $by_tune \(\./rate\): sized, $(ratio "$gain") the default" -n 2 -- ./rate
places "recommended by $by_tune " -n 2
places "recommended by $by_tune " -n 2 --emit sh -- ./rate
sed -n 2p plan | grep -q "^# recommended by $by_tune (./rate): sized, $(ratio "$gain") the default$" || fail "$(head -n 4 plan)"
"$binary" place -n 2 -P same -- ./rate >plan 2>why || fail "place -P same: $(cat why)"
grep -q '^same: ' plan && [ ! -s why ] || fail "-P does not win: $(cat why)"
places "not measured" -n 2 -- ./rate --other
places "not measured" -n 1 -- ./rate
places "not measured" -n 2 --threads 1 -- ./rate
sed -i 's/"status": "complete"/"status": "interrupted"/' "$by_tune/run.json"
places "recommended by $by_exec " -n 2 -- ./rate
sed -i 's/^\( *"key": "\)[0-9a-f]*"/\10123456789abcdef"/' "$by_exec/run.json"
places "not measured" -n 2 -- ./rate
rm -r results

# The simplest of equally good settings is recommended, in `run`, too.
with_idle_stat "$fake" run fake -n 2 --no-canary --no-baselines -p mode=per-thread -p step=0.05 --time 0.4 --warmup 0.01 --rounds 3 --host h \
    -P none,sized,partition >said 2>log || fail "run: $(cat log)"
agrees "$(newest)" sized
cmp -s <(sed '/^Results: /,$d' said) <(sed '/^Results: /,$d' text) || fail "run and report differ: $(diff said text)"
places "recommended by $(newest) \(fake\): sized, " -n 2
rm -r results

# If no setting is better than the default, both run and place recommend no change.
cat >rate <<'SH'
#!/bin/sh
echo "rate 100"
SH
with_idle_stat "$binary" run -n 2 --no-canary --no-baselines --time 0.05 --warmup 0 --rounds 3 --host h -P none,sized,partition \
    --metric 'rate ([0-9]+)' -- ./rate >said 2>log || fail "run: $(cat log)"
grep -q '^no measurable gain: leave it as it is' said || fail "not left as it is: $(cat said)"
grep -q '^none\* ' said || fail "not marked: $(cat said)"
! grep -q '^to apply it' said || fail "something to apply: $(cat said)"
[ "$(recommended "$(newest)/run.json" setting)" = none ] || fail "run.json recommends another"
places "^contend: measured by $(newest) \(\./rate\): no gain over none, leave it as it is" -n 2 -- ./rate
grep -q '^none: ' plan || fail "another plan: $(cat plan)"

# A hostile result cannot insert text into the output.
sed -i 's|"\./rate"|"./rate\\n touch hacked"|; s/"setting": "none"/"setting": "no\\nne"/' "$(newest)/run.json"
"$binary" place -n 2 --emit sh >plan 2>why || fail "place: $(cat why)"
! grep -q '^ *touch hacked\|^ne' plan || fail "a line of its own: $(head -n 5 plan)"
finish
