#!/bin/bash
# SPDX-License-Identifier: MIT
# Unwinds copies of user stacks of programs that have frame pointers, and compares with the call chains of the kernel in the
# same samples: C, C++ and Rust, -O0 to -O3, static and PIE, with threads, signals, deep recursion, exceptions, dlopen(3), alternate
# signal stacks, the vdso, the PLT, code without rules, and rules of hand-written assembly. A program without frame pointers has its rules
# in a separate debug file.
. "${PERCH_SOURCE_ROOT:?}/tests/interop/common.sh" || exit 1
cd "$work" || exit 1
oracle=$PERCH_BUILD_ROOT/tests/interop/unwind_oracle

cat >library.c <<'END'
static volatile unsigned long sink;
__attribute__((noinline)) static void work_library_leaf(int n) { for (int i = 0; i < n; i++) sink += i; }
__attribute__((noinline)) void work_library(int n) { work_library_leaf(n); sink++; }
#ifdef __x86_64__
__asm__(".globl work_nothing\n" ".type work_nothing, @function\n" "work_nothing:\n" "	.cfi_startproc\n" "	ret\n" "	.cfi_endproc\n"
	".size work_nothing, . - work_nothing\n");
#endif
END
cat >program.c <<'END'
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#ifdef LIBRARY
#include <dlfcn.h>
#endif
static volatile unsigned long sink;
/* gcc gives a function without calls a frame pointer only if it needs one */
__attribute__((noinline)) static void work_leaf(int n)
{
	volatile char *space = __builtin_alloca(16 + n % 16);
	for (int i = 0; i < n; i++) sink += i;
	space[0] = 1;
}
__attribute__((noinline)) static int work_deep(int depth)
{
	volatile char space[40];
	space[depth % 40] = 1;
	if (!depth) { work_leaf(3000); return 1; }
	int result = work_deep(depth - 1) + space[depth % 40];
	sink += result;
	return result;
}
__attribute__((noinline)) static long work_many(long a, long b, long c, long d, long e, long f, long g, long h)
{
	if (!h) return a;
	long r = work_many(b, c, d, e, f, g, a + h, h - 1);
	for (int i = 0; i < 20; i++) sink += r * a + b;
	return r + c * d + e * f + g;
}
__attribute__((noinline)) static void work_aligned(int n)
{
	volatile double space[8] __attribute__((aligned(64)));
	volatile char *more = __builtin_alloca(16 + n % 100);
	space[0] = n;
	more[0] = 1;
	work_leaf(2000);
	sink += space[0] + more[0];
}
static timer_t timer;
/* the next signal comes some time after the handler, or a busy machine would only run handlers */
static void start_timer(void)
{
	struct itimerspec times = { { 0 }, { 0, 10000000 } };
	timer_settime(timer, 0, &times, NULL);
}
static void work_handler(int number) { (void)number; work_leaf(4000000); start_timer(); }
__attribute__((noinline)) static void work_interrupted(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	struct itimerspec stop = { 0 };
	signal(SIGUSR1, work_handler);
	timer_create(CLOCK_MONOTONIC, &event, &timer);
	start_timer();
	for (int i = 0; i < 150; i++) work_leaf(1000000);
	timer_settime(timer, 0, &stop, NULL);
}
static int work_compare(const void *a, const void *b) { for (int i = 0; i < 30; i++) sink++; return *(const int *)a - *(const int *)b; }
__attribute__((noinline)) static void work_round(int round)
{
	static __thread int numbers[64];
	for (int i = 0; i < 64; i++) numbers[i] = i * 7919 % 64;
	qsort(numbers, 64, sizeof(int), work_compare);
	work_deep(round % 200);
	work_many(1, 2, 3, 4, 5, 6, 7, round % 40);
	work_aligned(round);
}
static void *work_thread(void *unused)
{
	for (int i = 0; i < 6000; i++) work_round(i);
	return unused;
}
int main(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, work_thread, NULL);
	work_thread(NULL);
	pthread_join(thread, NULL);
	work_interrupted();
