/* SPDX-License-Identifier: MIT */
/*
 * The events and CPUs that a sampler opens: PMUs with some CPUs, the tracking event, groups, terms,
 * cgroups, filters.
 */
#define _GNU_SOURCE /* nftw */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "build/one_target.h"
#include "sampler_fixture.h"
#include "tree.h"

#define PMUS "/sys/bus/event_source/devices/"

/* Two kinds of cores, and an uncore PMU that is read on CPU 2. */
static const struct tree_file hybrid[] = {
	{ "/sys/devices/system/cpu/online", "0-3\n" },
	{ "/sys/devices/system/cpu/present", "0-3\n" },
	{ PMUS "cpu_core/type", "4\n" },
	{ PMUS "cpu_core/cpus", "0-1\n" },
	{ PMUS "cpu_core/format/event", "config:0-7\n" },
	{ PMUS "cpu_atom/type", "10\n" },
	{ PMUS "cpu_atom/cpus", "2-3\n" },
	{ PMUS "cpu_atom/format/event", "config:0-7\n" },
	{ PMUS "uncore_imc/type", "24\n" },
	{ PMUS "uncore_imc/cpumask", "2\n" },
	{ PMUS "uncore_imc/format/event", "config:0-7\n" },
};

struct fixture {
	char root[PATH_MAX];
	struct kernel k;
	struct perch_syscalls calls;
	struct perch_machine *machine;
	struct perch_events events;
	struct perch_sampler *sampler;
	struct perch_sampler_options options;
	const struct perch_cpus *cpus; /* of the targets; NULL is all online CPUs */
	struct perch_error err;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	tree_make(fixture->root, hybrid, sizeof(hybrid) / sizeof(*hybrid));
	fixture->k.gone = -5;
	fixture->calls = fake_calls(&fixture->k);
	assert_int_equal(perch_machine_new(&fixture->machine, fixture->root, &fixture->calls, NULL),
			 0);
	fixture->options.event = (struct perch_options){
		.frequency = 1000,
		.sample = PERCH_SAMPLE_IP,
		.read = PERCH_FORMAT_ID,
		.machine = fixture->machine,
		.sideband = PERCH_SIDEBAND_MMAP | PERCH_SIDEBAND_COMM | PERCH_SIDEBAND_TASK,
	};
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	perch_sampler_close(fixture->sampler);
	perch_events_clear(&fixture->events);
	perch_machine_free(fixture->machine);
	tree_remove(fixture->root);
	assert_int_equal(fixture->k.maps, fixture->k.unmaps);
	for (int i = 0; i < fixture->k.nr; i++)
		assert_true(fixture->k.fd[i].closed);
	free(fixture);
	return 0;
}

static int open_fixture(struct fixture *fixture, const char *text, pid_t pid)
{
	struct perch_targets targets = make_targets(&pid, 1, fixture->cpus);
	int rc;

	perch_events_clear(&fixture->events);
	assert_int_equal(
		perch_events_parse(&fixture->events, text, fixture->machine, &fixture->err), 0);
	rc = perch_sampler_open_events(&fixture->sampler, &fixture->events, &targets,
				       &fixture->options, &fixture->err);
	perch_targets_clear(&targets);
	return rc;
}

/* The number of descriptors of a type and config, and a mask of their CPUs. */
static int opened(const struct fixture *fixture, uint32_t type, uint64_t config, unsigned *cpus)
{
	int nr = 0;

	*cpus = 0;
	for (int i = 0; i < fixture->k.nr; i++) {
		const struct perch_attr *attr = &fixture->k.fd[i].attr;

		if (fixture->k.fd[i].closed || attr->type != type || attr->config != config)
			continue;
		nr++;
		*cpus |= 1u << fixture->k.fd[i].cpu;
	}
	return nr;
}

