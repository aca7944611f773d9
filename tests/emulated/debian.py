# SPDX-License-Identifier: MIT
"""Files of Debian packages for emulated machines: kernel images, headers of the kernel.

apt downloads them with its state in a temporary directory: installed packages and package lists of
this system do not change. It needs no root. Files stay in a cache directory, in
SUITE-ARCHITECTURE/PACKAGE_VERSION. Those of suites that change often are looked up again after two
weeks, and used for longer if nothing can be downloaded.
"""
import getpass
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

SYSTEM = "system"       # the package sources of this system
SOURCE = "source"       # in place of an architecture
CHANGING = ("sid", "experimental")
CHANGING_DAYS = 14
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
FLAVOURS = {            # Debian's architecture, and the name of its smallest kernel
    "arm64": ("arm64", "cloud-arm64"),
    "x86_64": ("amd64", "cloud-amd64"),
    "s390x": ("s390x", "s390x"),
}
TOOLS = ("apt-get", "apt-cache", "apt-config", "dpkg-deb", "tar")


class Unavailable(Exception):
    """A package cannot be had; the text is the reason."""


def cache_directory():
    """Returns the directory of the user's cache for such files. Some system users have a home directory
    that does not exist and must not be created: these have one in the build directory."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path(os.environ.get("HOME", "/nonexistent"), ".cache"))
    directory = base / "perch/emulated"
    try:
        if base.parent.is_dir():
            directory.mkdir(parents=True, exist_ok=True)
        if os.access(directory, os.W_OK):
            return directory
    except OSError:
        pass
    return Path(os.environ.get("PERCH_BUILD_ROOT", "build")).resolve() / "emulated"


def version_key(version):
    """Orders versions as Debian does for those of kernels: ~ is before the end of the text."""
    text = re.sub(r"^\d+:", "", version)
    return [(int(number or 0), [-1 if c == "~" else ord(c) for c in other] + [0])
            for other, number in re.findall(r"(\D*)(\d*)", text)]


class Suite:
    """The packages of a suite for an architecture. Use it in a with statement: it has a temporary
    directory."""

    def __init__(self, cache, architecture, suite=SYSTEM):
        self.architecture, self.suite = architecture, suite
        self.directory = Path(cache) / f"{suite}-{architecture}"
        self.work = None
        self.environment = None
        self.log = ""   # of the update of the package lists

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.work:
            shutil.rmtree(self.work, ignore_errors=True)

    def files(self, package, pattern, choose=None):
        """Returns the directory with the files of a package that match a pattern of tar. The package
        is a regular expression: of several packages, the newest is taken. choose() is called if one
        must be downloaded, and returns the expression to use instead."""
        found = self.cached(package)
        if found and not (self.suite in CHANGING and
                          time.time() - found.stat().st_mtime > CHANGING_DAYS * 86400):
            return found
        try:
            self.update()
            return self.download(choose() if choose else package, pattern)
        except Unavailable:
            if found:
                return found
            raise

    def cached(self, package):
        """Returns the directory of the newest package of earlier downloads, or None."""
        names = [path.name.split("_", 1) for path in self.directory.glob("*_*") if path.is_dir()]
        names = [name for name in names if re.fullmatch(package, name[0])]
        if not names:
            return None
        return self.directory / "_".join(max(names, key=lambda name: version_key(name[1])))

    def download(self, package, pattern):
        name, version = self.newest(package)
        directory = self.directory / f"{name}_{version}"
        if not directory.exists():
            output = self.run("apt-get", "-q", "download", f"{name}={version}", seconds=300)
            archives = list(self.work.glob(f"{name}_*.deb"))
            if not archives:
                raise Unavailable(f"{name} cannot be downloaded: {self.errors(output)}")
            tree = self.work / "tree"
            tree.mkdir()
            unpacked = self.unpack(archives[0], tree, "--wildcards", pattern)
            archives[0].unlink()
            if not unpacked:
                raise Unavailable(f"{name} {version} has no {pattern} inside")
            self.keep(tree, directory)
        os.utime(directory)
        return directory

    def root(self, packages):
        """Returns a directory with the files of packages and of all that they depend on, where they would be
        installed. Their scripts do not run, so it lacks what these make, as links of alternatives."""
        digest = hashlib.sha256(" ".join(sorted(packages)).encode()).hexdigest()
        directory = self.directory / f"root-{digest[:12]}"
        if directory.exists():
            return directory
        self.update()
        output = self.run("apt-get", "-q", "-y", "--no-install-recommends", "--download-only", "install",
                          *packages, seconds=900)
        archives = list((self.work / "cache/archives").glob("*.deb"))
        if not archives or re.search(r"^E:", output, re.M):
            raise Unavailable(f"packages cannot be downloaded: {self.errors(output)}")
        tree = self.work / "root"
        for name in ("bin", "sbin", "lib", "lib64"):    # as installed systems have it since Debian 12
            (tree / "usr" / name).mkdir(parents=True)
            (tree / name).symlink_to(f"usr/{name}")
        for archive in archives:
            if not self.unpack(archive, tree, "--keep-directory-symlink"):
                raise Unavailable(f"{archive.name} cannot be unpacked")
        self.keep(tree, directory)
        return directory

    @staticmethod
    def unpack(archive, tree, *options):
        with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", archive], stdout=subprocess.PIPE) as packed:
            unpacked = subprocess.run(["tar", "x", "-C", tree, *options], stdin=packed.stdout,
                                      stderr=subprocess.DEVNULL, check=False)
        return not unpacked.returncode

    @staticmethod
    def keep(tree, directory):
        try:
            tree.rename(directory)
        except OSError:
            if not directory.exists():      # else another process was first
                raise

    def source(self, package):
        """Returns the version and the path of the archive that the project of a source package released. The
        architecture of the suite is then only the name of its directory."""
        found = sorted(self.directory.glob(f"{package}_*.orig.tar.*z*"), key=lambda path: path.stat().st_mtime)
        if not found:
            self.update()
            output = self.run("apt-get", "-q", "source", "--download-only", "--tar-only", package, seconds=300)
            made = [path for path in self.work.glob(f"{package}_*.orig.tar.*") if path.suffix != ".asc"]
            if not made:
                raise Unavailable(f"the source of {package} cannot be downloaded: {self.errors(output)}")
            found = [self.directory / made[0].name]
            made[0].rename(found[0])
        version = re.sub(r"^.*_|\.orig\.tar\..*$", "", found[-1].name)
        return version, found[-1]

    def update(self):
        """Downloads the package lists, once."""
        if self.work:
            return
        for tool in TOOLS:
            if not shutil.which(tool):
                raise Unavailable(f"there is no {tool} to download a Debian package")
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            # on the file system of the destination, so that a rename is atomic
            self.work = Path(tempfile.mkdtemp(prefix="fetch.", dir=self.directory))
        except OSError as error:
            raise Unavailable(f"cannot write to {self.directory}: {error.strerror}") from error
        for name in ("state/lists/partial", "cache/archives/partial", "parts"):
            (self.work / name).mkdir(parents=True)
        (self.work / "state/status").touch()
        sources = self.sources()
        # Only the Acquire settings of this system are used, like proxies, and no hooks.
        settings = [line for line in self.run("apt-config", "dump").splitlines()
                    if line.startswith("Acquire::")]
        settings += ['Dir::Etc::Main "/dev/null";', 'Dir::Etc::Parts "/dev/null";', *sources,
                     f'Dir::State "{self.work}/state";',
                     f'Dir::State::status "{self.work}/state/status";',
                     f'Dir::Cache "{self.work}/cache";',
                     *([] if self.architecture == SOURCE else
                       [f'APT::Architecture "{self.architecture}";',
                        f'APT::Architectures {{ "{self.architecture}"; }};']),
                     f'APT::Sandbox::User "{getpass.getuser()}";',
                     'Acquire::Languages "none";', 'Acquire::Retries "1";',
                     'Acquire::http::Timeout "15";', 'Acquire::https::Timeout "15";']
        (self.work / "apt.conf").write_text("\n".join(settings) + "\n")
        self.environment = dict(os.environ, APT_CONFIG=str(self.work / "apt.conf"))
        # This fails if some sources lack the architecture: the package may be in others.
        self.log = self.run("apt-get", "-q", "update", seconds=120)

    def sources(self):
        """Returns the settings of apt for the package sources of the suite: the mirrors of this
        system, with the suite of security updates, which not all suites have."""
        if self.suite == SYSTEM:
            return []
        targets = self.run("apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE)",
                           "Created-By: Packages").split("\n")
        mirrors = {}
        for target in targets:
            uri, _, release = target.partition(" ")
            if uri:
                mirrors.setdefault(release.endswith("-security"), uri)
        if False not in mirrors:
            raise Unavailable("apt has no package sources")
        signed = f"[signed-by={KEYS}] " if os.path.exists(KEYS) else ""
        lines = [f"deb {signed}{mirrors[False]} {self.suite} main\n"]
        if True in mirrors and self.suite not in CHANGING and "-" not in self.suite:
            lines.append(f"deb {signed}{mirrors[True]} {self.suite}-security main\n")
        if self.architecture == SOURCE:
            lines = [f"deb-src{lines[0][3:]}"]      # updates for security are patches of the same archives
        (self.work / "sources.list").write_text("".join(lines))
        return [f'Dir::Etc::sourcelist "{self.work}/sources.list";',
                f'Dir::Etc::sourceparts "{self.work}/parts";']

    def newest(self, package):
        """Returns name and version of the newest package that matches."""
        found = []
        for line in self.run("apt-cache", "dumpavail").splitlines():
            if line.startswith("Package: "):
                name = line[9:]
            elif line.startswith("Version: ") and re.fullmatch(package, name):
                found.append((version_key(line[9:]), name, line[9:]))
        if not found:
            raise Unavailable(f"{self.suite} has no {package}, or cannot be reached: "
                              f"{self.errors(self.log)}")
        newest = max(found)[0]
        return min(one[1:] for one in found if one[0] == newest)

    def dependencies(self, package):
        """Returns the text with the packages that a package depends on, of all its versions."""
        return self.run("apt-cache", "show", package)

    def run(self, *command, seconds=60):
        """Returns the output of a command, with its errors."""
        try:
            done = subprocess.run(["timeout", str(seconds), *command], cwd=self.work or "/",
                                  env=self.environment, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        except OSError as error:
            raise Unavailable(f"{command[0]}: {error.strerror}") from error
        return done.stdout.decode(errors="replace")

    @staticmethod
    def errors(output):
        lines = [line for line in output.splitlines() if re.match(r"Err|[EW]:", line)]
        return "; ".join(lines[:2]) or "no error of apt"


def kernel_image(suite, machine, release=None):
    """Returns the path of the newest kernel image of a suite for a machine. release: how the version
    of the kernel begins, as "5.10"; None: the kernel that the suite installs. The image is in
    linux-binary-* where there are such packages, else in linux-image-*."""
    flavour = FLAVOURS[machine][1]

    def package(version):
        return rf"linux-(binary|image)-{version}-{flavour}"

    def default():
        text = suite.dependencies(f"linux-image-{flavour}")
        version = re.search(rf"linux-image-(\d[^ ,]*)-{flavour}\b", text)
        if not version:
            raise Unavailable(f"{suite.suite} has no linux-image-{flavour}, or cannot be reached: "
                              f"{suite.errors(suite.log)}")
        return package(re.escape(version[1]))

    if release:
        directory = suite.files(package(re.escape(release) + r"\.\d[^_]*"), "*/vmlinuz*")
    else:
        directory = suite.files(package(r"\d[^_]*"), "*/vmlinuz*", default)
    images = [path for path in directory.rglob("vmlinuz*") if path.is_file()]
    if not images:
        raise Unavailable(f"{directory.name} has no kernel image inside")
    return images[0]
