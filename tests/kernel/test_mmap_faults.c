/* SPDX-License-Identifier: MIT */
/*
 * Generated faults of mmap(2) on the real kernel: a mapping of a ring that would succeed is broken
 * in one or two ways, as root and as an ordinary user. The first one in the order of the kernel's
 * checks must be the certain cause, and the second one must follow if it does not depend on the
 * errno.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <perch/explain.h>
#include "sanitized.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif
#ifndef SYS_mseal
#define SYS_mseal 462
#endif

#define RW	      (PROT_READ | PROT_WRITE)
#define NR(array)     (sizeof(array) / sizeof((array)[0]))
#define ORDINARY_USER 64534 /* who has no other ring */
#define ROUNDS	      400

static size_t page;
static struct perch_attr attr = { .type = PERCH_TYPE_SOFTWARE,
				  .size = sizeof(attr),
				  .config = PERCH_COUNT_SW_DUMMY,
				  .exclude_kernel = 1,
				  .exclude_hv = 1 };

/* The arguments of a mapping, and places in this process that faults use. */
struct call {
	struct perch_operation op;
	char *used, *ring, *sealed; /* 8 pages each */
	uint64_t min_address;	    /* vm.mmap_min_addr */
	bool can_map_low;	    /* has CAP_SYS_RAWIO */
	unsigned random;
};

static unsigned random_below(struct call *call, unsigned limit)
{
	call->random = call->random * 1103515245 + 12345;
	return (call->random >> 8) % limit;
}

static bool file_has(const char *path, const char *word)
{
	char text[8192];

	return perch_machine_read(NULL, path, text, sizeof(text)) > 0 && strstr(text, word);
}

/* ---- Faults: each returns false if this process or kernel accepts it ---- */

static void fix(struct call *call, uint64_t address)
{
	call->op.address = address;
	call->op.map_flags |= MAP_FIXED;
}

static bool odd_offset(struct call *call)
{
	call->op.offset += 1 + random_below(call, page - 1);
	return true;
}

static bool huge_pages(struct call *call)
{
	call->op.map_flags |= MAP_HUGETLB;
	return true;
}

static bool no_length(struct call *call)
{
	call->op.length = 0;
	return true;
}

static bool negative_length(struct call *call)
{
	call->op.length = -(uint64_t)(1 + random_below(call, page - 1));
	return true;
}

static bool above_user_space(struct call *call)
{
	static const uint64_t first[] = { UINT64_C(1) << 56, UINT64_C(1) << 63,
					  -(UINT64_C(1) << 20) };

	fix(call, first[random_below(call, NR(first))] + page * random_below(call, 9));
	return sizeof(long) == 8;
}

static bool end_of_user_space(struct call *call)
{
	fix(call, (UINT64_C(1) << 47) - page * (1 + random_below(call, 3)));
#if defined(__x86_64__)
	return !file_has("/proc/cpuinfo", " la57");
#else
	return false;
#endif
}

static bool too_long(struct call *call)
{
	call->op.length = (UINT64_C(1) << 56) + page * random_below(call, 99);
	return sizeof(long) == 8;
}

static bool odd_address(struct call *call)
{
	fix(call, (uintptr_t)call->used + 1 + random_below(call, page - 1));
	if (random_below(call, 2))
		call->op.map_flags |= MAP_FIXED_NOREPLACE;
	return true;
}

static bool low_address(struct call *call)
{
	fix(call, 0);
	if (call->min_address > page)
		call->op.address = page * random_below(call, call->min_address / page);
	return call->min_address && !call->can_map_low;
}

static bool address_in_use(struct call *call)
{
	call->op.address = (uintptr_t)call->used + page * random_below(call, 8);
	call->op.map_flags |= MAP_FIXED_NOREPLACE;
	return true;
}

static bool beyond_offsets(struct call *call)
{
	call->op.offset = -(uint64_t)page;
	return sizeof(long) == 8;
}

static bool validated_flags(struct call *call)
{
	call->op.map_flags &= ~MAP_TYPE;
	call->op.map_flags |= MAP_SHARED_VALIDATE | 1 << (24 + random_below(call, 2));
	return true;
}

static bool no_type(struct call *call)
{
	static const int types[] = { 0, 4, 8, 9 };

	call->op.map_flags &= ~MAP_TYPE;
	call->op.map_flags |= types[random_below(call, NR(types))];
	return true;
}

