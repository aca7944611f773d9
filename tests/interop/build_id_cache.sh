#!/bin/bash
# SPDX-License-Identifier: MIT
# The build id cache: perch and perf read what the other wrote; names survive a rebuild of the program, and travel in an
# archive; --symfs, --vmlinux and --no-demangle; caches that are full, or lead elsewhere, or belong to others.
. "${PERCH_SOURCE_ROOT:?}/tests/interop/common.sh" || exit 1
cd "$work" || exit 1
unset PERF_BUILDID_DIR PERF_CONFIG
export HOME=$work/home
mkdir home
links="$HOME/.debug/.build-id"

build() { # name of the function, name of the program, options...
	local name=$1 program=$2
	shift 2
	cat >program.cc <<END
volatile unsigned long count;
namespace space { __attribute__((noinline)) void $name() { for (int i = 0; i < 100000000; i++) count = count + i; } }
int main() { space::$name(); }
END
	g++ -g -O1 -Wl,--build-id "$@" -o "$program" program.cc
}

record() { # file, options and program...
	local file=$1
	shift
	"$PERCH" record -q -e cpu-clock:u -F 999 -o "$file" "$@" >record.out 2>record.err
}

names() { # command, file, options...
	local command=$1 file=$2
	shift 2
	"$command" report -i "$file" --stdio -s sym "$@" 2>names.err | grep -o '\[\.\] .*' | sed 's/ *$//'
}

has() { # text, command...
	local text=$1
	shift
	"$@" >has.out
	cat has.out names.err >log 2>/dev/null
	grep -qF -- "$text" has.out
}

id_of() {
	readelf -n "$1" | sed -n 's/.*Build ID: //p'
}

build old program
record no.data -N ./program && [ ! -e "$HOME/.debug" ]
report $? "record -N does not write the cache"
record none.data -B ./program && [ ! -e "$HOME/.debug" ]
report $? "record -B does not write the cache"
record old.data ./program
id=$(id_of program)
cp record.err log
[ -f "$links/${id:0:2}/${id:2}/elf" ] && [ ! -e "$links/${id:0:2}/${id:2}/debug" ] &&
	[ "$(readlink "$links/${id:0:2}/${id:2}")" = "../..$work/program/$id" ]
report $? "record adds programs with samples"
[ "$(find "$HOME" -name '.*.*' -type f | wc -l)" -eq 0 ]
report $? "record leaves no temporary files"

# A program that exists in memory only and ends before the recording does. It waits until the recorder has taken its mapping.
cat >in_memory.py <<'END'
import os, sys
fd = os.memfd_create("made")
os.write(fd, open(sys.argv[1], "rb").read())
os.execv(f"/proc/self/fd/{fd}", sys.argv[1:])
END
cat >wait.h <<END
#include <unistd.h>
static struct wait { ~wait() { sleep(2 * $slowness); } } at_end;
END
build in_memory stays -include ./wait.h
if python3 in_memory.py ./stays 2>log; then
	record memory.data sh -c 'python3 in_memory.py ./stays; sleep 0.2'
	cp record.err log
	has 'space::in_memory' names "$PERCH" memory.data && [ -f "$HOME/.debug/memfd:made/$(id_of stays)/elf" ]
	report $? "record adds a program in memory that has ended"
else
	echo "ok - a program in memory # skip this system runs none: $(head -1 log)"
fi

# cp writes in place: a hard link would change with it
build later newer
cp newer program
has "space::old" names "$PERCH" old.data
report $? "names survive a rebuild of the program"
has "_ZN5space3oldEv" names "$PERCH" old.data --no-demangle
report $? "--no-demangle"
"$PERCH" script -i old.data --no-demangle >script.out 2>log
grep -q _ZN5space3oldEv script.out
report $? "script --no-demangle"
names "$PERCH" no.data >log
"$PERCH" --buildid-dir "$work/empty" report -i old.data --stdio -s sym >other.out 2>log
! grep -q 'space::' other.out && grep -q 'replaced since the recording; record again, or add the file .*: perch buildid-cache -a FILE$' log
report $? "without the cache, the report says that the program was replaced, and what would help"

