/* SPDX-License-Identifier: MIT */
/* Optional features on kernels of all releases. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include <perch/open.h>

#include "tree.h"

/* A kernel that supports an attr size and the features of its release. */
struct kernel {
	unsigned major, minor;
	uint32_t size;
	int answer;  /* if not 0, the errno of every open */
	int forbids; /* if not 0, the errno of attrs that it supports */
	int calls, opened, closed;
	/* bits of sample_type that this kernel does not support */
	uint64_t lacks;
	const char *root; /* files of the machine; NULL is none */
};

static bool is_newer(const struct kernel *kernel, const char *since)
{
	unsigned major = 0, minor = 0;

	sscanf(since, "%u.%u", &major, &minor);
	return major > kernel->major || (major == kernel->major && minor > kernel->minor);
}

static bool supports(const struct kernel *kernel, const struct perch_attr *attr)
{
	const struct perch_attr_field *fields;
	const struct perch_attr_bit *bits;
	size_t nr;

	fields = perch_attr_fields(&nr);
	for (size_t i = 0; i < nr; i++)
		if (perch_attr_get(attr, &fields[i]) && is_newer(kernel, fields[i].since) &&
		    strcmp(fields[i].name, "kprobe_func") &&
		    strcmp(fields[i].name, "uprobe_path") &&
		    strcmp(fields[i].name, "kprobe_addr") && strcmp(fields[i].name, "probe_offset"))
			return false;
	bits = perch_attr_bits(&nr);
	for (size_t i = 0; i < nr; i++)
		if (perch_attr_get(attr, perch_attr_get_field(bits[i].field)) & bits[i].bit &&
		    is_newer(kernel, bits[i].since))
			return false;
	return true;
}

static int replay(void *context, const struct perch_attr *attr, pid_t pid, int cpu, int group_fd,
		  unsigned long flags)
{
	struct kernel *kernel = context;

	(void)pid, (void)cpu, (void)group_fd, (void)flags;
	kernel->calls++;
	errno = kernel->answer;
	if (kernel->answer)
		return -1;
	for (size_t i = kernel->size; i < sizeof(*attr) && i < attr->size; i++)
		if (((const unsigned char *)attr)[i]) {
			((struct perch_attr *)attr)->size = kernel->size;
			errno = E2BIG;
			return -1;
		}
	if (supports(kernel, attr) && !(attr->sample_type & kernel->lacks)) {
		errno = kernel->forbids;
		if (errno)
			return -1;
		kernel->opened++;
		return 42;
	}
	errno = EINVAL;
	return -1;
}

static int replay_close(void *context, int fd)
{
	struct kernel *kernel = context;

	assert_int_equal(fd, 42);
	kernel->closed++;
	return 0;
}

static int open_on(struct kernel *kernel, struct perch_attr *attr,
		   const struct perch_attr *optional, struct perch_attr *missing_features,
		   struct perch_error *err)
{
	struct perch_syscalls calls = perch_kernel_syscalls;
	struct perch_machine *machine;
	int fd;

	calls.context = kernel;
	calls.perf_event_open = replay;
	calls.close = replay_close;
	kernel->calls = kernel->opened = kernel->closed = 0;
	assert_int_equal(perch_machine_new(&machine, kernel->root ? kernel->root : "/nowhere",
					   &calls, NULL),
			 0);
	fd = perch_open_optional(attr, optional, NULL, -1, 0, machine, missing_features, err);
	perch_machine_free(machine);
	assert_int_equal(kernel->opened - kernel->closed, fd >= 0);
	return fd;
}

/* A feature of each release; all but the first are optional. */
static struct perch_attr requested_attr(void)
{
	struct perch_attr attr = { .type = PERCH_TYPE_SOFTWARE, .size = sizeof(attr) };

