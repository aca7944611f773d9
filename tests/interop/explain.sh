#!/bin/sh
# SPDX-License-Identifier: MIT
# perch explain with perf, a Rust program and a static program.
# shellcheck source=tests/interop/common.sh
. "${PERCH_SOURCE_ROOT:?}/tests/interop/common.sh" || exit 1
perch=${PERCH:?}
shown="$work/found $work/output"

trace() { # program and arguments; refusals go to the file "found"
	"$perch" explain -j -o "$work/found" -- "$@" >"$work/output" 2>&1
}

# The same for perf, which may die: a shell notes its status.
trace_perf() { # arguments of perf
	for _ in 1 2 3; do
		# shellcheck disable=SC2016
		trace sh -c 'perf "$@"; status=$?; echo $status >"$0"; exit $status' "$work/status" "$@"
		trace_status=$?
		died_of_fault "$(cat "$work/status")" || return $trace_status
	done
	echo "perf $1 died three times" >"$peers/died"
	return $trace_status
}

# Without hardware counters, the kernel refuses with ENOENT.
perf_without_counters() {
	trace_perf stat -e cycles -- sh -c 'exit 7'
	[ $? -eq 7 ] && grep -q '"errno_name":"ENOENT","cause":"no-hardware"' "$work/found"
	report $? "perf stat -e cycles: the cause and the exit status"
	trace_perf record -o "$work/data" -e cycles:pp -a -- true
	[ $? -eq "$bare" ] && grep -q '"cause":"no-hardware".*"precise_ip":2' "$work/found"
	report $? "perf record -e cycles:pp -a: the precise event is refused, and perf exits as without perch"
}

if ! command -v perf >/dev/null || ! perf --version >/dev/null 2>&1; then
	skip "perf stat and perf record" "no perf here"
elif perf stat -e cycles -- true 2>&1 | grep -q 'not supported'; then
	perf record -o "$work/data" -e cycles:pp -a -- true >/dev/null 2>&1
	bare=$?
	if died=$(peer_died); then
		skip "perf stat and perf record" "$died"
	else
		perf_without_counters
	fi
else
	skip "perf stat and perf record" "this machine has hardware counters: no event is refused"
fi

cat >"$work/program.rs" <<'PROGRAM'
extern "C" {
    fn syscall(number: i64, ...) -> i64;
}

fn main() {
    let number = if cfg!(target_arch = "x86_64") { 298 } else { 241 };
    let threads: Vec<_> = (0..4)
        .map(|i| {
            std::thread::spawn(move || {
                let mut attr = [0u64; 8];
                attr[0] = u64::from_ne_bytes({
                    let (kind, size) = (1u32.to_ne_bytes(), 64u32.to_ne_bytes());
                    [kind[0], kind[1], kind[2], kind[3], size[0], size[1], size[2], size[3]]
                });
                attr[1] = 2;
                attr[4] = 1 << (40 + i);
                let fd = unsafe { syscall(number, attr.as_ptr(), 0, -1, -1, 0u64) };
                assert!(fd == -1 && std::io::Error::last_os_error().raw_os_error() == Some(22));
                assert!(attr[4] == 1 << (40 + i));
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    std::process::exit(3);
}
PROGRAM
rustc=$(command -v rustc || echo "${HOME:-/nowhere}/.cargo/bin/rustc")
case $(uname -m) in
x86_64 | aarch64) here=yes ;;
*) here=no ;;
esac
if [ $here = yes ] && "$rustc" -O -o "$work/program" "$work/program.rs" >/dev/null 2>&1; then
	trace "$work/program"
	[ $? -eq 3 ] && [ "$(grep -c '"cause":"read-format-bits"' "$work/found")" -eq 4 ]
	report $? "a Rust program's four threads"
else
	skip "a Rust program" "no working rustc"
fi

cat >"$work/static.c" <<'PROGRAM'
#include <errno.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE, .size = PERF_ATTR_SIZE_VER0, .exclude_kernel = 1,
					.config = PERF_COUNT_SW_PAGE_FAULTS, .read_format = 1ull << 40 };

	return syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0ul) == -1 && errno == EINVAL ? 4 : 1;
}
PROGRAM
if "${CC:-cc}" -static -o "$work/static" "$work/static.c" 2>/dev/null; then
	trace "$work/static"
	[ $? -eq 4 ] && [ "$(grep -c '"cause":"read-format-bits"' "$work/found")" -eq 1 ]
	report $? "a static program"
else
	skip "a static program" "nothing static can be linked here"
fi
exit $status
