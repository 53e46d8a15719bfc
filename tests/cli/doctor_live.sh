#!/usr/bin/env bash
# contend doctor --live: prints each look as text or JSON. On a terminal it restores the terminal at the end.
. tests/lib/cli.sh
needs python3
unset COLUMNS NO_COLOR
export TERM=xterm

# A worker for the test: a parent that waits for a spinning child.
python3 -c '
import os
pid = os.fork()
while pid == 0:
    if os.getppid() == 1:
        os._exit(0)
os.wait()' &
worker=$!
trap 'kill "$worker" 2>/dev/null; rm -rf "$scratch"' EXIT
wait_for 60 pgrep -P "$worker" -x python3 >/dev/null || fail "no child"

# One look, as text and as JSON.
expect 0 "^ +$worker python3 " "$CONTEND_BINARY" doctor --live --pid "$worker" --looks 1
expect 0 '^ +PID NAME +THR +ON QUEUE BLOCK MOVES QUOTA +GPU BECAUSE OF' "$CONTEND_BINARY" doctor --live --pid "$worker" --looks 1
expect 0 '^ workers [.1-9]' "$CONTEND_BINARY" doctor --live --pid "$worker" --looks 1
"$CONTEND_BINARY" doctor --live --pid "$worker" --looks 3 --time 0.3 --json >"$scratch/looks" || fail "exit $? of --json"
python3 - "$scratch/looks" "$worker" <<'EOF' || fail "JSON: $(cat "$scratch/looks")"
import json, sys
looks = [json.loads(line) for line in open(sys.argv[1])]
assert len(looks) == 3
for look in looks:
    (worker,) = look["workers"]
    assert worker["pid"] == int(sys.argv[2]) and worker["processes"] == 2 and worker["threads"] == 2
    assert worker["oncpu"] + worker["queue"] + worker["blocked"] > 0.2, worker
    assert 0 <= look["own_cpu_share"]
assert sum(look["workers"][0]["oncpu"] for look in looks) > 0
EOF
# For a pipe, text has no escapes, and each look is a block.
"$CONTEND_BINARY" doctor --live --pid "$worker" --looks 2 --time 0.2 >"$scratch/text" || fail "exit $?"
! grep -q $'\x1b' "$scratch/text" || fail "escapes in a pipe"
[ "$(grep -c BECAUSE "$scratch/text")" = 2 ] || fail "not two looks: $(cat "$scratch/text")"

# Processes that use a GPU, by NVML, and how busy that GPU is.
expect 3 'no NVIDIA driver here' env CONTEND_LIBNVML=/nonexistent "$CONTEND_BINARY" doctor --live --gpu-procs --looks 1
expect 2 'exclude each other' "$CONTEND_BINARY" doctor --live --gpu-procs --all --looks 1
child=$(pgrep -P "$worker")
FAKE_GPU="pid=$child busy=37" CONTEND_LIBNVML=$CONTEND_FAKE_DRIVER "$CONTEND_BINARY" doctor --live --gpu-procs --looks 1 --json \
    >"$scratch/look" || fail "exit $? of --gpu-procs"
python3 -c 'import json, sys
(worker,) = json.load(open(sys.argv[1]))["workers"]
sys.exit(worker["pid"] != int(sys.argv[2]) or round(worker["gpu_busy"], 3) != 0.37)' "$scratch/look" "$child" ||
    fail "not the worker of the GPU: $(cat "$scratch/look")"

# Bad input.
expect 2 '^contend: error: --live excludes --apply, --verify and --undo$' "$CONTEND_BINARY" doctor --live --apply
expect 2 'looks needs --live' "$CONTEND_BINARY" doctor --looks 1
expect 2 'is not the number of a process' "$CONTEND_BINARY" doctor --live --pid x --looks 1
expect 3 'there is no process 4194304' "$CONTEND_BINARY" doctor --live --pid 4194304 --looks 1
expect 2 '' "$CONTEND_BINARY" doctor --live --time 0 --looks 1
expect 3 '' sh -c '"$1" doctor --live --pid "$2" --looks 1 >/dev/full' sh "$CONTEND_BINARY" "$worker"

