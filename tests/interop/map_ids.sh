#!/bin/bash
# SPDX-License-Identifier: MIT
# perch record reads the build ids of mapped files by itself. A recording of all CPUs has that of each program here, as if the kernel had written it:
# of a program that is deleted and replaced, that has ended before its record is read, of a container, of a memory file. What cannot be had is counted.
# shellcheck source=tests/interop/common.sh
. "${PERCH_SOURCE_ROOT:?}/tests/interop/common.sh" || exit 1
[ "$(id -u)" -eq 0 ] || { echo "skipped: recordings of all CPUs need root"; exit 77; }
command -v gcc >/dev/null || { echo "skipped: needs gcc"; exit 77; }
cd "$work" || exit 1
export HOME=$work # of the build id cache
cat >program.c <<'END'
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
extern char **environ;
__attribute__((noinline)) void NAME(volatile unsigned *count)
{
	for (unsigned i = 0; i < 10000; i++)
		++*count;
}
static void run(double seconds)
{
	volatile unsigned count = 0;
	for (clock_t end = clock() + seconds * CLOCKS_PER_SEC; clock() < end;)
		NAME(&count);
}
/* program SECONDS: runs; program SECONDS PROGRAM: the same, then PROGRAM, and waits for the recorder to read its records */
int main(int argc, char **argv)
{
	char *seconds[] = { argv[0], "0.02", NULL };
	run(atof(argv[1]));
	if (argc < 3)
		return 0;
	if (!fork()) {
		execve(argv[2], seconds, environ);
		_exit(1);
	}
	wait(NULL);
	sleep(SECONDS);
	return 0;
}
END
build() { # function, file
	gcc -O1 -static -Wl,--build-id -DNAME="$1" -DSECONDS=$((2 * slowness)) -o "$2" program.c
}
for name in first second parent inner memory gone; do
	build in_$name $name || { echo "skipped: gcc -static does not work here"; exit 77; }
done
id_of() { readelf -n "$1" | sed -n 's/.*Build ID: //p'; }
# when_read NAME COMMAND...: runs the command when the recorder has read the record of a mapping
cat >when_read <<END
#!/bin/sh
for _ in \$(seq $((600 * slowness))); do
	grep -qaF "\$1" data 2>/dev/null && break
	sleep 0.1
done
shift
exec "\$@"
END
chmod 755 when_read
record() { # command
	rm -f data
	"$PERCH" record -N -a -e cpu-clock:u -o data -- "$@" >/dev/null 2>record.err
}
# The build ids of the mappings of a path, or - for a mapping without one. perch dump prints ids only if the record has them.
ids_of() {
	"$PERCH" dump --json -t MMAP2 -i data | python3 -c '
import json, sys
for line in sys.stdin:
    fields = json.loads(line)["fields"]
    if fields["filename"] == sys.argv[1] and fields["prot"]["value"] == "0x5":
        print(fields.get("build_id", "-"))' "$1" | sort -u
}
has_ids() { # path, files of which it has the build ids
	local wanted
	wanted=$(for file in "${@:2}"; do id_of "$file"; done | sort -u)
	ids_of "$1" >log
	[ "$(cat log)" = "$wanted" ]
}

cp first replaced
# shellcheck disable=SC2016
try "a program is deleted and replaced while all CPUs are recorded" record sh -c './replaced 0.2; ./when_read "$PWD/replaced" rm replaced; cp second replaced; ./replaced 0.2; sleep 0.1'
try "a replaced program has both build ids" has_ids "$work/replaced" first second
try "a program ends at once" record sh -c './gone 0.01'
try "a program that ended at once has its build id" has_ids "$work/gone" gone
cp first short
# shellcheck disable=SC2016
try "a program ends and is deleted" record sh -c './short 0.3; ./when_read "$PWD/short" rm short'
try "a program that was deleted after its record was read has its build id" has_ids "$work/short" first
cat >run_memory.py <<'END'
import os, sys
memory = os.memfd_create("in_memory")
os.write(memory, open(sys.argv[1], "rb").read())
os.execve(memory, ["memory", "2"], os.environ)
END
try "a memory file is executed" record python3 run_memory.py memory
try "a memory file has its build id" has_ids "/memfd:in_memory (deleted)" memory

cat >shared.py <<'END'
import mmap
mmap.mmap(-1, 4096, flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS, prot=mmap.PROT_READ | mmap.PROT_EXEC)
sum(range(1000000))
END
no_note() { # of a path
	! grep -q "$1" record.err
}
try "a program shares memory without a name" record python3 shared.py
try "that is no file that could not be opened" no_note /dev/zero

if unshare -m true 2>/dev/null; then
	mkdir -p root
	contained() { # a program with others in its own file system, at the paths of other programs here
		# shellcheck disable=SC2016
		record unshare -m bash -c 'mount -t tmpfs none root && mkdir -p "root$1" && cp parent "root$1/parent" && cp inner "root$1/first" && exec chroot root "${@:2}"' - "$work" "$@"
	}
	try "a container runs a program that ends at once" contained "$work/parent" 0.3 "$work/first"
	try "a program of a container that ended at once has its build id" has_ids "$work/first" inner
	try "the first program of a container has its build id" has_ids "$work/parent" parent
	try "a container ends at once" contained "$work/first" 0.01
	ids_of "$work/first" >ids
	# the records may have been read while it ran
	try "a container that ended at once has the build id of its program, or none" grep -qxE -- "-|$(id_of inner)" ids
	[ "$(cat ids)" != - ] ||
		try "a file that could not be opened in time is counted" grep -q "mapped files* could not be opened before the process ended" record.err
fi
exit $status
