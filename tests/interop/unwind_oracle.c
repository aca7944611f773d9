/* SPDX-License-Identifier: MIT */
/*
 * Runs a program that has frame pointers, and samples it with user call chains, registers and
 * copies of the stack. The kernel follows the frame pointers, so each sample has what unwinding
 * must give. Prints "samples equal entry signal short other" for unwind.sh:
 *
 *	unwind_oracle STACK PROGRAM [NAME...]
 *
 * Only samples in functions whose name has "work" and in the vdso are compared, up to the outermost
 * such function: the C library has no frame pointers. Each NAME is part of a function's name or of
 * a DSO's path that must be in a chain; the others are printed to stderr, and the exit status is 4.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <perch/sampler.h>
#include <perch/unwind.h>

enum { MAX = 1024, MAX_NAMES = 16 };

struct oracle {
	struct perch_processes *processes;
	struct perch_symbols *symbols;
	struct perch_unwinder *unwinder;
	struct perch_thread *thread;
	uint64_t expected[MAX], found[MAX];
	size_t nr_expected, nr_found;
	unsigned samples, equal, entry, signal, too_short, other, lost;
	char **name; /* that must be in a chain */
	size_t nr_names;
	bool found_name[MAX_NAMES];
};

static const struct perch_symbol *find_symbol(struct oracle *oracle, uint64_t ip,
					      struct perch_location *location)
{
	perch_processes_resolve(oracle->processes, oracle->thread, PERCH_MISC_USER, ip, location);
	return perch_symbols_find(oracle->symbols, location->dso, location->offset);
}

static bool is_work(struct oracle *oracle, uint64_t ip)
{
	struct perch_location location;
	const struct perch_symbol *symbol = find_symbol(oracle, ip, &location);

	return location.dso->kind == PERCH_DSO_VDSO || (symbol && strstr(symbol->name, "work"));
}

/* Marks the names that the unwound chain has. */
static void find_names(struct oracle *oracle)
{
	for (size_t i = 0; oracle->nr_names && i < oracle->nr_found; i++) {
		struct perch_location location;
		const struct perch_symbol *symbol =
			find_symbol(oracle, oracle->found[i], &location);

		for (size_t k = 0; k < oracle->nr_names; k++)
			oracle->found_name[k] |= strstr(location.dso->path, oracle->name[k]) ||
						 (symbol && strstr(symbol->name, oracle->name[k]));
	}
}

/* Returns how many names are missing, and prints them. */
static size_t missing_names(const struct oracle *oracle)
{
	size_t nr = 0;

	for (size_t i = 0; i < oracle->nr_names; i++) {
		if (oracle->found_name[i])
			continue;
		fprintf(stderr, "no chain has %s\n", oracle->name[i]);
		nr++;
	}
	return nr;
}

/* The user part of the kernel's chain, up to the outermost function that is compared. */
static void read_expected(struct oracle *oracle, const struct perch_record *record)
{
	struct perch_chain_address address;
	struct perch_chain chain;
	size_t last = 0;

	oracle->nr_expected = 0;
	perch_chain_init(&chain, record);
	while (oracle->nr_expected < MAX && perch_chain_next(&chain, &address)) {
		if (address.cpumode != PERCH_MISC_USER)
			continue;
		oracle->expected[oracle->nr_expected++] = address.ip;
		if (is_work(oracle, address.ip - (oracle->nr_expected > 1)))
			last = oracle->nr_expected;
	}
	oracle->nr_expected = last;
}

/* Unwinding stores return addresses minus 1. */
static bool same(uint64_t expected, uint64_t found)
{
	return expected == found || expected == found + 1;
}

/* Returns how many of the frames that unwinding found the kernel's chain lacks; 0 if more than 2.
 */
static size_t missing_at(const struct oracle *oracle, size_t expected, size_t found)
{
	for (size_t nr = 1; nr <= 1 + (expected > 1); nr++)
		if (found + nr < oracle->nr_found &&
		    same(oracle->expected[expected], oracle->found[found + nr]))
			return nr;
	return 0;
}

/*
 * Compares a sample. In the first and the last instructions of a function the frame pointer is that
 * of the caller, and the kernel's chain lacks the caller. It also lacks a function that a signal
 * interrupted, and the caller of that function if this was in such instructions.
 */
static void compare(struct oracle *oracle, struct perch_unwind_result *result)
{
	size_t at = 0, missing, skipped_entry = 0, skipped_signal = 0;

	for (size_t i = 0; i < oracle->nr_expected; i++, at++) {
		if (at < oracle->nr_found && same(oracle->expected[i], oracle->found[at]))
			continue;
		missing = missing_at(oracle, i, at);
		if (missing) {
			skipped_entry += i == 1;
			skipped_signal += i > 1;
			at += missing;
			continue;
		}
		/* the last function may be one that a signal interrupted on another stack */
		if (at + (i > 2) >= oracle->nr_found && result->end == PERCH_UNWIND_TRUNCATED) {
			find_names(oracle);
			oracle->too_short++;
			return;
		}
		oracle->other++;
		if (getenv("ORACLE_VERBOSE")) {
			fprintf(stderr, "end %d:", (int)result->end);
			for (size_t k = 0; k < oracle->nr_expected; k++)
				fprintf(stderr, " %" PRIx64, oracle->expected[k]);
			fputs("\n  found", stderr);
			for (size_t k = 0; k < oracle->nr_found; k++)
				fprintf(stderr, " %" PRIx64, oracle->found[k]);
			fputs("\n", stderr);
		}
		return;
	}
	find_names(oracle);
	/* there is at most one signal handler */
	if (skipped_entry > 1 || skipped_signal > 1)
		oracle->other++;
	else if (skipped_signal)
		oracle->signal++;
	else if (skipped_entry)
		oracle->entry++;
	else
		oracle->equal++;
}