# a file that is gone before the recording ends, and has no build id for the cache: the program removes it
cat >remove.h <<END
#include <unistd.h>
static struct remove { remove() { unlink("removed"); } } at_start;
END
build gone removed -Wl,--build-id=none -include ./remove.h
"$PERCH" record -e cpu-clock:u -o gone.data -- ./removed 2>log
[ $? -eq 0 ] && grep -q "1 sampled file is not in the build id cache, names may be missing: $work/removed: " log
report $? "record says that a file cannot be added to the cache"
"$PERCH" buildid-cache -a gone.data 2>log && grep -q "^perch buildid-cache: 1 sampled file is not in the build id cache" log
report $? "so does buildid-cache -a"
! grep -q "end of the recording" log && grep -q "Report with --symfs and a directory of copies" log
report $? "its remedy is not one of the time of recording"
build gone removed -Wl,--build-id=none -include ./remove.h
record gone.data ./removed
cp record.err log
[ ! -s log ]
report $? "record -q does not"
# a file that was there when its mapping was read: then the recording has its name
cat >long.cc <<'END'
#include <ctime>
#include <unistd.h>
volatile unsigned long count;
__attribute__((noinline)) void first() { for (int i = 0; i < 1000000; i++) count = count + i; }
/* some seconds, or until its file is gone and some samples longer */
int main(int, char **argv)
{
	for (time_t end = time(0) + 6; time(0) < end && !access(argv[0], F_OK);) first();
	for (int i = 0; i < 100; i++) first();
}
END
cat >when_read <<END
#!/bin/sh
# when_read FILE NAME COMMAND...: runs the command when the recording has the name
for _ in \$(seq $((600 * slowness))); do
	grep -qaF "\$2" "\$1" 2>/dev/null && break
	sleep 0.1
done
shift 2
exec "\$@"
END
chmod 755 when_read
g++ -O1 -static -Wl,--build-id -o replaced long.cc && sed -i s/first/second/ long.cc && g++ -O1 -static -Wl,--build-id -o later long.cc
mkdir pinned_home
HOME=$work/pinned_home
for mmap in "" --buildid-mmap --no-buildid-mmap; do
	cp replaced running
	# shellcheck disable=SC2016,SC2086
	record kept.data $mmap sh -c './running & ./when_read kept.data "$PWD/running" rm running; wait'
	cp record.err log
	[ ! -s log ] && has first names "$PERCH" kept.data
	report $? "${mmap:-default}: record adds a file that is deleted before it ends"
	"$PERCH" buildid-cache -P
done
cp replaced running
# shellcheck disable=SC2016
record kept.data sh -c './running & ./when_read kept.data "$PWD/running" mv later running; ./running; wait'
cp record.err log
[ ! -s log ] && has first names "$PERCH" kept.data && has second names "$PERCH" kept.data
report $? "record adds a file that is replaced before it ends, and the new one"
if [ "$(id -u)" -eq 0 ]; then
	mkdir other_root && cp replaced other_root/program
	record kept.data chroot other_root /program
	cp record.err log
	[ ! -s log ] && has first names "$PERCH" kept.data
	report $? "record adds a file of another root directory"
	mkdir mounted
	"$PERCH" buildid-cache -P
	if unshare -m true 2>/dev/null; then
		# recorders of all CPUs, in other tests, open each file for a moment
		# shellcheck disable=SC2016
		"$PERCH" record -e cpu-clock:u -o kept.data -- unshare -m sh -c 'mount -t tmpfs none mounted && cp replaced mounted/program &&
			mounted/program && until umount mounted; do [ $((i = i + 1)) -lt 100 ] || exit 1; sleep 0.2; done' 2>log && grep -q "1 sampled file is not in the build id cache.* $work/mounted/program: " log
		report $? "record does not keep what is mounted during the recording"
		record kept.data unshare -m chroot other_root /program
		cp record.err log
		[ ! -s log ] && has first names "$PERCH" kept.data
		report $? "record adds a file of the root directory of a container that ends"
	fi