#ifdef LIBRARY
	void (*work)(int) = (void (*)(int))dlsym(dlopen(LIBRARY, RTLD_NOW), "work_library");
	for (int i = 0; i < 1000; i++) work(20000);
#endif
	return 0;
}
END
cat >program.cc <<'END'
#include <map>
#include <stdexcept>
#include <string>
#include <vector>
static volatile unsigned long sink;
struct Base { virtual ~Base() {} virtual int work_virtual(int n) = 0; };
/* gcc gives a function without calls a frame pointer only if it needs one */
__attribute__((noinline)) static void work_leaf(int n)
{
	volatile char *space = (volatile char *)__builtin_alloca(16 + n % 16);
	for (int i = 0; i < n; i++) sink += i;
	space[0] = 1;
}
struct Derived : Base {
	__attribute__((noinline)) int work_virtual(int n) override
	{
		std::string text(n % 50, 'x');
		work_leaf(2000);
		if (!n) throw std::runtime_error("end");
		int r = n % 2 ? work_virtual(n - 1) : Base_call(n - 1);
		return r + (int)text.size();
	}
	__attribute__((noinline)) int Base_call(int n) { Base *b = this; return b->work_virtual(n) + 1; }
};
template <typename F> __attribute__((noinline)) static void work_with(F f) { f(); sink++; }
int main()
{
	for (int i = 0; i < 6000; i++) {
		Derived d;
		work_with([&] {
			try { sink += d.work_virtual(i % 30); } catch (const std::exception &) { work_leaf(5000); }
			std::map<int, int> m;
			for (int k = 0; k < 50; k++) m[k * 7919 % 53] = k;
			work_leaf((int)m.size() * 50);
		});
	}
}
END

# Code that is not made by a compiler, and stacks that are not one: for x86-64.
cat >special.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
static volatile unsigned long sink;
__attribute__((noinline)) static void work_leaf(int n)
{
	volatile char *space = __builtin_alloca(16 + n % 16);
	for (int i = 0; i < n; i++) sink += i;
	space[0] = 1;
}
void work_nothing(void);
/* much time is in the stub of the PLT */
__attribute__((noinline)) static void work_plt(int n) { for (int i = 0; i < n; i++) work_nothing(); sink++; }
__attribute__((noinline)) static void work_calls(void) { work_plt(40000000); sink++; }

void work_bare(void (*)(int), int);
void work_register(void (*)(int), int);
/* work_bare has no rules; work_register has its frame at rbx, which work_expression saves by an expression */
__asm__(".text\n"
	".type work_bare, @function\n" "work_bare:\n"
	"	push %rbp\n" "	mov %rsp, %rbp\n" "	sub $48, %rsp\n" "	mov %rdi, %rax\n" "	mov %esi, %edi\n"
	"	call *%rax\n" "	leave\n" "	ret\n" ".size work_bare, . - work_bare\n"
	".type work_expression, @function\n" "work_expression:\n" "	.cfi_startproc\n"
	"	push %rbp\n" "	.cfi_def_cfa_offset 16\n" "	.cfi_offset 6, -16\n" "	mov %rsp, %rbp\n"
	"	push %rbx\n" "	push %r12\n" "	.cfi_escape 0x0f, 2, 0x76, 16\n" /* CFA: DW_OP_breg6 16 */
	"	.cfi_escape 0x10, 3, 2, 0x76, 0x78\n" "	.cfi_escape 0x10, 12, 2, 0x76, 0x70\n"
	"	mov %rdi, %rax\n" "	mov %esi, %edi\n" "	xor %ebx, %ebx\n" "	mov $1, %r12d\n" "	call *%rax\n"
	"	pop %r12\n" "	.cfi_same_value 12\n" "	pop %rbx\n" "	.cfi_same_value 3\n" "	pop %rbp\n" "	.cfi_same_value 6\n"
	"	.cfi_def_cfa 7, 8\n" "	ret\n" "	.cfi_endproc\n" ".size work_expression, . - work_expression\n"
	".type work_register, @function\n" "work_register:\n" "	.cfi_startproc\n"
	"	push %rbp\n" "	.cfi_def_cfa_offset 16\n" "	.cfi_offset 6, -16\n" "	mov %rsp, %rbp\n" "	.cfi_def_cfa_register 6\n"
	"	push %rbx\n" "	.cfi_offset 3, -24\n" "	sub $8, %rsp\n" "	lea 16(%rbp), %rbx\n" "	.cfi_def_cfa 3, 0\n"
	"	call work_expression\n" "	.cfi_def_cfa 6, 16\n" "	mov -8(%rbp), %rbx\n" "	leave\n" "	.cfi_def_cfa 7, 8\n" "	ret\n"
	"	.cfi_endproc\n" ".size work_register, . - work_register\n");
