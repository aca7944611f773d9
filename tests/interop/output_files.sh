#!/bin/bash
# SPDX-License-Identifier: MIT
# The files that commands write: whole or not at all, on a full disk, after a signal; links, FIFOs, devices, files and
# directories of other users.
. "${PERCH_SOURCE_ROOT:?}/tests/interop/common.sh" || exit 1
cd "$work" || exit 1
unset PERF_BUILDID_DIR PERF_CONFIG XDG_CONFIG_HOME
umask 022
export HOME=$work/home
mkdir home page

others() { # a directory that must have only these files, files...
	local directory=$1 file
	shift
	for file in "$@"; do echo "$file"; done | sort >want
	find "$directory" -mindepth 1 -maxdepth 1 -printf '%f\n' | sort >found
	diff want found
}

# a process that is stuck at a FIFO is ended
perch() {
	timeout $((60 * slowness)) "$PERCH" "$@"
}

# ---- replaced when it is whole ----
for i in {1..200}; do echo "main;function_$i;inner_$((i * 7919)) $i"; done >stacks.txt
perch flamegraph stacks.txt -o page/new.html 2>log && [ "$(stat -c %a page/new.html)" = 644 ] && others page new.html >log
report $? "a new page has the mode of umask"
echo old >page/old.html
chmod 640 page/old.html
ln -s old.html page/link.html
perch flamegraph stacks.txt -o page/link.html 2>log && cmp page/old.html page/new.html >log &&
	[ -L page/link.html ] && [ "$(stat -c %a page/old.html)" = 640 ]