fi
HOME=$work/home

if command -v perf >/dev/null; then
	has "space::old" names perf old.data
	report $? "perf reads the cache of perch"
	mkdir perf
	build perf_old program
	HOME=$work/perf perf record -q -e cpu-clock:u -o perf.data ./program >log 2>&1
	# perf makes hard links, which writing in place would change
	rm program
	cp newer program
	HOME=$work/perf has "space::perf_old" names "$PERCH" perf.data
	report $? "perch reads the cache of perf"
	# if perf record died there is nothing to list
	peer_died >died.record || HOME=$work/perf perf buildid-cache -l >perf.list
	HOME=$work/perf "$PERCH" buildid-cache -l >perch.list
	grep -vxF -f perch.list perf.list >log
	[ ! -s log ] && [ -s perf.list ]
	report $? "buildid-cache -l has all lines of perf's"
	"$PERCH" buildid-cache -a /bin/true
	perf buildid-cache -l >log
	grep -q " $(realpath /bin/true)$" log
	report $? "perf lists a file that buildid-cache -a added"
	perf buildid-cache -P >log 2>&1
	"$PERCH" buildid-cache -l >>log
	[ ! -s log ]
	report $? "perf removes what perch wrote"
	HOME=$work/perf "$PERCH" buildid-cache -P
	HOME=$work/perf perf buildid-cache -l >log
	[ ! -s log ]
	report $? "perch removes what perf wrote"
else
	echo "ok - caches of perf # skip perf is missing"
fi

# ---- buildid-cache ----
build kept program
record kept.data ./program
id=$(id_of program)
"$PERCH" buildid-cache -M kept.data >log && ! grep -q "^$id" log
report $? "buildid-cache -M does not list what the cache has"
"$PERCH" buildid-cache -r program && "$PERCH" buildid-cache -M kept.data >log && grep -qx "$id $work/program" log
report $? "buildid-cache -r removes a file, and -M lists it"
"$PERCH" buildid-cache -a program,/bin/true && "$PERCH" buildid-cache -l >log && [ "$(grep -c "program\|true" log)" -eq 2 ]
report $? "buildid-cache -a adds files"
"$PERCH" buildid-cache -P && "$PERCH" buildid-cache -v -a kept.data,/bin/true 2>log && grep -qx "Adding the files of kept.data: Ok" log &&
	"$PERCH" buildid-cache -l >log && grep -qx "$id $work/program" log && grep -q true log
report $? "buildid-cache -a adds the files of a recording"
"$PERCH" buildid-cache -k /proc/kcore 2>log
[ $? -eq 2 ] && grep -q "does not copy /proc/kcore" log
report $? "buildid-cache -k is refused"
"$PERCH" buildid-cache -a program
"$PERCH" buildid-cache -u program && "$PERCH" buildid-cache -l | grep -qx "$id $work/program"
report $? "buildid-cache -u replaces a file"
"$PERCH" buildid-cache --target-ns $$ -a "$(command -v gcc)" && "$PERCH" buildid-cache -l | grep -q gcc
report $? "buildid-cache --target-ns opens files as a process sees them"
"$PERCH" buildid-cache --target-ns 2147483647 -a program 2>log
[ $? -eq 1 ] && [ "$(cat log)" = "perch buildid-cache: --target-ns: there is no process 2147483647" ]
report $? "buildid-cache --target-ns of a process that does not run"
"$PERCH" buildid-cache -p "$work/program" && ! "$PERCH" buildid-cache -l | grep program && ! [ -e "$HOME/.debug$work" ]
report $? "buildid-cache -p removes the builds of a path"
"$PERCH" buildid-cache -a program.cc 2>log
[ $? -eq 1 ] && grep -q 'not an ELF file' log
report $? "buildid-cache -a refuses other files"
"$PERCH" buildid-cache 2>log
[ $? -eq 2 ] && "$PERCH" buildid-cache -P && [ -z "$("$PERCH" buildid-cache -l)" ]
report $? "buildid-cache -P removes everything"
cp program $'new\nline'
"$PERCH" buildid-cache -a $'new\nline' && "$PERCH" buildid-cache -l >log && [ "$(wc -l <log)" -eq 1 ] && grep -q 'new?line' log
report $? "a name with a newline is one line of the list"

