/* SPDX-License-Identifier: MIT */
/* Refused calls on machines that are not here: each rule is reached, and says what it should. */
#define _GNU_SOURCE
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "explain_rows.h"
#include "tree.h"

#define NR(array) (sizeof(array) / sizeof(*(array)))
#define PMUS "/sys/bus/event_source/devices/"
#define ORDINARY "Name:\tx\nCapEff:\t0000000000000000\nSeccomp:\t0\nSeccomp_filters:\t0\n"

static const struct tree_file guest_files[] = {
	{ "/proc/sys/kernel/osrelease", "6.14.2-cloud\n" },
	{ "/proc/sys/kernel/perf_event_paranoid", "2\n" },
	{ "/proc/sys/kernel/perf_event_max_sample_rate", "5000\n" },
	{ "/proc/sys/kernel/perf_event_max_stack", "127\n" },
	{ "/proc/self/status", ORDINARY },
	{ "/proc/self/limits", "Max open files            1024                 4096                 files     \n"
			       "Max locked memory         65536                65536                bytes     \n" },
	{ "/sys/devices/system/cpu/online", "0-2\n" },
	{ "/sys/devices/system/cpu/present", "0-3\n" },
	{ "/sys/devices/system/cpu/possible", "0-1,4-5\n" },
	{ PMUS "software/type", "1\n" },
	{ PMUS "tracepoint/type", "2\n" },
	{ PMUS "breakpoint/type", "5\n" },
	{ PMUS "uprobe/type", "8\n" },
	{ PMUS "msr/type", "10\n" },
};

static const struct tree_file old_files[] = {
	{ "/proc/sys/kernel/osrelease", "4.4.0-116-generic\n" },
	{ "/proc/sys/kernel/perf_event_paranoid", "2\n" },
	{ "/proc/self/status", ORDINARY },
	{ PMUS "cpu/type", "4\n" },
};

static const struct tree_file strict_files[] = {
	{ "/proc/sys/kernel/osrelease", "6.1.0-18-amd64\n" },
	{ "/proc/sys/kernel/perf_event_paranoid", "3\n" },
	{ "/proc/self/status", ORDINARY },
};

static const struct tree_file locked_files[] = {
	{ "/proc/sys/kernel/osrelease", "6.14.2\n" },
	{ "/proc/sys/kernel/perf_event_paranoid", "2\n" },
	{ "/proc/self/status", "Name:\tx\nCapEff:\t000001ffffffffff\nSeccomp:\t2\nSeccomp_filters:\t1\n" },
	{ "/sys/kernel/security/lockdown", "none integrity [confidentiality]\n" },
};

static const struct {
	const struct tree_file *file;
	size_t nr;
} machine_files[NR_MACHINES] = {
	[GUEST] = { guest_files, NR(guest_files) },
	[OLD] = { old_files, NR(old_files) },
	[STRICT] = { strict_files, NR(strict_files) },
	[LOCKED] = { locked_files, NR(locked_files) },
};

static struct perch_machine *machines[NR_MACHINES];	/* machines[NONE] stays NULL */
static char roots[NR_MACHINES][PATH_MAX];

/* The rules as they are written, read a second time. */
struct rule {
	const char *name;
	int errnum;
	enum perch_cause cause;
	const char *fields;
	const char *since;
	const char *sentence;
};

