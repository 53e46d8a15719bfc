"""In place of NCCL's RAS service: answers as it is told, each connection by itself.

  ras_server.py PORT_FILE MODE [ANSWER...]   the n-th connection gets the n-th file, the last for all
MODE: json, text (no formats, as before 2.28.7), stranger (another service), endless, mute, cut,
late (answers after half a second)
"""
import os
import socket
import sys
import threading
import time

mode, answers = sys.argv[2], [open(name, "rb").read() for name in sys.argv[3:]]


def lines(link):
    rest = b""
    while True:
        got = link.recv(4096)
        if not got:
            return
        rest += got
        while b"\n" in rest:
            line, rest = rest.split(b"\n", 1)
            yield line.decode("latin1").lower()


def serve(link, answer):
    for line in lines(link):
        if line.startswith("client protocol"):
            link.sendall(b"220 mail\r\n" if mode == "stranger" else b"SERVER PROTOCOL 2\n")
        elif line.startswith("set format"):
            link.sendall(b"ERROR: Unknown command SET\n" if mode == "text" else b"OK\n")
        elif line.endswith("status"):
            while mode == "endless":
                link.sendall(b"x" * 65536)
            if mode == "late":
                time.sleep(0.5)
            if mode != "mute":
                link.sendall(answer[: len(answer) // 2] if mode == "cut" else answer)
                link.close()
                return


def guarded(link, answer):
    try:
        serve(link, answer)
    except OSError:
        pass


listener = socket.create_server(("127.0.0.1", 0))
with open(sys.argv[1] + ".new", "w") as out:
    print(listener.getsockname()[1], file=out)
os.rename(sys.argv[1] + ".new", sys.argv[1])
count = 0
while True:
    link, _ = listener.accept()
    answer = answers[min(count, len(answers) - 1)] if answers else b""
    count += 1
    threading.Thread(target=guarded, args=(link, answer), daemon=True).start()
