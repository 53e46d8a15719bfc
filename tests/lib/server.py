"""A small server, and its client, for tests: server.py PORT [HOW=VALUE...], server.py client PORT [LINE...], and
server.py masks PORT, a client that prints of how many CPUs the masks of all threads of the server are, 0 if these differ.

HOW: wait=S before it listens, health=N answers of 503 first, die=N ends with status 7 after so many requests, stay=1
ignores SIGTERM, child=1 has a child in a session of its own, deaf=1 never listens.
"""
import os
import signal
import socket
import subprocess
import sys
import threading
import time


def serve(port, how):
    if "stay" in how:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "child" in how:
        subprocess.Popen(["sleep", how["child"]], start_new_session=True)
    print("starts at", port, "on", sorted(os.sched_getaffinity(0)), flush=True)
    time.sleep(float(how.get("wait", 0)))
    if "deaf" in how:
        time.sleep(600)
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(100)
    print("up", flush=True)
    served = 0
    refused = int(how.get("health", 0))
    while served < int(how.get("die", 1 << 60)):
        connection, _ = listener.accept()
        request = connection.recv(1000)
        if request.startswith(b"GET"):
            status = b"503 Busy" if refused > 0 else b"200 OK"
            refused -= 1
            connection.sendall(b"HTTP/1.0 " + status + b"\r\n\r\n")
        elif request == b"masks":
            threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
            connection.sendall(repr({tuple(os.sched_getaffinity(int(task))) for task in os.listdir("/proc/self/task")}).encode())
        elif request:
            served += 1
            connection.sendall(request)
        connection.close()
    print("broken", flush=True)
    sys.exit(7)


def load(port, lines):
    until = time.monotonic() + 0.2
    while time.monotonic() < until:
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(b"x")
            if connection.recv(10) != b"x":
                sys.exit("no answer")
    print("\n".join(lines))


def ask_masks(port):
    sizes = []
    for _ in range(2):
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(b"masks")
            masks = eval(connection.recv(10000))
        sizes.append(len(masks.pop()) if len(masks) == 1 else 0)
    print("cpus=%d" % min(sizes))


if sys.argv[1] == "masks":
    ask_masks(int(sys.argv[2]))
elif sys.argv[1] == "client":
    load(int(sys.argv[2]), sys.argv[3:])
else:
    serve(int(sys.argv[1]), dict(word.split("=") for word in sys.argv[2:]))