	attr.sample_period = 1;
	attr.sample_type = PERCH_SAMPLE_IP | PERCH_SAMPLE_REGS_INTR | PERCH_SAMPLE_CGROUP |
			   PERCH_SAMPLE_WEIGHT_STRUCT;
	attr.sample_regs_intr = 1;
	attr.read_format = PERCH_FORMAT_ID | PERCH_FORMAT_LOST;
	attr.mmap = attr.mmap2 = attr.build_id = 1;
	attr.context_switch = attr.namespaces = attr.ksymbol = attr.cgroup = attr.text_poke = 1;
	attr.defer_callchain = 1;
	attr.sample_max_stack = 9;
	return attr;
}

static struct perch_attr optional_attr(void)
{
	struct perch_attr optional = requested_attr();

	optional.type = 0;
	optional.size = 0;
	optional.sample_period = 0;
	optional.sample_type &= ~(uint64_t)PERCH_SAMPLE_IP;
	optional.read_format &= ~(uint64_t)PERCH_FORMAT_ID;
	optional.mmap = 0;
	return optional;
}

static const struct {
	unsigned major, minor;
	uint32_t size;
	const char *missing_features;
	int calls;
} releases[] = {
	{ 6, 19, PERCH_ATTR_SIZE_VER9, "", 1 },
	{ 6, 18, PERCH_ATTR_SIZE_VER8, "defer_callchain", 2 },
	{ 5, 19, PERCH_ATTR_SIZE_VER7, "read_format LOST, defer_callchain", 5 },
	{ 5, 11, PERCH_ATTR_SIZE_VER6,
	  "sample_type WEIGHT_STRUCT, read_format LOST, build_id, defer_callchain", 9 },
	{ 5, 4, PERCH_ATTR_SIZE_VER5,
	  "sample_type CGROUP, sample_type WEIGHT_STRUCT, read_format LOST, cgroup, text_poke, build_id, defer_callchain",
	  15 },
	{ 3, 16, PERCH_ATTR_SIZE_VER3, /* fields beyond its size are omitted at once */
	  "sample_type REGS_INTR, sample_type CGROUP, sample_type WEIGHT_STRUCT, read_format LOST, context_switch, "
	  "namespaces, ksymbol, cgroup, text_poke, build_id, defer_callchain, sample_regs_intr, sample_max_stack",
	  23 },
};

static void kernels_of_all_releases(void **state)
{
	const struct perch_attr optional = optional_attr(), wanted = requested_attr();

	(void)state;
	for (size_t i = 0; i < sizeof(releases) / sizeof(*releases); i++) {
		struct kernel kernel = { releases[i].major, releases[i].minor, releases[i].size,
					 .answer = 0 };
		struct perch_attr attr = wanted, missing_features;
		struct perch_error err;
		char text[512];

		if (open_on(&kernel, &attr, &optional, &missing_features, &err) != 42)
			fail_msg("%u.%u: %s", releases[i].major, releases[i].minor, err.message);
		perch_format_attr_features(&missing_features, text, sizeof(text));
		if (strcmp(text, releases[i].missing_features))
			fail_msg("%u.%u drops %s", releases[i].major, releases[i].minor, text);
		assert_true(kernel.calls <= releases[i].calls);
		assert_true(attr.sample_type & PERCH_SAMPLE_IP && attr.mmap && attr.mmap2 &&
			    attr.sample_period == 1);
		/* omitted and accepted features are together the requested ones */
		for (size_t k = 0; k < sizeof(attr); k++)
			if (((unsigned char *)&attr)[k] + ((unsigned char *)&missing_features)[k] !=
			    ((const unsigned char *)&wanted)[k])
				fail_msg("%u.%u: byte %zu", releases[i].major, releases[i].minor,
					 k);
	}
}

/* The kernel lacks an older feature only: is_newer ones, which were omitted before it, are
 * restored. */
