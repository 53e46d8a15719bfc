#!/usr/bin/env bash
# Bad input gives one clear line on stderr that names the value and the allowed values, and exit code 2.
. tests/lib/cli.sh

# bad PATTERN ARGUMENT...: exit 2, exactly one line on stderr, nothing on stdout, no directory made.
bad() {
    local pattern=$1 code lines
    shift
    "$CONTEND_BINARY" "$@" > "$scratch/stdout" 2> "$scratch/stderr" < /dev/null
    code=$?
    lines=$(wc -l < "$scratch/stderr")
    [ "$code" = 2 ] || fail "exit $code, expected 2: $*"
    [ "$lines" = 1 ] || fail "$lines lines on stderr: $*"$'\n'"$(cat "$scratch/stderr")"
    [ ! -s "$scratch/stdout" ] || fail "stdout is not empty: $*"
    grep -Eq -- "$pattern" "$scratch/stderr" ||
        fail "no /$pattern/ from: $*"$'\n'"$(cat "$scratch/stderr")"
    [ ! -e "$scratch/out" ] || fail "an output directory was made: $*"
}
run() {
    local pattern=$1
    shift
    bad "$pattern" run --out "$scratch/out" "$@"
}

run "unknown scenario 'nonsense'; known: .*pipeline" nonsense
run "'partition' is a placement: .* -P none,partition" -P none partition
run "'mem_bandwidth' is a benchmark: 'contend bench'" mem_bandwidth
bad "'memory' is a scenario of several benchmarks: 'contend run'" bench memory
run "unknown option '--output'; did you mean '--out'\?" --output x
run "unknown option '--nonsense'" --nonsense
run "option '--workers' needs a value, and '--dry-run' is an option" --workers --dry-run
run "option '-n' needs a value, and '-P' is an option" -n -P none
bad "emit: invalid value 'slrum'; did you mean 'slurm'\? valid: " place --emit slrum
bad "unknown benchmark 'stream'; did you mean 'gpu_stream'\?" bench stream
bad "'gpu=8' is not NAME=COUNT; did you mean 'gpus'\? NAME is one of gpus, " validate --expect gpu=8
run "option '--workers' needs a value" --workers
run "unknown placement 'nonsense'.*partition" --placement nonsense
run "unknown parameter 'nonsense'; known: .*rows" -p nonsense=1
run "'rows' is not a parameter of the form name=value" -p rows
run "rows .*'0'" -p rows=0
run "rows .*'-5'" -p rows=-5
run "rows .*'9999999999999999999999'" -p rows=9999999999999999999999
run "rows.*cols|cols.*rows" -p rows=1000000 -p cols=32768
run "cols .1000000. is outside 1 to 32768" -p cols=1000000
run "cols .*'x'" -p cols=x
run "wait: invalid value 'sometimes'; valid: spin, block" -p wait=sometimes
run "workers '0'" --workers 0
run "workers '2,,4'" --workers 2,,4
run "workers '-1'" --workers=-1
run "rounds '0' is outside 1" --rounds 0
run "time 'soon'" --time soon
run "time '0' is outside 0.01 to 86400 s$" --time 0
run "device: invalid value 'tpu'; valid: auto, sim, cuda" --device tpu
run "cpus" --cpus ''
run "cpus.*'3-1'|'3-1'" --cpus 3-1
run "8000" --cpus 0,8000
run "partition.*more|partition.*4096|4096|[0-9]+ workers" --placement partition --workers 1000
run "reserve" --reserve 1000 --placement none
run "mem: invalid value 'some'" --mem some
run "unknown benchmark 'nonsense'" --background nonsense
run "background-workers needs --background" --background-workers 2
run "--dose KIND=LEVEL" --background dose
run "--dose takes the place of --background" --dose cpu=20% --background prep
run "dose 'cpu' is not KIND=LEVEL" --dose cpu
run "a dose of cpu is from 0 to 0.8, not 0.95" --dose cpu=95%
run "--dose throttle sets the CPU quota of workers: leave --cpu-max out" --dose throttle=20% --cpu-max 0.5
run "a dose of h2d needs GPUs that this run can use" --device sim --dose h2d=0.7
bad "one level, such as cpu=20%" bench pipeline --dose cpu=0,20%
run "'rows=64' is a parameter, not a scenario: -p rows=64" rows=64
run "'sh' is a command, not a scenario: it goes after '--', as in 'contend run -- sh'" sh train.sh
bad "unexpected argument './train'; a command goes after '--', as in 'contend place -- ./train'" place ./train
bad "unexpected argument '4711'; a process is named by its number, as in --pid 4711" doctor 4711
bad "'-n' must follow the command, as in 'contend run -n 4'" -n 4 run
bad "'gpus' has no count, as in gpus=8" validate --expect gpus
bad "gpus: '2' is not BDF@NODE, such as 0000:01:00.0@0" place --gpus 2
bad "unknown command 'nonsense'; see 'contend --help'" nonsense
bad "unknown command 'nonsense'; see 'contend --help'" help nonsense
bad "unknown command 'rnu'; did you mean 'run'\? see 'contend --help'" rnu
bad "unknown command '--verison'; did you mean '--version'\?" --verison
bad "unknown command 'train'; did you mean 'run train'\?" train
bad "unknown command 'prep'; did you mean 'bench prep'\?" prep
bad "unknown scenario 'pipline'; did you mean 'pipeline'" run pipline --help
bad "no benchmark: 'contend info' lists them" bench
bad "one benchmark at a time: unexpected argument 'train'" bench prep train
bad "unexpected argument 'all'; see 'contend info --help'" info all
bad "unknown benchmark 'nonsense'" bench nonsense --out "$scratch/out"
bad "nonsense.xml" info --xml nonsense.xml
bad "broken.xml|description" info --xml "package:x core:y"
for content in '' '<?xml version="1.0"?><topology version="2.0"><object type="Machine"' 'garbage'; do
    printf '%s' "$content" > "$scratch/broken.xml"
    bad "broken.xml" info --xml "$scratch/broken.xml"
    bad "broken.xml" place --xml "$scratch/broken.xml" --workers 2