# On a terminal: redraws, adapts to the size, and restores the terminal after q and after Ctrl-C.
cat >"$scratch/terminal.py" <<'EOF'
import fcntl, os, pty, re, select, signal, struct, sys, termios, time
program, worker, end = sys.argv[1:]
go, let_go = os.pipe()
pid, fd = pty.fork()
if pid == 0:
    os.read(go, 1)
    os.execv(program, [program, "doctor", "--live", "--pid", worker, "--time", "0.2"])
seen = b""
def size(rows, columns):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
def until(enough, what):
    global seen
    limit = time.time() + 60
    while not enough():
        if time.time() > limit:
            sys.exit("waited in vain for " + what + ": " + repr(seen[-2000:]))
        if select.select([fd], [], [], 0.5)[0]:
            try:
                seen += os.read(fd, 65536)
            except OSError:
                sys.exit("ended early: " + repr(seen[-2000:]))
before = termios.tcgetattr(fd)
size(24, 80)
os.write(let_go, b"x")
until(lambda: seen.count(b"BECAUSE OF") >= 3, "three looks")
if before[3] == termios.tcgetattr(fd)[3]:
    sys.exit("keys are not read as they are pressed")
widest = max(len(re.sub(rb"\x1b\[[?0-9;]*[A-Za-z]", b"", line)) for line in seen.split(b"\r\n"))
if widest > 80:
    sys.exit("a line of %d columns on 80" % widest)
size(24, 40)
seen = b""
until(lambda: seen.count(b"\x1b[H") >= 3, "looks on 40 columns")
frame = seen.split(b"\x1b[H")[2]
if b"BECAUSE" in frame or max(len(re.sub(rb"\x1b\[[?0-9;]*[A-Za-z]", b"", line)) for line in frame.split(b"\r\n")) > 40:
    sys.exit("wider than 40 columns: " + repr(frame))
os.write(fd, b"x")   # no key of ours
os.write(fd, b"q" if end == "q" else b"\x03")
while True:
    try:
        more = os.read(fd, 65536)
    except OSError:
        break
    if not more:
        break
    seen += more
code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
if code != (0 if end == "q" else 130):
    sys.exit("exit code %d" % code)
if not seen.rstrip().endswith(b"\x1b[?25h\x1b[?1049l"):
    sys.exit("the screen was not given back: " + repr(seen[-200:]))
EOF
for end in q ctrl-c; do
    timeout 200 python3 "$scratch/terminal.py" "$CONTEND_BINARY" "$worker" "$end" || fail "by $end"
done

# A shell on the same terminal sees that its settings are restored.
cat >"$scratch/settings.py" <<'EOF'
import os, pty, select, subprocess, sys, termios, time
program, worker = sys.argv[1:]
master, slave = pty.openpty()
before = termios.tcgetattr(slave)
top = subprocess.Popen([program, "doctor", "--live", "--pid", worker, "--time", "0.2"], stdin=slave, stdout=slave, start_new_session=True)
limit = time.time() + 60
while termios.tcgetattr(slave)[3] == before[3] and time.time() < limit:
    time.sleep(0.05)
if termios.tcgetattr(slave)[3] == before[3]:
    sys.exit("was not changed")
top.terminate()
while top.poll() is None:
    if select.select([master], [], [], 0.2)[0]:
        os.read(master, 65536)
if termios.tcgetattr(slave) != before:
    sys.exit("not as it was")
EOF
timeout 100 python3 "$scratch/settings.py" "$CONTEND_BINARY" "$worker" || fail "settings of the terminal"

# If the watched worker ends, --live ends with a message.
"$CONTEND_BINARY" doctor --live --pid "$worker" --time 0.3 >"$scratch/shown" 2>"$scratch/ended" &
top=$!
wait_for 60 test -s "$scratch/shown" || fail "nothing is shown"
kill "$worker"
wait "$top"
[ $? = 3 ] || fail "exit code of a show whose worker has ended"
grep -q 'have ended' "$scratch/ended" || fail "no word that it ended: $(cat "$scratch/ended")"
finish
