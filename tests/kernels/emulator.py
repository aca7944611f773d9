# SPDX-License-Identifier: MIT
"""The machines that tests/kernels emulates, by Debian's name of the architecture, and the kernels that boot
there."""
import typing

import debian

# In x86_64 with the maximum CPU some kernels panic, and with a thread for each CPU too. With erms and fsrm,
# kernels and the C library copy and clear memory by instructions that the emulator executes byte by byte: a
# third of the time. Without smap, smep, xsave and rdrand it is no faster, and Linux 7.3 panics.
X86_CPU = "max,la57=off,cx16=off,erms=off,fsrm=off"


class Hardware(typing.NamedTuple):
    number: int         # of the architecture in ELF files
    kernel: str         # the name in debian.FLAVOURS
    host: str           # of its compiler, and the directory of its libraries
    emulator: list      # QEMU and options of the hardware
    port: list          # options of QEMU for a serial port, which is the chardev 'console'
    console: str        # the port, as the kernel names it
    results: str        # a second port; the same: there is none
    arguments: str      # other arguments of the kernel
    slower: int         # a test may take so many times the seconds of meson.build
    seconds: int        # that all tests may take
    left_out: dict      # tests that the emulator cannot run, with the reasons


TWICE = "the emulator counts an access to a data breakpoint twice"
HARDWARE = {
    "amd64": Hardware(
        62, "x86_64", "x86_64-linux-gnu",
        ["qemu-system-x86_64", "-M", "pc", "-accel", "tcg,thread=single", "-cpu", X86_CPU],
        ["-serial", "chardev:console"], "ttyS0", "ttyS1", "no_timer_check",
        3, 1200, {"breakpoint_ip": TWICE}),
    "arm64": Hardware(
        183, "arm64", "aarch64-linux-gnu", ["qemu-system-aarch64", "-M", "virt", "-cpu", "cortex-a57"],
        ["-serial", "chardev:console"], "ttyAMA0", "ttyAMA0", "", 6, 3600, {}),
    "s390x": Hardware(
        22, "s390x", "s390x-linux-gnu", ["qemu-system-s390x", "-M", "s390-ccw-virtio"],
        ["-device", "sclpconsole,chardev=console"], "ttysclp0", "ttysclp0", "", 6, 3600, {}),
}
KERNELS = {     # name of a column: suites, the first that has it is taken, and the release
    "5.10": [("bullseye", "5.10")],
    "6.1": [("bookworm", "6.1")],
    "6.12": [("trixie", "6.12"), ("bookworm-backports", "6.12")],
    "newest": [("experimental", None), ("sid", None)],
    "sid": [("sid", None)],
    "system": [(debian.SYSTEM, None)],
}


def command(hardware, memory, image, initramfs, arguments):
    """Returns the command of the emulator, whose stdout is the console."""
    return [*hardware.emulator, "-smp", "2", "-m", str(memory), "-nodefaults", "-display", "none", "-no-reboot",
            "-chardev", "stdio,id=console", *hardware.port, "-kernel", image, "-initrd", initramfs,
            "-append",
            f"console={hardware.console} quiet panic=-1 mitigations=off {hardware.arguments} {arguments}"]


def architecture_of(program):
    """Returns Debian's name of the architecture of a program, or None if there is no machine for it."""
    with open(program, "rb") as elf:
        head = elf.read(20)
    number = int.from_bytes(head[18:20], "little" if head[5:6] == b"\x01" else "big")
    return next((name for name, hardware in HARDWARE.items() if hardware.number == number), None)


def find_kernel(architecture, name, use=None):
    """Returns the image of a kernel. use() is called with the suite that has it."""
    reasons = []
    for suite, release in KERNELS[name]:
        try:
            with debian.Suite(debian.cache_directory(), architecture, suite) as packages:
                image = debian.kernel_image(packages, HARDWARE[architecture].kernel, release)
                if use:
                    use(packages)
            return image
        except debian.Unavailable as reason:
            reasons.append(str(reason))
    raise debian.Unavailable("; ".join(reasons))