done
bad "disjoint|workers" place --workers 5 --placement partition --xml "package:1 core:4 pu:1"
# The message suggests the name that was probably meant.
run "unknown scenario 'pipline'; did you mean 'pipeline'\? known: " pipline
run "unknown option '--palcement'; did you mean '--placement'\? see 'contend run --help'" --palcement none
run "unknown placement 'partitoin'; did you mean 'partition'\? known: " --placement none,partitoin
run "unknown parameter 'colls'; did you mean 'cols'\? known: " -p colls=1
run "unknown parameter 'injetc'; did you mean 'inject'\\? known: size, inject" memory -p injetc=1
run "unknown benchmark 'perp'; did you mean 'prep'\? see 'contend info'" --background perp
bad "unknown benchmark 'colective'; did you mean 'collective'\?" bench colective
if ! ls /dev/nvidia[0-9]* > /dev/null 2>&1; then
    for scenario in pipeline train memory gpu allreduce; do
        run "device 'cuda' is not possible" "$scenario" --device cuda
    done
    for bench in gpu_copy collective prep; do
        bad "device 'cuda' is not possible" bench "$bench" --device cuda --out "$scratch/out"
    done
fi

# One name has one meaning: --background is a benchmark, --background-workers a number, for place too.
bad "unknown option '--background'; did you mean '--background-workers'\?" place --background 2
[ "$("$CONTEND_BINARY" place --xml 'core:4 pu:1' -n 2 -P partition --background-workers 1 | grep -c '(bg)')" = 1 ] ||
    fail "no background worker in the plan"

# Results that cannot be drawn.
bad "which result directory" report
bad "unknown option '--nonsense'" report --nonsense
bad "cannot open the result directory 'nonsense/r': No such" report nonsense/r
bad "is no result directory: no run.json, and no plots" report "$scratch"
mkdir -p "$scratch/drawn/plots"
bad "drawn' is no result directory: no run.json, and plots has no .dat file of a figure" report "$scratch/drawn"
echo nonsense > "$scratch/drawn/plots/other.dat"
bad "drawn' is no result directory: no run.json, and plots has no .dat file of a figure" report "$scratch/drawn"
echo nonsense > "$scratch/drawn/plots/loss.dat"
expect 3 'gnuplot is not installed' env PATH=/nonexistent "$CONTEND_BINARY" report "$scratch/drawn"
if command -v gnuplot > /dev/null; then
    expect 3 'gnuplot failed on loss' "$CONTEND_BINARY" report "$scratch/drawn"
    [ ! -e "$scratch/drawn/plots/loss.svg" ] || fail "half a figure was left"
fi

# A result without rounds.csv: the message says that the file may be packed.
cp -r results/h200-x2-vm/exec "$scratch/packed"
rm "$scratch/packed/rounds.csv"
missing="packed': rounds.csv is missing; if rounds.csv.xz is there: unxz -k rounds.csv.xz"
bad "$missing" report "$scratch/packed"
bad "$missing" report --markdown "$scratch/packed"
bad "$missing" compare results/h200-x2-vm/exec "$scratch/packed"

