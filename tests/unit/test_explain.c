/* SPDX-License-Identifier: MIT */
/* Refused open calls on described machines: each rule is reached and has its message. */
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

#include "explain/rules/rules.h"
#include "explain_rows.h"
#include "machine/internal.h"
#include "x86_rules.h"

static struct perch_machine *machines[NR_MACHINES]; /* machines[NONE] stays NULL */
static char roots[NR_MACHINES][PATH_MAX];

static int setup(void **state)
{
	(void)state;
	for (int i = NONE + 1; i < NR_MACHINES; i++) {
		tree_make(roots[i], machine_files[i].file, machine_files[i].nr);
		if (perch_machine_new(&machines[i], roots[i], NULL, NULL))
			return -1;
		machines[i]->breakpoints_fire.valid = i == SILENT;
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

/* Whether the message is made from the template: placeholders match any text. */
static bool is_from(const char *message, const char *template)
{
	char piece[512];

	while (*template) {
		size_t length = strcspn(template, "{");

		snprintf(piece, sizeof(piece), "%.*s", (int)length, template);
		message = strstr(message, piece);
		if (!message)
			return false;
		message += length;
		template += length;
		template += strcspn(template, "}");
		template += !!*template;
	}
	return true;
}

/* A rule that is a limit of the sysctl says how root changes it. */
static void remedies_have_the_sysctl_of_the_rule(void **state)
{
	size_t nr = 0;

	(void)state;
	for (const struct perch__rule *rule = perch__rules; rule->errnum; rule++) {
		if (!strstr(rule->message, "kernel.perf_event_paranoid <="))
			continue;
		nr++;
		if (!strstr(rule->remedy, "sysctl kernel.perf_event_paranoid="))
			fail_msg("%s: %s", rule->name, rule->remedy);
		if (!strstr(rule->message, "{paranoid"))
			fail_msg("%s: %s", rule->name, rule->message);
	}
	assert_true(nr > 10);
}

static const struct perch__rule *rule_named(const char *name)
{
	for (const struct perch__rule *rule = perch__rules; rule->errnum; rule++)
		if (!strcmp(rule->name, name))
			return rule;
	fail_msg("no rule '%s' in rules.def", name);
	return NULL;
}

static struct perch_open_call call_of(const struct row *row, struct perch_attr *attr)
{
	*attr = row->attr;
	if (!attr->size)
		attr->size = sizeof(*attr);
	return (struct perch_open_call){
		.attr = row->no_attr ? NULL : attr,
		.pid = row->pid,
		.cpu = row->cpu_plus_1 - 1,
		.group_fd = row->group_plus_1 - 1,
		.flags = row->flags,
		.errnum = row->errnum,
		.leader = row->leader,
		.from_log = row->machine == NONE,
		.attr_is_partial = row->partial,
	};
}

static int explain_row(const struct row *row, struct perch_error *err)
{
	struct perch_attr attr;
	struct perch_open_call call = call_of(row, &attr);

	memset(err, 0x55, sizeof(*err));
	return perch_explain(&call, machines[row->machine], err);
}

static void check_fields(const struct perch_finding *finding, const struct perch__rule *rule)
{
	char joined[160] = "";

	for (size_t i = 0; i < finding->nr_fields; i++) {
		strcat(joined, i ? "," : "");
		strcat(joined, finding->field[i]);
	}
	assert_string_equal(joined, rule->fields);
}

/* Continues after an error, so that one run reports all wrong rows. */
static bool row_is_wrong(const struct row *row)
{
	const struct perch__rule *rule = rule_named(row->rule);
	struct perch_explanation explained;
	const struct perch_finding *finding;
	struct perch_attr attr;
	struct perch_open_call call = call_of(row, &attr);
	size_t at = 0;

	assert_int_equal(row->errnum, rule->errnum);
	assert_int_equal(perch_explain_open_call(&call, NULL, machines[row->machine], &explained),
			 0);
	while (at < explained.nr_findings &&
	       (explained.finding[at].cause != rule->cause ||
		!is_from(explained.finding[at].message, rule->message)))
		at++;
	if (at == explained.nr_findings || (at > 0) != row->later) {
		print_error("%s: at %zu of %zu: got '%s'\n", row->rule, at, explained.nr_findings,
			    explained.finding[0].message);
		return true;
	}
	finding = &explained.finding[at];
	if (!strstr(finding->message, row->words) && !strstr(finding->remedy, row->words)) {
		print_error("%s: no '%s' in '%s', '%s'\n", row->rule, row->words, finding->message,
			    finding->remedy);
		return true;
	}
	assert_int_equal(explained.errnum, row->errnum);
	assert_int_equal(finding->kind, perch_cause_kind(rule->cause));
	assert_string_equal(finding->since, rule->since ? rule->since : "");
	check_fields(finding, rule);
	assert_true(finding->remedy[0]);
	assert_null(strpbrk(finding->message, "{}"));
	assert_null(strpbrk(finding->remedy, "{}"));
	return false;
}

static void explains_every_row(void **state)
{
	size_t wrong = 0;

	(void)state;
	NEEDS_X86_RULES();
	for (size_t i = 0; i < NR(rows); i++)
		wrong += row_is_wrong(&rows[i]);
	assert_int_equal(wrong, 0);
}

/* After its fix a rule does not match. */
static void rules_do_not_match_after_their_fix(void **state)
{
	size_t fixed = 0, wrong = 0;

	(void)state;
	NEEDS_X86_RULES();
	for (size_t i = 0; i < NR(rows); i++) {
		const struct perch__rule *rule = rule_named(rows[i].rule);
		struct perch_attr attr;
		struct perch_open_call call = call_of(&rows[i], &attr);
		struct perch__case c = {
			.call = &call,
			.attr = attr,
			.size = attr.size,
			.pid = call.pid,
			.cpu = call.cpu,
			.group_fd = call.group_fd,
			.flags = call.flags,
			.errnum = call.errnum,
			.machine = machines[rows[i].machine],
		};

		if (rule->match(&c) == PERCH__NO)
			fail_msg("%s does not fit its row", rule->name);
		if (!rule->fix)
			continue;
		rule->fix(&c);
		/* either may be right */
		if (rule->match(&c) != PERCH__NO && strcmp(rule->name, "group_other_inherit")) {
			print_error("%s matches its row after its fix\n", rule->name);
			wrong++;
		}
		fixed++;
	}
	assert_int_equal(wrong, 0);
	assert_true(fixed > 60);
}

/* CPU numbers with a gap: CPU 5 exists, although there are fewer CPUs. */
static void cpu_numbers_may_have_a_gap(void **state)
{
	const struct row row = { .machine = GUEST,
				 .errnum = EINVAL,
				 .cpu_plus_1 = 5 + 1,
				 .attr = { .type = PERCH_TYPE_SOFTWARE } };
	struct perch_error err;

	(void)state;
	assert_int_equal(explain_row(&row, &err), -EINVAL);
	assert_int_not_equal(err.kind, PERCH_ERROR_NO_CPU);
}

/* Each rule has a row. A rule without one has no test, or an earlier rule matches instead. */
static void every_rule_has_a_row(void **state)
{
	/* these need memory and files, which described machines do not have:
	 * reads_paths_of_uprobes() */
	static const char *const foreign[] = { "uprobe_empty_path", "uprobe_no_file",
					       "uprobe_offset",
					       /* only probing distinguishes these */
					       "group_clock_monotonic", "group_clock_monotonic_raw",
					       "group_clock_realtime", "group_clock_boottime",
					       "group_clock_tai" };
	size_t unreached = 0;

	(void)state;
	for (const struct perch__rule *rule = perch__rules; rule->errnum; rule++) {
		bool reached = false;

		for (size_t i = 0; i < NR(rows); i++)
			reached = reached || !strcmp(rows[i].rule, rule->name);
		for (size_t i = 0; i < NR(foreign); i++)
			reached = reached || !strcmp(foreign[i], rule->name);
		if (reached)
			continue;
		print_error("no row reaches the rule '%s'\n", rule->name);
		unreached++;
	}
	assert_int_equal(unreached, 0);
}

struct random_call {
	struct perch_open_call call;
	struct perch_attr attr;
	char beyond[64]; /* attr.size may reach so far */
};

static void random_call(struct random_call *given, unsigned short seed[3])
{
	static const int errnums[] = { EPERM,	  ENOENT,     ESRCH,  EINTR,  ENXIO,  E2BIG,
				       EBADF,	  ENOMEM,     EACCES, EFAULT, EBUSY,  ENODEV,
				       EINVAL,	  ENFILE,     EMFILE, ENOSPC, ENOSYS, ENODATA,
				       EOVERFLOW, EOPNOTSUPP, EIO,    4095 };
	static const struct perch_open_call_leader *const leaders[] = {
		NULL, &leader_member, &leader_with_clock, &leader_of_atom, &leader_of_cgroup
	};
	const struct perch_attr_field *fields;
	size_t nr;

	memset(given, 0, sizeof(*given));
	given->attr.type = nrand48(seed) % 16;
	given->attr.size = nrand48(seed) % 8 ? (long)sizeof(given->attr) : nrand48(seed) % 200;
	given->call = (struct perch_open_call){
		.attr = &given->attr,
		.pid = nrand48(seed) % 4 - 1,
		.cpu = nrand48(seed) % 7 - 2,
		.group_fd = nrand48(seed) % 3 - 1,
		.flags = nrand48(seed) % 17,
		.errnum = errnums[nrand48(seed) % NR(errnums)],
		.pid_is_cgroup_fd = nrand48(seed) % 2,
		.attr_is_partial = nrand48(seed) % 2,
		.leader = leaders[nrand48(seed) % NR(leaders)],
	};
	fields = perch_attr_fields(&nr);
	for (long set = nrand48(seed) % 6; set > 0; set--)
		perch_attr_set(&given->attr, &fields[2 + nrand48(seed) % (nr - 2)],
			       1ull << nrand48(seed) % 64 | nrand48(seed) % 2);
}

/* The messages of random open calls are complete. */
static void messages_of_random_calls_are_complete(void **state)
{
	unsigned short seed[3] = { 1, 2, 3 };
	struct random_call given;
	struct perch_error err;

	(void)state;
	for (int i = 0; i < 50000; i++) {
		random_call(&given, seed);
		assert_int_equal(perch_explain(&given.call, machines[i % NR_MACHINES], &err),
				 -given.call.errnum);
		assert_true(err.message[0] && !strpbrk(err.message, "{}\n"));
		assert_true(err.kind > PERCH_ERROR_NONE && err.kind < PERCH_ERROR_MAX);
		assert_int_equal(err.errnum, given.call.errnum);
	}
}

static void explain_attr(const struct perch_attr *attr, enum machine_kind machine, int errnum,
			 struct perch_error *err)
{
	struct perch_open_call call = { .attr = attr,
					.cpu = -1,
					.group_fd = -1,
					.errnum = errnum,
					.from_log = machine == NONE };

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

/* EINVAL of a correct open call: it uses a feature newer than the kernel. */
static void finds_features_newer_than_the_release(void **state)
{
	struct perch_attr attr = { .type = PERCH_TYPE_SOFTWARE, .size = sizeof(attr) };
	struct perch_error err;

	(void)state;
	attr.build_id = 1;
	explain_attr(&attr, OLD, EINVAL, &err);
	assert_too_new(&err, "build_id", "5.12");
	assert_non_null(strstr(err.message, "4.4.0-116-generic"));
	attr.cgroup = 1; /* older than build_id: the newest feature is named */
	explain_attr(&attr, OLD, EINVAL, &err);
	assert_too_new(&err, "build_id", "5.12");
	explain_attr(&attr, GUEST, EINVAL, &err); /* 6.14 has both */
	assert_int_equal(err.kind, PERCH_ERROR_SYSTEM);
	assert_true(err.remedy[0]);
	attr.defer_callchain = 1;
	explain_attr(&attr, NONE, EINVAL, &err); /* no release: a guess */
	assert_too_new(&err, "defer_callchain", "6.19");
	attr = (struct perch_attr){ .type = PERCH_TYPE_SOFTWARE,
				    .size = 64,
				    .read_format = PERCH_FORMAT_LOST };
	explain_attr(&attr, OLD, EINVAL, &err);
	assert_too_new(&err, "read_format", "6.0");
	attr.read_format = 0;
	attr.sample_type = PERCH_SAMPLE_CODE_PAGE_SIZE;
	explain_attr(&attr, OLD, EINVAL, &err);
	assert_too_new(&err, "sample_type", "5.11");
}

/* The kernel checks features of the attr before all other rules, if its release is known. */
static void too_new_features_precede_possible_causes(void **state)
{
	struct perch_attr attr = { .type = PERCH_TYPE_TRACEPOINT,
				   .size = sizeof(attr),
				   .build_id = 1 };
	struct perch_error err;

	(void)state;
	explain_attr(&attr, OLD, EINVAL, &err);
	assert_too_new(&err, "build_id", "5.12");
	assert_non_null(strstr(err.message, "; or the id of a tracepoint"));
	explain_attr(&attr, NONE, EINVAL, &err); /* a guess does not precede what is certain */
	assert_string_equal(err.field, "config");
	attr.config = 4711;
	explain_attr(&attr, OLD, EINVAL, &err);
	assert_too_new(&err, "build_id", "5.12");
	explain_attr(&attr, GUEST, EINVAL, &err);
	assert_string_equal(err.field, "config");
	attr.inherit_thread = 1;
	explain_attr(&attr, OLD, EINVAL, &err);
	assert_too_new(&err, "inherit_thread", "5.13");
	assert_non_null(strstr(err.message, "build_id needs Linux 5.12 (this is 4.4"));
	explain_attr(&attr, GUEST, EINVAL, &err);
	assert_string_equal(err.field, "inherit_thread");
	assert_int_equal(err.kind, PERCH_ERROR_CONFLICT);
}

/* After E2BIG the kernel has written its own size into the attr. */
static void finds_fields_beyond_the_size_of_the_kernel(void **state)
{
	struct perch_attr attr = { .type = PERCH_TYPE_SOFTWARE,
				   .size = PERCH_ATTR_SIZE_VER7,
				   .config3 = 1 };
	struct perch_error err;

	(void)state;
	for (int machine = 0; machine < NR_MACHINES; machine++) {
		explain_attr(&attr, machine, E2BIG, &err);
		assert_too_new(&err, "config3", "6.3");
	}
	attr.config3 = 0;
	explain_attr(&attr, NONE, E2BIG, &err);
	assert_int_equal(err.cause, PERCH_CAUSE_ATTR_SIZE);
}

/* The rules ignore bytes beyond the size, as the kernel does. */
static void ignores_fields_beyond_attr_size(void **state)
{
	struct perch_attr attr = { .type = PERCH_TYPE_SOFTWARE,
				   .size = PERCH_ATTR_SIZE_VER5,
				   .reserved_3 = 1 };
	struct perch_error err;

	(void)state;
	explain_attr(&attr, GUEST, EINVAL, &err);
	assert_int_equal(err.kind, PERCH_ERROR_SYSTEM);
	attr.size = PERCH_ATTR_SIZE_VER6;
	explain_attr(&attr, GUEST, EINVAL, &err);
	assert_string_equal(err.field, "aux_action");
}

/* With privilege, paranoid is not the cause. */
static void privileged_processes_are_not_restricted_by_paranoid(void **state)
{
	struct perch_attr attr = { .type = PERCH_TYPE_SOFTWARE,
				   .size = sizeof(attr),
				   .sample_type = PERCH_SAMPLE_PHYS_ADDR };
	struct perch_error err;

	(void)state;
	explain_attr(&attr, LOCKED, EACCES, &err);
	assert_int_equal(err.kind, PERCH_ERROR_BLOCKED);
	explain_attr(&attr, GUEST, EACCES, &err);
	assert_int_equal(err.kind, PERCH_ERROR_PARANOID);
	/* without facts: only what the errno shows, without a number */
	explain_attr(&attr, NONE, EACCES, &err);
	assert_int_equal(err.kind, PERCH_ERROR_PARANOID);
	assert_null(strstr(err.message, "(it is"));
}

/* The path of a uprobe is in the memory of the process: here the test itself. */
static void reads_paths_of_uprobes(void **state)
{
	static const struct {
		const char *path;
		uint64_t offset;
		const char *rule;
	} cases[] = {
		{ "", 0, "uprobe_empty_path" },
		{ "/proc", 0, "uprobe_no_file" },
		{ "/proc/self/exe", UINT64_C(1) << 40, "uprobe_offset" },
		{ "/nowhere/at/all", 0, "uprobe_unknown" },
	};
	struct perch_machine *here;
	const struct perch_pmu *uprobe;

	(void)state;
	assert_int_equal(perch_machine_new(&here, NULL, NULL, NULL), 0);
	uprobe = perch_machine_pmu(here, "uprobe");
	if (!uprobe) {
		perch_machine_free(here);
		skip();
	}
	for (size_t i = 0; i < NR(cases); i++) {
		struct perch_attr attr = { .type = uprobe->type,
					   .size = sizeof(attr),
					   .config2 = cases[i].offset,
					   .config1 = (uintptr_t)cases[i].path };
		struct perch_open_call call = {
			.attr = &attr, .cpu = -1, .group_fd = -1, .errnum = EINVAL
		};
		struct perch_explanation explained;

		assert_int_equal(perch_explain_open_call(&call, NULL, here, &explained), 0);
		if (!is_from(explained.finding[0].message, rule_named(cases[i].rule)->message))
			fail_msg("%s: got '%s'", cases[i].rule, explained.finding[0].message);
		call.attr_is_partial = true; /* a log: the address is in another process */
		perch_explain_open_call(&call, NULL, here, &explained);
		assert_false(is_from(explained.finding[0].message,
				     rule_named("uprobe_no_file")->message));
	}
	perch_machine_free(here);
}

/* Without a machine, the explanation has the facts of this machine: it is that of a new one. */
static void no_machine_is_this_machine(void **state)
{
	const struct perch_attr attrs[] = {
		{ .type = PERCH_TYPE_SOFTWARE, .size = sizeof(*attrs) },
		{ .type = PERCH_TYPE_SOFTWARE,
		  .size = sizeof(*attrs),
		  .freq = 1,
		  .sample_freq = 2000000000 },
		{ .type = PERCH_TYPE_SOFTWARE,
		  .size = sizeof(*attrs),
		  .sample_type = PERCH_SAMPLE_CALLCHAIN,
		  .sample_max_stack = 65535 },
	};
	static const int errnums[] = { EACCES, EINVAL, EOVERFLOW };
	struct perch_machine *here;
	struct perch_error err, expected;

	(void)state;
	assert_int_equal(perch_machine_new(&here, NULL, NULL, NULL), 0);
	for (size_t i = 0; i < NR(attrs); i++) {
		struct perch_open_call call = {
			.attr = &attrs[i], .cpu = -1, .group_fd = -1, .errnum = errnums[i]
		};

		perch_explain(&call, here, &expected);
		assert_int_equal(perch_explain(&call, NULL, &err), -errnums[i]);
		assert_string_equal(err.message, expected.message);
		assert_string_equal(err.remedy, expected.remedy);
		if (i) /* as root, no sysctl causes EACCES */
			assert_non_null(strstr(err.message, "(currently "));
		call.from_log = true;
		perch_explain(&call, NULL, &err);
		assert_null(strstr(err.message, "(currently "));
	}
	perch_machine_free(here);
}

/* The filter of a process is not the cause if a tracer has installed it. */
static void filters_of_a_tracer_are_not_the_cause(void **state)
{
	struct perch_attr attr = { .type = PERCH_TYPE_SOFTWARE, .size = sizeof(attr) };
	struct perch_open_call call = { .attr = &attr, .cpu = -1, .group_fd = -1, .errnum = EPERM };
	struct perch_error err;

	(void)state;
	perch_explain(&call, machines[CONTAINER], &err);
	assert_int_equal(err.cause, PERCH_CAUSE_SECCOMP);
	call.tracer_filters = 1; /* of 2 */
	perch_explain(&call, machines[CONTAINER], &err);
	assert_int_equal(err.cause, PERCH_CAUSE_SECCOMP);
	call.tracer_filters = 2;
	perch_explain(&call, machines[CONTAINER], &err);
	assert_int_equal(err.cause, PERCH_CAUSE_SECURITY_MODULE);
}

/* A container does not decide about a filter that the program was seen to install. */
static void filters_of_the_program_are_not_those_of_a_container(void **state)
{
	struct perch_attr attr = { .type = PERCH_TYPE_SOFTWARE, .size = sizeof(attr) };
	struct perch_open_call call = { .attr = &attr, .cpu = -1, .group_fd = -1, .errnum = EPERM };
	struct perch_error err;

	(void)state;
	perch_explain(&call, machines[CONTAINER], &err);
	assert_non_null(strstr(err.message, "container"));
	assert_non_null(strstr(err.remedy, "--cap-add"));
	call.own_filters = 1;
	perch_explain(&call, machines[CONTAINER], &err);
	assert_int_equal(err.cause, PERCH_CAUSE_SECCOMP);
	assert_non_null(strstr(err.message, "the program has installed itself"));
	assert_null(strstr(err.message, "container"));
	assert_null(strstr(err.remedy, "--cap-add"));
	assert_non_null(strstr(err.remedy, "the filter that the program installs"));
}

static void refuses_calls_without_an_errno(void **state)
{
	struct perch_attr attr = { .size = sizeof(attr) };
	struct perch_open_call call = { .attr = &attr, .cpu = -1, .group_fd = -1, .errnum = 0 };
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
		cmocka_unit_test(remedies_have_the_sysctl_of_the_rule),
		cmocka_unit_test(explains_every_row),
		cmocka_unit_test(rules_do_not_match_after_their_fix),
		cmocka_unit_test(cpu_numbers_may_have_a_gap),
		cmocka_unit_test(every_rule_has_a_row),
		cmocka_unit_test(messages_of_random_calls_are_complete),
		cmocka_unit_test(finds_features_newer_than_the_release),
		cmocka_unit_test(too_new_features_precede_possible_causes),
		cmocka_unit_test(finds_fields_beyond_the_size_of_the_kernel),
		cmocka_unit_test(ignores_fields_beyond_attr_size),
		cmocka_unit_test(privileged_processes_are_not_restricted_by_paranoid),
		cmocka_unit_test(reads_paths_of_uprobes),
		cmocka_unit_test(no_machine_is_this_machine),
		cmocka_unit_test(filters_of_a_tracer_are_not_the_cause),
		cmocka_unit_test(filters_of_the_program_are_not_those_of_a_container),
		cmocka_unit_test(refuses_calls_without_an_errno),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
