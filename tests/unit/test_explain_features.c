/* SPDX-License-Identifier: MIT */
/*
 * Features that are newer than the kernel: all are named, in the order of the kernel's checks, and
 * probing finds those that a distribution has backported. The kernels are simulated: they have the
 * fields and bits up to a release, and those that the test adds.
 */
#define _GNU_SOURCE
#include <stdlib.h>

#include "explain_kernel.h"

static const struct tree_file old_files[] = {
	{ "/proc/sys/kernel/osrelease", "5.10.0-46-cloud-amd64\n" },
	{ "/proc/sys/kernel/perf_event_paranoid", "2\n" },
	{ "/proc/sys/kernel/perf_event_max_sample_rate", "100000\n" },
	{ "/proc/sys/kernel/perf_event_max_stack", "127\n" },
	{ "/proc/self/status",
	  "Name:\tx\nUid:\t0\t0\t0\t0\nCapEff:\t000001ffffffffff\nSeccomp:\t0\n" },
	{ "/sys/devices/system/cpu/online", "0-3\n" },
	{ "/sys/devices/system/cpu/possible", "0-3\n" },
	{ PMUS "software/type", "1\n" },
};

/* Of the kernel under test. */
static unsigned release; /* its rank */
static struct perch_attr backported;
static size_t kernel_size;

static bool lacks(const char *since)
{
	return perch_release_rank(since) > release;
}

static bool has_unknown_bits(const struct perch_attr *attr, const char *name)
{
	const struct perch_attr_bit *bits;
	uint64_t value = perch_attr_get(attr, perch_attr_get_field(name)) &
			 ~perch_attr_get(&backported, perch_attr_get_field(name));
	size_t nr;

	bits = perch_attr_bits(&nr);
	for (size_t i = 0; i < nr; i++)
		if (!strcmp(bits[i].field, name) && !lacks(bits[i].since))
			value &= ~bits[i].bit;
	return value;
}

/* The fields that took the place of reserved bits. */
static bool has_reserved_bits(const struct perch_attr *attr)
{
	const struct perch_attr_field *fields;
	size_t nr;

	fields = perch_attr_fields(&nr);
	for (size_t i = 0; i < nr; i++)
		if ((fields[i].bit >= 0 || !strncmp(fields[i].name, "aux_", 4)) &&
		    fields[i].offset < kernel_size && lacks(fields[i].since) &&
		    perch_attr_get(attr, &fields[i]) & ~perch_attr_get(&backported, &fields[i]))
			return true;
	return attr->reserved_1 || attr->reserved_2 || attr->reserved_3;
}

/* perf_copy_attr() after the size, without checks of combinations that no test uses. */
static bool refuses_attr(const struct seen_call *call)
{
	const struct perch_attr *attr = call->attr;

	return has_reserved_bits(attr) || has_unknown_bits(attr, "sample_type") ||
	       has_unknown_bits(attr, "read_format") ||
	       (attr->sample_type & PERCH_SAMPLE_BRANCH_STACK &&
		has_unknown_bits(attr, "branch_sample_type"));
}

static bool refuses_flags(const struct seen_call *call)
{
	return call->flags & ~0xful;
}

static bool refuses_size(const struct seen_call *call)
{
	const char *bytes = (const char *)call->attr;

	for (size_t i = kernel_size; i < sizeof(*call->attr) && i < call->attr->size; i++)
		if (bytes[i]) {
			/* the kernel writes its size */
			((struct perch_attr *)(uintptr_t)call->attr)->size = kernel_size;
			return true;
		}
	return false;
}

/* A group needs an AUX event as leader, and there is none. */
static bool refuses_aux(const struct seen_call *call)
{
	return call->group_fd >= -1 && call->attr->type == PERCH_TYPE_SOFTWARE &&
	       (call->attr->aux_pause || call->attr->aux_resume || call->attr->aux_sample_size);
}

static void start(struct kernel *kernel, const char *name, size_t size)
{
	struct tree_file files[(sizeof(old_files) / sizeof(*old_files))];
	char line[64];

	memcpy(files, old_files, sizeof(files));
	snprintf(line, sizeof(line), "%s\n", name);
	files[0].text = line;
	kernel_start(kernel, files, (sizeof(files) / sizeof(*files)));
	kernel->fault[0] = (struct fault){ refuses_flags, EINVAL };
	kernel->fault[1] = (struct fault){ refuses_size, E2BIG };
	kernel->fault[2] = (struct fault){ refuses_attr, EINVAL };
	kernel->fault[3] = (struct fault){ refuses_aux, EINVAL };
	release = perch_release_rank(name);
	kernel_size = size;
	memset(&backported, 0, sizeof(backported));
}

