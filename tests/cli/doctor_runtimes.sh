#!/usr/bin/env bash
# contend doctor on pools in pools, on Go and the JVM under a quota, and on threads that leave the mask of their
# process: what is named, the setting, and that the fixed job has no such finding. Parts whose tools are missing are
# left out.
. tests/lib/cli.sh
. tests/lib/quota.sh
. tests/lib/plant.sh
. tests/lib/look.sh
needs two-cpus
ran=0

# advises ID PATTERN PID...: doctor reports that finding with that command. A look that begins before the program does
# knows too little of it, so there are three.
advises() {
    local id=$1 pattern=$2
    shift 2
    for _ in 1 2 3; do
        sees "$id" "$@" || break
        # shellcheck disable=SC2254 # a pattern
        case $(command_of "$id") in
        $pattern) return ;;
        esac
    done
    fail "$id: not '$pattern': $(cat "$scratch/seen")"
}

# healthy ID PID...: no finding of that id in three looks.
healthy() {
    local id=$1 watch_s=1
    shift
    for _ in 1 2 3; do
        look "$@"
        [ -z "$(named "$id")" ] || fail "$id of a healthy job: $(cat "$scratch/seen")"
    done
    end_faults
}

# escape CPU: a process on the first CPU whose thread binds itself to CPU, beside one on the second CPU.
escape() {
    plant taskset -c "$first" python3 -c "import os, threading
def work():
    os.sched_setaffinity(0, {$1})
    while True: sum(range(10000))
threading.Thread(target=work).start()"
    plant taskset -c "$second" python3 -c 'while True: sum(range(10000))'
}
escape "$second"
advises mask_escape '' "${faulty[@]}"
end_faults
escape "$first"
healthy mask_escape "${faulty[@]}"

if python3 -c 'import ctypes; ctypes.CDLL("libopenblas.so.0").openblas_get_parallel() == 1 or exit(1)' 2>/dev/null; then
    ran=$((ran + 1))
    nested=(python3 tests/lib/pool.py nested "$((2 * $(nproc)))" "$scratch/count")
    plant env -u OPENBLAS_NUM_THREADS "${nested[@]}"
    advises more_threads_than_cpus "OPENBLAS_NUM_THREADS=1 *${nested[*]}" "${faulty[@]}"
    end_faults
    plant env OPENBLAS_NUM_THREADS=1 "${nested[@]}"
    healthy more_threads_than_cpus "${faulty[@]}"
    plant env -u OPENBLAS_NUM_THREADS python3 tests/lib/pool.py nested 1 "$scratch/count" # one caller
    healthy more_threads_than_cpus "${faulty[@]}"
fi

if make_group && command -v go >/dev/null; then
    ran=$((ran + 1))
    cat >"$scratch/main.go" <<'END'
package main

import "runtime"

func main() {
	for i := 1; i < runtime.GOMAXPROCS(0); i++ {
		go func() {
			for {
			}
		}()
	}
	for {
	}
}
END
    GOCACHE="$scratch/cache" HOME="$scratch" go build -o "$scratch/spin" "$scratch/main.go" || fail "go build"
    quota 20
    plant "${within[@]}" env GOMAXPROCS=8 "$scratch/spin"
    advises team_over_quota "GOMAXPROCS=1 $scratch/spin" "${faulty[0]}"
    end_faults
    plant "${within[@]}" env GOMAXPROCS=1 "$scratch/spin"
    healthy team_over_quota "${faulty[0]}"
fi

if [ -n "$group" ] && command -v javac >/dev/null && command -v java >/dev/null; then
    ran=$((ran + 1))
    cat >"$scratch/Spin.java" <<'END'
public class Spin {
    public static void main(String[] arguments) throws Exception {
        for (int i = 1; i < Runtime.getRuntime().availableProcessors(); i++)
            new Thread(() -> { for (long n = 0; ; n++); }).start();
        new java.io.File(arguments[0]).createNewFile();
        for (long n = 0; ; n++);
    }
}
END
    javac -d "$scratch" "$scratch/Spin.java" || fail "javac"
    quota 20
    plant_jvm() { # plant_jvm [OPTION]: returns when it spins, which takes long under the quota
        rm -f "$scratch/spins"
        plant "${within[@]}" java "$@" -cp "$scratch" Spin "$scratch/spins"
        wait_for 300 test -e "$scratch/spins" || fail "the JVM does not start"
    }
    plant_jvm -XX:ActiveProcessorCount=8
    advises team_over_quota "java -XX:ActiveProcessorCount=1 -cp $scratch Spin $scratch/spins" "${faulty[0]}"
    end_faults
    plant_jvm
    healthy team_over_quota "${faulty[0]}"
fi
[ "$ran" -gt 0 ] || echo "left out: OpenBLAS, Go and the JVM are not here, or no cgroup can be made"
finish
