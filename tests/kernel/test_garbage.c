/* SPDX-License-Identifier: MIT */
/*
 * Invalid open calls: unknown bits, wrong sizes, bad pointers, random attrs. The kernel refuses
 * them, and each explanation has a message and a remedy, whatever the errno is.
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
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>

#include <perch/explain.h>

#define MAX_CALLS    25
#define MAX_SIZE     4096
#define RANDOM_ATTRS 3000

static unsigned random_attrs = RANDOM_ATTRS; /* or PERCH_CASES */
static struct perch_machine *machine;
static uint64_t state;

static uint64_t any(void)
{
	uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static uint64_t below(uint64_t bound)
{
	return any() % bound;
}

static int refused(const void *attr, pid_t pid, int cpu, int group_fd, unsigned long flags)
{
	int fd = syscall(SYS_perf_event_open, attr, pid, cpu, group_fd, flags);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

static void is_clean(const char *text)
{
	for (const char *at = text; *at; at++)
		assert_true((unsigned char)*at >= ' ' && *at != 127);
}

static void is_a_finding(const struct perch_finding *finding)
{
	assert_int_not_equal(finding->cause, PERCH_CAUSE_NONE);
	assert_int_equal(finding->kind, perch_cause_kind(finding->cause));
	assert_true(finding->nr_fields <= 4);
	for (size_t i = 0; i < finding->nr_fields; i++)
		assert_true(finding->field[i] && finding->field[i][0]);
	assert_true(strlen(finding->message) > 10);
	assert_true(strlen(finding->remedy) > 3);
	is_clean(finding->message);
	is_clean(finding->remedy);
	assert_null(strpbrk(finding->message, "{}"));
	assert_null(strpbrk(finding->remedy, "{}"));
}

/* A complete explanation of this errno. */
static void is_an_answer(const struct perch_explanation *explanation, int errnum)
{
	assert_int_equal(explanation->errnum, errnum);
	assert_in_range(explanation->nr_findings, 1, PERCH_FINDINGS_MAX);
	assert_true(explanation->nr_next <= PERCH_NEXT_MAX);
	assert_true(explanation->nr_findings == 1 ||
		    explanation->confidence == PERCH_CONFIDENCE_AMBIGUOUS);
	assert_true(explanation->open_calls <= MAX_CALLS);
	for (size_t i = 0; i < explanation->nr_findings; i++)
		is_a_finding(&explanation->finding[i]);
	for (size_t i = 0; i < explanation->nr_next; i++)
		is_a_finding(&explanation->next[i]);
}

/* Explains without facts, with facts, with probing, and as an error. */
static void ask(const struct perch_open_call *call)
{
	static const struct perch_probing by_default;
	struct perch_explanation explanation;
	struct perch_error err = { 0 };

	assert_int_equal(perch_explain_open_call(call, NULL, NULL, &explanation), 0);
	is_an_answer(&explanation, call->errnum);
	assert_int_equal(explanation.open_calls, 0);
	assert_int_equal(perch_explain_open_call(call, NULL, machine, &explanation), 0);
	is_an_answer(&explanation, call->errnum);
	assert_int_equal(explanation.open_calls, 0);
	assert_int_equal(perch_explain_open_call(call, &by_default, machine, &explanation), 0);
	is_an_answer(&explanation, call->errnum);
	assert_int_equal(perch_explain(call, machine, &err), -call->errnum);
	assert_int_equal(err.errnum, call->errnum);
	assert_true(err.message[0] && err.remedy[0]);
	is_clean(err.message);
	is_clean(err.remedy);
}

/* ---- errno ---- */

/* All errnos of the kernel and others, for several open calls. */
static void every_errno_has_an_explanation(void **unused)
{
	static const uint32_t types[] = { PERCH_TYPE_HARDWARE,
					  PERCH_TYPE_SOFTWARE,
					  PERCH_TYPE_TRACEPOINT,
					  PERCH_TYPE_BREAKPOINT,
					  8,
					  10,
					  77 };
	static const int unlikely[] = {
		133, 200, 512, 513, 524, 530, 4095, 4096, 100000, INT32_MAX
	};
	struct perch_attr attr = { .size = sizeof(attr) };
	struct perch_open_call call = { .attr = &attr, .cpu = -1, .group_fd = -1 };

	(void)unused;
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		attr.type = types[i];
		for (call.errnum = 1; call.errnum < 140; call.errnum++)
			ask(&call);
		for (size_t k = 0; k < sizeof(unlikely) / sizeof(*unlikely); k++) {
			call.errnum = unlikely[k];
			ask(&call);
		}
	}
}

static void refuses_calls_without_errno(void **unused)
{
	struct perch_explanation explanation;
	struct perch_open_call call = { .cpu = -1, .group_fd = -1 };
	static const int none[] = { 0, -1, -EINVAL, INT32_MIN };

	(void)unused;
	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++) {
		call.errnum = none[i];
		assert_int_equal(perch_explain_open_call(&call, NULL, machine, &explanation),
				 -EINVAL);
	}
	assert_int_equal(perch_explain_open_call(NULL, NULL, machine, &explanation), -EINVAL);
}

