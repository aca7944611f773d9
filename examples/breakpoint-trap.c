/* SPDX-License-Identifier: MIT */
/* Watches a variable of this program: each write to it raises SIGTRAP, and the handler records
 * where it was. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <ucontext.h>
#include <perch/count.h>
#include <perch/machine.h>

enum { MAX_TRAPS = 16 };

static volatile long balance;

static struct trap {
	uintptr_t at;		       /* the instruction after the write */
	const volatile long *variable; /* sig_data of the event */
	long value;
} traps[MAX_TRAPS];
static volatile sig_atomic_t nr_traps;

__attribute__((noinline)) static void deposit(long amount)
{
	balance += amount;
}

__attribute__((noinline)) static void withdraw(long amount)
{
	balance -= amount;
}

static const struct writer {
	const char *name;
	void (*function)(long);
} writers[] = { { "deposit", deposit }, { "withdraw", withdraw } };

static uintptr_t where(const ucontext_t *context)
{
#if defined(__x86_64__)
	return context->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
	return context->uc_mcontext.pc;
#else
	return (void)context, 0;
#endif
}

static void trapped(int signal, siginfo_t *info, void *context)
{
	const volatile long *variable;
	struct perch_sigtrap sigtrap;

	(void)signal;
	if (!perch_siginfo_get_sigtrap(info, &sigtrap))
		return;
	variable = (const volatile long *)(uintptr_t)sigtrap.data;
	if (nr_traps < MAX_TRAPS)
		traps[nr_traps++] = (struct trap){ where(context), variable, *variable };
}

/* The name of the function that has the address. */
static const char *writer_at(uintptr_t at)
{
	const struct writer *found = NULL;

	for (size_t i = 0; i < sizeof(writers) / sizeof(*writers); i++) {
		uintptr_t begin = (uintptr_t)writers[i].function;

		if (begin <= at && (!found || begin > (uintptr_t)found->function))
			found = &writers[i];
	}
	return found ? found->name : "unknown";
}

int main(void)
{
	const struct sigaction action = { .sa_sigaction = trapped, .sa_flags = SA_SIGINFO };
	const struct perch_options options = {
		.period = 1, /* each write */
		.sigtrap = 1,
		/* sigtrap needs it: a new program does not have the handler */
		.remove_on_exec = 1,
		.sig_data = (uintptr_t)&balance,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	struct perch_counter *writes;
	struct perch_count count;
	struct perch_error err;
	char event[64];

	if (!perch_machine_breakpoints_fire(NULL, NULL))
		return fprintf(stderr, "breakpoints can be opened here and never fire\n"), 77;
	if (sigaction(SIGTRAP, &action, NULL) < 0)
		return perror("cannot set a handler for SIGTRAP"), 1;
	snprintf(event, sizeof(event), "mem:%p/%zu:w", (void *)&balance, sizeof(balance));
	if (perch_counter_open(&writes, event, &perch_self, &options, &err) < 0)
		return perch_error_print(stderr, &err), 1; /* what failed, why, and a remedy */

	perch_counter_enable(writes, NULL);
	deposit(100);
	withdraw(30);
	deposit(5);
	perch_counter_disable(writes, NULL);
	balance = 0; /* not watched any more */

	if (perch_counter_read(writes, &count, &err) < 0)
		return perch_error_print(stderr, &err), 1;
	for (int i = 0; i < nr_traps; i++)
		printf("%s() wrote: the balance is %ld\n", writer_at(traps[i].at), traps[i].value);
	printf("%llu writes, %d traps\n", (unsigned long long)count.value, (int)nr_traps);
	perch_counter_close(writes);
	return count.value == 3 && nr_traps == 3 && traps[2].variable == &balance &&
			       traps[2].value == 75
		       ? 0
		       : 1;
}