static void take_sample(struct oracle *oracle, const struct perch_record *record)
{
	struct perch_unwind_result result;

	oracle->thread =
		perch_processes_thread(oracle->processes, record->sample.pid, record->sample.tid);
	if ((record->misc & PERCH_MISC_CPUMODE_MASK) != PERCH_MISC_USER || !oracle->thread ||
	    !is_work(oracle, record->sample.ip))
		return;
	read_expected(oracle, record);
	if (oracle->nr_expected < 2)
		return;
	if (perch_unwind(oracle->unwinder, oracle->thread, record, oracle->found, MAX, &result))
		exit(2);
	oracle->nr_found = result.nr;
	oracle->samples++;
	compare(oracle, &result);
}

static void take_records(struct oracle *oracle, struct perch_sampler *sampler, bool all)
{
	struct perch_record record;

	while (perch_sampler_next_ordered(sampler, all, &record, NULL) > 0) {
		if (record.type == PERCH_RECORD_LOST)
			oracle->lost += (unsigned)record.lost.lost;
		if (perch_processes_apply(oracle->processes, &record))
			exit(2);
		if (record.type == PERCH_RECORD_SAMPLE)
			take_sample(oracle, &record);
	}
}

/* Starts a child that waits for a byte before it executes the program. */
static pid_t start(char **argv, int *go)
{
	int pipe_fds[2];
	pid_t child;
	char byte;

	if (pipe(pipe_fds))
		exit(2);
	child = fork();
	*go = pipe_fds[1];
	if (child)
		return child;
	close(pipe_fds[1]);
	if (read(pipe_fds[0], &byte, 1) == 1)
		execvp(argv[0], argv);
	_exit(127);
}

int main(int argc, char **argv)
{
	const uint64_t registers = perch_unwind_registers(perch_arch_here());
	const struct perch_sampler_options options = {
		.event = { .frequency = 4000,
			   .sample = PERCH_SAMPLE_IP | PERCH_SAMPLE_TID | PERCH_SAMPLE_TIME |
				     PERCH_SAMPLE_CALLCHAIN | PERCH_SAMPLE_REGS_USER |
				     PERCH_SAMPLE_STACK_USER,
			   .sample_regs_user = registers,
			   .sample_stack_user = argc > 1 ? (uint32_t)atoi(argv[1]) : 0,
			   .sideband = PERCH_SIDEBAND_MMAP | PERCH_SIDEBAND_COMM |
				       PERCH_SIDEBAND_TASK,
			   .inherit = 1,
			   .may = PERCH_MAY_EXCLUDE_KERNEL },
		.ring_pages = 4096,
	};
	struct perch_targets targets = { 0 };
	struct oracle oracle = { 0 };
	struct perch_sampler *sampler;
	struct perch_error err;
	int go, status;
	pid_t child;

	if (argc < 3 || argc > 3 + MAX_NAMES || !registers)
		return fputs("skipped: no registers to unwind with\n", stderr), 77;
	oracle.name = argv + 3;
	oracle.nr_names = (size_t)argc - 3;
	child = start(argv + 2, &go);
	if (perch_targets_add_process(&targets, child, NULL, &err) < 0 ||
	    perch_sampler_open(&sampler, "cpu-clock", &targets, &options, &err) < 0 ||
	    perch_processes_new(&oracle.processes, &err) ||
	    perch_symbols_new(&oracle.symbols, NULL, &err) ||
	    perch_unwinder_new(&oracle.unwinder, perch_arch_here(), oracle.processes,
			       oracle.symbols, &err) ||
	    perch_sampler_enable(sampler, &err) < 0 || write(go, "", 1) != 1)
		return perch_error_print(stderr, &err), 2;
	while (perch_sampler_wait(sampler, 100, NULL) >= 0)
		take_records(&oracle, sampler, false);
	take_records(&oracle, sampler, true);
	waitpid(child, &status, 0);
	printf("%u %u %u %u %u %u\n", oracle.samples, oracle.equal, oracle.entry, oracle.signal,
	       oracle.too_short, oracle.other);
	status = status ? 3 : missing_names(&oracle) ? 4 : 0;
	if (oracle.lost)
		fprintf(stderr, "%u records were lost\n", oracle.lost);
	perch_sampler_close(sampler);
	perch_unwinder_free(oracle.unwinder);
	perch_symbols_free(oracle.symbols);
	perch_processes_free(oracle.processes);
	perch_targets_clear(&targets);
	return status;
}