/* ---- Bits ---- */

static bool names(const struct perch_explanation *explanation, const char *field)
{
	for (size_t i = 0; i < explanation->finding[0].nr_fields; i++)
		if (!strcmp(explanation->finding[0].field[i], field))
			return true;
	return false;
}

/* Makes the open call and explains its refusal, which must name the field. */
static bool refused_for(struct perch_open_call *call, const char *field)
{
	static const struct perch_probing by_default;
	struct perch_explanation explanation;
	struct perch_attr attr = *call->attr;

	call->errnum = refused(&attr, call->pid, call->cpu, call->group_fd, call->flags);
	call->kernel_size = call->errnum == E2BIG ? attr.size : 0;
	if (!call->errnum)
		return false;
	ask(call);
	assert_int_equal(perch_explain_open_call(call, &by_default, machine, &explanation), 0);
	if (!names(&explanation, field))
		print_error("%s: %s\n", field, explanation.finding[0].message);
	assert_true(names(&explanation, field));
	return true;
}

static bool bit_refused(size_t offset, unsigned bit, const char *field)
{
	struct perch_attr attr = { .type = PERCH_TYPE_SOFTWARE,
				   .size = sizeof(attr),
				   .disabled = 1,
				   .config = PERCH_COUNT_SW_DUMMY };
	struct perch_open_call call = { .attr = &attr, .cpu = -1, .group_fd = -1 };
	uint64_t word;

	memcpy(&word, (char *)&attr + offset, sizeof(word));
	word |= UINT64_C(1) << bit;
	memcpy((char *)&attr + offset, &word, sizeof(word));
	return refused_for(&call, field);
}

static void unknown_bits_are_named(void **unused)
{
	unsigned refusals = 0;

	(void)unused;
	for (unsigned bit = 25; bit < 64; bit++)
		refusals +=
			bit_refused(offsetof(struct perch_attr, sample_type), bit, "sample_type");
	for (unsigned bit = 5; bit < 64; bit++)
		refusals +=
			bit_refused(offsetof(struct perch_attr, read_format), bit, "read_format");
	for (unsigned bit = 40; bit < 64; bit++)
		refusals += bit_refused(offsetof(struct perch_attr, flags), bit, "reserved_1");
	assert_true(refusals > 100);
}

static void unknown_flags_are_named(void **unused)
{
	struct perch_attr attr = { .type = PERCH_TYPE_SOFTWARE,
				   .size = sizeof(attr),
				   .disabled = 1 };
	struct perch_open_call call = { .attr = &attr, .cpu = -1, .group_fd = -1 };

	(void)unused;
	for (unsigned bit = 4; bit < 64; bit++) {
		call.flags = 1UL << bit;
		assert_true(refused_for(&call, "flags"));
	}
}

/* ---- Sizes ---- */

