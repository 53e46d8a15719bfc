#!/usr/bin/env bash
# contend run --job: unlike jobs at once, each judged beside itself alone. Their numbers are known: a prints the same
# always, b its number of threads.
. tests/lib/cli.sh
needs python3
export CONTEND_LIBCUDA=/nowhere CONTEND_LIBNVML=/nowhere
unset OMP_NUM_THREADS

cpus=$(python3 -c 'import os; print(*sorted(os.sched_getaffinity(0))[:2], sep=",")')
[ "${cpus/,/}" != "$cpus" ] || skip "one CPU"
run=("$CONTEND_BINARY" run --no-plots --host h --rounds 2 --time 0.05 --force --cpus "$cpus")
number="--metric 'rate=rate ([0-9]+)' --ready line:up --load 'sh -c \"echo rate 9; echo rate 10\"'"
a="a=$number -- sh -c 'echo up; exec sleep 60'"
b='b=--metric "threads ([0-9]+)" -- sh -c "echo threads ${OMP_NUM_THREADS:-7}"'

# value VARIANT METRIC
value() {
    awk -F, -v variant="variant=$1" -v metric="$2" '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        index($at["params"] ";", variant ";") && $at["metric"] == metric { print $at["median"]; exit }' "$scratch/mix/rows.csv"
}

expect 0 'b_kept' "${run[@]}" --out "$scratch/mix" --job "$a" --job "$b" --protect 'b:rate 10%'
for want in 'partition a_kept 1' 'partition b_kept 0.5' 'partition throughput 1.5' 'none b_kept 3.5' 'alone-b b_rate 2' \
    'alone-a a_rate 10' 'sized b_kept 0.5'; do
    read -r variant metric number <<< "$want"
    expect_equal "$variant, $metric" "$(value "$variant" "$metric")" "$number"
done
expect_equal "none, fairness" "$(value none fairness)" "$(awk 'BEGIN { printf "%.9g", 2 / (1 + 1 / 3.5) }')"
expect 0 'b_kept' "$CONTEND_BINARY" report "$scratch/mix"
expect_equal "the control's status" "$(awk -F, '$5 == "canary" && $9 == "throughput"' "$scratch/mix/rows.csv" | grep -c ',failed,')" 0
grep -q ',canary,' "$scratch/mix/rows.csv" || fail "no control was measured"
"$CONTEND_BINARY" report --json "$scratch/mix" | jq -e '.rows[0].metric, (.findings[] | select(.id == "mix"))' > /dev/null ||
    fail "no rows, or no finding 'mix'"

jq -e '.findings[] | select(.id == "metric_repeated") | .sentence | test("a_rate matched several")' "$scratch/mix/run.json" > /dev/null ||
    fail "it is not said that a_rate matched twice"

# The command that is printed, pasted, starts each job on the CPUs where it was measured, with its number and words. Here a
# job does more the more CPUs it has, unless it has all.
cat > "$scratch/job.py" << 'PY'
import os, re, sys
name, worker, cpus, word = sys.argv[1:]
own = len(os.sched_getaffinity(0))
if "SAW" in os.environ:
    mask = re.search(r"Cpus_allowed_list:\s*(\S+)", open("/proc/self/status").read())[1]
    with open(f"{os.environ['SAW']}/{name}{worker}", "w") as out:
        print(mask, os.environ["OMP_NUM_THREADS"], word, file=out)
print("rate", 10 * own if own < int(cpus) else 1)
PY
four=$(python3 -c 'import os; print(*sorted(os.sched_getaffinity(0))[:4], sep=",")')
n=$(tr , '\n' <<< "$four" | wc -l) copies=$(($(nproc) > 2 ? 2 : 1))
job() { # job NAME COPIES
    printf '%s=-n %s --metric "rate ([0-9]+)" -- python3 %s %s {worker} %s "it'"'"'s $HOME {{x}}"' "$1" "$2" "$scratch/job.py" "$1" "$n"
}
expect 0 'keeps most in sum' "$CONTEND_BINARY" run --no-plots --host h --rounds 1 --time 0.05 --cpus "$four" --out "$scratch/paste" \
    --job "$(job a 1)" --job "$(job b "$copies")"
mix=$(jq -c '.findings[] | select(.id == "mix")' "$scratch/paste/run.json")
bash -c "$(jq -r .command <<< "$mix")" > "$scratch/pasted.sh" || fail "it cannot be pasted: $mix"
mkdir "$scratch/saw"
SAW=$scratch/saw sh "$scratch/pasted.sh" > /dev/null || fail "what it writes does not run: $(cat "$scratch/pasted.sh")"
measured=$(jq -r --arg arm "$(jq -r '.sentence | split(" ")[0]' <<< "$mix")" \
    '.arms[] | select(.variant == $arm) | .plan.workers[] | "\(.cpus) \(.threads) it'"'"'s $HOME {x}"' "$scratch/paste/run.json")
