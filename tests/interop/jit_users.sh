#!/bin/bash
# SPDX-License-Identifier: MIT
# Code of JIT compilers in processes of other users, which have ended: their map files are read, because the recording has their users.
# Files of a third user are refused, and -f reads them. perf reads these recordings.
. "${PERCH_SOURCE_ROOT:?}/tests/interop/common.sh" || exit 1
cd "$work" || exit 1
[ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null || { echo "skipped: needs root and setpriv"; exit 77; }
maps=()
trap 'rm -rf "$work"; [ ${#maps[@]} -eq 0 ] || rm -f "${maps[@]}"' EXIT
chmod 755 "$work"
cp "$PERCH_BUILD_ROOT/tests/interop/jit_program" program && chmod 755 program
mkdir -m 777 public

# with different users, the kernel removes the events at execve(2)
run=(setpriv --reuid 54321 --clear-groups ./program)
"${run[@]}" map "$work/public" >log 2>&1
[ $? -ne 77 ] || { echo "the program makes no code for this architecture"; exit 77; }
maps+=("/tmp/perf-$(cat log).map")

has_names() { # recording, options: the names are there, and nothing is said about owners; files of other programs do not count
	local pid=${maps[-1]#*perf-}
	"$PERCH" script -i "$1" -F ip,sym --pid "${pid%.map}" "${@:2}" >names 2>notes
	cat notes >log
	grep -q jit_second names && grep -q jit_moves names && ! grep -q 'belongs to' notes
}
is_refused() { # recording
	"$PERCH" script -i "$1" -F ip,sym >names 2>notes
	cat notes >log
	! grep -q jit_second names && grep -q "${maps[-1]}: the file belongs to uid $2, .*: use -f to read it anyway" notes
}
found_map() {
	maps+=("/tmp/perf-$(grep -m 1 '^[0-9]*$' out).map")
	[ -e "${maps[-1]}" ]
}

for how in "" "-a" "-k mono"; do
	# shellcheck disable=SC2086
	"$PERCH" record -q -e cpu-clock -F 999 $how -o file.data -- "${run[@]}" map "$work/public" >out 2>log && found_map
	report $? "$how: recorded"
	try "$how: names of a map of the user of a process that has ended" has_names file.data
done
cp file.data copy.data
try "a copy of the recording" has_names copy.data
"$PERCH" script -i - -F ip,sym <file.data >names 2>log && grep -q jit_second names
report $? "a recording from standard input"
chown 12346 "${maps[-1]}"
try "a map of a third user is refused" is_refused file.data 12346
try "-f reads it" has_names file.data -f
chown 54321 "${maps[-1]}"
python3 - file.data none.data <<'END'
import sys
data = open(sys.argv[1], "rb").read()
assert b"perch: user of a process" in data
open(sys.argv[2], "wb").write(data.replace(b"perch: user of a process", b"parch: user of a process"))
END
try "without the record, the map is refused" is_refused none.data 54321

# A directory of the user may have a copy of the files.
mkdir -p below/tmp && cp -p "${maps[-1]}" below/tmp
rm "${maps[-1]}"
try "a map below --symfs" has_names file.data --symfs below

"$PERCH" record -q -e cpu-clock -F 999 -o - -- "${run[@]}" map "$work/public" 2>out >pipe.data && found_map && has_names pipe.data
report $? "names of a piped recording"
"$PERCH" record -q -e cpu-clock -F 999 --switch-output=1s -o several.data -- setpriv --reuid 54321 --clear-groups \
	sh -c 'for i in 1 2 3 4; do ./program map "$0"; done' "$work/public" >out 2>log
while read -r pid; do maps+=("/tmp/perf-$pid.map"); done < <(grep -x '[0-9]*' out)
all=0
for file in several.data.2*; do
	"$PERCH" script -i "$file" -F ip,sym >names 2>>log
	! grep -q jit_ names || all=$((all + 1))
done
[ "$all" -ge 2 ] && ! grep -q 'belongs to' log
report $? "names in each of several files"
"$PERCH" record -q -e cpu-clock -F 999 --overwrite -o snapshot.data -- "${run[@]}" map "$work/public" >out 2>log
found_map
file=$(echo snapshot.data*)
try "names in a snapshot" has_names "${file%% *}"

# A jitdump is compared by its inode, so its owner counts only for records without one, and below --symfs.
"$PERCH" record -q -e cpu-clock -F 999 -k mono -o dump.data -- "${run[@]}" dump "$work/public" >out 2>log
found_map
"$PERCH" script -i dump.data -F ip,sym >names 2>log
grep -q jit_second names && [ "$(stat -c %u public/jit-*.dump)" = 54321 ]
report $? "a jitdump of the user"
other=$(mktemp -d /dev/shm/perch-test-XXXXXX 2>/dev/null || mktemp -d)
if [ "$(stat -c %d "$other")" != "$(stat -c %d public)" ]; then
	mkdir -p "$other$work" && cp -rp public "$other$work/public"
	"$PERCH" script -i dump.data -F ip,sym --symfs "$other" >names 2>log
	grep -q jit_second names
	report $? "a copy of the jitdump below --symfs"
else
	echo "ok - a copy of the jitdump below --symfs # skip there is no other file system"
fi
rm -rf "$other"

"$PERCH" record -q -B -N -e cpu-clock -F 999 -o perf.data -- "${run[@]}" map "$work/public" >out 2>log
found_map
if perf script -i perf.data -F ip >theirs 2>log; then
	"$PERCH" script -i perf.data -F ip >ours 2>log
	diff <(awk '{ print $1 }' theirs) <(awk '{ print $1 }' ours) >log
	report $? "perf script reads all samples"
	perf report --stdio -i perf.data >theirs 2>log && grep -q jit_program\\\|program theirs && perf inject -b -i perf.data -o injected.data >log 2>&1 &&
		perf script -i injected.data -F ip 2>>log | cmp - <(perf script -i perf.data -F ip) >>log
	report $? "perf report and perf inject -b read it"
	perf script -D -i pipe.data >theirs 2>log && grep -q EVENT_TYPE theirs
	report $? "perf script reads it as a pipe"
else
	echo "ok - perf # skip $(peer_died || echo perf is missing)"
fi
exit "$status"