/* All sizes that the kernel checks, with zero or random bytes after the known fields. */
static void every_size_has_an_explanation(void **unused)
{
	static unsigned char bytes[MAX_SIZE + 8], before[MAX_SIZE + 8];
	struct perch_attr *attr = (struct perch_attr *)bytes;
	struct perch_open_call call = { .attr = (struct perch_attr *)before,
					.cpu = -1,
					.group_fd = -1 };
	unsigned refusals = 0;

	(void)unused;
	for (uint32_t size = 0; size <= MAX_SIZE + 1; size++) {
		memset(bytes, 0, sizeof(bytes));
		for (uint32_t i = sizeof(*attr); size % 2 && i < size; i++)
			bytes[i] = any();
		*attr = (struct perch_attr){ .type = PERCH_TYPE_SOFTWARE,
					     .size = size,
					     .disabled = 1 };
		memcpy(before, bytes, sizeof(bytes));
		call.errnum = refused(attr, 0, -1, -1, 0);
		call.kernel_size = call.errnum == E2BIG ? attr->size : 0;
		if (!call.errnum)
			continue;
		refusals++;
		ask(&call);
		/* and without a copy of the attr: with the size that the kernel wrote */
		call.kernel_size = 0;
		memcpy(before + offsetof(struct perch_attr, size), &attr->size, sizeof(attr->size));
		ask(&call);
	}
	assert_true(refusals > 2000);
}

/* Only attr.size bytes are readable: the next page is not. */
static void reads_nothing_beyond_size(void **unused)
{
	size_t page = sysconf(_SC_PAGESIZE);
	unsigned char *pages =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static const uint32_t sizes[] = { 64,  72,  80,	 96,  104,  112, 120,
					  128, 136, 144, 152, 1000, 4096 };
	static const int errnums[] = { EINVAL, EACCES, ENOENT, EOPNOTSUPP, EFAULT };

	(void)unused;
	assert_true(pages != MAP_FAILED);
	assert_int_equal(mprotect(pages + page, page, PROT_NONE), 0);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct perch_attr *attr = (struct perch_attr *)(pages + page - sizes[i]);
		struct perch_open_call call = { .attr = attr, .cpu = -1, .group_fd = -1 };

		for (uint32_t k = 0; k < sizes[i]; k++)
			((unsigned char *)attr)[k] = any();
		attr->size = sizes[i] == 64 && i % 2 ? 0 : sizes[i];
		for (size_t k = 0; k < sizeof(errnums) / sizeof(*errnums); k++) {
			call.errnum = errnums[k];
			ask(&call);
		}
	}
	munmap(pages, 2 * page);
}

/* ---- Pointers ---- */

static void bad_pointers(void **unused)
{
	size_t page = sysconf(_SC_PAGESIZE);
	unsigned char *pages =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct perch_attr whole = { .type = PERCH_TYPE_SOFTWARE, .size = sizeof(whole) };
	struct perch_open_call call = { .cpu = -1, .group_fd = -1 };
	const void *nowhere[] = { NULL, (void *)8, (void *)-1L, (void *)(1L << 62), NULL };

	(void)unused;
	assert_true(pages != MAP_FAILED);
	assert_int_equal(mprotect(pages + page, page, PROT_NONE), 0);
	memcpy(pages + page - 72, &whole, 72);
	nowhere[4] = pages + page - 72;
	for (size_t i = 0; i < sizeof(nowhere) / sizeof(*nowhere); i++) {
		struct perch_explanation explanation;

		call.errnum = refused(nowhere[i], 0, -1, -1, 0);
		assert_int_equal(call.errnum, EFAULT);
		ask(&call);
		assert_int_equal(perch_explain_open_call(&call, NULL, machine, &explanation), 0);
		assert_int_equal(explanation.finding[0].cause, PERCH_CAUSE_ATTR_POINTER);
	}
	munmap(pages, 2 * page);
}

/* A bad pointer hides other causes, whatever the errno is. */
static void null_attr_with_any_errno(void **unused)
{
	struct perch_open_call call = { .cpu = -1, .group_fd = -1 };

	(void)unused;
	for (call.errnum = 1; call.errnum < 140; call.errnum++)
		ask(&call);
}

/* ---- Chance ---- */

static void random_attr(unsigned char *bytes)
{
	static const uint32_t sizes[] = { 0, 64, 72, 112, 136, 144, 200, 4096 };
	struct perch_attr *attr = (struct perch_attr *)bytes;
	unsigned density = 1 + below(8);

	for (size_t i = 0; i < MAX_SIZE; i++)
		bytes[i] = i < sizeof(*attr) || !below(40) ? any() : 0;
	for (unsigned k = 0; k < density; k++)
		for (size_t i = 0; i < sizeof(*attr); i++)
			bytes[i] &= any();
	attr->size = below(4) ? sizes[below(8)] : (uint32_t)any();
	if (below(3))
		attr->type = below(12);
	if (!below(3))
		attr->config = below(16);
	/* a signal would end this test, and a probe would patch code */
	attr->sigtrap = 0;
	attr->disabled = 1;
	if (attr->type > PERCH_TYPE_BREAKPOINT && attr->type < 12)
		attr->config1 = below(2) ? 8 : 0;
}