static const struct perch_attr *own_event(struct fixture *fixture)
{
	const uint64_t *ids;
	const char *name;
	size_t nr;
	const struct perch_attr *attr =
		perch_sampler_event(fixture->sampler, fixture->events.nr, &name, &ids, &nr);

	if (attr) {
		assert_string_equal(name, "dummy");
		assert_int_equal(attr->type, PERCH_TYPE_SOFTWARE);
		assert_int_equal(attr->config, PERCH_COUNT_SW_DUMMY);
	}
	return attr;
}

static void opens_on_the_cpus_of_a_pmu(void **state)
{
	struct fixture *fixture = *state;
	const struct perch_attr *own;
	unsigned cpus;

	assert_int_equal(
		open_fixture(fixture,
			     "cpu_core/event=3/,cpu_atom/event=4/,uncore_imc/event=5/,cpu-clock",
			     -1),
		0);
	assert_int_equal(opened(fixture, 4, 3, &cpus), 2);
	assert_int_equal(cpus, 0x3);
	assert_int_equal(opened(fixture, 10, 4, &cpus), 2);
	assert_int_equal(cpus, 0xc);
	assert_int_equal(opened(fixture, 24, 5, &cpus), 1);
	assert_int_equal(cpus, 0x4);
	assert_int_equal(opened(fixture, PERCH_TYPE_SOFTWARE, PERCH_COUNT_SW_CPU_CLOCK, &cpus), 4);
	/* the first event is on two of four CPUs, so the tracking event is on all */
	own = own_event(fixture);
	assert_non_null(own);
	assert_int_equal(opened(fixture, own->type, own->config, &cpus), 4);
	assert_int_equal(cpus, 0xf);
	for (int i = 0; i < fixture->k.nr; i++)
		assert_int_equal(fixture->k.fd[i].attr.mmap,
				 fixture->k.fd[i].attr.config == PERCH_COUNT_SW_DUMMY &&
					 fixture->k.fd[i].attr.type == PERCH_TYPE_SOFTWARE);
	assert_true(own->comm && own->task && own->mmap2 && !own->disabled && own->sample_id_all);
	assert_int_equal(perch_sampler_rings(fixture->sampler), 4);
}

static void reports_the_cpu_of_ids(void **state)
{
	struct fixture *fixture = *state;
	size_t ring;
	pid_t pid;
	int cpu;

	assert_int_equal(open_fixture(fixture, "cpu_atom/event=4/", 77), 0);
	assert_int_equal(perch_sampler_id_info(fixture->sampler, 0, 1, &cpu, &pid, &ring), 0);
	assert_int_equal(cpu, 3);
	assert_int_equal(pid, 77);
	assert_int_equal(ring, 3);
	assert_int_equal(perch_sampler_id_info(fixture->sampler, 0, 2, &cpu, &pid, &ring), -EINVAL);
	assert_int_equal(perch_sampler_id_info(fixture->sampler, 9, 0, &cpu, &pid, &ring), -EINVAL);
	assert_int_equal(perch_sampler_id_info(fixture->sampler, 1, 3, &cpu, &pid, &ring), 0);
	assert_int_equal(cpu, 3);
}

static void first_event_tracks_all_cpus(void **state)
{
	struct fixture *fixture = *state;
	unsigned cpus;

	assert_int_equal(open_fixture(fixture, "cpu-clock,cpu_core/event=3/", -1), 0);
	assert_null(own_event(fixture));
	assert_int_equal(opened(fixture, PERCH_TYPE_SOFTWARE, PERCH_COUNT_SW_DUMMY, &cpus), 0);
	assert_true(fixture->k.fd[0].attr.mmap);
}

static void uses_only_the_listed_cpus(void **state)
{
	static int list[] = { 0, 1 };
	struct perch_cpus cpus = { 2, list };
	struct fixture *fixture = *state;

	fixture->cpus = &cpus;
	assert_int_equal(open_fixture(fixture, "cpu_core/event=3/", -1), 0);
	assert_null(own_event(fixture));
	assert_int_equal(fixture->k.nr, 2);
}