static void restores_features_that_were_not_the_cause(void **state)
{
	const struct perch_attr optional = optional_attr();
	struct perch_attr attr = requested_attr(), missing_features;
	struct kernel kernel = { 6, 18, PERCH_ATTR_SIZE_VER8, .lacks = PERCH_SAMPLE_REGS_INTR };
	struct perch_error err;
	char text[512];

	(void)state;
	assert_int_equal(open_on(&kernel, &attr, &optional, &missing_features, &err), 42);
	assert_string_equal(perch_format_attr_features(&missing_features, text, sizeof(text)),
			    "sample_type REGS_INTR, defer_callchain, sample_regs_intr");
	assert_true(attr.cgroup && attr.build_id && attr.ksymbol &&
		    attr.read_format & PERCH_FORMAT_LOST);
	assert_false(attr.sample_regs_intr || attr.sample_type & PERCH_SAMPLE_REGS_INTR);
	assert_true(kernel.calls <= 30);
}

/* Describes the machine of a kernel. */
static void describe(char *root, const char *release)
{
	const struct tree_file files[] = {
		{ "/proc/sys/kernel/osrelease", release },
		{ "/proc/sys/kernel/perf_event_paranoid", "-1\n" },
		{ "/proc/sys/kernel/perf_event_max_sample_rate", "9000\n" },
		{ "/sys/devices/system/cpu/online", "0-3\n" },
	};

	tree_make(root, files, sizeof(files) / sizeof(*files));
}

static void omits_optional_features_only(void **state)
{
	struct perch_attr optional = optional_attr(), attr = requested_attr(), missing_features,
			  before = attr;
	struct kernel kernel = { 5, 4, PERCH_ATTR_SIZE_VER6, .answer = 0 };
	struct perch_error err;
	char root[PATH_MAX];

	(void)state;
	describe(root, "5.4.0-old\n");
	kernel.root = root;
	optional.cgroup = 0; /* required, and too new */
	assert_int_equal(open_on(&kernel, &attr, &optional, &missing_features, &err), -EINVAL);
	assert_memory_equal(&attr, &before, sizeof(attr));
	/* not one of the optional features, which this kernel lacks too */
	assert_string_equal(err.field, "cgroup");
	assert_true(kernel.calls <= 13);
	memset(&before, 0, sizeof(before));
	assert_memory_equal(&missing_features, &before, sizeof(missing_features));
	assert_int_equal(open_on(&kernel, &attr, NULL, NULL, &err), -EINVAL);
	assert_int_equal(kernel.calls, 1);
	kernel.answer = EACCES;
	assert_int_equal(open_on(&kernel, &attr, &optional, NULL, &err), -EACCES);
	assert_int_equal(kernel.calls, 1);
	attr.size = 7;
	assert_int_equal(open_on(&kernel, &attr, &optional, &missing_features, &err), -E2BIG);
	assert_int_equal(kernel.calls, 0);
	assert_int_equal(open_on(&kernel, NULL, &optional, &missing_features, &err), -EINVAL);
	tree_remove(root);
}

/*
 * A kernel that lacks a required feature and, beside it, newer optional ones: with EINVAL, and with
 * E2BIG, for which only features beyond its attr size are omitted.
 */