static bool executable(struct call *call)
{
	static int is_refused = -1;
	int fd;
	void *ring;

	call->op.protection |= PROT_EXEC;
	if (is_refused < 0) {
		fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
		ring = mmap(NULL, 2 * page, RW | PROT_EXEC, MAP_SHARED, fd, 0);
		is_refused = ring == MAP_FAILED;
		if (!is_refused)
			munmap(ring, 2 * page);
		close(fd);
	}
	return is_refused;
}

static bool growing(struct call *call)
{
	call->op.map_flags |= MAP_GROWSDOWN;
	return true;
}

static bool sealed_address(struct call *call)
{
	fix(call, (uintptr_t)call->sealed + page * random_below(call, 4));
	return !syscall(SYS_mseal, call->sealed, 8 * page, 0);
}

/* Stable releases of older kernels refuse it with other errnos, or it is not certain there. */
static bool part_of_ring(struct call *call)
{
	struct perch_release release;

	fix(call, (uintptr_t)call->ring + page * (1 + random_below(call, 3)));
	return !perch_machine_release(NULL, &release, NULL) &&
	       release.major * 100 + release.minor >= 617;
}

static bool private_too_large(struct call *call)
{
	call->op.map_flags = (call->op.map_flags & ~MAP_TYPE) | MAP_PRIVATE;
	call->op.length = UINT64_C(1) << 42;
	return sizeof(long) == 8 && file_has("/proc/sys/vm/overcommit_memory", "0");
}

static bool private_copy(struct call *call)
{
	call->op.map_flags = (call->op.map_flags & ~MAP_TYPE) | MAP_PRIVATE;
	return true;
}

static bool odd_pages(struct call *call)
{
	call->op.length = (4 + random_below(call, 2) * 4) * page - random_below(call, page);
	return true;
}

/* Arguments that a fault changes, or that it depends on. */
enum argument { ADDRESS = 1, LENGTH = 2, OFFSET = 4, TYPE = 8, PROTECTION = 16, FLAG = 32 };

/* In the order of the kernel's checks. Two faults are combined if they touch no common argument. */
static const struct fault {
	const char *name;
	bool (*apply)(struct call *call);
	unsigned arguments;
	int errnum;
	enum perch_cause cause;
	bool needs_errno; /* the errno is part of the proof: it is no follow-up */
} faults[] = {
	{ "odd offset", odd_offset, OFFSET, EINVAL, PERCH_CAUSE_MMAP_OFFSET, false },
	{ "huge pages", huge_pages, FLAG, EINVAL, PERCH_CAUSE_MMAP_FLAGS, false },
	{ "no length", no_length, LENGTH, EINVAL, PERCH_CAUSE_MMAP_LENGTH, false },
	{ "negative length", negative_length, LENGTH, ENOMEM, PERCH_CAUSE_MMAP_ADDRESS_SPACE,
	  false },
	{ "above user space", above_user_space, ADDRESS, ENOMEM, PERCH_CAUSE_MMAP_ADDRESS, false },
	{ "end of user space", end_of_user_space, ADDRESS | LENGTH, ENOMEM,
	  PERCH_CAUSE_MMAP_ADDRESS, false },
	{ "too long", too_long, LENGTH | ADDRESS, ENOMEM, PERCH_CAUSE_MMAP_ADDRESS_SPACE, false },
	{ "odd address", odd_address, ADDRESS, EINVAL, PERCH_CAUSE_MMAP_ADDRESS, false },
	{ "low address", low_address, ADDRESS, EPERM, PERCH_CAUSE_MMAP_MIN_ADDRESS, false },
	{ "address in use", address_in_use, ADDRESS, EEXIST, PERCH_CAUSE_MMAP_IN_USE, true },
	{ "beyond offsets", beyond_offsets, OFFSET, EOVERFLOW, PERCH_CAUSE_MMAP_OFFSET, false },
	{ "validated flags", validated_flags, TYPE, EOPNOTSUPP, PERCH_CAUSE_MMAP_FLAGS, false },
	{ "no type", no_type, TYPE, EINVAL, PERCH_CAUSE_MMAP_PRIVATE, false },
	{ "executable", executable, PROTECTION, EPERM, PERCH_CAUSE_MMAP_EXEC, false },
	{ "growing", growing, FLAG, EINVAL, PERCH_CAUSE_MMAP_FLAGS, false },
	{ "sealed address", sealed_address, ADDRESS, EPERM, PERCH_CAUSE_MMAP_IN_USE, true },
	{ "part of a ring", part_of_ring, ADDRESS, EINVAL, PERCH_CAUSE_MMAP_IN_USE, true },
	{ "private, too large", private_too_large, TYPE | LENGTH | ADDRESS, ENOMEM,
	  PERCH_CAUSE_MMAP_PRIVATE, true },
	{ "private", private_copy, TYPE, EINVAL, PERCH_CAUSE_MMAP_PRIVATE, false },
	{ "odd pages", odd_pages, LENGTH | OFFSET, EINVAL, PERCH_CAUSE_MMAP_LENGTH, false },
};

