"""Drives the stub of NCCL and checks the matrices of `contend comms --read --json` cell by cell.

What is expected is worked out here in another way than in harness/comms/matrix.c: rings as chunks
that travel, trees as edges of a parent function. Prints what differs; exit 1 if anything does.
"""
import json
import os
import subprocess
import sys
import tempfile

PROGRAM, STUB, PLUGIN = (os.environ[name] for name in
                         ("CONTEND_BINARY", "CONTEND_STUB_NCCL", "CONTEND_COMMS_PLUGIN"))
SIZES = {"ncclInt8": 1, "ncclFloat16": 2, "ncclFloat32": 4, "ncclFloat64": 8, "Unknown": 1,
         "ncclBfloat16": 2, "ncclInt32": 4, "ncclUint32": 4, "ncclInt64": 8, "ncclUint64": 8,
         "ncclFloat8e4m3": 1, "ncclFloat8e5m2": 1}
failures = 0


def check(what, got, expected):
    global failures
    if got != expected:
        failures += 1
        print(f"FAIL: {what}: {got}, expected {expected}")


def run(directory, version, steps):
    """steps: of each process."""
    processes = [subprocess.Popen([STUB, PLUGIN, str(version), *words],
                                  env={**os.environ, "CONTEND_COMMS_DIR": directory})
                 for words in steps]
    for process in processes:
        check("exit code of the stub", process.wait(), 0)


def read(directory):
    done = subprocess.run([PROGRAM, "comms", "--read", directory, "--json"], capture_output=True,
                          text=True, check=False)
    check("exit code of --read", done.returncode, 0)
    return json.loads(done.stdout or "{}")


def zeros(n):
    return [[0] * n for _ in range(n)]


def ring(func, n, size, root):
    """Chunks of one byte, each from rank to rank until it has arrived: who passed it on."""
    cells = zeros(n)
    hops = {"AllReduce": 2 * (n - 1), "AllGather": n - 1, "ReduceScatter": n - 1}
    for rank in range(n):
        to = (rank + 1) % n
        if func in ("AllGather", "ReduceScatter"):
            cells[rank][to] += size * hops[func]
        elif func == "Broadcast" and to != root or func == "Reduce" and rank != root:
            cells[rank][to] += size
    if func == "AllReduce":  # which rank has the bytes that do not divide is nobody's: the first
        for hop in range(size * hops[func] % n):
            cells[hop][(hop + 1) % n] += 1
        for rank in range(n):
            cells[rank][(rank + 1) % n] += size * hops[func] // n
    return cells


def binary_edges(n):
    """Each but 0 hangs below the next higher one with one bit more cleared, where there is one."""
    for at in range(1, n):
        bit = at & -at
        up = (at - bit) | (2 * bit)
        yield at, up if up < n else at - bit