static void random_attrs_have_an_explanation(void **unused)
{
	static unsigned char bytes[MAX_SIZE], before[MAX_SIZE];
	unsigned refusals = 0;

	(void)unused;
	for (unsigned i = 0; i < random_attrs; i++) {
		static const int some[] = { -1, 0, 1, -2, 100000, INT32_MIN, INT32_MAX };
		struct perch_open_call call = { .attr = (struct perch_attr *)before,
						.pid = below(3) ? 0 : some[below(7)],
						.cpu = below(3) ? -1 : some[below(7)],
						.group_fd = below(3) ? -1 : some[below(7)],
						.flags = below(3) ? 0 : any() >> below(64) };

		random_attr(bytes);
		memcpy(before, bytes, sizeof(before));
		call.errnum = refused(bytes, call.pid, call.cpu, call.group_fd, call.flags);
		call.kernel_size = call.errnum == E2BIG ? ((struct perch_attr *)bytes)->size : 0;
		if (!call.errnum)
			continue;
		refusals++;
		ask(&call);
		/* the errno does not matter */
		call.errnum = 1 + below(139);
		ask(&call);
	}
	assert_true(refusals > random_attrs / 2);
}

/* The attr of the leader may be invalid too. */
static void random_leaders(void **unused)
{
	static unsigned char bytes[MAX_SIZE], other[MAX_SIZE];

	(void)unused;
	for (unsigned i = 0; i < random_attrs / 3; i++) {
		struct perch_open_call_leader leader = { .attr = (struct perch_attr *)other,
							 .pid = any(),
							 .cpu = any(),
							 .flags = any(),
							 .is_member = below(2),
							 .has_ring = below(2),
							 .members = below(2) ? below(2000)
									     : SIZE_MAX };
		struct perch_open_call call = { .attr = (struct perch_attr *)bytes,
						.cpu = -1,
						.group_fd = below(100),
						.leader = &leader,
						.errnum = below(2) ? EINVAL : 1 + (int)below(139),
						.attr_is_partial = below(2),
						.pid_is_cgroup_fd = below(2) };

		random_attr(bytes);
		random_attr(other);
		if (!below(4))
			leader.attr = NULL;
		ask(&call);
	}
}

static int describe(void **unused)
{
	const char *seed = getenv("PERCH_SEED"), *cases = getenv("PERCH_CASES");
	int status = perch_machine_new(&machine, NULL, NULL, NULL);

	(void)unused;
	state = seed && *seed ? strtoull(seed, NULL, 0) : 1;
	if (cases && *cases)
		random_attrs = strtoul(cases, NULL, 0);
	printf("seed %llu\n", (unsigned long long)state);
	if (!status)
		perch_machine_set_probing(machine, true);
	return status;
}

static int free_machine(void **unused)
{
	(void)unused;
	perch_machine_free(machine);
	return 0;
}

int main(void)
{
	/* refusals of this kernel */
	const struct CMUnitTest of_the_kernel[] = {
		cmocka_unit_test(unknown_bits_are_named),
		cmocka_unit_test(unknown_flags_are_named),
		cmocka_unit_test(every_size_has_an_explanation),
		cmocka_unit_test(bad_pointers),
		cmocka_unit_test(random_attrs_have_an_explanation),
	};
	/* refusals that no kernel has made: tests/kernels/run leaves them out */
	const struct CMUnitTest others[] = {
		cmocka_unit_test(every_errno_has_an_explanation),
		cmocka_unit_test(refuses_calls_without_errno),
		cmocka_unit_test(reads_nothing_beyond_size),
		cmocka_unit_test(null_attr_with_any_errno),
		cmocka_unit_test(random_leaders),
	};
	int failed = cmocka_run_group_tests(of_the_kernel, describe, free_machine);

	if (!getenv("PERCH_KERNEL_CHECKS"))
		failed += cmocka_run_group_tests(others, describe, free_machine);
	return failed;
}