__attribute__((noinline)) static void work_rules(void)
{
	for (int i = 0; i < 100; i++) work_bare(work_leaf, 1000000);
	for (int i = 0; i < 100; i++) work_register(work_leaf, 1000000);
	sink++;
}
__attribute__((noinline)) static void work_generated(void)
{
	char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void (*copy)(void (*)(int), int) = (void (*)(void (*)(int), int))code;
	memcpy(code, (const void *)(unsigned long)work_bare, 64);
	for (int i = 0; i < 100; i++) copy(work_leaf, 1000000);
	sink++;
}

/* ---- signal stacks ---- */
enum { SIGNAL_STACK = 16384, THREAD_STACK = 16384 };
static char far_stack[SIGNAL_STACK], *near_stack;
static void work_handler_near(int number) { (void)number; work_leaf(1000000); sink++; }
static void work_handler_far(int number) { (void)number; work_leaf(1000000); sink += 2; }
__attribute__((noinline)) static void work_trapped_near(void) { work_leaf(1); __asm__ volatile("int3"); sink++; }
__attribute__((noinline)) static void work_trapped_far(void) { work_leaf(1); __asm__ volatile("int3"); sink += 2; }
static void handle(void (*handler)(int), char *stack)
{
	stack_t alternate = { .ss_sp = stack, .ss_size = SIGNAL_STACK };
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_ONSTACK };
	sigaltstack(&alternate, NULL);
	sigaction(SIGTRAP, &action, NULL);
}
static void *work_signals(void *unused)
{
	handle(work_handler_near, near_stack);
	for (int i = 0; i < 150; i++) work_trapped_near();
	handle(work_handler_far, far_stack);
	for (int i = 0; i < 15; i++) work_trapped_far();
	return unused;
}
/* The near stack is below the stack of the thread, so that both are in one copy: the kernel copies only pages that exist. */
static void run_signals(void)
{
	pthread_t thread;
	pthread_attr_t attributes;
	near_stack = mmap(NULL, SIGNAL_STACK + THREAD_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	pthread_attr_init(&attributes);
	pthread_attr_setstack(&attributes, near_stack + SIGNAL_STACK, THREAD_STACK);
	if (pthread_create(&thread, &attributes, work_signals, NULL)) exit(1);
	pthread_join(thread, NULL);
}
__attribute__((noinline)) static void work_clock(void)
{
	int (*read_clock)(clockid_t, struct timespec *) =
		(int (*)(clockid_t, struct timespec *))dlsym(dlopen("linux-vdso.so.1", RTLD_NOW | RTLD_NOLOAD), "__vdso_clock_gettime");
	struct timespec time;
	for (int i = 0; i < 5000000; i++) sink += read_clock(CLOCK_MONOTONIC_COARSE, &time);
}
int main(void)
{
	work_rules();
	work_generated();
	run_signals();
	work_clock();
	work_calls();
	return 0;
}
END

# A program whose rules are in the debug file only.
cat >debug.c <<'END'
static volatile unsigned long sink;
__attribute__((noinline)) static void work_leaf(int n) { for (int i = 0; i < n; i++) sink += i; }
__attribute__((noinline)) static int work_deep(int depth)
{
	volatile char space[40];
	space[depth % 40] = 1;
	if (!depth) { work_leaf(30000); return 1; }
	return work_deep(depth - 1) + space[depth % 40];
}
int main(void) { for (int i = 0; i < 5000; i++) sink += work_deep(i % 20); return 0; }
END
# A 32-bit program of x86, without a C library: a compiler for x86-64 may have none.
cat >narrow.c <<'END'
static volatile unsigned long sink;
__attribute__((noinline)) static void work_leaf(int n)
{
	volatile char *space = __builtin_alloca(16 + n % 16);
	for (int i = 0; i < n; i++) sink += i;
	space[0] = 1;
}
__attribute__((noinline)) static int work_deep(int depth)
{
	volatile char space[40];
	space[depth % 40] = 1;
	if (!depth) { work_leaf(3000); return 1; }
	int result = work_deep(depth - 1) + space[depth % 40];
	sink += result;
	return result;
}
__attribute__((noinline)) static long work_many(long a, long b, long c, long d, long e, long f, long g, long h)
{
	if (!h) return a;
	long r = work_many(b, c, d, e, f, g, a + h, h - 1);
	for (int i = 0; i < 200; i++) sink += r * a + b;
	return r + c * d + e * f + g;
}
/* its CFA is an expression that reads the stack */
__attribute__((noinline)) static void work_aligned(int n)
{
	volatile int space[8] __attribute__((aligned(64)));
	volatile char *more = __builtin_alloca(16 + n % 100);
	space[0] = n;
	more[0] = 1;
	work_leaf(2000);
	sink += space[0] + more[0];
}
__attribute__((noinline)) static void work_round(int round)
{
	work_deep(round % 100);
	work_many(1, 2, 3, 4, 5, 6, 7, round % 40);
	work_aligned(round);
}
__attribute__((force_align_arg_pointer)) void _start(void)
{
	for (int i = 0; i < 40000; i++) work_round(i);
	__asm__ volatile("int $0x80" : : "a"(1), "b"(0));
}
END
cat >program.rs <<'END'
use std::hint::black_box;
#[inline(never)]
fn work_leaf(n: u64) -> u64 { let mut sum = 0u64; for i in 0..n { sum = black_box(sum + i); } sum }
trait Work { fn work_method(&self, n: u64) -> u64; }
struct Deep;
impl Work for Deep {
    #[inline(never)]
    fn work_method(&self, n: u64) -> u64 { if n == 0 { panic!("end") } work_leaf(20000) + if n == 1 { 0 } else { self.work_method(n - 1) + 1 } }
}
#[inline(never)]
fn work_with<F: Fn(u64) -> u64>(f: F, n: u64) -> u64 { black_box(f(n)) + 1 }
fn main() {
    std::panic::set_hook(Box::new(|_| ()));
    let objects: Vec<Box<dyn Work>> = vec![Box::new(Deep)];
    for i in 0..2000u64 {
        let sum = work_with(|n| objects.iter().map(|o| o.work_method(1 + n % 20)).sum(), i);
        let text: Vec<String> = (0..20).map(|k| work_with(|n| n * k, sum).to_string()).collect();
        black_box(text.concat());
        if i % 100 == 0 { let _ = std::panic::catch_unwind(|| work_with(|n| Deep.work_method(n), 0)); }
    }
}
END

all_samples=0 all_other=0
compare() { # name, bytes of stack, program, names that the chains must have
	local name=$1 numbers samples equal entry signal short other
	shift
	numbers=$("$oracle" "$@" 2>log)
	case $? in
	77) echo "ok - $name # skip $(cat log)"; return ;;
	0) ;;
	*) report 1 "$name"; return ;;
	esac
	read -r samples equal entry signal short other <<<"$numbers"
	all_samples=$((all_samples + samples)) all_other=$((all_other + other))
	# 99 %, of all programs 99.9 %; the start and the end of functions are a small part of the time, but a larger one on a busy machine:
	# the loops that end by the clock then run less often
	[ $((samples >= 100 && other * 100 <= samples && (equal + signal) * 3 >= samples * 2)) -eq 1 ]
	report $? "$name: $equal of $samples equal, $entry at the start or end of a function, $signal in signal handlers, $short cut, $other different"
}