# The same program at two paths: the file that is added later has the name of the first one.
build twice both
mkdir -p first second/.debug
objcopy --only-keep-debug both second/.debug/both.debug
objcopy --strip-all --add-gnu-debuglink=second/.debug/both.debug both first/both
cp first/both second/both
id=$(id_of first/both)
record one.data first/both
record two.data second/both
mv first first.moved
mv second second.moved
ls "$links/${id:0:2}/${id:2}/" >log
[ -f "$links/${id:0:2}/${id:2}/elf" ] && [ -f "$links/${id:0:2}/${id:2}/debug" ] &&
	[ "$(readlink "$links/${id:0:2}/${id:2}")" = "../..$work/first/both/$id" ] &&
	[ "$(names "$PERCH" one.data | head -n 1)" = "$(names "$PERCH" two.data | head -n 1)" ] && has "space::twice" names "$PERCH" two.data
report $? "the same program at two paths, one of which has a debug file"
"$PERCH" buildid-cache -P

# A mount from before the recording can be unmounted while it is recorded, and the program keeps its names.
mkdir early
if mount -t tmpfs none early 2>/dev/null; then
	cp both early/both
	"$PERCH" buildid-cache -P
	# recorders of all CPUs, in other tests, open each file for a moment
	# shellcheck disable=SC2016
	record mounted.data sh -c 'for i in $(seq 40); do early/both; done
		until umount early; do [ $((j = j + 1)) -lt 100 ] || exit 1; sleep 0.2; done'
	code=$?
	umount early 2>/dev/null
	[ $code -eq 0 ] && has "space::twice" names "$PERCH" mounted.data
	report $? "a mount of a recorded program can be unmounted"
else
	echo "ok - a mount of a recorded program can be unmounted # skip this user may not mount"
fi
"$PERCH" buildid-cache -P

# ---- archive ----
record kept.data ./program
cp newer program
if tar --version >/dev/null 2>&1 && bzip2 --help >/dev/null 2>&1; then
	"$PERCH" archive kept.data >log 2>&1
	report $? "archive packs the files of a recording"
	touch private.tar.gz && chmod 644 private.tar.gz
	"$PERCH" archive -v -o private.tar.gz kept.data >log 2>&1
	[ "$(stat -c %a kept.data.tar.bz2 private.tar.gz | sort -u)" = 600 ]
	report $? "only the user may read an archive"
	grep -q "^Adding [0-9a-f]* $work/" log
	report $? "archive -v lists the files"
	mkdir away
	HOME=$work/away "$PERCH" archive --unpack kept.data.tar.bz2 >log 2>&1
	report $? "archive --unpack"
	HOME=$work/away has "space::kept" names "$PERCH" kept.data
	report $? "names of an archive in another home directory"
	mkdir -p plain/.debug
	tar -xf kept.data.tar.bz2 -C plain/.debug
	HOME=$work/plain has "space::kept" names "$PERCH" kept.data
	report $? "names of an archive that tar unpacked"
	"$PERCH" archive -o small.tar.gz kept.data >log 2>&1 && gzip -t small.tar.gz
	report $? "archive -o chooses the compression"
	# an entry with a file of another build, and one that leads out of the archive
	mkdir -p bad/.build-id/"${id:0:2}" bad/.build-id/aa
	mkdir -p "bad/program/$id"
	cp newer "bad/program/$id/elf"
	ln -s "../../program/$id" "bad/.build-id/${id:0:2}/${id:2}"
	ln -s "../../../../etc/$(printf 'aa%036d' 1)" "bad/.build-id/aa/$(printf '%036d' 1)"
	tar -cf bad.tar -C bad .
	mkdir victim
	HOME=$work/victim "$PERCH" archive --unpack bad.tar >log 2>&1
	[ $? -eq 1 ] && grep -q 'the build id is another one' log && [ "$(find victim -type f | wc -l)" -eq 0 ]
	report $? "archive --unpack refuses files of other builds"
	[ -z "$(find victim -name '.unpack*')" ]
	report $? "archive --unpack leaves no temporary files"
	HOME=$work/victim "$PERCH" archive --unpack program >log 2>&1
	[ $? -eq 1 ] && grep -q '^perch archive: program is not an archive of' log
	report $? "archive --unpack of another file"
	"$PERCH" --buildid-dir "$work/empty" archive kept.data 2>log
	[ $? -eq 1 ] && grep -q 'has no file of' log
	report $? "archive without files in the cache"