static struct perch_open_call call_of(const struct perch_attr *attr, int errnum)
{
	return (struct perch_open_call){
		.attr = attr, .cpu = -1, .group_fd = -1, .errnum = errnum
	};
}

static void assert_words(const struct perch_finding *finding, const char *const *words, size_t nr)
{
	assert_int_equal(finding->cause, PERCH_CAUSE_TOO_NEW);
	for (size_t i = 0; i < nr; i++)
		if (!strstr(finding->message, words[i]))
			fail_msg("no '%s' in '%s'", words[i], finding->message);
}

#define SOFTWARE .type = PERCH_TYPE_SOFTWARE, .size = sizeof(struct perch_attr), .exclude_kernel = 1
#define RECORDS                                                                                \
	SOFTWARE, .freq = 1, .sample_freq = 4000, .mmap = 1, .comm = 1, .task = 1, .mmap2 = 1, \
		  .sample_id_all = 1, .enable_on_exec = 1, .inherit = 1,                       \
		  .read_format = PERCH_FORMAT_ID | PERCH_FORMAT_LOST
#define BASIC (PERCH_SAMPLE_IP | PERCH_SAMPLE_TID | PERCH_SAMPLE_TIME | PERCH_SAMPLE_PERIOD)

/* Debian's 5.10 has PERF_FORMAT_LOST of 6.0: what it lacks is named, not LOST. */
static const struct {
	const char *option;
	struct perch_attr attr;
	const char *field, *since;
	const char *words[3];
} options[] = {
	{ "--data-page-size",
	  { RECORDS, .sample_type = BASIC | PERCH_SAMPLE_DATA_PAGE_SIZE },
	  "sample_type",
	  "5.11",
	  { "DATA_PAGE_SIZE of sample_type needs Linux 5.11 (this is 5.10.0-46-cloud-amd64)" } },
	{ "--code-page-size",
	  { RECORDS, .sample_type = BASIC | PERCH_SAMPLE_CODE_PAGE_SIZE },
	  "sample_type",
	  "5.11",
	  { "CODE_PAGE_SIZE of sample_type needs Linux 5.11" } },
	{ "--weight",
	  { RECORDS, .sample_type = BASIC | PERCH_SAMPLE_WEIGHT_STRUCT },
	  "sample_type",
	  "5.12",
	  { "WEIGHT_STRUCT of sample_type needs Linux 5.12" } },
	{ "--buildid-mmap",
	  { RECORDS, .sample_type = BASIC, .build_id = 1 },
	  "build_id",
	  "5.12",
	  { "build_id needs Linux 5.12" } },
	{ "two bits",
	  { RECORDS,
	    .sample_type = BASIC | PERCH_SAMPLE_WEIGHT_STRUCT | PERCH_SAMPLE_DATA_PAGE_SIZE },
	  "sample_type",
	  "5.12",
	  { "WEIGHT_STRUCT of sample_type needs Linux 5.12",
	    "DATA_PAGE_SIZE of sample_type needs Linux 5.11" } },
	{ "two flags",
	  { RECORDS, .sample_type = BASIC, .build_id = 1, .remove_on_exec = 1 },
	  "remove_on_exec",
	  "5.13",
	  { "remove_on_exec needs Linux 5.13", "build_id needs Linux 5.12" } },
	{ "aux_pause and aux_resume",
	  { SOFTWARE, .aux_pause = 1, .aux_resume = 1 },
	  "aux_pause",
	  "6.13",
	  { "aux_pause needs Linux 6.13", "aux_resume needs Linux 6.13" } },
	{ "sigtrap",
	  { SOFTWARE, .sigtrap = 1, .remove_on_exec = 1, .enable_on_exec = 1 },
	  "remove_on_exec",
	  "5.13",
	  { "sigtrap needs Linux 5.13", "remove_on_exec needs Linux 5.13" } },
	{ "cgroups",
	  { RECORDS, .sample_type = BASIC | PERCH_SAMPLE_CGROUP | PERCH_SAMPLE_DATA_PAGE_SIZE,
	    .cgroup = 1 },
	  "sample_type",
	  "5.11",
	  { "DATA_PAGE_SIZE of sample_type needs Linux 5.11" } },
};

