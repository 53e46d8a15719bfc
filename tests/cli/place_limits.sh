#!/usr/bin/env bash
# place reports what would undo its plan here: a quota of CPU time, settings of OpenMP, refused memory policies. It also
# reports CPUs and GPUs that the plan leaves idle, even when it prints a text.
. tests/lib/cli.sh
. tests/lib/quota.sh
export NO_COLOR=1
unset CUDA_VISIBLE_DEVICES "${!OMP_@}" "${!GOMP_@}" "${!KMP_@}" "${!MKL_@}" "${!OPENBLAS_@}"

# ---- unused CPUs ----
gpus=0000:07:00.0@3,0000:0f:00.0@3,0000:47:00.0@1,0000:4e:00.0@1,0000:87:00.0@7,0000:90:00.0@7,0000:b7:00.0@5,0000:bd:00.0@5
server=(--xml "package:2 numa:4 core:16 pu:2" --gpus "$gpus")
left='CPUs 0-31,64-95,128-159,192-223: 128 of 256 are in no worker.s slice'
for format in sh numactl env systemd docker slurm k8s torchrun mpirun wsl-bat; do
    "$CONTEND_BINARY" place -P gpu-local --emit $format "${server[@]}" -- x >"$scratch/text" 2>"$scratch/err" ||
        fail "$format: $(cat "$scratch/err")"
    grep -q "$left" "$scratch/err" || fail "$format: not on stderr: $(cat "$scratch/err")"
    grep -Eq "^(#|rem) - $left|^(#|rem) - CPUs 0-31,64-95,128-159,192-223: 128 of 256" "$scratch/text" ||
        fail "$format: not in the text: $(head -n 20 "$scratch/text")"
    grep -q 'package-local gives them' "$scratch/err" || fail "$format: $(cat "$scratch/err")"
done
"$CONTEND_BINARY" place -P package-local --emit sh "${server[@]}" -- x >"$scratch/text" 2>"$scratch/err"
! grep -q 'in no worker' "$scratch/text" "$scratch/err" || fail "package-local leaves CPUs: $(cat "$scratch/err")"
[ "$(grep -c 'memory preferred' "$scratch/text")" = 8 ] || fail "package-local: $(grep '^# w' "$scratch/text")"
# GPUs far from their workers, because partition ignores distance.
expect 0 'warning|GPU . is near NUMA node|near other NUMA nodes' "$CONTEND_BINARY" place -n 2 -P partition --emit sh \
    --xml "package:2 numa:1 core:2 pu:1" --gpus 01:00.0@1,81:00.0@0 -- x

# A container per worker separates GPUs, which is reported if there are several.
docker=("$CONTEND_BINARY" place -n 2 -P gpu-local --emit docker --xml "numa:2 core:2 pu:1" --gpus "01:00.0@0,81:00.0@1")
expect 0 'cannot copy from GPU to GPU \(P2P, CUDA IPC\)' "${docker[@]}" -- x
! "${docker[@]}" -- x '{gpu}' 2>/dev/null | grep -q '(P2P' || fail "a command with {gpu} has all GPUs"

# ---- a kubelet ----
k8s=("$CONTEND_BINARY" place --emit k8s)
"${k8s[@]}" --xml "numa:16 core:4 pu:2" --gpus 0000:01:00.0@0,0000:02:00.0@1 -n 2 -P gpu-local -- x \
    >"$scratch/text" 2>"$scratch/err" || fail "$(cat "$scratch/err")"
for part in 'topologyManagerPolicyOptions: {max-allowable-numa-nodes: "16"}' 'memoryManagerPolicy: Static' \
    'reservedMemory:' 'rm -f /var/lib/kubelet/cpu_manager_state /var/lib/kubelet/memory_manager_state' 'kubectl drain' 'P2P'; do
    grep -qF "$part" "$scratch/text" || fail "k8s: no '$part'"
done
expect 0 'reserve: one core is reserved for the system' "${k8s[@]}" --xml "numa:16 core:4 pu:2" -n 16 -P numa -- x
"${k8s[@]}" --xml "numa:8 core:4 pu:2" -n 2 -P partition -- x >"$scratch/text" 2>/dev/null
! grep -q 'max-allowable\|memoryManager\|P2P' "$scratch/text" || fail "k8s: more than is needed: $(head -n 20 "$scratch/text")"
grep -q 'reservedSystemCPUs: "0-1"' "$scratch/text" || fail "k8s: $(head -n 20 "$scratch/text")"
# The kubelet's own check: its memory reserves must add up.
! python3 -c 'import yaml' 2>/dev/null || "${k8s[@]}" --xml "numa:16 core:4 pu:2" -n 16 -P numa -- x 2>/dev/null |
    python3 -c '