else
	echo "ok - archive # skip tar or bzip2 is missing"
fi

# ---- --symfs, --vmlinux ----
build copied program
record symfs.data -N ./program
mkdir -p "copy$work"
cp program "copy$work/program"
cp newer program
has "space::copied" names "$PERCH" symfs.data --symfs "$work/copy"
report $? "--symfs"
"$PERCH" report -i symfs.data --symfs "$work/missing" >log 2>&1
[ $? -eq 2 ] && grep -q "'$work/missing' is not a directory" log
report $? "--symfs refuses what is no directory"
"$PERCH" archive -i symfs.data other.data >log 2>&1
[ $? -eq 2 ] && grep -q "expected one file; 'other.data' is too much" log
report $? "archive refuses two recordings"
"$PERCH" record -q -e cpu-clock:k -o kernel.data -- dd if=/dev/zero of=/dev/null bs=1M count=3000 2>log
cp "$work/newer" wrong
"$PERCH" report -i kernel.data --stdio -s sym --vmlinux "$work/wrong" >report.out 2>log
if grep -q '\[k\]' report.out; then
	grep -q 'wrong is another kernel' log && ! grep -q '\[k\] [a-z_]' report.out
	report $? "--vmlinux refuses another build"
else
	echo "ok - --vmlinux # skip there are no kernel samples"
fi

# ---- caches that cannot be written, or must not ----
build safe program
rm -rf "$HOME/.debug"
mkdir -p "$HOME/.debug" outside
ln -s "$work/outside" "$HOME/.debug/$(cut -d / -f 2 <<<"$work")"
record safe.data ./program
status_of_record=$?
cp record.err log
[ $status_of_record -eq 0 ] && [ -z "$(ls outside)" ] && grep -q 'The recording is complete' log
report $? "a cache that leads elsewhere is not written to"
rm -rf "$HOME/.debug"
for i in 1 2 3 4; do
	"$PERCH" record -q -e cpu-clock:u -F 999 -o "many$i.data" ./program 2>"many$i.err" &
done
wait
cat many*.err >log
id=$(id_of program)
[ ! -s log ] && cmp program "$links/${id:0:2}/${id:2}/elf" && [ -z "$(find "$HOME" -type f -name '.*.*')" ]
report $? "recorders fill a cache at the same time"
rm -rf "$HOME/.debug"
mkdir -p links/a links/b
ln -s ../b/. links/a/relative
ln -s "$work/links/a/relative/new" links/b/absolute
ln -s loop links/loop
"$PERCH" --buildid-dir "$work/links/b/absolute" buildid-cache -a program 2>log &&
	[ -d "links/b/new/.build-id" ] && "$PERCH" --buildid-dir "$work/links/b/absolute" buildid-cache -l >log && grep -q "$work/program" log
