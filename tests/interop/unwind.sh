#!/bin/bash
# SPDX-License-Identifier: MIT
# Unwinds copies of user stacks of programs that have frame pointers, and compares with the call chains of the kernel in the
# same samples: C and C++, -O0 to -O3, static and PIE, with threads, signals, deep recursion, exceptions and dlopen(3).
. "$PERCH_SOURCE_ROOT/tests/interop/common.sh"
cd "$work" || exit 1
oracle=$PERCH_BUILD_ROOT/tests/interop/unwind_oracle

cat >library.c <<'END'
static volatile unsigned long sink;
__attribute__((noinline)) static void work_library_leaf(int n) { for (int i = 0; i < n; i++) sink += i; }
__attribute__((noinline)) void work_library(int n) { work_library_leaf(n); sink++; }
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
static void work_handler(int number) { (void)number; work_leaf(4000000); sink++; }
__attribute__((noinline)) static void work_interrupted(void)
{
	timer_t timer;
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	struct itimerspec times = { { 0, 15000000 }, { 0, 15000000 } }, stop = { 0 };
	signal(SIGUSR1, work_handler);
	timer_create(CLOCK_MONOTONIC, &event, &timer);
	timer_settime(timer, 0, &times, NULL);
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

compare() { # name, bytes of stack, program
	local numbers samples equal entry signal short other
	numbers=$("$oracle" "$2" "$3" 2>log)
	case $? in
	77) echo "ok - $1 # skip $(cat log)"; return ;;
	0) ;;
	*) report 1 "$1: $(cat log)"; return ;;
	esac
	read -r samples equal entry signal short other <<<"$numbers"
	# 99.5 %; the start and the end of functions are a small part of the time
	[ $((samples >= 100 && other * 200 <= samples && (equal + signal) * 4 >= samples * 3)) -eq 1 ]
	report $? "$1: $equal of $samples equal, $entry at the start or end of a function, $signal in signal handlers, $short cut, $other different"
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
exit $status
