/* SPDX-License-Identifier: MIT */
/*
 * Finds the code that writes to a variable of this program: samples a data breakpoint, and prints
 * the function and the file offset of each instruction that wrote. breakpoint-trap.c stops at each
 * write instead.
 */
#include <stdio.h>
#include <perch/machine.h>
#include <perch/process.h>
#include <perch/sampler.h>
#include <perch/symbol.h>

static volatile long balance;

__attribute__((noinline)) static void deposit(long amount)
{
	balance += amount;
}

__attribute__((noinline)) static void withdraw(long amount)
{
	balance -= amount;
}

/*
 * The address of a byte of the instruction that wrote. On x86 the CPU reports a data breakpoint
 * after the instruction: the ip of the sample is that of the next one. The byte before it belongs
 * to the write, unless the write is a call, which pushes the return address, or another jump. arm64
 * reports the breakpoint before the instruction, with its own address.
 */
static uint64_t writing_address(uint64_t ip)
{
#if defined(__x86_64__) || defined(__i386__)
	return ip - 1;
#else
	return ip;
#endif
}

int main(int argc, char **argv)
{
	const struct perch_sampler_options options = {
		.event = { .period = 1, /* each write */
			   .may = PERCH_MAY_EXCLUDE_KERNEL,
			   .sample = PERCH_SAMPLE_IP | PERCH_SAMPLE_TID | PERCH_SAMPLE_ADDR },
	};
	struct perch_sampler *writes = NULL;
	struct perch_processes *processes = NULL;
	struct perch_symbols *symbols = NULL;
	struct perch_record record;
	struct perch_error err;
	char event[64];
	int nr = 0;

	if (!perch_machine_breakpoints_fire(NULL, NULL))
		return fprintf(stderr, "breakpoints can be opened here and never fire\n"), 77;
	snprintf(event, sizeof(event), "mem:%p/%zu:w", (void *)&balance, sizeof(balance));
	if (perch_sampler_open(&writes, event, NULL, &options, &err) < 0 ||
	    perch_processes_new(&processes, &err) < 0 ||
	    perch_processes_add_running(processes, 0, NULL, &err) < 0 ||
	    perch_symbols_new(&symbols, NULL, &err) < 0 || perch_sampler_enable(writes, &err) < 0)
		return perch_error_print(stderr, &err), 1;
	(void)argv;
	deposit(100 * argc); /* argc: the compiler must not specialize the functions */
	withdraw(30 * argc);
	deposit(5 * argc);
	perch_sampler_disable(writes, NULL);

	while (perch_sampler_next(writes, &record, NULL) > 0) {
		const struct perch_symbol *function;
		struct perch_location location;
		struct perch_thread *thread;

		if (record.type != PERCH_RECORD_SAMPLE)
			continue;
		thread = perch_processes_thread(processes, record.sample.pid, record.sample.tid);
		if (!thread)
			return fprintf(stderr, "no memory\n"), 1;
		perch_processes_resolve(processes, thread, PERCH_MISC_USER,
					writing_address(record.sample.ip), &location);
		function = perch_symbols_find(symbols, location.dso, location.offset);
		printf("%s wrote to 0x%llx at offset 0x%llx of %s\n",
		       function ? perch_symbols_name(symbols, function) : "unknown code",
		       (unsigned long long)record.sample.addr, (unsigned long long)location.offset,
		       perch_symbols_dso_name(symbols, location.dso));
		nr++;
	}
	perch_sampler_close(writes);
	perch_symbols_free(symbols);
	perch_processes_free(processes);
	return nr == 3 ? 0 : 1;
}