# Directories that cannot be used.
touch "$scratch/file"
bad "cannot create output directory '.*file/r'" run --out "$scratch/file/r"
for dry in '' --dry-run; do
    bad "cannot create output directory '/proc/nonsense': No such" run $dry --out /proc/nonsense/r
    bad "output directory '.*/file'|Not a directory" run $dry --out "$scratch/file"
done
expect 0 'expected time' "$CONTEND_BINARY" run --dry-run --out "$scratch/new/r"
[ ! -e "$scratch/new" ] || fail "a dry run made a directory"
mkdir "$scratch/foreign"
touch "$scratch/foreign/rows.csv"
bad "has a rows.csv that is not of a run of contend" run --dry-run --out "$scratch/foreign"

# A dry run says that nothing will be measured, and abbreviates a long list of workers.
if ! ls /dev/nvidia[0-9]* > /dev/null 2>&1; then
    expect 0 "nothing of 'gpu' can run here: " "$CONTEND_BINARY" run gpu --dry-run
    expect 0 '^expected time: 0 s$' "$CONTEND_BINARY" run gpu --dry-run
    expect 3 "nothing of 'gpu' can run here: " "$CONTEND_BINARY" run gpu --out "$scratch/no-gpu"
    [ ! -e "$scratch/no-gpu" ] || fail "a run of nothing left a directory"
fi
expect 0 '\.\.\. and 998 more; --json has all' "$CONTEND_BINARY" run -n 1000 --dry-run
[ "$("$CONTEND_BINARY" run -n 1000 --dry-run | wc -l)" -lt 40 ] || fail "a plan of 1000 workers is long"
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=4k tmpfs "$(mkdir -p "$scratch/tiny" && echo "$scratch/tiny")" 2>/dev/null; then
    head -c 4096 /dev/zero > "$scratch/tiny/fill" 2>/dev/null
    bad "No space left" run --out "$scratch/tiny/r"
    [ ! -e "$scratch/tiny/r" ] || fail "half a result was left on a full disk"
    umount "$scratch/tiny"
    # The disk becomes full during the run: the finished rounds stay valid.
    mount -t tmpfs -o size=2m tmpfs "$scratch/tiny"
    expect 3 "round [0-9]+ is not in the results: .*No space left" "$CONTEND_FAKE" run fake --placement none --workers 2 --rounds 400 \
        --time 0.1 --warmup 0.01 --no-plots --out "$scratch/tiny/r" -p step=0.2ms
    awk -F, 'NF != 17 { bad = 1 } END { exit bad }' "$scratch/tiny/r/samples.csv" ||
        fail "samples.csv has a broken line"
    rounds=$(awk -F, '$9 == "throughput" && $12 >= n { n = $12 + 1 } END { print n + 0 }' "$scratch/tiny/r/rounds.csv")
    [ "$rounds" -gt 1 ] || fail "no rounds before the disk was full"
    [ "$(awk -F, 'NR > 1 { last = $2 + 1 } END { print last }' "$scratch/tiny/r/samples.csv")" = "$rounds" ] ||
        fail "other rounds in samples.csv than the $rounds of rounds.csv"
    expect 0 "\"rounds\": $rounds," "$CONTEND_FAKE" report --json "$scratch/tiny/r"
    umount "$scratch/tiny"
fi

# A limit on file sizes is reported, too, and leaves no incomplete file.
expect 3 "output directory '.*/limited': .*File too large" bash -c 'ulimit -f 1 && exec "$@"' bash \
    "$CONTEND_BINARY" run --rounds 1 --time 0.1 --device sim --no-plots --out "$scratch/limited"
[ ! -e "$scratch/limited" ] || fail "half a result was left at a limit: $(ls "$scratch/limited")"

expect 0 'pipeline' "$CONTEND_BINARY" info
expect 0 'expected time' "$CONTEND_BINARY" run --dry-run
expect 0 ', 1 round, ' "$CONTEND_BINARY" run --rounds 1 --dry-run
[ ! -e "$scratch/out" ] || fail "a dry run made a directory"
# A small machine is not bad input: with one CPU the disjoint placements are skipped, with the reason.
expect 0 'not on this machine: partition' taskset -c "$(taskset -cp $$ | grep -o '[0-9]*$')" \
    "$CONTEND_BINARY" run -v --rounds 1 --time 0.1 --device sim --no-plots --out "$scratch/one"
grep -q '^[^,]*,pipeline,partition,2,.*,skipped,.*CPU of its own' "$scratch/one/rows.csv" ||
    fail "no reason for the skipped partition: $(cut -c1-300 "$scratch/one/rows.csv")"
finish