#define RULE(name, cause, errnum, fields, since, condition, mend, sentence, remedy) \
	{ #name, errnum, PERCH_CAUSE_##cause, fields, since, sentence },
static const struct rule rules[] = {
#include "explain/rules.def"
};
#undef RULE

static int setup(void **state)
{
	(void)state;
	for (int i = NONE + 1; i < NR_MACHINES; i++) {
		tree_make(roots[i], machine_files[i].file, machine_files[i].nr);
		if (perch_machine_new(&machines[i], roots[i], NULL, NULL))
			return -1;
	}
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (int i = NONE + 1; i < NR_MACHINES; i++) {
		perch_machine_free(machines[i]);
		tree_remove(roots[i]);
	}
	return 0;
}

/* Whether the message is the sentence with something, or nothing, in the place of each {word}. */
static bool is_sentence(const char *message, const char *sentence)
{
	char piece[512];

	while (*sentence) {
		size_t length = strcspn(sentence, "{");

		snprintf(piece, sizeof(piece), "%.*s", (int)length, sentence);
		message = strstr(message, piece);
		if (!message)
			return false;
		message += length;
		sentence += length;
		sentence += strcspn(sentence, "}");
		sentence += !!*sentence;
	}
	return true;
}

static const struct rule *rule_named(const char *name)
{
	for (size_t i = 0; i < NR(rules); i++)
		if (!strcmp(rules[i].name, name))
			return &rules[i];
	fail_msg("no rule '%s' in rules.def", name);
	return NULL;
}

static int explain_row(const struct row *row, struct perch_error *err)
{
	struct perch_attr attr = row->attr;
	struct perch_call call = {
		.attr = row->no_attr ? NULL : &attr, .pid = row->pid, .cpu = row->cpu_plus_1 - 1,
		.group_fd = row->group_plus_1 - 1, .flags = row->flags, .errnum = row->errnum,
	};

	if (!attr.size)
		attr.size = sizeof(attr);
	memset(err, 0x55, sizeof(*err));
	return perch_explain(&call, machines[row->machine], err);
}

static void check_row(const struct row *row)
{
	const struct rule *rule = rule_named(row->rule);
	struct perch_error err;

	assert_int_equal(explain_row(row, &err), -row->errnum);
	if (!is_sentence(err.message, rule->sentence) || !strstr(err.message, row->words))
		fail_msg("%s: got '%s'", row->rule, err.message);
	assert_int_equal(err.errnum, row->errnum);
	assert_int_equal(err.kind, row->kind);
	assert_string_equal(err.field, row->field);
	assert_string_equal(err.since, rule->since ? rule->since : "");
	assert_int_equal(err.column, -1);
	assert_true(err.remedy[0]);
	assert_null(strpbrk(err.message, "{}"));
	if (!strstr(err.remedy, "{mem-loads-aux,mem-loads}"))	/* a group, and no placeholder */
		assert_null(strpbrk(err.remedy, "{}"));
}

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < NR(rows); i++)
		check_row(&rows[i]);
}

/* CPU numbers with a gap: 5 is above the count of the CPUs, and yet there. */
static void test_cpu_behind_a_gap(void **state)
{
	const struct row row = { .machine = GUEST, .errnum = EINVAL, .cpu_plus_1 = 5 + 1,
				 .attr = { .type = PERCH_TYPE_SOFTWARE } };
	struct perch_error err;

	(void)state;
	assert_int_equal(explain_row(&row, &err), -EINVAL);
	assert_int_not_equal(err.kind, PERCH_ERROR_NO_CPU);
}

/* A rule that nobody can reach is a rule that an earlier one hides, or that nobody thought of testing. */
static void test_every_rule_is_reached(void **state)
{
	size_t unreached = 0;

	(void)state;
	for (size_t i = 0; i < NR(rules); i++) {
		size_t row = 0;

		while (row < NR(rows) && strcmp(rows[row].rule, rules[i].name))
			row++;
		if (row < NR(rows))
			continue;
		print_error("no row reaches the rule '%s'\n", rules[i].name);
		unreached++;
	}
	assert_int_equal(unreached, 0);
}

