#!/usr/bin/env bash
# contend run --dose with several levels: checks the retention, the same from its files, the figure, the scenario with
# doses of its own, and bad usage.
. tests/lib/cli.sh

needs two-cpus python3
doses=("$CONTEND_BINARY" run --device sim --warmup 0.1 --no-canary --host h)

# Two workers that own their CPUs lose what the aggressors take, and little more on an otherwise idle machine.
curve() {
    "${doses[@]}" -P partition --time 0.5 --rounds 2 --dose cpu=0,20% -o "$scratch/curve" > "$scratch/said" 2> "$scratch/log" ||
        fail "exit $?: $(cat "$scratch/log")"
    grep -Eq '^At cpu=20% partition keeps (6[5-9]|7[0-9]|8[0-9]|9[0-5])% of its throughput' "$scratch/said" &&
        grep -Eq '^20% +(1[6-9]|2[0-4])(\.[0-9])?% ' "$scratch/said"
}
retry curve || fail "the dose was not held, or more was lost than that: $(cat "$scratch/said")"
"$CONTEND_BINARY" report "$scratch/curve" > "$scratch/again" 2> "$scratch/log" < /dev/null || fail "$(cat "$scratch/log")"
cmp "$scratch/said" "$scratch/again" || fail "report says otherwise"
grep -q 'dose=cpu:20%;variant=partition+cpu-20' "$scratch/curve/rows.csv" || fail "no rows of 20%"
[ "$(grep -c '^20 80 ' "$scratch/curve/plots/dosing.dat")" = 1 ] || fail "no line of the dose in the figure"
"$CONTEND_BINARY" report --json "$scratch/curve" | python3 -c '
import json, sys
dosing = json.load(sys.stdin)["dosing"]
idle, dosed = dosing["curves"][0]["points"]
assert dosing["kind"] == "cpu" and dosed["dose"] == 0.2 and 0.15 < dosed["held"] < 0.25, dosing
assert idle["retention"] == 1 > dosed["retention"] and idle["held"] is None, dosing
' || fail "not so in JSON"

# A user's command that sleeps, so its runs take nearly as long beside any load.
asleep() {
    "${doses[@]}" -P none -n 1 --rounds 1 --no-plots --dose cpu=0,20% -o "$scratch/command" -- sleep 0.1 > "$scratch/said" 2> "$scratch/log" ||
        fail "exit $?: $(cat "$scratch/log")"
    grep -Eq '^At cpu=20% none keeps (9[0-9]|10[0-9])% of its throughput;' "$scratch/said"
}
retry asleep || fail "$(cat "$scratch/said")"

# The script writes the age of the dose's worker when the first run begins; that must exceed 1 s.
cat > "$scratch/age" << 'END'
#!/usr/bin/env python3
import os, sys
fields = lambda pid: open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
parent = fields(os.getppid())[1]
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        if fields(pid)[1] == parent and open(f"/proc/{pid}/comm").read().strip() == "contend-w1":
            uptime = float(open("/proc/uptime").read().split()[0])
            open(sys.argv[1], "x").write(str(uptime - int(fields(pid)[19]) / os.sysconf("SC_CLK_TCK")))
    except OSError:
        pass
END
chmod +x "$scratch/age"
"$CONTEND_BINARY" run -P none -n 1 --rounds 1 --no-canary --no-plots --no-baselines --dose cpu=20% -o "$scratch/age-of" \
    -- "$scratch/age" "$scratch/seconds" > "$scratch/said" 2> "$scratch/log" || fail "exit $?: $(cat "$scratch/log")"
awk 'END { exit !(NR && $1 > 1) }' "$scratch/seconds" || fail "the run began $(cat "$scratch/seconds") s after its dose"
# That wait is no part of the run's limit.
expect 0 '1 worker' "$CONTEND_BINARY" run -P none -n 1 --rounds 1 --time 0.2 --limit 0.9 --no-canary --no-plots --no-baselines \
    --dose cpu=20% -o "$scratch/limit" -- true
! grep -q censored "$scratch/limit/rows.csv" || fail "a run of true took longer than 0.9 s: $(cat "$scratch/limit/summary.txt")"

# For requests by a schedule, the retained value is the rate at which the workers saturate.
"${doses[@]}" serve -P partition --time 0.3 --rounds 1 --no-plots --dose cpu=0,20% -o "$scratch/serve" > "$scratch/said" 2> "$scratch/log" ||
    fail "serve: exit $?: $(cat "$scratch/log")"
grep -q '^cpu .* requests/s  *retention' "$scratch/said" && grep -q '^retention: serve_saturation_rate (Poisson)' "$scratch/said" ||
    fail "no curve of serve: $(cat "$scratch/said")"

expect 0 'variant partition\+cpu-60' "${doses[@]}" dose --dry-run
expect 0 'variant none\+cpu-5' "${doses[@]}" dose --dose cpu=5% --dry-run
"${doses[@]}" all --dry-run > "$scratch/all" 2>&1 < /dev/null || fail "$(cat "$scratch/all")"
grep -q 'scenario pipeline' "$scratch/all" || fail "no pipeline in all: $(cat "$scratch/all")"
! grep -q 'scenario dose' "$scratch/all" || fail "'all' measures doses"
expect 2 "'all' takes one dose" "${doses[@]}" all --dose cpu=0,20%
expect 2 "takes nothing" "${doses[@]}" --dose cpu=0,0 -o "$scratch/bad"
expect 2 'one number of workers' "${doses[@]}" --dose cpu=0,20% -n 1,2 -o "$scratch/bad"
expect 2 'one dose at a time' "${doses[@]}" memory --dose cpu=0,20% -o "$scratch/bad"
expect 2 'one scenario at a time' "${doses[@]}" pipeline dose -o "$scratch/bad"
expect 2 'one level, such as' "$CONTEND_BINARY" ab --dose cpu=0,20% -V a -V b
finish