flags=(-fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -pthread)
for compiler in gcc clang; do
	command -v $compiler >/dev/null || continue
	$compiler -O2 "${flags[@]}" -fPIC -shared -o library.so library.c || exit 1
	for level in 0 1 2 3; do
		case $level in
		1) kind=(-static) ;;
		3) kind=(-no-pie -DLIBRARY="\"$work/library.so\"") ;;
		*) kind=(-pie -DLIBRARY="\"$work/library.so\"") ;;
		esac
		if $compiler -O$level "${flags[@]}" -fPIE "${kind[@]}" -o program program.c 2>log; then
			compare "$compiler -O$level ${kind[0]}" 32768 ./program
		else
			report 1 "build with $compiler -O$level: $(cat log)"
		fi
	done
done
for compiler in g++ clang++; do
	command -v $compiler >/dev/null || continue
	for level in 0 2; do
		if $compiler -O$level "${flags[@]}" -o program program.cc 2>log; then
			compare "$compiler -O$level" 16384 ./program
		else
			report 1 "build with $compiler -O$level: $(cat log)"
		fi
	done
done
# shellcheck disable=SC2086
for compiler in gcc clang; do
	command -v $compiler >/dev/null || continue
	if [ "$(uname -m)" != x86_64 ]; then
		echo "ok - $compiler: assembly and signal stacks # skip for x86-64 only"
	elif $compiler -O2 "${flags[@]}" -o program special.c "$work/library.so" 2>log; then
		compare "$compiler: assembly, generated code, signal stacks, vdso, PLT" 65528 ./program work_bare work_expression \
			work_register work_generated "/tmp/perf-" work_trapped_near work_trapped_far "[vdso]" work_nothing@plt
	else
		report 1 "build of special.c with $compiler: $(cat log)"
	fi
	if $compiler -O2 "${flags[@]}" -fPIE -static-pie -o program program.c 2>log; then
		compare "$compiler -O2 -static-pie" 32768 ./program
	else
		echo "ok - $compiler -static-pie # skip it cannot link one: $(tail -n 1 log)"
	fi