/* Every message that can be made is whole, whatever the call. */
static void test_any_call(void **state)
{
	static const int errnums[] = { EPERM, ENOENT, ESRCH, EINTR, ENXIO, E2BIG, EBADF, ENOMEM, EACCES, EFAULT, EBUSY,
				       ENODEV, EINVAL, ENFILE, EMFILE, ENOSPC, ENOSYS, ENODATA, EOVERFLOW, EOPNOTSUPP,
				       EIO, 4095 };
	unsigned short seed[3] = { 1, 2, 3 };
	struct perch_error err;

	(void)state;
	for (int i = 0; i < 50000; i++) {
		struct perch_attr attr = { .type = nrand48(seed) % 12, .size = sizeof(attr) };
		struct perch_call call = { &attr, nrand48(seed) % 4 - 1, nrand48(seed) % 7 - 2, nrand48(seed) % 3 - 1,
					   nrand48(seed) % 17, errnums[nrand48(seed) % NR(errnums)], nrand48(seed) % 2 };
		const struct perch_attr_field *fields;
		size_t nr;

		fields = perch_attr_fields(&nr);
		for (long set = nrand48(seed) % 6; set > 0; set--)
			perch_attr_set(&attr, &fields[2 + nrand48(seed) % (nr - 2)],
				       1ull << nrand48(seed) % 64 | nrand48(seed) % 2);
		if (nrand48(seed) % 8 == 0)
			attr.size = nrand48(seed) % 200;
		assert_int_equal(perch_explain(&call, machines[i % NR_MACHINES], &err), -call.errnum);
		assert_true(err.message[0] && !strpbrk(err.message, "{}\n"));
		assert_true(err.kind > PERCH_ERROR_NONE && err.kind < PERCH_ERROR_MAX);
		assert_int_equal(err.errnum, call.errnum);
	}
}

static void explain_attr(const struct perch_attr *attr, enum machine_kind machine, int errnum, struct perch_error *err)
{
	struct perch_call call = { .attr = attr, .cpu = -1, .group_fd = -1, .errnum = errnum };

	assert_int_equal(perch_explain(&call, machines[machine], err), -errnum);
}

static void assert_too_new(const struct perch_error *err, const char *field, const char *since)
{
	assert_int_equal(err->kind, PERCH_ERROR_TOO_NEW);
	assert_string_equal(err->field, field);
	assert_string_equal(err->since, since);
	assert_non_null(strstr(err->message, field));
	assert_non_null(strstr(err->message, since));
}

/* EINVAL and nothing wrong with the call: it asks for what came after the running kernel. */
static void test_too_new_for_release(void **state)
{
	struct perch_attr attr = { .type = PERCH_TYPE_SOFTWARE, .size = sizeof(attr) };
	struct perch_error err;

	(void)state;
	attr.build_id = 1;
	explain_attr(&attr, OLD, EINVAL, &err);
	assert_too_new(&err, "build_id", "5.12");
	assert_non_null(strstr(err.message, "4.4.0-116-generic"));
	attr.cgroup = 1;		/* older than build_id: the newest is told */
	explain_attr(&attr, OLD, EINVAL, &err);
	assert_too_new(&err, "build_id", "5.12");
	explain_attr(&attr, GUEST, EINVAL, &err);	/* 6.14 has both */
	assert_int_equal(err.kind, PERCH_ERROR_SYSTEM);
	assert_true(err.remedy[0]);
	attr.defer_callchain = 1;
	explain_attr(&attr, NONE, EINVAL, &err);	/* no release: a guess */
	assert_too_new(&err, "defer_callchain", "6.19");
	attr = (struct perch_attr){ .type = PERCH_TYPE_SOFTWARE, .size = 64, .read_format = PERCH_FORMAT_LOST };
	explain_attr(&attr, OLD, EINVAL, &err);
	assert_too_new(&err, "read_format", "6.0");
	attr.read_format = 0;
	attr.sample_type = PERCH_SAMPLE_CODE_PAGE_SIZE;
	explain_attr(&attr, OLD, EINVAL, &err);
	assert_too_new(&err, "sample_type", "5.11");
}

