#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs of other mount namespaces and programs that were replaced have their own names or none, never those of another file
# with the same path, if a build id was recorded. Without one, the file at the path may be a copy: its names are said to be unverified. Each program consists of one function, whose name says which file it is. Other tests that run at the same
# time have other names of programs: -a records them too.
# shellcheck source=tests/interop/common.sh
. "${PERCH_SOURCE_ROOT:?}/tests/interop/common.sh" || exit 1
[ "$(id -u)" -eq 0 ] || { echo "skipped: mount namespaces need root"; exit 77; }
command -v gcc >/dev/null || { echo "skipped: needs gcc"; exit 77; }
unshare -m true 2>/dev/null || { echo "skipped: unshare(2) is not permitted here"; exit 77; }
cd "$work" || exit 1
export HOME=$work # of the build id cache
pid=
# shellcheck disable=SC2154
trap '[ -z "$pid" ] || kill -9 "$pid" 2>/dev/null; rm -rf "$work"' EXIT

cat >program.c <<'END'
__attribute__((noinline)) void NAME(volatile unsigned *count)
{
	for (unsigned i = 0; i < 1000000; i++)
		++*count;
}
int main(void)
{
	volatile unsigned count = 0;
	for (;;)
		NAME(&count);
}
END
build() { # function, file, options
	gcc -O1 -static -DNAME="$1" "${@:3}" -o "$2" program.c
}
build host_id host.id && build inner_id inner.id && build host_none host.none -Wl,--build-id=none &&
	build inner_none inner.none -Wl,--build-id=none || { echo "skipped: gcc -static does not work here"; exit 77; }
mkdir root

await() { # a command that succeeds within 30 s
	for _ in $(seq $((3000 * slowness))); do
		"$@" && return 0
		sleep 0.01
	done
	echo "no success: $*"
	return 1
}
runs_program() { [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = contained ]; }
start() { # runs $work/contained on this machine
	"$work/contained" &
	pid=$!
	await runs_program
}
start_inside() { # runs a file as $work/contained of another mount namespace, on a file system that only it has
	unshare -m bash -c 'mount -t tmpfs none root && mkdir -p "root$1" root/old && cp "$2" "root$1/contained" &&
		pivot_root root root/old && exec "$1/contained"' - "$work" "$1" &
	pid=$!
	await runs_program
}
end() {
	kill -9 "$pid"
	wait "$pid" 2>/dev/null
	pid=
}
sampled() { # records the program with these options until there are samples of it
	"$PERCH" record -q ${cache--N} -e cpu-clock:u -o data "$@" -- sleep 0.2 >/dev/null 2>record.err || { cat record.err; exit 1; }
	"$PERCH" report --stdio -g none --comm contained -i data 2>/dev/null | grep -q ' contained ' ||
		"$PERCH" script -i data 2>/dev/null | grep -q '^ *contained '
}
has_names() { # the only name in samples of the program; "" is no name
	"$PERCH" script -i data >names 2>notes || return 1
	grep '^ *contained ' names >own
	[ -s own ] || return 1
	if [ -n "$1" ]; then
		grep -q "$1" own || return 1
	fi
	! grep -E 'host_|inner_' own | grep -qv "${1:-host_ and inner_}"
}
noted() { grep -q "[1-9][0-9]* address[es]* in $work/contained ha[a-z]* no names*: $1" notes; }
lists() { # the build id of a file is that of the path in the recording
	perch_id=$(readelf -n "$1" | sed -n 's/.*Build ID: //p')
	"$PERCH" report --header-only -i data >/dev/null 2>&1
	command -v perf >/dev/null || return 0
	perf buildid-list -i data 2>/dev/null | grep -q "^$perch_id $work/contained$"
}
unverified() { # function: the names are those of the file at the path, and said to be unverified
	has_names "$1" && grep -q "names of [1-9]* programs* are unverified: no build id" notes
}
other_file() { # kind, name, condition, note: the names of a file at the path that has another inode, or another build id
	if [ "$1" = none ]; then
		try "$case: names $3 are unverified" unverified "$2"
	else
		try "$case: no names $3" has_names ""
		[ -z "$4" ] || try "$case: the reason $3" noted "$4"
	fi
}
later() { # until files have times after that of the recording
	touch now
	[ now -nt data ]
}