done
for compiler in gcc clang; do
	for level in 0 2; do
		if [ "$(uname -m)" != x86_64 ] || ! command -v $compiler >/dev/null; then
			echo "ok - $compiler -m32 # skip for $compiler on x86-64 only"
		elif ! "$PERCH_BUILD_ROOT/tests/host" 32-bit >log; then
			echo "ok - $compiler -m32 # skip the kernel executes no 32-bit programs: $(cat log)"
		elif ! $compiler -m32 -O$level "${flags[@]:0:2}" -ffreestanding -fno-stack-protector -fno-pic -fasynchronous-unwind-tables \
			-nostdlib -static -no-pie -o narrow narrow.c 2>log; then
			echo "ok - $compiler -m32 # skip it builds no 32-bit program: $(tail -n 1 log)"
		else
			compare "$compiler -m32 -O$level" 16384 ./narrow work_deep work_many work_aligned
		fi
	done
done
if command -v rustc >/dev/null && rustc -O -C force-frame-pointers=yes -o program program.rs 2>log; then
	compare "rustc -O" 32768 ./program work_method work_with
else
	echo "ok - rustc # skip no rustc that builds a program: $(tail -n 1 log)"
fi

if [ $all_samples -gt 0 ]; then
	[ $((all_other * 1000 <= all_samples)) -eq 1 ]
	report $? "all programs: $all_other of $all_samples different"
fi

numbers=$("$PERCH_BUILD_ROOT/tests/interop/same_rules" "$PERCH" "$oracle")
report $? "rules of perch and of this test, and those of libdw: $numbers"