/* ---- One case ---- */

static void init_call(struct call *call, unsigned seed)
{
	char min[32];
	struct perch_machine *machine;
	uint64_t capabilities = 0;
	int fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);

	*call = (struct call){ .random = seed,
			       .op = { .kind = PERCH_OPERATION_MMAP,
				       .attr = &attr,
				       .cpu = -1,
				       .group_size = 1,
				       .length = (1 + (1u << seed % 4)) * page,
				       .protection = RW,
				       .map_flags = MAP_SHARED,
				       .address_known = true,
				       .other_fd = -1 } };
	if (perch_machine_read(NULL, "/proc/sys/vm/mmap_min_addr", min, sizeof(min)) > 0)
		call->min_address = strtoull(min, NULL, 10);
	if (!perch_machine_new(&machine, NULL, NULL, NULL) &&
	    !perch_machine_capabilities(machine, &capabilities, NULL))
		call->can_map_low = capabilities >> 17 & 1;
	perch_machine_free(machine);
	call->used = mmap(NULL, 8 * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	call->sealed = mmap(NULL, 8 * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	call->ring = mmap(NULL, 9 * page, RW, MAP_SHARED, fd, 0);
	if (fd < 0 || call->used == MAP_FAILED || call->sealed == MAP_FAILED ||
	    call->ring == MAP_FAILED)
		_exit(77);
}

static bool has_next(const struct perch_explanation *explanation, enum perch_cause cause)
{
	for (size_t i = 0; i < explanation->nr_next; i++)
		if (explanation->next[i].cause == cause)
			return true;
	return false;
}

/* Makes the call, which must be refused. 0 if the first fault is its certain cause. */
static int refuse(struct call *call, const struct fault *first, const struct fault *second)
{
	struct perch_operation *op = &call->op;
	struct perch_explanation explanation;
	const struct perch_finding *finding = &explanation.finding[0];
	int fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	long got = syscall(SYS_mmap, op->address, op->length, op->protection, op->map_flags, fd,
			   op->offset);

	op->errnum = errno;
	if (got != -1 || op->errnum != first->errnum) {
		fprintf(stderr, "%s, %s: mmap gave %#lx, %s\n", first->name,
			second ? second->name : "", got, strerror(op->errnum));
		return 1;
	}
	if (perch_explain_operation(op, NULL, &explanation))
		return 2;
	if (finding->cause != first->cause || explanation.confidence != PERCH_CONFIDENCE_CERTAIN ||
	    !finding->remedy[0]) {
		fprintf(stderr, "%s, %s: %s, %s: %s\n", first->name, second ? second->name : "",
			perch_cause_slug(finding->cause),
			perch_confidence_name(explanation.confidence), finding->message);
		return 3;
	}
	/* a fault in a field of the first one is left out */
	if (second && !second->needs_errno && strcmp(finding->field[0], "flags") &&
	    !has_next(&explanation, second->cause)) {
		fprintf(stderr, "%s: %s is not what fails next\n", finding->message, second->name);
		return 4;
	}
	close(fd);
	return 0;
}

/* 77: this kernel or process accepts the fault */
static int generate(unsigned seed)
{
	const struct fault *first = &faults[seed % NR(faults)], *second = NULL;
	struct call call;

	init_call(&call, seed);
	if (!first->apply(&call))
		return 77;
	if (random_below(&call, 2)) {
		second = &faults[random_below(&call, NR(faults))];
		if (second->arguments & first->arguments || second <= first)
			second = NULL;
		else if (!second->apply(&call))
			return 77;
	}
	return refuse(&call, first, second);
}

static int in_child(int (*run)(unsigned), unsigned seed, bool as_user)
{
	int status;
	pid_t child = fork();

	if (!child) {
		if (as_user && (setgid(ORDINARY_USER) || setuid(ORDINARY_USER)))
			_exit(77);
		prctl(PR_SET_DUMPABLE, 1); /* its own files in /proc stay readable */
		_exit(run(seed));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void run_generated(bool as_user)
{
	unsigned wrong = 0, accepted = 0;

	for (unsigned seed = 0; seed < ROUNDS; seed++) {
		int rc = in_child(generate, seed, as_user);

		accepted += rc == 77;
		wrong += rc && rc != 77;
	}
	print_message("%u faults, %u wrong, %u that this kernel accepts\n", ROUNDS, wrong,
		      accepted);
	assert_int_equal(wrong, 0);
	assert_true(accepted < ROUNDS / 2);
}

static void faults_are_explained(void **state)
{
	(void)state;
	run_generated(false);
}

static void faults_of_an_ordinary_user_are_explained(void **state)
{
	(void)state;
	if (getuid())
		skip();
	run_generated(true);
}

/* ---- The state of the process refuses a correct mapping ---- */

static int expect(struct call *call, int errnum, enum perch_cause cause)
{
	const struct fault fault = { .name = perch_cause_slug(cause),
				     .errnum = errnum,
				     .cause = cause };

	return refuse(call, &fault, NULL);
}

static void limit(int resource, uint64_t bytes)
{
	struct rlimit limit = { bytes, bytes };

	if (setrlimit(resource, &limit))
		_exit(77);
}

static int limited_address_space(unsigned seed)
{
	struct call call;

	init_call(&call, seed);
	limit(RLIMIT_AS, 1 << 20);
	return expect(&call, ENOMEM, PERCH_CAUSE_MMAP_ADDRESS_SPACE);
}

static int limited_data(unsigned seed)
{
	struct call call;

	init_call(&call, seed);
	limit(RLIMIT_DATA, 1 << 10);
	call.op.map_flags = MAP_PRIVATE;
	return expect(&call, ENOMEM, PERCH_CAUSE_MMAP_PRIVATE);
}

static int too_many_mappings(unsigned seed)
{
	struct call call;
	int protection = PROT_NONE;

	init_call(&call, seed);
	for (unsigned i = 0; i < 1 << 20; i++, protection ^= PROT_READ)
		if (mmap(NULL, page, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
			return expect(&call, ENOMEM, PERCH_CAUSE_MMAP_ADDRESS_SPACE);
	return 77;
}

static int no_locked_memory(unsigned seed)
{
	struct call call;

	init_call(&call, seed);
	limit(RLIMIT_MEMLOCK, 0);
	call.op.map_flags |= MAP_LOCKED;
	return expect(&call, EPERM, PERCH_CAUSE_MMAP_LOCKED);
}

static int little_locked_memory(unsigned seed)
{
	struct call call;

	init_call(&call, seed);
	limit(RLIMIT_MEMLOCK, page);
	call.op.map_flags |= MAP_LOCKED;
	return expect(&call, EAGAIN, PERCH_CAUSE_MMAP_LOCKED);
}

static int all_locked(unsigned seed)
{
	struct call call;

	init_call(&call, seed);
	limit(RLIMIT_MEMLOCK, page);
	return mlockall(MCL_FUTURE) ? 77 : expect(&call, EAGAIN, PERCH_CAUSE_MMAP_LOCKED);
}

static void limits_are_explained(void **state)
{
	(void)state;
	if (SANITIZED) {
		print_message("skipped: a sanitizer needs more memory than the limits allow\n");
		skip();
	}
	for (int as_user = 0; as_user <= !getuid(); as_user++) {
		assert_int_equal(in_child(limited_address_space, 1, as_user), 0);
		assert_int_equal(in_child(limited_data, 1, as_user), 0);
	}
	if (getuid())
		return;
	assert_int_equal(in_child(no_locked_memory, 1, true), 0);
	assert_int_equal(in_child(little_locked_memory, 1, true), 0);
	assert_int_equal(in_child(all_locked, 1, true), 0);
}

static void too_many_mappings_are_explained(void **state)
{
	int rc = SANITIZED ? 77 : in_child(too_many_mappings, 1, false);

	(void)state;
	if (SANITIZED)
		print_message("skipped: a sanitizer needs mappings of its own\n");
	if (rc == 77)
		skip();
	assert_int_equal(rc, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(faults_are_explained),
		cmocka_unit_test(faults_of_an_ordinary_user_are_explained),
		cmocka_unit_test(limits_are_explained),
		cmocka_unit_test(too_many_mappings_are_explained),
	};

	page = sysconf(_SC_PAGESIZE);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