/* A task that execs on CPU 3 and migrates to CPU 1 must be known. */
static void tracks_all_cpus(void **state)
{
	static int list[] = { 1 };
	struct perch_cpus cpus = { 1, list };
	struct fixture *fixture = *state;
	unsigned where;

	fixture->cpus = &cpus;
	fixture->options.tracking_event = true;
	assert_int_equal(open_fixture(fixture, "cpu-clock,cs", -1), 0);
	assert_int_equal(opened(fixture, PERCH_TYPE_SOFTWARE, PERCH_COUNT_SW_CPU_CLOCK, &where), 1);
	assert_int_equal(where, 0x2);
	assert_int_equal(
		opened(fixture, PERCH_TYPE_SOFTWARE, PERCH_COUNT_SW_CONTEXT_SWITCHES, &where), 1);
	assert_int_equal(opened(fixture, PERCH_TYPE_SOFTWARE, PERCH_COUNT_SW_DUMMY, &where), 4);
	assert_int_equal(where, 0xf);
	assert_int_equal(perch_sampler_rings(fixture->sampler), 4);
}

static void refuses_a_pmu_of_other_cpus(void **state)
{
	static int list[] = { 0, 1 };
	struct perch_cpus cpus = { 2, list };
	struct fixture *fixture = *state;

	fixture->cpus = &cpus;
	assert_int_equal(open_fixture(fixture, "cpu-clock,cpu_atom/event=3/", -1), -ENODEV);
	assert_int_equal(fixture->err.kind, PERCH_ERROR_NO_CPU);
	assert_non_null(strstr(fixture->err.message, "cpu_atom/event=3/"));
	assert_null(fixture->sampler);
}

static void adds_a_tracking_event_on_request(void **state)
{
	struct fixture *fixture = *state;
	const struct perch_attr *own;

	fixture->options.tracking_event = true;
	fixture->options.event.inherit = 1;
	assert_int_equal(open_fixture(fixture, "cpu-clock", 77), 0);
	own = own_event(fixture);
	assert_non_null(own);
	assert_true(own->inherit && own->mmap && !own->disabled);
	assert_int_equal(own->sample_period, 1);
	assert_int_equal(own->sample_type & PERCH_SAMPLE_IDENTIFIER, PERCH_SAMPLE_IDENTIFIER);
	assert_true(fixture->k.fd[0].attr.disabled && !fixture->k.fd[0].attr.mmap);
	assert_int_equal(fixture->k.fd[0].attr.sample_type & PERCH_SAMPLE_IDENTIFIER,
			 PERCH_SAMPLE_IDENTIFIER);
}

static int no_inherited_counts(const struct perch_attr *attr, int cpu, int group)
{
	(void)cpu;
	(void)group;
	return attr->inherit && attr->sample_type & PERCH_SAMPLE_READ ? EINVAL : 0;
}

/* Terms of the first event must not remove side-band records. */
static void adds_a_tracking_event_if_needed(void **state)
{
	static const char *const unsupported[] = { "cpu-clock/no-inherit/", "cpu-clock/time=0/",
						   "cpu-clock:D", "{cpu-clock,cs}:S" };
	struct fixture *fixture = *state;

	fixture->options.event.inherit = 1;
	fixture->k.refuse = no_inherited_counts;
	for (size_t i = 0; i < sizeof(unsupported) / sizeof(*unsupported); i++) {
		const struct perch_attr *own;

		assert_int_equal(open_fixture(fixture, unsupported[i], 77), 0);
		own = own_event(fixture);
		if (!own)
			print_error("%s\n", unsupported[i]);
		assert_non_null(own);
		assert_true(own->inherit && !own->pinned && own->mmap);
		assert_true(own->sample_type & PERCH_SAMPLE_TIME);
		assert_false(fixture->k.fd[0].attr.mmap);
		perch_sampler_close(fixture->sampler);
		perch_events_clear(&fixture->events);
		fixture->k.nr = 0;
	}
	fixture->sampler = NULL;
	assert_int_equal(open_fixture(fixture, "cpu-clock", 77), 0);
	assert_null(own_event(fixture));
}

