#!/usr/bin/env bash
# contend place --emit: each text runs where its program, or a stand-in, is available. Others are checked by a parser of
# their language. A command with hostile words arrives unchanged, on the CPUs of the plan.
. tests/lib/cli.sh
export NO_COLOR=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
unset CUDA_VISIBLE_DEVICES
formats="sh numactl systemd docker slurm k8s torchrun mpirun env wsl-bat"
mkdir "$scratch/units"

# The worker writes its number, its mask, and its words unchanged.
cat >"$scratch/worker" <<'SH'
#!/bin/sh
me=$1
grep Cpus_allowed_list: /proc/self/status | tr -d '\t' | cut -d: -f2 >"$SAW/$me.cpus"
echo "$OMP_NUM_THREADS" >"$SAW/$me.threads"
printf '%s\0' "$@" >"$SAW/$me.words"
SH
chmod +x "$scratch/worker"
export SAW=$scratch/saw
hostile=("a  b" "it's" '"q" \' '$HOME $(id) `id`' '%h %PATH% $$' $'two\nlines\n' $'caf\xc3\xa9' -dash '' '*' ';' '& del' '{{print}}' '{"a": {}}')
words=("${hostile[@]}")
words[12]='{print}'

# emitted FORMAT ARGUMENT...: writes the text to $scratch/FORMAT.
emitted() {
    local format=$1
    shift
    "$CONTEND_BINARY" place --emit "$format" "$@" >"$scratch/$format" 2>"$scratch/stderr" ||
        fail "place --emit $format $*: $(cat "$scratch/stderr")"
}
# saw WORKER CPUS: checks what the worker was given.
saw() {
    [ "$(cat "$SAW/$1.cpus" 2>/dev/null)" = "$2" ] ||
        fail "$format: worker $1 is not on CPUs $2: $(cat "$SAW/$1.cpus" 2>&1)"
    printf '%s\0' "$1" "${words[@]}" | cmp -s - "$SAW/$1.words" ||
        fail "$format: other words: $(tr '\0' '\n' <"$SAW/$1.words")"
}
# starts SHELL FORMAT [CPUS0 CPUS1]: runs the text, and checks both workers.
starts() {
    local shell=$1 format=$2 code
    rm -rf "$SAW"
    mkdir "$SAW"
    (cd "$scratch" && PATH=$scratch/bin:$PATH timeout 100 "$shell" "$scratch/$format") \
        >"$scratch/out" 2>&1 </dev/null
    code=$?
    [ "$code" = 0 ] || fail "$format in $shell: exit $code: $(cat "$scratch/out")"
    saw 0 "${3-$first}"
    saw 1 "${4-$second}"
}

. tests/lib/stand_ins.sh
stand_in torchrun <<'SH'
while [ "$1" != --no-python ]; do
    case $1 in --nproc-per-node=*) n=${1#*=} ;; esac
    shift
done
shift
while [ "$n" -gt 0 ]; do
    n=$((n - 1))
    LOCAL_RANK=$n "$@" &
done
wait
SH
stand_in srun <<'SH'
while [ "$1" != sh ]; do
    case $1 in --ntasks=*) n=${1#*=} ;; --cpu-bind=mask_cpu:*) masks=${1#*:} ;; esac
    shift
done
rank=0
for mask in $(echo "$masks" | tr , ' '); do
    SLURM_PROCID=$rank taskset "$mask" "$@" &
    rank=$((rank + 1))
done
wait
SH
export IMAGE=image

# On this machine: two workers with one CPU each, or both on the same CPU.
placement=(-P partition)
cpus=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)
[ "$(nproc)" -ge 2 ] || placement=(-P same)
for format in $formats; do
    # Kubernetes reserves a core for itself, and not every machine has enough.
    spare=()
    [ "$format" != k8s ] || spare=(-P partition --reserve 1 --xml "package:1 core:4 pu:1")
    emitted "$format" -n 2 "${placement[@]}" "${spare[@]}" -- ./worker '{worker}' "${hostile[@]}"
done
first=$(sed -nE '/^\(/,/^\)/s/.*taskset -c ([0-9,-]*) .*/\1/p' "$scratch/sh" | sed -n 1p)
second=$(sed -nE '/^\(/,/^\)/s/.*taskset -c ([0-9,-]*) .*/\1/p' "$scratch/sh" | sed -n 2p)
first=${first:-$cpus} second=${second:-$cpus}
for shell in sh bash; do
    starts $shell sh
    starts $shell numactl
    starts $shell systemd
    starts $shell docker
    starts $shell torchrun
    [ "$first" = "$cpus" ] || starts $shell slurm
done
starts sh env "$cpus" "$cpus"
if command -v mpirun >/dev/null; then
    starts sh mpirun
    if [ "$(nproc)" -ge 2 ] && mpirun --version | grep -q 'Open MPI) 4'; then
        sed 's/^mpirun /mpirun --report-bindings /' "$scratch/mpirun" >"$scratch/reporting"
        (cd "$scratch" && sh ./reporting) 2>&1 </dev/null | grep -q 'rank 1 bound' ||
            fail "mpirun: its file of ranks binds nothing"
    fi