# Where build ids in records come from. Those of the kernel only of a process: with -a they harm the recordings of tests beside this one.
mmap_options() {
	case $1 in
	recorder) mmap_option=() ;;
	kernel) mmap_option=(--buildid-mmap) ;;
	none) mmap_option=(--no-buildid-mmap) ;;
	esac
}
for kind in id none; do
	cp "host.$kind" contained
	for target in -p -a; do
		for mmap in recorder kernel none; do
			[ "$target$mmap" != -akernel ] || continue
			case="$kind, $target, $mmap"
			mmap_options $mmap
			options=(-a "${mmap_option[@]}")
			try "$case: a program starts in a container" start_inside "inner.$kind"
			[ "$target" = -a ] || options=(-p "$pid" "${mmap_option[@]}")
			try "$case: it is recorded" await sampled "${options[@]}"
			try "$case: names while it runs" has_names "inner_$kind"
			[ "$kind" = none ] || try "$case: the build id of its file" lists inner.id
			end
			reason="on a file system that is not mounted here (of a container, .* with --symfs DIR and a copy of the file at DIR$work/contained"
			[ "$kind$mmap" = idnone ] || [ "$kind" = none ] || reason="another file is at its path: it was replaced, or the process was in a container"
			other_file "$kind" host_none "when the container is gone" "$reason"
		done
	done
done

# A program that starts in a container and ends there, while all CPUs are recorded.
records_short_container() { # until there are samples of the program
	for _ in 1 2 3 4 5; do
		record_short_container && return 0
	done
	cat record.err notes
	return 1
}
record_short_container() {
	rm -f data
	"$PERCH" record -q -N -a -e cpu-clock:u -o data -- bash -c "
		unshare -m bash -c 'mount -t tmpfs none root && mkdir -p root$work && cp inner.id root$work/contained && exec timeout -s KILL 3 chroot root $work/contained'
		:" >/dev/null 2>record.err
	"$PERCH" script -i data 2>notes | grep -q '^ *contained '
}
no_wrong_names() { # the recorder may have seen the build id while the program ran
	has_names "" || unverified host_id || { cat record.err notes && sort own | uniq -c | head; return 1; }
}
cp host.id contained
try "a program of a container that is gone before the end is recorded" records_short_container
try "a program of a container that was gone before the end: no names, or unverified ones" no_wrong_names

for kind in id none; do
	for mmap in recorder kernel none; do
		case="$kind, $mmap"
		mmap_options $mmap
		cp "host.$kind" contained
		try "$case: a program starts" start
		try "$case: it is recorded" await sampled -p "$pid" "${mmap_option[@]}"
		try "$case: names while it runs" has_names "host_$kind"
		await later
		rm contained
		cp "inner.$kind" contained
		try "$case: names of a file that was replaced while it runs" has_names "host_$kind"
		end
		other_file "$kind" inner_none "after that" "replaced since the recording"

		cp "host.$kind" contained
		try "$case: a program starts again" start
		try "$case: it is recorded again" await sampled -p "$pid" "${mmap_option[@]}"
		end
		try "$case: names when it has ended" has_names "host_$kind"
		cp "inner.$kind" other
		await later
		cat other >contained
		other_file "$kind" inner_none "of a file with other content" "replaced since the recording"
		mv other contained
		other_file "$kind" inner_none "of a file that was moved to the path" ""
		rm contained
		try "$case: no names without a file" has_names ""
		try "$case: the missing file is reported" noted "no such file"
	done
done