# Names for the samples in work_leaf, and for those of them whose chain has main.
whole() { # name, recording
	local numbers
	"$PERCH" script --no-inline -i "$2" >script.txt 2>log
	numbers=$(awk -v RS= '/work_leaf/ { all++; whole += / main/ } END { print all + 0, whole + 0 }' script.txt)
	[ "${numbers% *}" -ge 100 ] && [ $((${numbers#* } * 200)) -ge $((${numbers% *} * 199)) ]
	report $? "$1: ${numbers#* } of ${numbers% *} chains have main"
}
for format in none zlib zstd; do
	if gcc -O2 -fomit-frame-pointer -fno-asynchronous-unwind-tables -fno-unwind-tables -g -o debug debug.c 2>log &&
		objcopy --only-keep-debug --compress-debug-sections=$format debug debug.debug 2>log &&
		objcopy --strip-all --add-gnu-debuglink=debug.debug debug stripped 2>log; then
		"$PERCH" record -q -e cpu-clock -F 4000 --call-graph dwarf,16384 -o debug.data ./stripped >log 2>&1
		whole "rules in a separate debug file, compression: $format" debug.data
	elif [ $format = zstd ] && grep -q zstd log; then
		echo "ok - rules compressed with zstd # skip objcopy cannot do that"
	else
		report 1 "build of debug.c: $(cat log)"
	fi
done

# The rules of a file without section headers, which its program headers find: the chains are those with sections.
if gcc -O2 -fomit-frame-pointer -Wl,--build-id -o debug debug.c 2>log && cp debug sectionless &&
	for at in 40 41 42 43 44 45 46 47 60 61 62 63; do # e_shoff, e_shnum and e_shstrndx
		printf '\0' | dd of=sectionless bs=1 seek=$at conv=notrunc status=none
	done &&
	"$PERCH" record -q -N -e cpu-clock:u -F 2000 --call-graph dwarf,16384 -o sectionless.data ./sectionless >log 2>&1; then
	"$PERCH" script -F ip -i sectionless.data >without.txt 2>log
	cp debug other && mv other sectionless
	"$PERCH" script -F ip -i sectionless.data >with.txt 2>log
	numbers=$(awk -v RS= -F '\n' '{ all++; deep += NF > 5 } END { print all + 0, deep + 0 }' without.txt)
	[ $((${numbers% *} >= 50 && ${numbers#* } * 100 >= ${numbers% *} * 90)) -eq 1 ] && cmp with.txt without.txt
	report $? "rules of a file without section headers: ${numbers#* } of ${numbers% *} chains"
else
	report 1 "recording of a file without section headers: $(cat log)"
fi

# A copy of 512 bytes has some of the 20 frames of debug.c: the chains are marked at their end, and only those.
marks() { # options of script
	"$PERCH" script "$@" -i short.data 2>log | grep -cE '^	ffffffffffffffff \[stack truncated\] \(\[unknown\]\)$'
}
if gcc -O2 -fomit-frame-pointer -o debug debug.c 2>log &&
	"$PERCH" record -q -e cpu-clock:u -F 2000 --call-graph dwarf,512 -o short.data ./debug >log 2>&1; then
	"$PERCH" script --no-inline -i short.data >script.txt 2>log
	numbers=$(awk -v RS= '/work_/ { all++; cut += /\[stack truncated\] \(\[unknown\]\)$/; whole += / _start\+/ }
		/ _start\+.*truncated|truncated.*\n/ { wrong++ } END { print all + 0, cut + 0, whole + 0, wrong + 0 }' script.txt)
	read -r all cut whole wrong <<<"$numbers"
	[ $((all >= 50 && cut > 0 && whole > 0 && (cut + whole) * 100 >= all * 98 && wrong == 0)) -eq 1 ]
	report $? "short copies: $all chains, $cut marked, $whole with _start, $wrong marked at a wrong place"
	cut=$(marks)
	other=$(marks -F comm,tid,ip,sym,dso,uregs)
	[ "$cut" -gt 0 ] && [ "$other" -eq "$cut" ]
	report $? "$cut marks, $other with other fields"
	json=$("$PERCH" script -j -i short.data 2>log | grep -c '"stack_truncated": *true')
	[ "$cut" -gt 0 ] && [ "$cut" -eq "$json" ]
	report $? "JSON has stack_truncated in $json samples, the text $cut marks"
	cut=$(marks --max-stack 1)
	[ "$cut" -eq 0 ]
	report $? "no mark after --max-stack 1"
	"$PERCH" report -q --no-children --no-inline -s comm -g folded,callee,0 -i short.data >folded.txt 2>log
	cut=$(grep -c ';\[stack truncated\]$' folded.txt)
	whole=$(grep -c '_start$' folded.txt)
	other=$(grep 'stack truncated' folded.txt | grep -vc ';\[stack truncated\]$')
	[ $((cut > 0 && whole > 0 && other == 0)) -eq 1 ]
	report $? "report: $cut chains end with the mark, $whole with _start, $other have it elsewhere"
	# as stackcollapse-perf.pl reads frames: an address, a name, a module
	other=$("$PERCH" script --no-inline -i short.data 2>log | grep "^	" | grep -vcE '^	 *[0-9a-f]+ .+ \(.*\)$')
	[ "$other" -eq 0 ]
	report $? "$other lines of frames have another format"
else
	report 1 "recording with a copy of 512 bytes: $(cat log)"
fi

# A signal handler returns to the instruction that the signal interrupted, here one that is executed again with another address. Its
# line, and not that of the inlined function before it, is the one of the caller.
cat >interrupted.c <<'END'
#define _GNU_SOURCE
#include <signal.h>
#include <time.h>
#include <ucontext.h>
static volatile unsigned long sink;
static void handler(int number, siginfo_t *info, void *context)
{
	(void)number, (void)info;
	for (int i = 0; i < 20000; i++) sink += i;
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RAX] = (long)&sink;
}
static inline __attribute__((always_inline)) void inlined_before(void) { asm volatile("nop"); }
__attribute__((noinline)) static void interrupted(void)
{
	unsigned long at = 0;
	inlined_before();
	asm volatile("mov (%%rax), %%rax" : "+a"(at));
	sink++;
}
int main(void)
{
	struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };
	struct timespec used = { 0 };
	sigaction(SIGSEGV, &action, NULL);
	while (used.tv_sec < 1) {
		for (int i = 0; i < 100; i++) interrupted();
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	}
	return 0;
}
END
line=$(grep -n 'mov (' interrupted.c | cut -d: -f1)
if [ "$(uname -m)" != x86_64 ]; then
	echo "ok - the line of interrupted code # skip for x86-64 only"
elif gcc -O2 -g -o interrupted interrupted.c 2>log &&
	"$PERCH" record -q -e cpu-clock:u -F 2000 --call-graph dwarf,4096 -o interrupted.data ./interrupted >log 2>&1; then
	# Only frames below that of the signal: a timer of a virtual machine may fire when the signal has returned, at any instruction of
	# the function itself.
	read -r right wrong <<<"$("$PERCH" script -i interrupted.data -F ip,sym,srcline 2>log |
		awk -v line="interrupted.c:$line" '/^$/ { below = 0 } / handler$/ { below = 1 } !below { next }
			/ interrupted$/ { getline; $1 == line ? right++ : wrong++ } / inlined_before$/ { wrong++ } END { print right + 0, wrong + 0 }')"
	[ $((right >= 50 && wrong == 0)) -eq 1 ]
	report $? "the line of interrupted code: $right right, $wrong wrong in perch script"
	"$PERCH" report -q --children -s sym,srcline -g none -p '^handler' -x -i interrupted.data >rows.txt 2>log
	awk -v line="interrupted.c:$line" '/ interrupted / { $1 + 0 >= 50 && $(NF - 1) == line ? right++ : wrong++ }
		/ inlined_before/ { wrong++ } END { exit !(right == 1 && !wrong) }' rows.txt
	report $? "... and in perch report"
	"$PERCH" script -j -i interrupted.data 2>log | grep '"handler"' >objects.txt
	[ "$(grep -c '"interrupted"' objects.txt)" -ge 50 ] && ! grep -q inlined_before objects.txt
	report $? "... and in JSON"
	"$PERCH" export --format folded -i interrupted.data 2>log | grep ';handler' >folded.txt
	awk '{ all += $NF } /;interrupted;/ { here += $NF } /inlined_before/ { wrong += $NF } END { exit !(here > all / 2 && !wrong) }' folded.txt
	report $? "... and in perch export"
else
	report 1 "recording of interrupted code: $(cat log)"
fi
exit $status