static void has_no_sideband_by_default(void **state)
{
	struct fixture *fixture = *state;

	fixture->options.event.sideband = 0;
	fixture->options.tracking_event = true;
	assert_int_equal(open_fixture(fixture, "cpu_core/event=3/", -1), 0);
	assert_null(own_event(fixture));
	assert_int_equal(perch_sampler_rings(fixture->sampler), 2);
}

static void leader_samples_for_its_group(void **state)
{
	struct fixture *fixture = *state;
	const struct perch_attr *leader = &fixture->k.fd[1].attr, *member = &fixture->k.fd[2].attr;

	/* the first descriptor is the event that finds out what the kernel inherits */
	fixture->options.event.inherit = 1;
	assert_int_equal(open_fixture(fixture, "{cpu-clock,cs/period=7/}:S,faults", 77), 0);
	assert_true(fixture->k.fd[0].closed);
	assert_int_equal(leader->sample_freq, 1000);
	assert_true(leader->freq);
	assert_int_equal(member->config, PERCH_COUNT_SW_CONTEXT_SWITCHES);
	assert_int_equal(member->sample_period, 0);
	assert_false(member->freq);
	for (int i = 1; i < 3; i++) {
		assert_int_equal(fixture->k.fd[i].attr.read_format,
				 PERCH_FORMAT_ID | PERCH_FORMAT_GROUP);
		assert_int_equal(fixture->k.fd[i].attr.sample_type & PERCH_SAMPLE_READ,
				 PERCH_SAMPLE_READ);
		assert_true(fixture->k.fd[i].attr.inherit);
	}
	assert_int_equal(fixture->k.fd[3].attr.sample_freq, 1000);
	assert_int_equal(fixture->k.fd[3].attr.read_format, PERCH_FORMAT_ID);
	assert_true(fixture->k.fd[3].attr.inherit);
	assert_int_equal(perch_sampler_leader(fixture->sampler, 1), 0);
	assert_int_equal(perch_sampler_leader(fixture->sampler, 2), 2);
}