# A container has debug files of its own.
gcc -O1 -g -static -DNAME=inner_debug -o inner.full program.c
inner_id=$(readelf -n inner.full | sed -n 's/.*Build ID: //p')
objcopy --only-keep-debug inner.full inner.debug
strip -o inner.stripped inner.full
start_with_debug_file() {
	debug_dir=root/usr/lib/debug/.build-id/${inner_id:0:2}
	unshare -m bash -c 'mount -t tmpfs none root && mkdir -p "root$1" root/old "$2" && cp inner.stripped "root$1/contained" &&
		cp inner.debug "$2/$3.debug" && pivot_root root root/old && exec "$1/contained"' - "$work" "$debug_dir" "${inner_id:2}" &
	pid=$!
	await runs_program
}
cp host.id contained
try "debug file: a program starts in a container" start_with_debug_file
try "debug file: it is recorded" await sampled -p "$pid"
try "debug file: names while it runs" has_names inner_debug
try "debug file: lines while it runs" bash -c '"$PERCH" script -F comm,ip,sym,srcline -i data 2>/dev/null | grep -q "program\.c:[3-5]"'
end
try "debug file: no names when the container is gone" has_names ""

# Files of overlayfs have other numbers in stat(2) than in the records of their mappings.
overlay() { # a command that needs the directory $work/over/merged
	mkdir -p over && unshare -m bash -c 'mount -t tmpfs none over && cd over && mkdir lower upper work merged && cp ../host.none lower/contained &&
		mount -t overlay -o lowerdir=lower,upperdir=upper,workdir=work none merged && cd .. && "$@"' - "$@"
}
overlay_names() {
	"$work/over/merged/contained" &
	pid=$!
	await runs_program
	mmap_options "$1"
	try "overlayfs, $1: a program is recorded" await sampled -p "$pid" "${mmap_option[@]}"
	end
	try "overlayfs, $1: names" has_names host_none
	await later
	cp inner.none over/merged/new
	mv over/merged/new over/merged/contained
	try "overlayfs, $1: names of another file are unverified" unverified inner_none
	exit "$status"
}
overlay_build_id() { # of a file that is deleted while its process runs, until after the recording
	cp host.id over/merged/pinned
	# shellcheck disable=SC2016
	"$PERCH" record -q -N -e cpu-clock:u -o data -- sh -c 'over/merged/pinned & echo $! >pinned.pid
		until [ "$(cat /proc/$!/comm)" = pinned ]; do sleep 0.1; done; sleep 0.2; rm over/merged/pinned' >log 2>&1
	kill -9 "$(cat pinned.pid)"
	"$PERCH" buildid-list -i data >names 2>&1
	cat names >>log
	grep -q "^$(readelf -n host.id | sed -n 's/.*Build ID: //p') $work/over/merged/pinned$" names
}
if overlay true 2>/dev/null; then
	export -f overlay_build_id try report peer_died
	export work status peers
	overlay bash -c 'try "overlayfs: the build id of a file that is deleted" overlay_build_id; exit "$status"' || status=1
	export -f overlay_names await runs_program sampled end has_names unverified later mmap_options
	export pid work status cache slowness
	for mmap in recorder kernel none; do
		cache=-N overlay bash -c 'overlay_names "$1"' - "$mmap" || status=1
	done
else
	echo "skipped: overlayfs cannot be mounted here"
fi

