# SPDX-License-Identifier: MIT
"""The file system of the machines that tests/kernels/run boots: the tests and the built command, and
the programs that they run, with their libraries: those of this system, or of packages for another
architecture."""
import os
import re
import shutil
import subprocess
from pathlib import Path

import debian

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
# Debian's packages of these programs, and of the libraries of the built ones.
PACKAGES = """
    bash binutils bsdutils coreutils dash debianutils diffutils findutils grep gzip hostname iproute2 libc-bin
    libcap2-bin libcmocka0 libdeflate0 libprotobuf-c1 libtraceevent1 libzstd1 mawk mount procps python3 sed
    strace util-linux zlib1g
""".split()
ALTERNATIVES = {"awk": "mawk", "sh": "dash", "which": "which.debianutils"}     # links of installed systems
FILES = ["/etc/passwd", "/etc/group", "/etc/nsswitch.conf"]
# Modules of Python that no test needs.
NO_MODULES = ("test", "idlelib", "lib2to3", "ensurepip", "tkinter", "unittest", "pydoc_data", "distutils",
              "dist-packages", "turtledemo", "config-*", "asyncio", "xml", "email", "http", "wsgiref",
              "sqlite3", "dbm", "curses", "xmlrpc", "venv")
LINKED_DIRECTORIES = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")


class Here:
    """The programs of this system."""
    strip = "strip"
    files = FILES + ["/etc/ld.so.conf", "/etc/ld.so.cache", "/usr/lib/locale/C.utf8"]
    links = {name: os.readlink(f"/{name}") for name in LINKED_DIRECTORIES if os.path.islink(f"/{name}")}

    @staticmethod
    def find(name):
        """Returns the path of a program, or None."""
        return shutil.which(name, path=PATH)

    @staticmethod
    def inside(path):
        """Returns the path of a file in the machine."""
        return path

    @staticmethod
    def libraries(programs):
        """Returns the libraries of programs, and where they are in the machine."""
        listed = subprocess.run(["ldd", *programs], stdout=subprocess.PIPE, text=True,
                                stderr=subprocess.DEVNULL, check=False).stdout
        return {library: library for library in re.findall(r"(/\S+) \(0x", listed)}


class Packages:
    """The programs of packages for another architecture, in a directory."""

    def __init__(self, architecture, host):
        """host: of its compiler, and the directory of its libraries"""
        with debian.Suite(debian.cache_directory(), architecture) as suite:
            self.root = suite.root(PACKAGES).resolve()
        self.host, self.strip = host, f"{host}-strip"
        self.links = {name: f"usr/{name}" for name in ("bin", "sbin", "lib", "lib64")}
        self.files = FILES + [f"{self.root}/usr/lib/locale/C.utf8"]

    def find(self, name):
        for directory in ("usr/sbin", "usr/bin"):
            for path in (self.root / directory / name, self.root / directory / ALTERNATIVES.get(name, name)):
                # an absolute link leads to this system
                if path.exists() and path.resolve().is_relative_to(self.root):
                    return str(path)
        return None

    def inside(self, path):
        return re.sub(f"^{re.escape(str(self.root))}/", "/", str(path))

    def libraries(self, programs):
        found, waiting = {}, list(programs)
        while waiting:
            listed = subprocess.run(["readelf", "-W", "-d", "-l", *waiting], stdout=subprocess.PIPE, text=True,
                                    stderr=subprocess.DEVNULL, check=False).stdout
            waiting = []
            for name in set(re.findall(r"interpreter: (/\S+)\]|\(NEEDED\).*\[(.+)\]", listed)):
                path, inside = self.library(*name)
                if path and path not in found:
                    found[path] = inside
                    waiting.append(path)
        return found

    def library(self, interpreter, name):
        """Returns the path of a library, or of the interpreter of a program, and where it is in the machine."""
        if interpreter:
            return f"{self.root}{interpreter}", interpreter
        for directory in (f"usr/lib/{self.host}", "usr/lib"):
            path = self.root / directory / name
            if path.exists():
                return str(path), self.inside(path)
        return None, None


class Tree:
    """A directory that becomes an initramfs."""

    def __init__(self, directory, system):
        """system: what has the programs, Here or Packages"""
        self.directory, self.system = Path(directory), system
        for name in ("dev", "proc", "sys", "tmp", "root", "run", "var/tmp", "etc", "usr"):
            (self.directory / name).mkdir(parents=True)
        for name, target in system.links.items():   # /bin is usr/bin
            (self.directory / name).symlink_to(target)
            (self.directory / target.lstrip("/")).mkdir(parents=True, exist_ok=True)
        self.programs = {}

    def path_inside(self, path):
        path_inside = self.directory / str(path).lstrip("/")
        path_inside.parent.mkdir(parents=True, exist_ok=True)
        return path_inside

    def copy(self, path, to=None):
        """Copies a file or a directory, to the path that it has in its system by default."""
        path_inside = self.path_inside(to or self.system.inside(path))
        if os.path.isdir(path):
            shutil.copytree(path, path_inside, symlinks=True, dirs_exist_ok=True)
        elif not path_inside.exists():
            shutil.copy(path, path_inside)

    def program(self, path, to=None):
        """Copies a program, later with its libraries."""
        self.copy(path, to)
        self.programs[str(path)] = self.path_inside(to or self.system.inside(path))

    def finish(self):
        """Copies the libraries of all programs, and removes the debugging information of the
        built ones, which takes most of their space. Their symbols stay."""
        built = [path_inside for path, path_inside in self.programs.items() if not path.startswith("/usr")]
        subprocess.run([self.system.strip, "-g", *built], stderr=subprocess.DEVNULL, check=False)
        for library, path_inside in self.system.libraries(self.programs).items():
            self.copy(library, path_inside)

    def add_system(self):
        """Copies programs and files of the system."""
        for name in PROGRAMS:
            path = self.system.find(name)
            if path:
                self.program(path, f"{os.path.dirname(self.system.inside(path))}/{name}")
                if os.path.realpath(path) != path:      # awk, python3, which
                    self.program(os.path.realpath(path))
        for path in self.system.files:
            if os.path.exists(path):
                self.copy(path)
        python = self.system.find("python3")
        if python:
            # /usr/lib/python3.N, or where another Python has them
            modules = f"{Path(python).parent.parent}/lib/{Path(python).resolve().name}"
            shutil.copytree(modules, self.path_inside(self.system.inside(modules)), symlinks=True,
                            dirs_exist_ok=True, ignore=shutil.ignore_patterns(*NO_MODULES))
            # modules that link other libraries, as ctypes
            for path in Path(modules).glob("lib-dynload/*.so"):
                self.programs[str(path)] = self.path_inside(self.system.inside(path))

    def pack(self, archive):
        """Writes the archive, uncompressed: the machine would take longer to uncompress it."""
        with open(archive, "wb") as out, subprocess.Popen(
                ["find", ".", "-print0"], cwd=self.directory, stdout=subprocess.PIPE) as names:
            subprocess.run(["cpio", "-o", "-0", "-H", "newc", "-R", "0:0", "--quiet"],
                           cwd=self.directory, stdin=names.stdout, stdout=out, check=True)