report $? "a page keeps the mode of the old one, and a link to it stays"
ln -s made.html page/nowhere.html
perch flamegraph stacks.txt -o page/nowhere.html 2>log && cmp page/made.html page/new.html >log
report $? "a link to a file that does not exist"
perch flamegraph stacks.txt -o - >page/stdout.html 2>log && cmp page/stdout.html page/new.html >log
report $? "standard output"
{
	echo first
	perch flamegraph stacks.txt -o /dev/stdout
} 2>log | tail -n +2 | cmp - page/new.html >log
report $? "/dev/stdout as a pipe"
exec 7<>shared.html
perch flamegraph stacks.txt -o /dev/stdout >shared.html 2>log
cmp /dev/fd/7 page/new.html >log
report $? "/dev/stdout as a file is written in place"
exec 7<&-
mkfifo fifo
cat fifo >read.html &
reader=$!
perch flamegraph stacks.txt -o fifo 2>log && wait "$reader" && cmp read.html page/new.html >log && [ -p fifo ]
report $? "a FIFO with a reader"
perch flamegraph stacks.txt -o /dev/null 2>log && [ -c /dev/null ]
report $? "a device"
rm -f page/*

# the name that a command makes may be that of another user's link
mkdir names
echo precious >precious
(cd names && ln -s ../precious flamegraph.html && perch flamegraph ../stacks.txt 2>../log)
[ $? -eq 1 ] && grep -q 'symbolic link' log && [ "$(cat precious)" = precious ]
report $? "the default name follows no link"
(cd names && rm flamegraph.html && mkfifo flamegraph.html && perch flamegraph ../stacks.txt 2>../log)
[ $? -eq 1 ] && grep -q 'FIFO\|regular file' log
report $? "the default name is no FIFO"

# ---- what fails leaves the old file ----
kept() { # status, text of the message, name of the check
	[ "$1" -eq 1 ] && grep -q "$2" log && [ "$(cat page/kept.html)" = old ] && others page kept.html >>log
	report $? "$3"
}
echo old >page/kept.html
(ulimit -f 8 && perch flamegraph stacks.txt -o page/kept.html) 2>log
kept $? 'page/kept.html cannot be written: File too large' "a limit of file sizes keeps the old page"
(ulimit -f 0 && perch doctor -o page/kept.html) 2>&1 | cat >log
kept "${PIPESTATUS[0]}" 'page/kept.html cannot be written: File too large' "doctor -o keeps the old file"
(ulimit -f 0 && perch stat -e task-clock:u -o page/kept.html -- true) 2>&1 | cat >log
kept "${PIPESTATUS[0]}" 'page/kept.html.*File too large' "stat -o keeps the old file"
echo 'perf_event_open(NULL, 0, -1, -1, 0) = -1 EFAULT (Bad address)' >calls.log
(ulimit -f 0 && perch explain --strace calls.log -o page/kept.html) 2>&1 | cat >log
kept "${PIPESTATUS[0]}" 'page/kept.html.*File too large' "explain --strace -o keeps the old file"
ln page/kept.html page/other.html
perch explain --strace calls.log -o page/kept.html 2>log
grep -q EFAULT page/kept.html && [ "$(cat page/other.html)" = old ]
report $? "explain --strace -o replaces the old file when it is whole"
perch explain --strace - -o page/other.html <calls.log 2>log && cmp page/other.html page/kept.html >log
report $? "explain --strace - -o writes in place"
rm page/other.html
echo old >page/kept.html
perch stat -e task-clock:u -o page/kept.html -- no-such-program 2>log
[ $? -ne 0 ] && [ "$(cat page/kept.html)" = old ]
report $? "stat -o of a program that does not start keeps the old file"
if [ "$(id -u)" -eq 0 ] && unshare -m true 2>/dev/null; then
	mkdir full
	PERCH=$PERCH unshare -m sh -c 'mount -t tmpfs -o size=16k none full && echo old >full/page.html &&
		timeout $((60 * slowness)) "$PERCH" flamegraph stacks.txt -o full/page.html 2>log
		[ $? -eq 1 ] && [ "$(cat full/page.html)" = old ] && [ "$(ls -A full)" = page.html ] &&
		grep -q "full/page.html cannot be written: No space left" log'
	report $? "a full disk keeps the old page"
	PERCH=$PERCH unshare -m sh -c 'touch page/mounted.html outer.html && mount --bind outer.html page/mounted.html &&
		timeout $((60 * slowness)) "$PERCH" flamegraph stacks.txt -o page/mounted.html 2>log' && [ -s outer.html ]
	report $? "a file on which another is mounted is written in place"
	rm page/mounted.html
else
	echo "ok - a full disk # skip there is no mount namespace"
fi
strace=$(command -v strace)
if [ -n "$strace" ] && strace -o /dev/null -e inject=access:error=EACCES true 2>/dev/null; then
	for signal in KILL TERM INT; do
		timeout $((60 * slowness)) strace -f -o trace -e "inject=write:signal=$signal:when=1" \
			"$PERCH" flamegraph stacks.txt -o page/kept.html >log 2>&1
		[ $? -gt 128 ] && [ "$(cat page/kept.html)" = old ] && others page kept.html >>log
		report $? "SIG$signal while a page is written keeps the old one, and leaves no other file"
	done
	# without files that have no name; a text from a pipe, because access(2) fails for all
	for signal in TERM INT HUP; do
		cat stacks.txt | timeout $((60 * slowness)) strace -f -o trace -e inject=access,faccessat,faccessat2:error=EACCES \
			-e "inject=write:signal=$signal:when=1" \
			"$PERCH" flamegraph - -o page/kept.html >log 2>&1
		[ $? -gt 128 ] && grep -q 'O_CREAT.*\.perch\|\.perch.*O_CREAT' trace &&
			[ "$(cat page/kept.html)" = old ] && others page kept.html >>log
		report $? "SIG$signal removes the temporary file"
	done
	cat stacks.txt | timeout $((60 * slowness)) strace -f -o trace -e inject=access,faccessat,faccessat2:error=EACCES \
		"$PERCH" flamegraph - --title stacks.txt -o page/kept.html >log 2>&1
	[ $? -eq 0 ] && grep -q '\.perch.*O_CREAT' trace && others page kept.html >>log
	report $? "a temporary file becomes the page"
	timeout $((60 * slowness)) strace -f -o trace -e inject=linkat:error=EACCES "$PERCH" flamegraph stacks.txt --title stacks.txt -o page/copied.html >log 2>&1
	[ $? -eq 0 ] && cmp page/kept.html page/copied.html >>log && others page kept.html copied.html >>log
	report $? "a security module that refuses links to files without a name"
else
	echo "ok - signals # skip strace cannot change system calls here"
fi

# ---- recordings ----
cat >program.c <<'END'
int main(void)
{
	for (volatile unsigned i = 0; i < 30000000; i++)
		;
}
END
gcc -O1 -Wl,--build-id -o program program.c
if "$PERCH" record -q -e cpu-clock:u -o data ./program 2>log; then
	mkfifo data.cpu-clock:u.dump
	perch script -i data --per-event-dump >log 2>&1
	[ $? -eq 1 ] && grep -q 'cpu-clock:u.dump cannot be written' log
	report $? "script --per-event-dump does not wait at a FIFO"
	rm data.cpu-clock:u.dump
	echo old >data.cpu-clock:u.dump
	perch script -i data --per-event-dump >log 2>&1 && [ "$(stat -c %a data.cpu-clock:u.dump)" = 600 ] &&
		! grep -q '^old' data.cpu-clock:u.dump
	report $? "only the user may read the files of --per-event-dump"
	if tar --version >/dev/null 2>&1 && bzip2 --help >/dev/null 2>&1; then
		chmod 644 precious
		ln -s precious data.tar.bz2
		perch archive data >log 2>&1
		[ $? -eq 1 ] && grep -q 'symbolic link' log && [ "$(cat precious)" = precious ] && [ "$(stat -c %a precious)" = 644 ]
		report $? "archive follows no link"
		ln -s precious link.tar.bz2
		perch archive -o link.tar.bz2 data >log 2>&1
		[ $? -eq 1 ] && [ "$(cat precious)" = precious ] && [ "$(stat -c %a precious)" = 644 ]
		report $? "archive -o follows no link"
		rm data.tar.bz2
		mkfifo data.tar.bz2
		perch archive data >log 2>&1
		[ $? -eq 1 ] && grep -q 'cannot be written' log
		report $? "archive does not wait at a FIFO"
		perch archive -o fifo data >log 2>&1
		[ $? -eq 1 ] && grep -q 'nobody reads it' log
		report $? "archive -o does not wait at a FIFO"
		echo old >page/kept.html
		(ulimit -f 1 && perch archive -o page/kept.html data) >log 2>&1
		[ $? -eq 1 ] && [ "$(cat page/kept.html)" = old ] && grep -q 'page/kept.html was not written, because tar failed$' log
		report $? "archive keeps the old file"
		(ulimit -f 1 && perch archive -o other.tar.gz data) >log 2>&1
		[ $? -eq 1 ] && [ ! -e other.tar.gz ] && grep -q "to compress, it needs 'gzip'" log
		report $? "without space for an archive it says what failed"
		perch archive -o page/kept.html data >log 2>&1 && tar -tf page/kept.html >log && [ "$(stat -c %a page/kept.html)" = 600 ]
		report $? "an archive that replaces a file may be read by the user only"
		perch archive -o /dev/stdout data 2>/dev/null | head -c 100000 | grep -q elf
		report $? "archive -o /dev/stdout"
	else
		echo "ok - archive # skip tar or bzip2 is missing"
	fi
	(ulimit -f 4 && perch record -q --force -e cpu-clock:u -F 20000 -o limited -- ./program) 2>log
	[ $? -eq 1 ] && grep -q 'File too large' log && perch report -i limited --stdio >log 2>&1
	report $? "a recording that reaches the limit of file sizes has a message, and can be read"
	ln -s /dev/null null
	perch record -q -e cpu-clock:u -o null -- true 2>log && [ -L null ] && [ -c /dev/null ]
	report $? "record -o LINK to a device"
	if [ -n "$strace" ] && strace -o /dev/null -e inject=openat:delay_enter=1 true 2>/dev/null; then
		# the link leads elsewhere when it is opened; a busy machine needs a longer time for this
		for seconds in 1 5 20; do
			echo precious >precious
			ln -sfn /dev/null null
			rm -f trace
			timeout $((120 * slowness)) strace -o trace -P null -e inject=openat:delay_enter="${seconds}000000" "$PERCH" record -q -e cpu-clock:u -o null -- true >log 2>&1 &
			recorder=$!
			for i in {1..2000}; do
				grep -q 'stat.*"null"' trace 2>/dev/null && break
				sleep 0.02
			done
			ln -sfn precious null
			wait "$recorder" || break
		done
		grep -q 'cannot create null' log && [ "$(cat precious)" = precious ]
		report $? "record -o LINK looks at what it has opened"
	else
		echo "ok - a link that changes # skip strace cannot change system calls here"
	fi
else
	echo "ok - recordings # skip $(head -n 1 log)"
fi

# ---- perch config ----
config=$HOME/.config/perch/config
perch config report.children=false 2>log && [ "$(stat -c %a "$HOME/.config")" = 700 ] && grep -q 'children = false' "$config"
report $? "config makes the file"
printf '[report]\n\tsort_order = comm' >"$config"
perch config report.children=true 2>log && [ "$(perch config --list | sort | tr '\n' ' ')" = "report.children=true report.sort_order=comm " ]
report $? "config adds a variable to a file whose last line has no end"
mv "$config" mine
ln -s "$work/mine" "$config"
perch config report.children=false 2>log && [ -L "$config" ] && grep -q 'children = false' mine
report $? "the user's own link to the file stays"
rm "$config"
mkfifo "$config"
perch config report.children=true >log 2>&1
[ $? -eq 1 ] && grep -q 'it is not written: it must be a file' log && [ -p "$config" ]
report $? "config does not wait at a FIFO"
rm "$config"
head -c 70000 /dev/zero | tr '\0' '#' >"$config"
perch config report.children=true >log 2>&1
[ $? -eq 1 ] && grep -q 'it is not written' log && [ "$(stat -c %s "$config")" = 70000 ]
report $? "config does not write a file that it does not use"
if [ "$(id -u)" -eq 0 ]; then
	mkdir foreign
	chown 65534 foreign
	HOME=$work/foreign perch config report.children=true >log 2>&1
	[ $? -eq 1 ] && [ -z "$(ls -A foreign)" ] && grep -q 'belongs to uid 65534' log
	report $? "config makes no directory of root in the home directory of a user"
	mkdir -p foreign/.config/perch
	echo precious >precious
	ln -s "$work/precious" foreign/.config/perch/config
	chown -hR 65534 foreign
	HOME=$work/foreign perch config report.children=true >log 2>&1
	[ $? -eq 1 ] && [ "$(cat precious)" = precious ]
	report $? "root does not write through the symbolic link of a user"
	chown 0 foreign/.config/perch
	HOME=$work/foreign perch config report.children=true >log 2>&1
	[ $? -eq 1 ] && [ "$(cat precious)" = precious ] && grep -q 'belongs to uid 65534' log
	report $? "also in a directory of root"
	rm foreign/.config/perch/config
	echo '[report]' >foreign/.config/perch/config
	chown 65534 foreign/.config/perch/config
	HOME=$work/foreign perch config report.children=true >log 2>&1
	[ $? -eq 1 ] && [ "$(cat foreign/.config/perch/config)" = '[report]' ] && grep -q 'it is not written' log
	report $? "config does not write the file of another user"
else
	echo "ok - directories of other users # skip needs root"
fi

exit $status