/* Kernels before 6.12, and events of all processes, whose samples have the counts of the CPU. */
static void counts_of_a_group_are_not_inherited(void **state)
{
	struct fixture *fixture = *state;

	fixture->options.event.inherit = 1;
	assert_int_equal(open_fixture(fixture, "{cpu-clock,cs}:S,faults", -1), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(fixture->k.fd[i].attr.inherit, i == 2);
	perch_sampler_close(fixture->sampler);
	fixture->k.nr = 0;
	fixture->k.refuse = no_inherited_counts;
	assert_int_equal(open_fixture(fixture, "{cpu-clock,cs}:S,faults:S", 77), 0);
	for (int i = 0; i < 3; i++)
		assert_false(fixture->k.fd[i].attr.inherit);
}

static int no_faults_in_groups(const struct perch_attr *attr, int cpu, int group)
{
	return attr->config == PERCH_COUNT_SW_PAGE_FAULTS && group >= 0 && cpu == 1 ? EINVAL : 0;
}

static void breaks_up_a_weak_group(void **state)
{
	struct fixture *fixture = *state;
	unsigned cpus;

	fixture->k.refuse = no_faults_in_groups;
	assert_int_equal(open_fixture(fixture, "cpu-clock,{cs,faults,migrations}:W", 77), 0);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(perch_sampler_leader(fixture->sampler, i), i);
	assert_int_equal(opened(fixture, PERCH_TYPE_SOFTWARE, PERCH_COUNT_SW_PAGE_FAULTS, &cpus),
			 4);
	for (int i = 0; i < fixture->k.nr; i++)
		if (!fixture->k.fd[i].closed) {
			assert_int_equal(fixture->k.fd[i].group, -1);
			assert_true(fixture->k.fd[i].attr.disabled);
		}
}

static void keeps_a_strong_group(void **state)
{
	struct fixture *fixture = *state;

	fixture->k.refuse = no_faults_in_groups;
	assert_int_equal(open_fixture(fixture, "{cs,faults}", 77), -EINVAL);
	assert_null(fixture->sampler);
}

static void refuses_the_term_overwrite(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(open_fixture(fixture, "cpu-clock,cs/overwrite/", 77), -EINVAL);
	assert_string_equal(fixture->err.field, "write_backward");
	assert_int_equal(fixture->k.nr, 0);
}

static void terms_override_options(void **state)
{
	struct fixture *fixture = *state;

	fixture->options.event.sample |= PERCH_SAMPLE_CALLCHAIN;
	assert_int_equal(open_fixture(fixture,
				      "cpu-clock/period=5/,cs/freq=7,call-graph=no/,faults/time=0/",
				      77),
			 0);
	assert_int_equal(fixture->k.fd[0].attr.sample_period, 5);
	assert_false(fixture->k.fd[0].attr.freq);
	assert_true(fixture->k.fd[0].attr.sample_type & PERCH_SAMPLE_CALLCHAIN);
	assert_int_equal(fixture->k.fd[1].attr.sample_freq, 7);
	assert_true(fixture->k.fd[1].attr.freq);
	assert_false(fixture->k.fd[1].attr.sample_type & PERCH_SAMPLE_CALLCHAIN);
	assert_false(fixture->k.fd[2].attr.sample_type & PERCH_SAMPLE_TIME);
}

static void binds_each_event_to_its_cgroup(void **state)
{
	struct perch_target cgroup = { .tid = -1, .cpu = -1, .cgroup_fd = 50, .use_cgroup = 1 };
	const struct perch_targets *lists[] = { ONE_TARGET(&cgroup), NULL };
	struct fixture *fixture = *state;

	fixture->options.event_targets = lists;
	assert_int_equal(open_fixture(fixture, "cpu-clock,cs", -1), 0);
	assert_int_equal(fixture->k.nr, 12);
	for (int i = 0; i < 12; i++) {
		bool bound = i % 3 == 2; /* after the common list */

		assert_int_equal(fixture->k.fd[i].pid, bound ? 50 : -1);
		assert_int_equal(!!(fixture->k.fd[i].flags & PERCH_FLAG_PID_CGROUP), bound);
		assert_int_equal(fixture->k.fd[i].attr.mmap, i % 3 == 1);
	}
}

static void sets_filters(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(
		perch_events_parse(&fixture->events, "cpu-clock,cs", fixture->machine, NULL), 0);
	fixture->events.event[1].filter = strdup("prev_pid > 5");
	assert_int_equal(perch_sampler_open_events(&fixture->sampler, &fixture->events,
						   &perch_all_cpus, &fixture->options, NULL),
			 0);
	for (int i = 0; i < fixture->k.nr; i++)
		assert_string_equal(fixture->k.fd[i].filter, i % 2 ? "prev_pid > 5" : "");
}

static void refused_filter_names_its_event(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(
		perch_events_parse(&fixture->events, "cpu-clock,cs", fixture->machine, NULL), 0);
	fixture->events.event[1].filter = strdup("no_such == 5");
	fixture->k.refuse_filters = EINVAL;
	assert_int_equal(perch_sampler_open_events(&fixture->sampler, &fixture->events,
						   &perch_all_cpus, &fixture->options,
						   &fixture->err),
			 -EINVAL);
	assert_non_null(strstr(fixture->err.message, "event 'cs', filter 'no_such == 5'"));
}

static void reads_lost_samples(void **state)
{
	struct fixture *fixture = *state;
	uint64_t lost = 1;

	fixture->options.event.read |= PERCH_FORMAT_LOST;
	assert_int_equal(open_fixture(fixture, "{cpu-clock,cs}:S,faults:D", 77), 0);
	fixture->k.fd[0].lost = 3; /* three events per CPU */
	fixture->k.fd[1].lost = 40;
	fixture->k.fd[5].lost = 500;
	assert_int_equal(perch_sampler_lost(fixture->sampler, 0, 0, &lost, NULL), 0);
	assert_int_equal(lost, 3);
	assert_int_equal(perch_sampler_lost(fixture->sampler, 0, 1, &lost, NULL), 0);
	assert_int_equal(lost, 0);
	/* found in its group by its id */
	assert_int_equal(perch_sampler_lost(fixture->sampler, 1, 0, &lost, NULL), 0);
	assert_int_equal(lost, 40);
	assert_int_equal(perch_sampler_lost(fixture->sampler, 2, 0, &lost, NULL), 0);
	assert_int_equal(lost, 0); /* pinned: read(2) returns nothing */
	assert_int_equal(perch_sampler_lost(fixture->sampler, 0, 99, &lost, &fixture->err),
			 -EINVAL);
	assert_int_equal(perch_sampler_lost(fixture->sampler, 99, 0, &lost, NULL), -EINVAL);
}

static void refuses_lost_without_the_format(void **state)
{
	struct fixture *fixture = *state;
	uint64_t lost = 1;

	assert_int_equal(open_fixture(fixture, "cpu-clock", 77), 0);
	assert_int_equal(perch_sampler_lost(fixture->sampler, 0, 0, &lost, &fixture->err), -EINVAL);
	assert_int_equal(fixture->err.kind, PERCH_ERROR_USAGE);
	assert_int_equal(lost, 1);
}

static int refuse_ksymbol(const struct perch_attr *attr, int cpu, int group)
{
	(void)cpu, (void)group;
	return attr->ksymbol ? EINVAL : 0;
}

static void drops_optional_features(void **state)
{
	static const struct perch_attr optional = { .ksymbol = 1 };
	struct fixture *fixture = *state;
	const uint64_t *ids;
	const char *name;
	size_t nr;

	fixture->k.refuse = refuse_ksymbol;
	fixture->options.event.sideband |= PERCH_SIDEBAND_KSYMBOL;
	fixture->options.event.optional = &optional;
	assert_int_equal(open_fixture(fixture, "cpu-clock,cs", 77), 0);
	assert_true(perch_sampler_missing_features(fixture->sampler, 0)->ksymbol);
	assert_null(perch_sampler_missing_features(fixture->sampler, 1));
	assert_null(perch_sampler_missing_features(fixture->sampler, 99));
	assert_false(perch_sampler_event(fixture->sampler, 0, &name, &ids, &nr)->ksymbol);
	assert_true(fixture->k.fd[0].attr.mmap);
}

static void refuses_later_leaders(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(
		perch_events_parse(&fixture->events, "cpu-clock,cs", fixture->machine, NULL), 0);
	fixture->events.event[0].leader = 1;
	assert_int_equal(perch_sampler_open_events(&fixture->sampler, &fixture->events,
						   &perch_all_cpus, &fixture->options,
						   &fixture->err),
			 -EINVAL);
	assert_int_equal(fixture->err.kind, PERCH_ERROR_USAGE);
	fixture->events.event[0].leader = 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(opens_on_the_cpus_of_a_pmu),
		TEST(reports_the_cpu_of_ids),
		TEST(first_event_tracks_all_cpus),
		TEST(uses_only_the_listed_cpus),
		TEST(tracks_all_cpus),
		TEST(refuses_a_pmu_of_other_cpus),
		TEST(adds_a_tracking_event_on_request),
		TEST(adds_a_tracking_event_if_needed),
		TEST(has_no_sideband_by_default),
		TEST(leader_samples_for_its_group),
		TEST(counts_of_a_group_are_not_inherited),
		TEST(breaks_up_a_weak_group),
		TEST(keeps_a_strong_group),
		TEST(refuses_the_term_overwrite),
		TEST(terms_override_options),
		TEST(binds_each_event_to_its_cgroup),
		TEST(sets_filters),
		TEST(refused_filter_names_its_event),
		TEST(reads_lost_samples),
		TEST(refuses_lost_without_the_format),
		TEST(drops_optional_features),
		TEST(refuses_later_leaders),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