import sys, yaml
kubelet = next(yaml.safe_load_all(sys.stdin))
mib = lambda text: int(text[:-2]) * {"Mi": 1, "Gi": 1024}[text[-2:]]
kept = mib(kubelet["systemReserved"]["memory"]) + 100
assert kept == sum(mib(node["limits"]["memory"]) for node in kubelet["reservedMemory"]), kubelet' ||
    fail "k8s: other memory is reserved than the kubelet keeps"

# ---- settings ----
expect 0 'environment: GOMP_CPU_AFFINITY=0 is set here and would undo the plan' env GOMP_CPU_AFFINITY=0 \
    "$CONTEND_BINARY" place -n 2 -P sized --emit sh -- x
expect 0 'environment: OMP_PLACES=.0., KMP_AFFINITY=x are set here' env "OMP_PLACES={0}" KMP_AFFINITY=x \
    "$CONTEND_BINARY" place -n 2 -P sized --json
expect 0 'OMP_NUM_THREADS=[0-9]+ env -u OMP_PROC_BIND -u MKL_NUM_THREADS x &' env OMP_PROC_BIND=true MKL_NUM_THREADS=3 \
    "$CONTEND_BINARY" place -n 2 -P sized -- x
expect 0 'environment: GOMP_SPINCOUNT=9 is set here' env GOMP_SPINCOUNT=9 "$CONTEND_BINARY" place -n 2 -P passive --emit sh -- x
for harmless in OMP_PROC_BIND=false GOMP_SPINCOUNT=9 OMP_NUM_THREADS=3; do
    env "$harmless" "$CONTEND_BINARY" place -n 2 -P sized --emit sh -- x >/dev/null 2>"$scratch/err"
    ! grep -q environment: "$scratch/err" || fail "$harmless: $(cat "$scratch/err")"
done
# A value from the environment must not add a line to a text or an escape sequence to the terminal.
env "OMP_PLACES=$(printf '{0}\n\033[31mrm')" "$CONTEND_BINARY" place -n 2 -P sized --emit sh -- x >"$scratch/text" 2>"$scratch/err"
! grep -q "$(printf '\033')\|^rm" "$scratch/text" "$scratch/err" || fail "a value is passed on: $(cat "$scratch/err")"

# ---- memory policies ----
if "$CONTEND_REFUSE" set_mempolicy EPERM true; then
    # sysfs has a node nearly everywhere; without a node there is no policy that could be refused.
    "$CONTEND_BINARY" place -n 1 -P none --mem interleave >/dev/null 2>&1 && {
        expect 0 'memory: the kernel refuses memory policies here' "$CONTEND_REFUSE" set_mempolicy EPERM \
            "$CONTEND_BINARY" place -n 1 -P none --mem interleave
        ! "$CONTEND_REFUSE" set_mempolicy EPERM "$CONTEND_BINARY" place -n 1 -P none --mem interleave | grep -q 'numactl' ||
            fail "numactl is told to do what is refused"
    }
fi

# ---- a quota ----
if [ "$(nproc)" -ge 2 ] && make_group; then
    quota 50
    expect 0 'warning: CPU quota: the cgroup grants the time of 0.5 CPUs' "${within[@]}" "$CONTEND_BINARY" place -n 1 -P sized --emit sh -- x
    expect 0 'export .*OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1' "${within[@]}" "$CONTEND_BINARY" place -n 1 -P sized --emit sh -- x
    expect 0 '^~ CPU quota: the cgroup grants' "${within[@]}" "$CONTEND_BINARY" place -n 1 -P sized -- x
    expect 0 '"id": "cpu_quota"' "${within[@]}" "$CONTEND_BINARY" place -n 1 -P sized --json
    quota 150
    expect 0 'CPU quota: the cgroup grants the time of 1.5 CPUs, and [0-9]+ are allowed: the plan has 1 thread in all' "${within[@]}" \
        "$CONTEND_BINARY" place -n 1 -P partition --emit slurm -- x
    expect 0 'plan fewer threads' "${within[@]}" "$CONTEND_BINARY" place -n 1 -P none --emit sh -- x
    quota 10000 # more than there is
    ! "${within[@]}" "$CONTEND_BINARY" place -n 1 -P sized --emit sh -- x 2>&1 |
        grep -q quota || fail "a quota that nobody reaches is said"
fi
finish