expect_equal "CPUs, threads and words of what was pasted" "$(cat "$scratch/saw/a0" "$scratch"/saw/b*)" "$measured"
expect_equal "the number of workers" "$(ls "$scratch/saw" | wc -l)" $((1 + copies))

# ab: the same jobs under two variants; each job's numbers, and the geometric mean of their rates.
"$CONTEND_BINARY" ab --host h --rounds 2 --time 0.05 --force --cpus "$cpus" --out "$scratch/ab" --json \
    -V free=placement:none -V own=placement:partition --job "$a" --job "$b" > "$scratch/ab.json"
for want in 'a_rate 1' 'b_rate 0.143' 'throughput 0.378'; do
    read -r metric ratio <<< "$want"
    jq -e --arg m "$metric" --argjson r "$ratio" \
        '.comparisons[] | select(.metric == $m) | .ratio - $r | fabs < 0.001' "$scratch/ab.json" > /dev/null ||
        fail "ab, $want: $(cat "$scratch/ab.json")"
done

# place: the plan of a mix, with the command of each job; formats of equal tasks refuse it.
place=("$CONTEND_BINARY" place --xml 'package:1 core:16 pu:1' -P partition --job "s=-- ./serve" --job "p=-n 2 -- ./prep 'a b'")
expect 0 '=4 taskset -c 0-3 ./serve' "${place[@]}" --job-cores 4+12
expect 0 "=6 taskset -c 10-15 ./prep 'a b'" "${place[@]}" --job-cores 4+12
expect 0 'prep' "${place[@]}" --job-cores 4+11 --emit systemd
"$CONTEND_BINARY" place --xml 'package:1 core:16 pu:1' -P none --job 's=-n 2 -- serve {worker}/{workers} {port}' --job 'p=-- prep {worker} {port}' \
    --emit sh > "$scratch/ports" 2> /dev/null
expect_equal "numbers in each job" "$(grep -oE '(serve|prep) [0-9/]+' "$scratch/ports" | paste -sd, -)" 'serve 0/2,serve 1/2,prep 0'
expect_equal "ports, all different" "$(grep -oE '(serve|prep) [0-9/]+ [0-9]{4,5}$' "$scratch/ports" | cut -d ' ' -f 3 | sort -u | wc -l)" 3
expect 2 'not unlike jobs' "${place[@]}" --emit slurm
expect 2 'more cores .* than the 16' "${place[@]}" --job-cores 8+12
for wrong in 4 4+1 4+x 4+12+1 +4+12; do
    expect 2 'as in 4.12' "${place[@]}" --job-cores "$wrong"
done
expect 2 'needs -P' "$CONTEND_BINARY" place --job "s=-- ./serve" --job "p=-- ./prep"

# What is no job, and what does not go with jobs.
refused() { # refused PATTERN OPTION...
    local pattern=$1
    shift
    expect 2 "$pattern" "${run[@]}" --out "$scratch/bad" "$@"
    [ ! -e "$scratch/bad" ] || fail "$pattern: a result was written"
}
refused '2 to 6 jobs' --job "$b"
refused 'b: two are called so' --job "$b" --job "$b"
refused 'is NAME=' --job "$a" --job '-- ls'
refused "no command after '--'" --job "$a" --job 'c=ls'
refused "no program 'nothere'" --job "$a" --job 'c=-- nothere'
refused 'unknown placeholder' --job "$a" --job 'c=-- ls {nothing}'
refused "no job has a metric 'b_p99'" --job "$a" --job "$b" --protect 'b:p99 10%'
refused 'is no bound such as' --job "$a" --job "$b" --protect b_rate
refused '--job excludes' --job "$a" --job "$b" -- ls
refused 'belong to a job' --job "$a" --job "$b" --metric 'x=(1)'
refused "no program 'ls -l': .* leave them out" --job "$a" --job 'c=-- "ls -l"'
refused '--job excludes' --job "$a" --job "$b" -n 3
refused '--protect needs --job' --protect 'b_rate 10%' -- ls

# One job fails: its row says so, the others' alone stay.
expect 3 'exit' "${run[@]}" --out "$scratch/mix" --job "$a" --job 'c=-- sh -c "exit 3"'
finish