static void names_what_the_kernel_lacks(void **state)
{
	struct perch_explanation explanation;
	struct kernel kernel;

	(void)state;
	start(&kernel, "5.10.0-46-cloud-amd64", PERCH_ATTR_SIZE_VER6);
	backported.read_format = PERCH_FORMAT_LOST;
	for (size_t i = 0; i < (sizeof(options) / sizeof(*options)); i++) {
		const struct perch_open_call call = call_of(&options[i].attr, EINVAL);
		const struct perch_finding *finding = &explanation.finding[0];

		kernel_explain(&kernel, &call, 0, &explanation);
		for (size_t k = 0; k < 3 && options[i].words[k]; k++)
			assert_words(finding, &options[i].words[k], 1);
		assert_string_equal(finding->field[0], options[i].field);
		assert_string_equal(finding->since, options[i].since);
		assert_int_equal(explanation.confidence, PERCH_CONFIDENCE_CERTAIN);
		assert_null(strstr(finding->message, "LOST"));
		assert_int_equal(explanation.nr_next, 0);
		/* without probing, all that the release lacks is named, the first check first */
		assert_int_equal(perch_explain_open_call(&call, NULL, kernel.machine, &explanation),
				 0);
		for (size_t k = 0; k < 3 && options[i].words[k]; k++)
			assert_words(finding, &options[i].words[k], 1);
	}
	kernel_stop(&kernel);
}

/* A feature that the kernel has although its release is older is not the cause. */
static void backported_features_are_not_the_cause(void **state)
{
	const struct perch_attr attr = { SOFTWARE, .read_format = PERCH_FORMAT_LOST, .aux_pause = 1,
					 .aux_resume = 1,
					 .sample_type = PERCH_SAMPLE_CODE_PAGE_SIZE };
	const struct perch_open_call call = call_of(&attr, EINVAL);
	struct perch_explanation explanation;
	struct kernel kernel;

	(void)state;
	start(&kernel, "5.10.1", PERCH_ATTR_SIZE_VER6);
	backported = attr;
	kernel_explain(&kernel, &call, 0, &explanation);
	assert_int_equal(explanation.finding[0].cause, PERCH_CAUSE_AUX_PAUSE_RESUME);
	kernel_stop(&kernel);
}

/* The kernel checks reserved bits before the bits of sample_type and read_format. */
static void checks_are_in_the_order_of_the_kernel(void **state)
{
	const struct perch_attr attr = { .type = PERCH_TYPE_SOFTWARE,
					 .size = 136,
					 .exclude_kernel = 1,
					 .defer_callchain = 1,
					 .sample_type = UINT64_C(1) << 40,
					 .read_format = 192 };
	const struct perch_open_call call = call_of(&attr, EINVAL);
	struct perch_explanation explanation;
	struct kernel kernel;

	(void)state;
	start(&kernel, "6.18.1", PERCH_ATTR_SIZE_VER8);
	for (int probes = 0; probes < 2; probes++) {
		if (probes)
			kernel_explain(&kernel, &call, 0, &explanation);
		else
			assert_int_equal(perch_explain_open_call(&call, NULL, kernel.machine,
								 &explanation),
					 0);
		assert_int_equal(explanation.finding[0].cause, PERCH_CAUSE_TOO_NEW);
		assert_string_equal(explanation.finding[0].field[0], "defer_callchain");
		assert_string_equal(explanation.finding[0].since, "6.19");
	}
	assert_int_equal(explanation.confidence, PERCH_CONFIDENCE_CERTAIN);
	assert_int_equal(explanation.nr_next, 2);
	assert_int_equal(explanation.next[0].cause, PERCH_CAUSE_SAMPLE_TYPE_BITS);
	assert_int_equal(explanation.next[1].cause, PERCH_CAUSE_READ_FORMAT_BITS);
	kernel_stop(&kernel);
}

/* A second feature is what fails next: behind another feature, and behind an unknown flag. */
static void finds_the_next_feature(void **state)
{
	struct perch_attr attr = { SOFTWARE, .config4 = 7, .defer_callchain = 1 };
	struct perch_open_call call = call_of(&attr, E2BIG);
	struct perch_explanation explanation;
	struct kernel kernel;

	(void)state;
	start(&kernel, "6.18.1", PERCH_ATTR_SIZE_VER8);
	call.kernel_size = PERCH_ATTR_SIZE_VER8;
	for (int probes = 0; probes < 2; probes++) {
		if (probes)
			kernel_explain(&kernel, &call, 0, &explanation);
		else
			perch_explain_open_call(&call, NULL, kernel.machine, &explanation);
		assert_string_equal(explanation.finding[0].field[0], "config4");
		assert_int_equal(explanation.nr_next, 1);
		assert_int_equal(explanation.next[0].cause, PERCH_CAUSE_TOO_NEW);
		assert_string_equal(explanation.next[0].field[0], "defer_callchain");
	}
	call = call_of(&attr, EINVAL);
	call.flags = 1ul << 20;
	for (int probes = 0; probes < 2; probes++) {
		if (probes)
			kernel_explain(&kernel, &call, 0, &explanation);
		else
			perch_explain_open_call(&call, NULL, kernel.machine, &explanation);
		assert_int_equal(explanation.finding[0].cause, PERCH_CAUSE_OPEN_FLAGS);
		assert_int_equal(explanation.nr_next, 2);
		assert_string_equal(explanation.next[0].field[0], "config4");
		assert_string_equal(explanation.next[1].field[0], "defer_callchain");
	}
	kernel_stop(&kernel);
}