static void explains_the_required_feature(void **state)
{
	const struct perch_attr optional = {
		.mmap2 = 1, .build_id = 1, .defer_callchain = 1, .read_format = PERCH_FORMAT_LOST
	};
	static const struct {
		uint64_t sample_type;
		uint64_t sig_data;
		int result;
		const char *field, *since;
	} rows[] = {
		{ PERCH_SAMPLE_DATA_PAGE_SIZE, 0, -EINVAL, "sample_type", "5.11" },
		{ PERCH_SAMPLE_WEIGHT_STRUCT, 0, -EINVAL, "sample_type", "5.12" },
		{ PERCH_SAMPLE_IP, 7, -E2BIG, "sig_data", "5.13" },
	};
	char root[PATH_MAX];

	(void)state;
	describe(root, "5.10.0-old\n");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct kernel kernel = { 5, 10, PERCH_ATTR_SIZE_VER6, .answer = 0 };
		struct perch_attr attr = requested_attr(), missing_features;
		struct perch_error err;

		attr.sample_type = PERCH_SAMPLE_IP | rows[i].sample_type;
		attr.sample_regs_intr = 0;
		attr.sig_data = rows[i].sig_data;
		kernel.root = root;
		assert_int_equal(open_on(&kernel, &attr, &optional, &missing_features, &err),
				 rows[i].result);
		if (strcmp(err.field, rows[i].field) || !strstr(err.message, rows[i].since) ||
		    strstr(err.message, "build_id") || strstr(err.message, "defer_callchain"))
			fail_msg("%s: %s", err.field, err.message);
	}
	tree_remove(root);
}

/* The caller may then have a way to measure without the permission. */
static void reports_the_permission_that_is_missing_after_omission(void **state)
{
	struct perch_attr optional = optional_attr(), attr = requested_attr(), missing_features;
	struct kernel kernel = { 5, 4, PERCH_ATTR_SIZE_VER6, .forbids = EACCES };
	struct perch_error err;

	(void)state;
	assert_int_equal(open_on(&kernel, &attr, &optional, &missing_features, &err), -EACCES);
	assert_true(kernel.calls > 1);
}

static void omits_fields_beyond_the_attr_size(void **state)
{
	struct perch_attr attr = {
		.type = PERCH_TYPE_SOFTWARE, .size = sizeof(attr), .config3 = 1, .config4 = 2
	};
	struct perch_attr optional = { .config4 = 1, .sig_data = 1, .ksymbol = 1 },
			  missing_features;
	struct kernel kernel = { 6, 3, PERCH_ATTR_SIZE_VER8, .answer = 0 };
	struct perch_error err;

	(void)state;
	attr.ksymbol = 1;
	assert_int_equal(open_on(&kernel, &attr, &optional, &missing_features, &err), 42);
	assert_int_equal(kernel.calls, 2);
	assert_int_equal(missing_features.config4, 2);
	assert_false(missing_features.ksymbol);
	attr.config4 = 2;
	kernel.size = PERCH_ATTR_SIZE_VER7; /* config3 is required */
	assert_int_equal(open_on(&kernel, &attr, &optional, &missing_features, &err), -E2BIG);
	assert_string_equal(err.field, "config3");
	assert_int_equal(attr.config4, 2);
}

static void omits_dependent_features(void **state)
{
	struct perch_attr attr = { .type = PERCH_TYPE_SOFTWARE, .size = sizeof(attr) },
			  missing_features;
	struct perch_attr optional = { 0 };
	struct kernel kernel = { 4, 0, PERCH_ATTR_SIZE_VER4, .answer = 0 };

	(void)state;
	attr.use_clockid = 1;
	attr.clockid = CLOCK_MONOTONIC_RAW;
	optional.clockid = -1;
	assert_int_equal(open_on(&kernel, &attr, &optional, &missing_features, NULL), 42);
	assert_false(attr.use_clockid || attr.clockid);
	assert_int_equal(missing_features.clockid, CLOCK_MONOTONIC_RAW);
	attr.inherit = attr.inherit_thread = attr.remove_on_exec = attr.sigtrap = 1;
	memset(&optional, 0, sizeof(optional));
	optional.inherit_thread = optional.remove_on_exec = 1;
	assert_int_equal(open_on(&kernel, &attr, &optional, &missing_features, NULL), 42);
	assert_true(attr.inherit && missing_features.sigtrap && missing_features.remove_on_exec &&
		    missing_features.inherit_thread);
	assert_false(attr.sigtrap || attr.remove_on_exec || attr.inherit_thread);
	kernel.minor = 0;
	kernel.major = 3;
	attr.sample_type = PERCH_SAMPLE_IP | PERCH_SAMPLE_BRANCH_STACK;
	attr.branch_sample_type = PERCH_SAMPLE_BRANCH_ANY;
	memset(&optional, 0, sizeof(optional));
	optional.sample_type = PERCH_SAMPLE_BRANCH_STACK;
	assert_int_equal(open_on(&kernel, &attr, &optional, &missing_features, NULL), 42);
	assert_int_equal(attr.sample_type, PERCH_SAMPLE_IP);
	assert_int_equal(attr.branch_sample_type, 0);
	assert_int_equal(missing_features.branch_sample_type, PERCH_SAMPLE_BRANCH_ANY);
}

