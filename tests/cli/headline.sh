#!/usr/bin/env bash
# The table of a run is recomputed from rows.csv and rounds.csv, its headline from rounds.csv; its closing
# sentence has the table's number, and the command below it works as it stands.
. tests/lib/cli.sh
needs two-cpus
out=$scratch/r placements=none,sized,same,partition
expect 0 'relative to none, by round' "$CONTEND_BINARY" run --device sim --rounds 3 --time 0.1 --warmup 0.01 \
    --placement "$placements" --no-plots --out "$out"
# The details stand in a table of their own: one line of both.
awk '/^[0-9]+ workers/ { table++; next }
    table == 1 && !/^solo/ && NF > 5 { line[$1] = $0; order[n++] = $1 }
    table == 2 && $1 in line { name = $1; sub(/^[^ ]+/, ""); line[name] = line[name] $0 }
    END { for (i = 0; i < n; i++) print line[order[i]] }' "$out/summary.txt" > "$scratch/table"
[ "$(wc -l < "$scratch/table")" -ge 4 ] || { cat "$out/summary.txt"; fail "no table"; }

# What harness/table prints, line by line, made anew from the rows.
awk -F, -v table="$scratch/table" '
    function ratio(r) { return sprintf((r >= 9.95 ? "%.0f" : r >= 1.95 ? "%.1f" : "%.2f"), r) }
    function three(v) { return sprintf((v >= 99.95 ? "%.0f" : v >= 9.995 ? "%.1f" : "%.2f"), v) }
    function si(v) { return v >= 999.5e3 ? three(v / 1e6) " M" : v >= 999.5 ? three(v / 1e3) " k" : three(v) }
    function time(s) { return s >= 0.9995 ? three(s) " s" : s >= 0.9995e-3 ? three(s * 1e3) " ms" : three(s * 1e6) " us" }
    function percent(p) { return sprintf("%.0f%%", 100 * p) }
    # Relative to none, in the rounds in which neither was disturbed, else in all: low, median and high.
    function pair(name, clean,    i, k, n, x) {
        n = 0
        for (i = 0; i < 3; i++) {
            if (!((name, i) in rate) || !(("none", i) in rate)) continue
            if (clean && (noisy[name, i] || noisy["none", i])) continue
            x = rate[name, i] / rate["none", i]
            for (k = n++; k > 0 && sorted[k - 1] > x; k--) sorted[k] = sorted[k - 1]
            sorted[k] = x
        }
        return n
    }
    function speed_up(name,    n) {
        n = pair(name, 1)
        if (!n) n = pair(name, 0)
        middle = n % 2 ? sorted[(n - 1) / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2
        return name == "none" ? "1x" : ratio(middle) "x" (n > 1 ? " " ratio(sorted[0]) "-" ratio(sorted[n - 1]) : "")
    }
    FNR == 1 { delete at; for (i = 1; i <= NF; i++) at[$i] = i; file++; next }
    $at["role"] != "foreground" || $at["status"] == "skipped" { next }
    file == 1 && $at["metric"] == "throughput" {
        rate[$at["placement"], $at["round"]] = $at["value"]
        noisy[$at["placement"], $at["round"]] = $at["status"] == "noisy"
    }
    file == 2 {
        name = $at["placement"]; metric = $at["metric"]
        median[name, metric] = $at["median"]
        if (metric == "step_time") p95[name] = $at["p95"]
    }
    END {
        while ((getline line < table) > 0) {
            n = split(line, word, " "); name = word[1]; starred += name ~ /\*/; sub(/[~!*]+$/, "", name)
            sub(/^[^ ]+ +/, "", line); gsub(/ +/, " ", line); gsub(/[<>]/, "", line)
            wall = median[name, "oncpu_per_step"] + median[name, "runqueue_wait_per_step"] + median[name, "blocked_per_step"]
            e = median[name, "efficiency"]
            efficiency = sprintf((e >= 0.0995 ? "%.0f%%" : e >= 0.00995 ? "%.1f%%" : "%.2f%%"), 100 * e)
            queue = (name, "runqueue_wait_per_step") in median ? percent(median[name, "runqueue_wait_per_step"] / wall) : "-"
            want = si(median[name, "throughput"]) " " speed_up(name) \
                " " efficiency " " percent(median[name, "oncpu_per_step"] / wall) " " queue
            times = " " time(median[name, "step_time"]) " " time(p95[name]) " " percent(median[name, "worst_worker"])
            whole = want " " percent(median[name, "blocked_per_step"] / wall) times
            want = want times # a narrow terminal has no column of what was blocked
            if (line != want && line != whole) { print name ": printed \"" line "\", the files say \"" want "\""; bad = 1 }
            if (seen++ && middle < last) { print "not sorted at " name; bad = 1 }
            last = middle
        }
        if (starred > 1) { print starred " are recommended"; bad = 1 }
        exit bad
    }' "$out/rounds.csv" "$out/rows.csv" || { cat "$out/summary.txt"; fail "the table is not what the files say"; }

# throughput of the best / of each, round by round.
best=$(awk -F, '
    NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
    $at["role"] == "foreground" && $at["metric"] == "throughput_vs_best" && $at["median"] == 1 { print $at["placement"]; exit }
    ' "$out/rows.csv")
awk -F, -v best="$best" '
    NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
    $at["role"] != "foreground" || $at["value"] == "" { next }
    $at["metric"] == "throughput" { rate[$at["placement"], $at["round"]] = $at["value"] }
    $at["metric"] == "throughput_vs_best" { behind[$at["placement"], $at["round"]] = $at["value"] }
    END {
        for (of in behind) {
            n++; split(of, part, SUBSEP); own = rate[best, part[2]] / rate[of]
            if (own / behind[of] > 1.000001 || own / behind[of] < 0.999999) { print of, own, behind[of]; bad = 1 }
        }
        exit bad || n < 12
    }' "$out/rounds.csv" || fail "throughput_vs_best is not what rounds.csv says"

# One number for table and sentence. What a busy machine leaves of it is told without one.
said=$(tr '\n' ' ' < "$out/summary.txt")
read -r name ratio interval < <(awk '/^[a-z-]+\*/ { name = $1; sub(/[*~]+$/, "", name); sub(/^[^ ]+ +[<>]?[0-9.]+( [kMG])? +/, ""); print name, $1, $2 }' "$scratch/table")
case $said in
*"recommended: "*)
    [[ $said == *"recommended: $name"*", $ratio the default, range ${interval%-*}x to ${interval#*-}x"* ||
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

# What collapses differs from launch to launch: rounds before time.
expect 0 'device sim, 6 rounds or more, until it is clear, 0\.3 s' "$CONTEND_BINARY" run --device sim --placement "$placements" --dry-run
expect 0 'device sim, 6 rounds or more, until it is clear, 3 s' "$CONTEND_BINARY" run --device sim --placement "$placements" --time 3 --dry-run
expect 0 'device sim, 7 rounds' "$CONTEND_BINARY" run --device sim --placement "$placements" --rounds 7 --dry-run
expect 0 'device none, 3 rounds' "$CONTEND_BINARY" run memory --dry-run
expect 0 '^  mem_latency +worker 0: CPUs ' "$CONTEND_BINARY" run memory --dry-run

# Two programs a CPU beside workers that sleep: no evidence, said first, and so for scripts.
loops=()
for _ in $(seq $((2 * $(nproc)))); do
    while :; do :; done &
    loops+=($!)
done
expect 4 'other programs used [0-9]+% of the CPUs: not usable as evidence' "$CONTEND_FAKE" run fake --workers 2 \
    --placement none,sized --rounds 1 --time 0.5 --warmup 0.01 --no-plots --strict --out "$out"
kill "${loops[@]}"
wait "${loops[@]}" 2>/dev/null
head -n 1 "$out/summary.txt" | grep -q '^other programs used' || fail "not said first: $(head "$out/summary.txt")"
grep -q '"id": "busy"' "$out/run.json" || fail "no finding in run.json"
grep -q '"status": "complete"' "$out/run.json" || fail "a busy machine makes no run incomplete"
! grep -q '^~' "$out/summary.txt" || fail "said again: $(grep '^~' "$out/summary.txt")"

# And 0 where nothing else ran, or without --strict.
code=0
"$CONTEND_FAKE" run fake --workers 2 --placement none,sized --rounds 1 --time 0.2 --warmup 0.01 \
    --no-plots --strict --out "$out" > /dev/null 2>&1 || code=$?
busy=0
! grep -q '"id": "busy"' "$out/run.json" || busy=4
[ "$code" = "$busy" ] || fail "exit $code, but the finding says $busy"
finish