/* Each feature of the tables, alone, on a kernel of the release before. */
static void names_each_feature_of_the_tables(void **state)
{
	const struct perch_attr_field *fields;
	const struct perch_attr_bit *bits;
	struct perch_explanation explanation;
	struct kernel kernel;
	size_t nr;

	(void)state;
	start(&kernel, "5.6.0", PERCH_ATTR_SIZE_VER6);
	bits = perch_attr_bits(&nr);
	for (size_t i = 0; i < nr; i++) {
		struct perch_attr attr = { SOFTWARE };
		const struct perch_open_call call = call_of(&attr, EINVAL);

		if (!lacks(bits[i].since))
			continue;
		perch_attr_set(&attr, perch_attr_get_field(bits[i].field), bits[i].bit);
		if (bits[i].field[0] == 'b') {
			attr.sample_type = PERCH_SAMPLE_BRANCH_STACK;
			attr.branch_sample_type |= PERCH_SAMPLE_BRANCH_ANY;
		}
		kernel_explain(&kernel, &call, 0, &explanation);
		assert_words(&explanation.finding[0], &bits[i].name, 1);
		assert_string_equal(explanation.finding[0].since, bits[i].since);
		assert_string_equal(explanation.finding[0].field[0], bits[i].field);
	}
	fields = perch_attr_fields(&nr);
	for (size_t i = 0; i < nr; i++) {
		struct perch_attr attr = { SOFTWARE };
		struct perch_open_call call = call_of(&attr, EINVAL);

		if (!lacks(fields[i].since) || !strcmp(fields[i].name, "aux_action"))
			continue;
		perch_attr_set(&attr, &fields[i], 1);
		if (fields[i].offset >= kernel_size) {
			call.errnum = E2BIG;
			call.kernel_size = kernel_size;
		}
		kernel_explain(&kernel, &call, 0, &explanation);
		assert_words(&explanation.finding[0], &fields[i].name, 1);
		assert_string_equal(explanation.finding[0].since, fields[i].since);
		assert_string_equal(explanation.finding[0].field[0], fields[i].name);
	}
	kernel_stop(&kernel);
}

/* PERF_SAMPLE_CGROUP: probing shows whether the kernel has CONFIG_CGROUP_PERF. */
static bool refuses_cgroup_samples(const struct seen_call *call)
{
	return call->attr->sample_type & PERCH_SAMPLE_CGROUP;
}

static bool refuses_weight(const struct seen_call *call)
{
	return call->group_fd >= -1 && call->attr->sample_type & PERCH_SAMPLE_WEIGHT;
}

static void cgroup_samples_are_the_cause_only_if_refused(void **state)
{
	const struct perch_attr attr = { SOFTWARE, .sample_type = BASIC | PERCH_SAMPLE_CGROUP |
								  PERCH_SAMPLE_WEIGHT };
	const struct perch_open_call call = call_of(&attr, EINVAL);
	struct perch_explanation explanation;
	struct kernel kernel;

	(void)state;
	start(&kernel, "5.10.0", PERCH_ATTR_SIZE_VER6);
	kernel.fault[3] = (struct fault){ refuses_weight, EINVAL };
	kernel_explain(&kernel, &call, 0, &explanation);
	for (size_t i = 0; i < explanation.nr_findings; i++)
		assert_int_not_equal(explanation.finding[i].cause, PERCH_CAUSE_SAMPLE_CGROUP);
	kernel.fault[3] = (struct fault){ refuses_cgroup_samples, EINVAL };
	kernel_explain(&kernel, &call, 0, &explanation);
	assert_int_equal(explanation.finding[0].cause, PERCH_CAUSE_SAMPLE_CGROUP);
	assert_int_equal(explanation.confidence, PERCH_CONFIDENCE_CERTAIN);
	kernel_stop(&kernel);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_what_the_kernel_lacks),
		cmocka_unit_test(backported_features_are_not_the_cause),
		cmocka_unit_test(checks_are_in_the_order_of_the_kernel),
		cmocka_unit_test(finds_the_next_feature),
		cmocka_unit_test(names_each_feature_of_the_tables),
		cmocka_unit_test(cgroup_samples_are_the_cause_only_if_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
