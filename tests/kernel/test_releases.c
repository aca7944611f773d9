/* SPDX-License-Identifier: MIT */
/*
 * Opens an event with each field and each bit of the tables of abi alone: kernels of its release
 * and newer ones have it, and older ones do not.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <cmocka.h>

#include <perch/abi.h>

#define REGISTER_MASK 1 /* the first register: every architecture has it */
#define STACK_BYTES   512
#define FRAMES	      8

/* Stable releases before "since" may have these too. */
static const char *const backported[] = {
	"LOST",					       /* 5.10.262 */
	"aux_start_paused", "aux_pause", "aux_resume", /* 6.12.95 */
};

static bool is_one_of(const char *name, const char *const *names, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/* False for fields that select the event, second names of a word, and reserved bits. */
static bool is_tested(const struct perch_attr_field *field)
{
	static const char *const others[] = {
		"type",
		"size",
		"config",
		"sample_type",
		"read_format",
		"bp_type",
		"bp_addr",
		"bp_len",
		"kprobe_func",
		"uprobe_path",
		"kprobe_addr",
		"probe_offset",
		"wakeup_watermark",
		"aux_action",
		"reserved_1",
		"reserved_2",
		"reserved_3",
		"branch_sample_type",
	};

	return !is_one_of(field->name, others, sizeof(others) / sizeof(*others));
}

static struct perch_attr plain_attr(void)
{
	return (struct perch_attr){ .type = PERCH_TYPE_SOFTWARE,
				    .size = sizeof(struct perch_attr),
				    .config = PERCH_COUNT_SW_DUMMY,
				    .sample_period = 1000,
				    .disabled = 1,
				    .exclude_kernel = 1,
				    .exclude_hv = 1 };
}

/* Sets what the kernel demands beside a field or bit. */
static void complete(struct perch_attr *attr)
{
	if (attr->inherit_thread)
		attr->inherit = 1;
	if (attr->sigtrap)
		attr->remove_on_exec = 1;
	if (attr->use_clockid)
		attr->clockid = 1; /* CLOCK_MONOTONIC */
	if (attr->sample_max_stack)
		attr->sample_type |= PERCH_SAMPLE_CALLCHAIN;
	if (attr->sample_type & PERCH_SAMPLE_REGS_USER)
		attr->sample_regs_user = REGISTER_MASK;
	if (attr->sample_type & PERCH_SAMPLE_REGS_INTR)
		attr->sample_regs_intr = REGISTER_MASK;
	if (attr->sample_type & PERCH_SAMPLE_STACK_USER)
		attr->sample_stack_user = STACK_BYTES;
	if (attr->branch_sample_type)
		attr->sample_type |= PERCH_SAMPLE_BRANCH_STACK;
	if (attr->sample_type & PERCH_SAMPLE_BRANCH_STACK)
		attr->branch_sample_type |= PERCH_SAMPLE_BRANCH_USER | PERCH_SAMPLE_BRANCH_ANY;
	/* software events support neither: EOPNOTSUPP, before the check of the group */
	if (attr->aux_sample_size)
		attr->aux_output = 1;
	if (attr->aux_pause || attr->aux_resume)
		attr->aux_start_paused = 1;
}

static struct utsname here;
static unsigned nr_present, nr_absent, nr_wrong;

/* Opens the attr. Other errors than EINVAL and E2BIG come after the check of bits. */
static void check(const char *name, const char *since, struct perch_attr *attr)
{
	bool new_enough = perch_release_rank(here.release) >= perch_release_rank(since);
	bool present;
	int fd;

	complete(attr);
	fd = syscall(SYS_perf_event_open, attr, 0, -1, -1, 0);
	present = fd >= 0 || (errno != EINVAL && errno != E2BIG);
	if (fd >= 0)
		close(fd);
	nr_present += present;
	nr_absent += !present;
	if (present == new_enough)
		return;
	print_message("%s: the table says %s; Linux %s %s\n", name,
		      since[0] ? since : "all releases", here.release,
		      present ? "has it" : strerror(errno));
	nr_wrong +=
		!(present && is_one_of(name, backported, sizeof(backported) / sizeof(*backported)));
}

static bool has_cgroup_events(void)
{
	char line[256];
	bool found = false;
	FILE *file = fopen("/proc/cgroups", "r");

	while (file && fgets(line, sizeof(line), file))
		found |= !strncmp(line, "perf_event\t", strlen("perf_event\t"));
	if (file)
		fclose(file);
	return found;
}

static void has_fields_since_their_releases(void **state)
{
	const struct perch_attr_field *fields;
	size_t nr;

	(void)state;
	nr_present = nr_absent = nr_wrong = 0;
	fields = perch_attr_fields(&nr);
	for (size_t i = 0; i < nr; i++) {
		struct perch_attr attr = plain_attr();

		if (!is_tested(&fields[i]))
			continue;
		perch_attr_set(&attr, &fields[i],
			       !strcmp(fields[i].name, "sample_stack_user")  ? STACK_BYTES
			       : !strcmp(fields[i].name, "sample_max_stack") ? FRAMES
									     : 1);
		check(fields[i].name, fields[i].since, &attr);
	}
	print_message("%u present, %u absent\n", nr_present, nr_absent);
	assert_true(nr_present > 40);
	assert_int_equal(nr_wrong, 0);
}

static void has_bits_since_their_releases(void **state)
{
	const struct perch_attr_bit *bits;
	size_t nr;

	(void)state;
	nr_present = nr_absent = nr_wrong = 0;
	bits = perch_attr_bits(&nr);
	for (size_t i = 0; i < nr; i++) {
		const struct perch_attr_field *field = perch_attr_get_field(bits[i].field);
		struct perch_attr attr = plain_attr();

		assert_non_null(field);
		if (!strcmp(bits[i].field, "sample_type") &&
		    (bits[i].bit == PERCH_SAMPLE_AUX || /* needs a group, see aux_sample_size */
		     (bits[i].bit == PERCH_SAMPLE_CGROUP && !has_cgroup_events())))
			continue;
		perch_attr_set(&attr, field, bits[i].bit);
		check(bits[i].name, bits[i].since[0] ? bits[i].since : field->since, &attr);
	}
	print_message("%u present, %u absent\n", nr_present, nr_absent);
	assert_true(nr_present > 30);
	assert_int_equal(nr_wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(has_fields_since_their_releases),
		cmocka_unit_test(has_bits_since_their_releases),
	};

	uname(&here);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