/* Random features on random kernels: exactly the is_newer ones are omitted. */
static void random_features_on_random_kernels(void **state)
{
	const struct perch_attr optional = optional_attr(), all = requested_attr();
	const struct perch_attr_field *fields;
	size_t nr;

	(void)state;
	fields = perch_attr_fields(&nr);
	srand(1);
	for (int round = 0; round < 3000; round++) {
		struct kernel kernel = { 3 + rand() % 4, rand() % 20, PERCH_ATTR_SIZE_VER9,
					 .answer = 0 };
		struct perch_attr attr = all, missing_features;

		attr.sample_type &= rand() | PERCH_SAMPLE_IP;
		attr.flags &= (uint64_t)rand() << 20 | rand();
		attr.read_format &= rand();
		attr.mmap = attr.mmap2 = 1;
		if (kernel.major == 3 && kernel.minor < 19)
			kernel.minor = 19; /* the first release with the required features */
		assert_int_equal(open_on(&kernel, &attr, &optional, &missing_features, NULL), 42);
		for (size_t i = 0; i < nr; i++)
			if (fields[i].bits == 1 && perch_attr_get(&missing_features, &fields[i]) &&
			    !is_newer(&kernel, fields[i].since))
				fail_msg("%u.%u supports %s", kernel.major, kernel.minor,
					 fields[i].name);
		if (missing_features.sample_type & PERCH_SAMPLE_CGROUP)
			assert_true(is_newer(&kernel, "5.7"));
		if (missing_features.read_format)
			assert_true(is_newer(&kernel, "6.0"));
	}
}

static void formats_features(void **state)
{
	struct perch_attr attr = { .type = 5, .size = 128, .config = 3 };
	char text[64], small[12], none[1] = "x";

	(void)state;
	assert_string_equal(perch_format_attr_features(&attr, text, sizeof(text)), "");
	attr.ksymbol = 1;
	attr.sample_type = PERCH_SAMPLE_CGROUP;
	assert_string_equal(perch_format_attr_features(&attr, text, sizeof(text)),
			    "sample_type CGROUP, ksymbol");
	assert_string_equal(perch_format_attr_features(&attr, small, sizeof(small)), "sample_type");
	perch_format_attr_features(&attr, none, 0);
	assert_int_equal(none[0], 'x');
	attr.sample_type = 1ull << 60;
	attr.flags = 0;
	attr.config1 = 1;
	attr.aux_pause = 1;
	assert_string_equal(perch_format_attr_features(&attr, text, sizeof(text)),
			    "sample_type, config1, aux_pause");
	memset(&attr, 0xff, sizeof(attr));
	perch_format_attr_features(&attr, text, sizeof(text));
	assert_int_equal(strlen(text), sizeof(text) - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernels_of_all_releases),
		cmocka_unit_test(restores_features_that_were_not_the_cause),
		cmocka_unit_test(omits_optional_features_only),
		cmocka_unit_test(explains_the_required_feature),
		cmocka_unit_test(reports_the_permission_that_is_missing_after_omission),
		cmocka_unit_test(omits_fields_beyond_the_attr_size),
		cmocka_unit_test(omits_dependent_features),
		cmocka_unit_test(random_features_on_random_kernels),
		cmocka_unit_test(formats_features),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