fi
# If the launcher does not bind, the task binds itself.
if [ "$first" != "$cpus" ]; then
    sed -i 's/ taskset "$mask"//' "$scratch/bin/srun"
    starts sh slurm
fi

# The options given to numactl, printed by a stand-in.
stand_in numactl <<'SH'
echo "$*" | sed 's/ -- .*//' >>"$SAW/numactl"
while [ "$1" != -- ]; do shift; done
shift
exec "$@"
SH
starts sh numactl "$cpus" "$cpus"
[ "$first" = "$cpus" ] || grep -qx -- "--physcpubind=$first" "$SAW/numactl" ||
    fail "numactl: $(cat "$SAW/numactl")"

# systemd accepts the units and reads the intended words.
(cd "$scratch" && sh ./systemd units "$scratch/units") || fail "the units are not written"
if command -v systemd-analyze >/dev/null; then
    systemd-analyze verify "$scratch"/units/*.service >"$scratch/out" 2>&1 && [ ! -s "$scratch/out" ] ||
        fail "systemd-analyze verify: $(cat "$scratch/out")"
fi
cat >"$scratch/read.py" <<'PY'
import base64, re, shlex, sys
kind, path, worker = sys.argv[1:4]
expected = ["./worker", worker] + sys.argv[4:]
text = open(path, encoding="utf-8", newline="").read()
if kind == "unit":  # systemd.syntax(7): words in double quotes, C's escapes; then % and $ of the manager
    line = next(l for l in text.split("\n") if l.startswith("ExecStart="))
    words = re.findall(r'"((?:[^"\\]|\\.)*)"', line.split(' sh ', 1)[1])
    unescape = lambda m: chr(int(m[1][1:], 16)) if m[1][0] == "x" else m[1]
    words = [re.sub(r"\\(x[0-9a-f]{2}|.)", unescape, w).replace("%%", "%").replace("$$", "$") for w in words]
elif kind == "yaml":
    import yaml
    pods = [d for d in yaml.safe_load_all(text) if d["kind"] == "Pod"]
    worker_of = pods[int(worker)]["spec"]["containers"][0]
    limits = worker_of["resources"]["limits"]
    assert limits == worker_of["resources"]["requests"] and float(limits["cpu"]).is_integer()
    words = [w.replace("$$", "$") for w in worker_of["command"]]
else:  # a batch file: no quote within quotes, so its words are those of a shell
    line = [l for l in text.split("\r\n") if l.startswith('start "worker %s"' % worker)][-1]
    assert not re.search(r"[%^&<>!]", line), line
    script = base64.b64decode(re.search(r"\(echo ([A-Za-z0-9+/=]+)\|", line)[1]).decode()
    words = shlex.split(script.split(" taskset -c ", 1)[1])[1:]
    if words[0] == "taskset":
        words = words[3:]
assert words == expected, "%s: %r" % (kind, words)
PY
if command -v python3 >/dev/null; then
    for worker in 0 1; do
        python3 "$scratch/read.py" unit "$scratch/units/contend-worker-$worker.service" $worker \
            "${words[@]}" || fail "other words in the unit of worker $worker"
        python3 "$scratch/read.py" bat "$scratch/wsl-bat" $worker "${words[@]}" ||
            fail "other words in the batch file of worker $worker"
        ! python3 -c 'import yaml' 2>/dev/null ||
            python3 "$scratch/read.py" yaml "$scratch/k8s" $worker "${words[@]}" ||
            fail "other words in the pod of worker $worker"
    done
fi
# The words that the batch file passes to wsl.exe, split as Windows does.
sed -nE 's/\r$//; s/^start "worker ([01])" wsl.exe --exec/&/p' "$scratch/wsl-bat" |
    sed 's/^start "worker [01]" wsl.exe --exec/(cd "$scratch" \&\&/; s/$/) || fail wsl-bat/; s/\$(/\\$(/' >"$scratch/lines"
rm -rf "$SAW"
mkdir "$SAW"
format=wsl-bat
. "$scratch/lines"
saw 0 "$first"
saw 1 "$second"

# No text widens its inherited mask: it starts no worker instead.
if [ "$first" != "$cpus" ]; then
    for format in sh numactl env systemd docker torchrun mpirun slurm; do
        [ "$format" != mpirun ] || command -v mpirun >/dev/null || continue
        rm -rf "$SAW"
        mkdir "$SAW"
        (cd "$scratch" && PATH=$scratch/bin:$PATH timeout 60 taskset -c "$first" sh "./$format") >"$scratch/out" 2>&1 </dev/null
        code=$?
        [ "$code" != 0 ] || [ "$format" = torchrun ] || [ "$format" = slurm ] || fail "$format: not refused"
        grep -q "refused: CPU ${second%%[-,]*} is not among those allowed here, $first" "$scratch/out" ||
            fail "$format: $(cat "$scratch/out")"
        [ ! -e "$SAW/1.cpus" ] || fail "$format: a worker runs on CPUs that are not allowed"
    done
fi

# The same for a container started within a mask: the container does not inherit it.
if [ "$(nproc)" -ge 2 ]; then
    one=${cpus%%[-,]*}
    expect 0 "--cpuset-cpus $one " taskset -c "$one" "$CONTEND_BINARY" place -n 2 -P none --emit docker
    expect 0 "CPUAffinity=$one " taskset -c "$one" "$CONTEND_BINARY" place -n 2 -P none --emit systemd
    expect 0 "OMP_PLACES=\"[{]$one:1[}]" taskset -c "$one" "$CONTEND_BINARY" place -n 2 -P none --emit env
fi

# The text exits with the worst exit code. Ctrl-C also ends processes that workers started.
emitted sh -n 2 -P sized -- sh -c 'exit $(({worker} * 3 + 1))'
sh "$scratch/sh"
code=$?
[ "$code" = 4 ] || fail "the worst exit code is 4, not $code"
emitted sh -n 2 -P sized -- sh -c 'sleep 987 & echo $$ >>"$SAW/pids"; echo $! >>"$SAW/pids"; wait'
both_run() {
    [ "$(wc -l <"$SAW/pids" 2>/dev/null)" = 4 ]
}
none_alive() {
    ! grep -qs '^State:[[:space:]]*[^Z[:space:]]' "/proc/$1/status"
}
for signal in INT TERM HUP; do
    rm -rf "$SAW"
    mkdir "$SAW"
    env --default-signal=INT sh "$scratch/sh" &
    script=$!
    wait_for 60 both_run || fail "the workers do not start"
    kill -s $signal $script
    wait $script
    code=$?
    case $signal in INT) expected=130 ;; TERM) expected=143 ;; HUP) expected=129 ;; esac
    [ $code = $expected ] || fail "$signal: exit $code"
    while read -r pid; do
        wait_for 20 none_alive "$pid" || fail "$signal leaves $pid running"
    done <"$SAW/pids"
done

# Larger machines, with GPUs: here only the text can be checked.
check_text() { # check_text FORMAT
    case $1 in
    k8s)
        ! python3 -c 'import yaml' 2>/dev/null ||
            python3 -c 'import sys, yaml; list(yaml.safe_load_all(open(sys.argv[1])))' "$scratch/k8s" || fail "k8s: no YAML"
        ;;
    wsl-bat) ;;
    *)
        sh -n "$scratch/$1" || fail "$1: no shell script"
        [ "$machine" != "${machines[0]}" ] || ! command -v shellcheck >/dev/null ||
            shellcheck -S warning -s sh "$scratch/$1" >"$scratch/out" || fail "$1: $(cat "$scratch/out")"
        ;;
    esac
}
"$CONTEND_MACHINE_XML" nps4_eight_gpus >"$scratch/eight.xml"
machines=("package:2 numa:1 core:4 pu:1" "$scratch/eight.xml")
for machine in "${machines[@]}"; do
    for gpus in "" "81:00.0@0,01:00.0@0"; do
        for format in $formats; do
            reserve=0
            [ "$format" != k8s ] || reserve=1
            emitted "$format" -n 2 --reserve $reserve --xml "$machine" ${gpus:+--gpus "$gpus"} -- python3 train.py "it's {worker}"
            check_text "$format"
        done
    done
done
emitted sh -n 2 --xml "package:2 numa:1 core:4 pu:1"
grep -q 'placement numa is not measured: it is the first that fits' "$scratch/stderr" || fail "which placement: $(cat "$scratch/stderr")"
emitted sh -n 3 --xml "package:1 core:2 pu:1"
grep -q 'placement sized is not measured: it is the first that fits' "$scratch/stderr" || fail "which placement: $(cat "$scratch/stderr")"

expect 2 '2 workers on 2 cores leave none: .*fewer workers' "$CONTEND_BINARY" place --emit k8s -n 2 \
    -P partition --xml "package:1 core:2 pu:1"
expect 0 'reservedSystemCPUs: "0-1"' "$CONTEND_BINARY" place --emit k8s -n 2 --xml "package:1 core:4 pu:2"
expect 2 "'bat'.*wsl-bat" "$CONTEND_BINARY" place --emit bat
expect 2 'unknown placeholder {rank}' "$CONTEND_BINARY" place --emit sh -- x '{rank}'
expect 2 'unknown placeholder {rank}' "$CONTEND_BINARY" place -- x '{rank}'
expect 2 '--emit takes one placement' "$CONTEND_BINARY" place --emit sh -P none,partition
expect 2 'exclude each other' "$CONTEND_BINARY" place --emit sh --json
expect 2 'no plan for numa: ' "$CONTEND_BINARY" place --emit sh -P numa --xml "package:1 core:2 pu:1"
finish
