#!/usr/bin/env python3
"""wheel.py BUNDLE.tar.gz: writes the bundle as a Python wheel into the current folder and prints its name.

pip and pipx then install the program without a compiler. The wheel is a zip file with a list of its files (PEP 427);
equal bundles give equal wheels. The tag states the glibc that the bundle states (PEP 600).
"""
import base64
import hashlib
import re
import sys
import tarfile
import zipfile

PROGRAM = b'''"""Runs the program that this package carries."""
import os
import shutil
import sys


def main():
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bundle", "contend")
    name = sys.argv[0]
    if name.endswith("__main__.py"):
        name = program
    elif shutil.which(os.path.basename(name)) == name:
        name = os.path.basename(name)
    os.execv(program, [name] + sys.argv[1:])  # what it prints to be pasted begins so
'''

METADATA = """Metadata-Version: 2.1
Name: contend
Version: {version}
Summary: What workers that feed GPUs lose to each other on the CPUs of a server, and the commands that give it back
License: Apache-2.0
Classifier: Operating System :: POSIX :: Linux
Requires-Python: >=3.6
Description-Content-Type: text/markdown

{readme}"""


def read_bundle(path):
    """Returns the bundle's version and {name: (mode, content)}, in the order of names."""
    files = {}
    with tarfile.open(path) as bundle:
        for member in sorted(bundle.getmembers(), key=lambda m: m.name):
            root, _, name = member.name.partition("/")
            if member.isfile():
                files[name] = (member.mode, bundle.extractfile(member).read())
            elif not member.isdir():
                sys.exit(f"wheel.py: {member.name} is no plain file")
    return root.rpartition("-")[2], files


def main():
    version, bundle = read_bundle(sys.argv[1])
    readme = bundle["README.md"][1].decode()
    machine = re.search(r"-linux-(\w+)\.tar\.gz$", sys.argv[1])[1]
    glibc = re.search(r"glibc (\d+)\.(\d+) or later", readme)
    tag = f"py3-none-manylinux_{glibc[1]}_{glibc[2]}_{machine}"
    info = f"contend-{version}.dist-info/"
    files = {f"contend/bundle/{name}": content for name, content in bundle.items()}
    files["contend/__init__.py"] = (0o644, PROGRAM)
    files["contend/__main__.py"] = (0o644, b"from contend import main\n\nmain()\n")
    files[info + "METADATA"] = (0o644, METADATA.format(version=version, readme=readme.replace("./contend", "contend")).encode())
    files[info + "WHEEL"] = (0o644, f"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: {tag}\n".encode())
    files[info + "entry_points.txt"] = (0o644, b"[console_scripts]\ncontend = contend:main\n")
    record = info + "RECORD"
    lines = []
    for name, (_, content) in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        lines.append(f'"{name}",sha256={digest},{len(content)}\n')
    files[record] = (0o644, "".join(lines + [f"{record},,\n"]).encode())

    wheel = f"contend-{version}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as out:
        for name, (mode, content) in files.items():
            entry = zipfile.ZipInfo(name)  # its time is 1980, whenever it is written
            entry.external_attr = (0o100000 | mode) << 16
            out.writestr(entry, content, zipfile.ZIP_DEFLATED)
    print(wheel)


main()