# The build id cache has the files also when they are gone.
cp host.id contained
try "cache: a program starts in a container" start_inside inner.id
cache=''
try "cache: it is recorded" await sampled -p "$pid"
end
try "cache: names when the container is gone" has_names inner_id
# Debug files of another root directory are in the cache, too, with what they share (dwz), when the process has ended.
export HOME=$work/of_root
mkdir "$HOME"
links=$HOME/.debug/.build-id
debug_dir=other/usr/lib/debug
with_debug_files() { # function: makes other/contained and its debug file, which shares a part with another one
	local id shared=()
	rm -rf other && mkdir -p other/bin "$debug_dir/.dwz"
	cat >shared.c <<-'END'
		struct first_of_several_types { int several, fields[100]; double of_types; };
		struct second_of_several_types { struct first_of_several_types inside[10]; unsigned long long other_field; };
		volatile unsigned count;
		static inline __attribute__((always_inline)) unsigned inner_inlined(struct second_of_several_types *of)
		{
			for (unsigned i = 0; i < 1000000; i++)
				count++;
			return of ? of->inside[0].several : 0;
		}
		__attribute__((noinline)) unsigned NAME(struct second_of_several_types *of) { return inner_inlined(of); }
		int main(void) { for (;;) NAME(0); }
	END
	for name in inner_one inner_two; do
		gcc -g -O1 -static -DNAME=$name -o $name shared.c || return 1
	done
	if command -v dwz >/dev/null; then
		shared=(-m "$debug_dir/.dwz/shared.debug" -M ../../.dwz/shared.debug)
		dwz "${shared[@]}" inner_one inner_two || return 1
		shared_id=$(readelf -n "$debug_dir/.dwz/shared.debug" | sed -n 's/.*Build ID: //p')
	fi
	id=$(readelf -n inner_one | sed -n 's/.*Build ID: //p')
	strip -o other/bin/contained inner_one
	mkdir -p "$debug_dir/.build-id/${id:0:2}"
	"$@" "$id"
}
by_build_id() { objcopy --only-keep-debug inner_one "$debug_dir/.build-id/${1:0:2}/${1:2}.debug"; }
by_debuglink() {
	mkdir "$debug_dir/bin" && objcopy --only-keep-debug inner_one "$debug_dir/bin/of_link.debug" &&
		objcopy --add-gnu-debuglink="$debug_dir/bin/of_link.debug" other/bin/contained
}
record_other() { # launches the program, which ends
	"$PERCH" record -q -g -e cpu-clock:u -o data -- timeout -s KILL 1 "$@" chroot other /bin/contained >log 2>&1
	[ ! -s log ]
}
has_all_names() { # of inlined functions, and lines
	"$PERCH" script -F comm,ip,sym,srcline -i data >names 2>notes
	cat notes names >log
	grep -q inner_inlined names && grep -q 'shared\.c:[4-9]' names && ! grep -q lack notes
}
for case in by_build_id by_debuglink; do
	rm -rf "$HOME/.debug"
	try "chroot, $case: a program with debug files" with_debug_files $case
	try "chroot, $case: it is launched" record_other
	mv other moved
	try "chroot, $case: names and lines without the root directory" has_all_names
	rm -rf moved
	command -v dwz >/dev/null || { echo "skipped dwz: it is not installed"; continue; }
	try "chroot, $case: the shared file is in the cache" [ -f "$links/${shared_id:0:2}/${shared_id:2}/debug" ]
	rm -rf "${links:?}/${shared_id:0:2}"
	has_all_names
	try "chroot, $case: a missing shared file is reported" grep -q "shared.debug, which has a part of its debug information (dwz), is missing" notes
done
rm -rf "$HOME/.debug"
try "container: a program with debug files" with_debug_files by_build_id
try "container: it is launched" record_other unshare -m
mv other moved
try "container: names and lines without the root directory" has_all_names
mv moved other

# Without debug files in the cache, the message says how to find those of the other root directory.
rm -rf "$HOME/.debug"
mv "$debug_dir" away
try "chroot, stripped: it is launched" record_other
"$PERCH" script -i data >names 2>notes
cp notes log
# samples at the start of timeout and chroot, which are on slow machines only, are in other stripped files
try "chroot, stripped: the message says --symfs" grep -qE \
	"/bin/contained( \([0-9]+\) and [0-9]+ other files?)? (is|are) stripped: .*; (it|1 of them) is not at its path here: if .* report with --symfs ROOT" notes
mv away "$debug_dir"
"$PERCH" script --symfs other -i data >names 2>notes
cp notes log
try "chroot, stripped: --symfs finds its debug file" grep -q inner_ names
exit $status