report $? "own symbolic links lead to the cache, which is made"
"$PERCH" --buildid-dir "$work/links/loop/x" buildid-cache -a program 2>log
[ $? -eq 1 ] && grep -q 'cannot be made: Too many levels of symbolic links' log
report $? "a symbolic link that leads to itself"
"$PERCH" --buildid-dir "$work/program/x" buildid-cache -l 2>log
[ $? -eq 1 ] && grep -q 'Not a directory' log
report $? "a file in place of the directory"
(cd links && "$PERCH" --buildid-dir here/cache buildid-cache -a ../program) && [ -d links/here/cache/.build-id ]
report $? "a relative path"
if [ "$(id -u)" -eq 0 ]; then
	mkdir foreign
	chown 65534 foreign
	HOME=$work/foreign record foreign.data ./program && [ -z "$(ls -A foreign)" ]
	report $? "root does not write into the home directory of a user"
	mkdir foreign/.debug
	chown 65534 foreign/.debug
	HOME=$work/foreign "$PERCH" buildid-cache -l 2>log
	[ $? -eq 1 ] && grep -q 'belongs to uid 65534' log
	report $? "the cache of another user is refused"
	rmdir foreign/.debug
	mkdir elsewhere
	ln -s "$work/elsewhere" foreign/.debug
	chown -h 65534 foreign/.debug
	HOME=$work/foreign record foreign.data ./program && [ -z "$(ls -A elsewhere)" ]
	report $? "root does not follow a symbolic link of a user"
	rm foreign/.debug
	# the user replaces the directory while root opens the cache
	setpriv --reuid=65534 --clear-groups sh -c 'while :; do mkdir "$1/.debug"; rmdir "$1/.debug"; ln -s "$2" "$1/.debug"; rm "$1/.debug"; done' \
		sh "$work/foreign" "$work/elsewhere" 2>/dev/null &
	swapper=$!
	for i in {1..100}; do
		HOME=$work/foreign "$PERCH" buildid-cache -a program 2>/dev/null
	done
	kill "$swapper"
	wait "$swapper" 2>/dev/null
	rm -rf foreign/.debug
	ls -lR foreign elsewhere >log
	[ -z "$(ls -A elsewhere)" ]
	report $? "a user who replaces a directory does not choose where root writes"
	printf '[buildid]\n\tdir = %s\n' "$work/elsewhere" >foreign/.perfconfig
	chown 65534 foreign/.perfconfig
	HOME=$work/foreign record foreign.data ./program && [ -z "$(ls -A elsewhere)" ]
	report $? "a configuration file of another user is ignored"
	mkdir closed
	chmod 755 . closed
	cp program closed
	chown -R 65534 closed
	mkdir -m 000 closed/.debug
	chown 65534 closed/.debug
	if (cd closed && setpriv --reuid=65534 --clear-groups "$PERCH" record -N -q -e cpu-clock:u -o closed.data ./program) 2>/dev/null; then
		(cd closed && HOME=$PWD setpriv --reuid=65534 --clear-groups "$PERCH" record -q -e cpu-clock:u -o closed.data ./program) 2>log
		[ $? -eq 0 ] && [ ! -s log ] &&
			(cd closed && HOME=$PWD setpriv --reuid=65534 --clear-groups "$PERCH" report -i closed.data --stdio -s sym) 2>log |
			grep -q 'space::safe'
		report $? "a cache that cannot be read changes nothing"
	else
		echo "ok - a cache that cannot be read # skip a user cannot record here"
	fi
	mkdir full
	if unshare -m true 2>/dev/null; then
		PERCH=$PERCH unshare -m sh -c 'mount -t tmpfs -o size=8k none full &&
			HOME=$PWD/full "$PERCH" record -q -e cpu-clock:u -o full.data ./program 2>full.err &&
			[ -z "$(find full -type f)" ]'
		status_of_record=$?
		cp full.err log
		[ $status_of_record -eq 0 ] && grep -q 'No space left' log
		report $? "a full disk is reported, and the recording is complete"
	else
		echo "ok - a full disk # skip there is no mount namespace"
	fi
else
	echo "ok - caches of other users # skip needs root"
fi

exit $status
