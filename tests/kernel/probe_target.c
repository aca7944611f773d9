/* SPDX-License-Identifier: MIT */
/* A program with functions and a USDT probe, whose arguments probe_arguments.sh reads. */
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __aarch64__
#define SEVEN "-4@-7"
#else
#define SEVEN "-4@$-7"
#endif

/* The note of a probe, as sys/sdt.h writes it. */
#define PROBE(provider, name, arguments, ...)                               \
	__asm__ __volatile__("990: nop\n"                                   \
			     ".pushsection .note.stapsdt, \"\", \"note\"\n" \
			     ".balign 4\n"                                  \
			     ".4byte 992f - 991f, 994f - 993f, 3\n"         \
			     "991: .asciz \"stapsdt\"\n"                    \
			     "992: .balign 4\n"                             \
			     "993: .8byte 990b, 0, 0\n"                     \
			     ".asciz \"" provider "\"\n"                    \
			     ".asciz \"" name "\"\n"                        \
			     ".asciz \"" arguments "\"\n"                   \
			     "994: .balign 4\n"                             \
			     ".popsection\n" ::__VA_ARGS__)

struct item {
	int number;
	const char *name;
	struct item *next;
	unsigned low : 3, high : 5;
	short list[4];
};

extern int calls;
int calls = 7;
extern int table[2][3];
int table[2][3];

struct pair {
	long first, second, third;
};
struct pair make_pair(long first);

__attribute__((noinline)) struct pair make_pair(long first)
{
	return (struct pair){ first, 2, 3 };
}

/* Not static: compilers change the parameters of a static function. */
long work(int count, const char *name, struct item *item, signed char small, uint64_t large);

__attribute__((noinline)) long work(int count, const char *name, struct item *item,
				    signed char small, uint64_t large)
{
	int twice = 2 * count;

#if defined(__x86_64__) || defined(__aarch64__)
	PROBE("shop", "sold", "-4@%[count] 8@%[name] -4@%[number] " SEVEN, [count] "r"(count),
	      [name] "r"(name), [number] "m"(item->number));
#endif
	printf("work(%d, %s, %d, %d)\n", count, name, item->next->number, small);
	return twice + small + (long)large + 0 * calls;
}

/* For perch trace -u: recursive calls, and calls that longjmp(3) leaves. */
int fib(int n);
int outer(int n);
int inner(int n);
static jmp_buf before;

__attribute__((noinline)) int fib(int n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

__attribute__((noinline)) int inner(int n)
{
	if (n > 2)
		longjmp(before, 1);
	return n + calls;
}

__attribute__((noinline)) int outer(int n)
{
	return inner(n) + 1;
}

int main(void)
{
	struct item last = { 22, "last", NULL, 1, 2, { 0 } };
	struct item first = { 11, "first", &last, 5, 17, { 1, -2, 3, 4 } };

	for (int i = 0; i < 3; i++)
		if (work(i - 1, "name of a thing", &first, -3, 1ull << 40) == 0)
			return 1;
	if (fib(5) != 5)
		return 1;
	for (volatile int i = 0; i < 5; i++)
		if (!setjmp(before))
			outer(i);
	return 0;
}