def tree(n, nodes, size):
    cells, per_node = zeros(n), n // nodes
    other = (lambda at: nodes - 1 - at) if nodes % 2 == 0 else (lambda at: (at + 1) % nodes)
    for half, rename in ((size - size // 2, lambda at: at), (size // 2, other)):
        edges = [(rename(a) * per_node, rename(b) * per_node) for a, b in binary_edges(nodes)]
        edges += [(rank, rank - 1) for rank in range(n) if rank % per_node]
        for a, b in edges:
            cells[a][b] += half
            cells[b][a] += half
    return cells


def matrix_of(report, ident):
    found = [each for each in report["communicators"] if int(each["id"], 16) == ident]
    check(f"communicators of id {ident:x}", len(found), 1)
    return found[0] if found else None


def in_order_of_ranks(report):
    """The total matrix, which is in the order of GPUs, by the ranks of the first communicator."""
    total = report["total"]
    gpu_of = {each["rank"]: each["gpu"] for each in total["ranks"] if each["communicator"] == 0}
    check("GPUs", len(total["gpus"]), len(gpu_of))
    return [[total["bytes"][gpu_of[a]][gpu_of[b]] for b in sorted(gpu_of)] for a in sorted(gpu_of)]


def check_collectives(version, n, nodes, together):
    """Each collective alone in a communicator, so that each has a matrix. together: one process."""
    cases = [("AllReduce", "RING"), ("AllGather", "RING"), ("ReduceScatter", "RING"),
             ("Broadcast", "RING"), ("Reduce", "RING"), ("AllReduce", "TREE")]
    types = ["ncclFloat32", "ncclInt8", "ncclFloat16", "ncclFloat64", "Unknown", "ncclUint64"]
    calls, count, root = 3, 1001, n - 1
    steps = [[] for _ in range(n)]
    for rank in range(n):
        for case, (func, algo) in enumerate(cases):
            steps[rank] += [f"init:{case + 1:x}:{n}:{rank}:{nodes}:",
                            f"coll:{func}:{types[case]}:{count}:{root}:{algo}:SIMPLE:2:{calls}:0",
                            "finalize"]
    if together:  # 16 communicators at most in a process of the stub
        steps = [sum(steps[at:at + 2], []) for at in range(0, n, 2)]
    with tempfile.TemporaryDirectory() as directory:
        run(directory, version, steps)
        report = read(directory)
    every = zeros(n)
    for case, (func, algo) in enumerate(cases):
        size = count * SIZES[types[case]] * calls
        seen_nodes = nodes if version > 3 else 1
        if algo == "TREE":
            expected = tree(n, seen_nodes, size)
        else:
            expected = ring(func, n, size, root)
        every = [[x + y for x, y in zip(*rows)] for rows in zip(every, expected)]
        what = f"version {version}, {n} ranks on {nodes} nodes, {func} {algo}"
        found = matrix_of(report, case + 1)
        if not found:
            continue
        check(what + ", bytes", found["matrix"]["bytes"], expected)
        check(what + ", who says", found["matrix"]["how"], "exact" if n == 2 else "modelled")
        check(what + ", ranks", found["ranks"], n)
        check(what + ", line", [(line["calls"], line["bytes"], line["algorithm"])
                                for line in found["calls"]], [(calls, size, algo)])
        for a in range(n):
            for b in range(n):
                check(what + f", calls {a} -> {b}", found["matrix"]["calls"][a][b],
                      calls if expected[a][b] else 0)
    if not together:  # each rank is a process of its own: a GPU
        check(f"version {version}, {n} ranks, total", in_order_of_ranks(report), every)


def check_pairs(version, n):
    """All-to-all as NCCL does it, by sends and receives in a group, each of its own size."""
    steps = []
    for rank in range(n):
        steps.append([f"init:99:{n}:{rank}:1:world"])
        for peer in range(n):
            steps[rank] += [f"p2p:Send:ncclInt32:{100 * rank + peer + 1}:{peer}:1:2:0",
                            f"p2p:Recv:ncclInt32:{100 * peer + rank + 1}:{peer}:1:2:0"]
    with tempfile.TemporaryDirectory() as directory:
        run(directory, version, steps[:-1])  # what the last one sends is told by who received it
        report = read(directory)
    found = matrix_of(report, 0x99)
    if found:
        expected = [[8 * (100 * a + b + 1) for b in range(n)] for a in range(n)]
        expected[n - 1][n - 1] = 0  # of that only itself knows
        check(f"version {version}, sends of {n}", found["matrix"]["bytes"], expected)
        check(f"version {version}, sends of {n}, who says", found["matrix"]["how"], "exact")


def check_copies(n):
    funcs = ["AllGather", "AlltoAll", "Gather", "Scatter"]
    steps = [sum(([f"init:{at + 1}:{n}:{rank}:1:", f"ce:{func}:ncclInt8:64:1:2"]
                  for at, func in enumerate(funcs)), []) for rank in range(n)]
    with tempfile.TemporaryDirectory() as directory:
        run(directory, 6, steps)
        report = read(directory)
    for at, func in enumerate(funcs):
        expected = [[128 if a != b and (func in funcs[:2] or func == "Gather" and b == 1 or
                                        func == "Scatter" and a == 1) else 0
                     for b in range(n)] for a in range(n)]
        found = matrix_of(report, at + 1)
        if found:
            check(f"copy engines, {func}", found["matrix"]["bytes"], expected)


def main():
    for n in range(2, 17):
        check_collectives(5, n, 1 if n % 3 else n // 3 if n % 2 else n, n % 2 == 0)
        check_collectives(4 + n % 3, n, n, False)
    for version in range(1, 7):
        check_collectives(version, 4, 2, True)
        check_pairs(version, 3 + version)
    check_copies(4)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
