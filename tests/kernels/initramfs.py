# SPDX-License-Identifier: MIT
"""The file system of the machines that tests/kernels/run boots: the tests and the built command, and
the programs of this system that they run, with their libraries."""
import os
import re
import shutil
import subprocess
from pathlib import Path

# What the scripts of tests/kernel run. Programs that this system lacks are left out: tests that need
# them skip.
PROGRAMS = """
    awk basename bash cat chgrp chmod chown cksum cmp comm cp cut date dd df diff dirname echo egrep env
    expr false fgrep find getconf capsh grep gzip head hostname id ip kill ln ls mkdir mkfifo mktemp mount
    mv nice nproc od pgrep ps printf python3 readelf readlink realpath rm rmdir script sed seq setarch
    setpriv setsid sh sleep sort stat strace stty sync sysctl tac tail taskset tee test timeout touch tr
    true truncate tty umount uname uniq unshare wc which xargs yes
""".split()
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"      # of packages, not of a user
FILES = ["/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/ld.so.conf", "/etc/ld.so.cache",
         "/usr/lib/locale/C.utf8"]
# Modules of Python that no test needs.
NO_MODULES = ("test", "idlelib", "lib2to3", "ensurepip", "tkinter", "unittest", "pydoc_data", "distutils",
              "dist-packages", "turtledemo", "config-*", "asyncio", "xml", "email", "http", "wsgiref",
              "sqlite3", "dbm", "curses", "xmlrpc", "venv")
LINKED_DIRECTORIES = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")


class Tree:
    """A directory that becomes an initramfs."""

    def __init__(self, directory):
        self.directory = Path(directory)
        for name in ("dev", "proc", "sys", "tmp", "root", "run", "var/tmp", "etc", "usr"):
            (self.directory / name).mkdir(parents=True)
        for name in LINKED_DIRECTORIES:     # as on this system, where /bin is usr/bin
            if os.path.islink(f"/{name}"):
                (self.directory / name).symlink_to(os.readlink(f"/{name}"))
                (self.directory / os.readlink(f"/{name}").lstrip("/")).mkdir(parents=True,
                                                                            exist_ok=True)
        self.programs = {}

    def path_inside(self, path):
        path_inside = self.directory / str(path).lstrip("/")
        path_inside.parent.mkdir(parents=True, exist_ok=True)
        return path_inside

    def copy(self, path, to=None):
        """Copies a file or a directory of this system, to the same path by default."""
        path_inside = self.path_inside(to or path)
        if os.path.isdir(path):
            shutil.copytree(path, path_inside, symlinks=True, dirs_exist_ok=True)
        elif not path_inside.exists():
            shutil.copy(path, path_inside)

    def program(self, path, to=None):
        """Copies a program, later with its libraries."""
        self.copy(path, to)
        self.programs[str(path)] = self.path_inside(to or path)

    def finish(self):
        """Copies the libraries of all programs, and removes the debugging information of the
        built ones, which takes most of their space. Their symbols stay."""
        built = [path_inside for path, path_inside in self.programs.items() if not path.startswith("/usr")]
        subprocess.run(["strip", "-g", *built], stderr=subprocess.DEVNULL, check=False)
        listed = subprocess.run(["ldd", *self.programs], stdout=subprocess.PIPE, text=True,
                                stderr=subprocess.DEVNULL, check=False).stdout
        for library in set(re.findall(r"(/\S+) \(0x", listed)):
            self.copy(library)

    def system(self):
        """Copies programs and files of this system."""
        for name in PROGRAMS:
            path = shutil.which(name, path=PATH)
            if path:
                self.program(path)
                if os.path.realpath(path) != path:      # awk, python3, which
                    self.program(os.path.realpath(path))
        for path in FILES:
            if os.path.exists(path):
                self.copy(path)
        python = shutil.which("python3", path=PATH)
        if python:
            modules = subprocess.run([python, "-c", "import os; print(os.path.dirname(os.__file__))"],
                                     stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
            shutil.copytree(modules, self.path_inside(modules), symlinks=True, dirs_exist_ok=True,
                            ignore=shutil.ignore_patterns(*NO_MODULES))
            # modules that link other libraries, as ctypes
            for path in Path(modules).glob("lib-dynload/*.so"):
                self.programs[str(path)] = self.path_inside(path)

    def pack(self, archive):
        """Writes the archive, uncompressed: the machine would take longer to uncompress it."""
        with open(archive, "wb") as out, subprocess.Popen(
                ["find", ".", "-print0"], cwd=self.directory, stdout=subprocess.PIPE) as names:
            subprocess.run(["cpio", "-o", "-0", "-H", "newc", "-R", "0:0", "--quiet"],
                           cwd=self.directory, stdin=names.stdout, stdout=out, check=True)