/* A guess gives way to a feature that is too new, a proof does not. */
static void test_guess_or_proof(void **state)
{
	struct perch_attr attr = { .type = PERCH_TYPE_TRACEPOINT, .size = sizeof(attr), .build_id = 1 };
	struct perch_error err;

	(void)state;
	explain_attr(&attr, OLD, EINVAL, &err);
	assert_too_new(&err, "build_id", "5.12");
	explain_attr(&attr, GUEST, EINVAL, &err);
	assert_string_equal(err.field, "config");
	attr.inherit_thread = 1;
	explain_attr(&attr, OLD, EINVAL, &err);
	assert_string_equal(err.field, "inherit_thread");
	assert_int_equal(err.kind, PERCH_ERROR_CONFLICT);
}

/* E2BIG: the kernel has written its own size into the attr. */
static void test_too_new_for_size(void **state)
{
	struct perch_attr attr = { .type = PERCH_TYPE_SOFTWARE, .size = PERCH_ATTR_SIZE_VER7, .config3 = 1 };
	struct perch_error err;

	(void)state;
	for (int machine = 0; machine < NR_MACHINES; machine++) {
		explain_attr(&attr, machine, E2BIG, &err);
		assert_too_new(&err, "config3", "6.3");
	}
	attr.config3 = 0;
	explain_attr(&attr, NONE, E2BIG, &err);
	assert_int_equal(err.kind, PERCH_ERROR_SYSTEM);
}

/* Bytes beyond the size that was given are not the kernel's to see, nor the rules'. */
static void test_size_hides(void **state)
{
	struct perch_attr attr = { .type = PERCH_TYPE_SOFTWARE, .size = PERCH_ATTR_SIZE_VER5, .reserved_3 = 1 };
	struct perch_error err;

	(void)state;
	explain_attr(&attr, GUEST, EINVAL, &err);
	assert_int_equal(err.kind, PERCH_ERROR_SYSTEM);
	attr.size = PERCH_ATTR_SIZE_VER6;
	explain_attr(&attr, GUEST, EINVAL, &err);
	assert_string_equal(err.field, "aux_action");
}

/* The same call by one who may: paranoid is not blamed. */
static void test_privileged(void **state)
{
	struct perch_attr attr = { .type = PERCH_TYPE_SOFTWARE, .size = sizeof(attr), .sample_type = PERCH_SAMPLE_PHYS_ADDR };
	struct perch_error err;

	(void)state;
	explain_attr(&attr, LOCKED, EACCES, &err);
	assert_int_equal(err.kind, PERCH_ERROR_BLOCKED);
	explain_attr(&attr, GUEST, EACCES, &err);
	assert_int_equal(err.kind, PERCH_ERROR_PARANOID);
	explain_attr(&attr, NONE, EACCES, &err);	/* nothing known: the errno's hint, and no number */
	assert_int_equal(err.kind, PERCH_ERROR_PARANOID);
	assert_null(strstr(err.message, "(it is"));
}

static void test_nothing_to_explain(void **state)
{
	struct perch_attr attr = { .size = sizeof(attr) };
	struct perch_call call = { .attr = &attr, .cpu = -1, .group_fd = -1, .errnum = 0 };
	struct perch_error err;

	(void)state;
	assert_int_equal(perch_explain(NULL, NULL, &err), -EINVAL);
	assert_int_equal(err.kind, PERCH_ERROR_USAGE);
	assert_int_equal(perch_explain(&call, NULL, &err), -EINVAL);
	call.errnum = EACCES;
	assert_int_equal(perch_explain(&call, NULL, NULL), -EACCES);
	call.errnum = EXDEV;
	assert_int_equal(perch_explain(&call, NULL, &err), -EXDEV);
	assert_int_equal(err.kind, PERCH_ERROR_SYSTEM);
	assert_non_null(strstr(err.message, strerror(EXDEV)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows), cmocka_unit_test(test_cpu_behind_a_gap), cmocka_unit_test(test_every_rule_is_reached),
		cmocka_unit_test(test_any_call), cmocka_unit_test(test_too_new_for_release),
		cmocka_unit_test(test_guess_or_proof), cmocka_unit_test(test_too_new_for_size),
		cmocka_unit_test(test_size_hides), cmocka_unit_test(test_privileged),
		cmocka_unit_test(test_nothing_to_explain),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
