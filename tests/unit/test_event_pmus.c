/* SPDX-License-Identifier: MIT */
/* Event strings on simulated machines: hybrid cores, uncore units, aliases with parameters, units
 * and scales. */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <perch/event.h>

#include "event_fixture.h"
#include "tree.h"

#define PMUS	    "/sys/bus/event_source/devices/"
#define P_CORE	    PMUS "cpu_core/"
#define E_CORE	    PMUS "cpu_atom/"
#define IMC(n)	    PMUS "uncore_imc_" n "/"
#define P_CORE_TYPE 4
#define E_CORE_TYPE 10
#define ON_P_CORE   ((uint64_t)P_CORE_TYPE << PERCH_PMU_TYPE_SHIFT)
#define ON_E_CORE   ((uint64_t)E_CORE_TYPE << PERCH_PMU_TYPE_SHIFT)

static const struct tree_file hybrid_files[] = {
	{ P_CORE "type", "4\n" },
	{ P_CORE "cpus", "0-3\n" },
	{ P_CORE "format/event", "config:0-7\n" },
	{ P_CORE "format/umask", "config:8-15,40-47\n" },
	{ P_CORE "events/mem-loads", "event=0xcd,umask=0x1\n" },
	{ P_CORE "events/slots", "event=0x00,umask=0x4\n" },
	{ E_CORE "type", "10\n" },
	{ E_CORE "cpus", "4-7\n" },
	{ E_CORE "format/event", "config:0-7\n" },
	{ E_CORE "format/umask", "config:8-15\n" },
	{ E_CORE "events/mem-loads", "event=0xd0,umask=0x5\n" },
	{ IMC("0") "type", "20\n" },
	{ IMC("0") "cpumask", "0\n" },
	{ IMC("0") "format/event", "config:0-7\n" },
	{ IMC("0") "events/cas_count_read", "event=0x04\n" },
	{ IMC("0") "events/cas_count_read.scale", "6.103515625e-5\n" },
	{ IMC("0") "events/cas_count_read.unit", "MiB\n" },
	{ IMC("0") "events/cas_count_read.per-pkg", "1\n" },
	{ IMC("1") "type", "21\n" },
	{ IMC("1") "cpumask", "0\n" },
	{ IMC("1") "format/event", "config:0-7\n" },
	{ IMC("1") "events/cas_count_read", "event=0x14\n" },
	{ IMC("1") "events/cas_count_read.scale", "6.103515625e-5\n" },
	{ IMC("1") "events/cas_count_read.unit", "MiB\n" },
	{ IMC("10") "type", "23\n" },
	{ IMC("10") "format/event", "config:0-7\n" },
	{ IMC("10") "events/cas_count_read", "event=0x24\n" },
	{ IMC("10") "events/cas_count_read.scale", "6.103515625e-5\n" },
	{ IMC("10") "events/cas_count_read.unit", "MiB\n" },
	{ PMUS "uncore_imc_free_running/type", "22\n" },
	{ PMUS "uncore_imc_free_running/format/event", "config:0-3\n" },
	{ PMUS "uncore_imc_free_running/events/data_read", "event=0xf\n" },
	{ PMUS "uncore_imc_free_running/events/data_read.snapshot", "1\n" },
	{ PMUS "power/type", "30\n" },
	{ PMUS "power/cpumask", "0\n" },
	{ PMUS "power/format/event", "config:0-7\n" },
	{ PMUS "power/events/energy-pkg", "event=0x02\n" },
	{ PMUS "power/events/energy-pkg.scale", "2.3283064365386962890625e-10\n" },
	{ PMUS "power/events/energy-pkg.unit", "Joules\n" },
	{ PMUS "power/events/power-level", "event=0x04\n" },
	{ PMUS "power/events/power-level.scale", "0.5\n" },
	{ PMUS "uncore_imc_free_running/events/power-level", "event=0x5\n" },
	{ PMUS "power/events/energy-pkg.v2", "event=0x03\n" },
	{ PMUS "power/events/energy-pkg.v2.scale", "0.5\n" },
	{ PMUS "arm_smmuv3_pmcg_3b402/type", "40\n" },
	{ PMUS "arm_smmuv3_pmcg_3b402/format/event", "config:0-7\n" },
	{ PMUS "arm_smmuv3_pmcg_cf/type", "41\n" },
	{ PMUS "arm_smmuv3_pmcg_cf/format/event", "config:0-7\n" },
	{ PMUS "software/type", "1\n" },
};

#define TEN_TERMS \
	"event=0x1,event=0x1,event=0x1,event=0x1,event=0x1,event=0x1,event=0x1,event=0x1,event=0x1,event=0x1,"
#define MANY_TERMS                                                                                \
	TEN_TERMS TEN_TERMS TEN_TERMS TEN_TERMS TEN_TERMS TEN_TERMS TEN_TERMS TEN_TERMS TEN_TERMS \
		TEN_TERMS

static const struct tree_file plain_files[] = {
	{ PMUS "cpu/events/long", MANY_TERMS MANY_TERMS MANY_TERMS "event=0x22\n" },
	{ PMUS "cpu/type", "4\n" },
	{ PMUS "cpu/format/event", "config:0-7\n" },
	{ PMUS "cpu/format/ldlat", "config1:0-15\n" },
	{ PMUS "cpu/format/split", "config:0,2-3,60-63\n" },
	{ PMUS "cpu/format/whole", "config2:0-63\n" },
	{ PMUS "cpu/format/filter", "config3:0-7\n" },
	{ PMUS "cpu/events/cpu-cycles", "event=0x3c\n" },
	{ PMUS "cpu/events/mem-loads", "event=0xcd,ldlat=3\n" },
	{ PMUS "cpu/events/odd", "event=many\n" },
	{ PMUS "hv_24x7/type", "6\n" },
	{ PMUS "hv_24x7/format/domain", "config:0-3\n" },
	{ PMUS "hv_24x7/format/core", "config:16-31\n" },
	{ PMUS "hv_24x7/format/offset", "config:32-63\n" },
	{ PMUS "hv_24x7/events/PM_CYC", "domain=2,offset=0xe0,core=?\n" },
};

/* Arm before Linux 6.6, which cannot open a generic event on one PMU */
static const struct tree_file older_files[] = {
	{ "/proc/sys/kernel/osrelease", "6.5.13-rk\n" },
	{ PMUS "armv8_cortex_a53/type", "8\n" },
	{ PMUS "armv8_cortex_a53/cpus", "0-3\n" },
	{ PMUS "armv8_cortex_a53/format/event", "config:0-15\n" },
	{ PMUS "armv8_cortex_a53/events/cpu_cycles", "event=0x0011\n" },
	{ PMUS "armv8_cortex_a53/events/inst_retired", "event=0x0008\n" },
	{ PMUS "armv8_cortex_a53/events/pc_write_retired", "event=0x000c\n" },
	{ PMUS "armv8_cortex_a72/type", "9\n" },
	{ PMUS "armv8_cortex_a72/cpus", "4-5\n" },
	{ PMUS "armv8_cortex_a72/format/event", "config:0-15\n" },
	{ PMUS "armv8_cortex_a72/events/cpu_cycles", "event=0x0011\n" },
	{ PMUS "armv8_cortex_a72/events/br_retired", "event=0x0021\n" },
};
static const struct tree_file newer_files[] = {
	{ "/proc/sys/kernel/osrelease", "6.6.0\n" }, { PMUS "armv8_cortex_a53/type", "8\n" },
	{ PMUS "armv8_cortex_a53/cpus", "0-3\n" },   { PMUS "armv8_cortex_a72/type", "9\n" },
	{ PMUS "armv8_cortex_a72/cpus", "4-5\n" },
};

static struct perch_machine *hybrid, *plain, *older, *newer;
static char roots[4][PATH_MAX];

static int setup(void **state)
{
	(void)state;
	tree_make(roots[0], hybrid_files, sizeof(hybrid_files) / sizeof(*hybrid_files));
	tree_make(roots[1], plain_files, sizeof(plain_files) / sizeof(*plain_files));
	tree_make(roots[2], older_files, sizeof(older_files) / sizeof(*older_files));
	tree_make(roots[3], newer_files, sizeof(newer_files) / sizeof(*newer_files));
	return perch_machine_new(&hybrid, roots[0], NULL, NULL) ||
	       perch_machine_new(&plain, roots[1], NULL, NULL) ||
	       perch_machine_new(&older, roots[2], NULL, NULL) ||
	       perch_machine_new(&newer, roots[3], NULL, NULL);
}

static int teardown(void **state)
{
	(void)state;
	perch_machine_free(hybrid);
	perch_machine_free(plain);
	perch_machine_free(older);
	perch_machine_free(newer);
	for (size_t i = 0; i < sizeof(roots) / sizeof(*roots); i++)
		tree_remove(roots[i]);
	return 0;
}

/* The expected event. */
struct wanted {
	uint32_t type;
	uint64_t config;
	int first, leader;
	const char *name;
};

static void check(struct perch_machine *machine, const char *text, const struct wanted *wanted,
		  size_t nr)
{
	struct perch_events events;
	struct perch_error err;

	if (perch_events_parse(&events, text, machine, &err))
		fail_msg("%s: %s (column %d)", text, err.message, err.column);
	assert_int_equal(events.nr, nr);
	for (size_t i = 0; i < nr; i++) {
		const struct perch_event *event = &events.event[i];

		if (event->attr.type != wanted[i].type || event->attr.config != wanted[i].config ||
		    event->first != wanted[i].first || event->leader != wanted[i].leader ||
		    strcmp(event->name, wanted[i].name))
			fail_msg("%s: event %zu is %s, type %u, config %#llx, first %d, leader %d",
				 text, i, event->name, event->attr.type,
				 (unsigned long long)event->attr.config, event->first,
				 event->leader);
	}
	perch_events_clear(&events);
}

#define CHECK(machine, text, ...)                                    \
	check(machine, text, (const struct wanted[]){ __VA_ARGS__ }, \
	      sizeof((const struct wanted[]){ __VA_ARGS__ }) / sizeof(struct wanted))

static void generic_names_on_hybrid_machines(void **state)
{
	(void)state;
	CHECK(hybrid, "cycles", { 0, ON_E_CORE, 0, 0, "cpu_atom/cycles/" },
	      { 0, ON_P_CORE, 0, 1, "cpu_core/cycles/" });
	CHECK(hybrid, "cs,instructions:u", { 1, 3, 0, 0, "cs" },
	      { 0, ON_E_CORE | 1, 1, 1, "cpu_atom/instructions/u" },
	      { 0, ON_P_CORE | 1, 1, 2, "cpu_core/instructions/u" });
	CHECK(hybrid, "LLC-load-misses/period=9/k",
	      { 3, ON_E_CORE | 0x10002, 0, 0, "cpu_atom/LLC-load-misses,period=9/k" },
	      { 3, ON_P_CORE | 0x10002, 0, 1, "cpu_core/LLC-load-misses,period=9/k" });
	CHECK(hybrid, "r1a8", { E_CORE_TYPE, 0x1a8, 0, 0, "cpu_atom/r1a8/" },
	      { P_CORE_TYPE, 0x1a8, 0, 1, "cpu_core/r1a8/" });
	/* config terms keep the PMU */
	CHECK(hybrid, "cycles/config=5,name=c/", { 0, ON_E_CORE | 5, 0, 0, "c" },
	      { 0, ON_P_CORE | 5, 0, 1, "c" });
	CHECK(hybrid, "cycles/r0x6,name=c/", { 0, ON_E_CORE | 6, 0, 0, "c" },
	      { 0, ON_P_CORE | 6, 0, 1, "c" });
	CHECK(hybrid, "cycles/name=c/", { 0, ON_E_CORE, 0, 0, "c" }, { 0, ON_P_CORE, 0, 1, "c" });
	CHECK(hybrid, "mem-loads", { E_CORE_TYPE, 0x5d0, 0, 0, "mem-loads" },
	      { P_CORE_TYPE, 0x1cd, 0, 1, "mem-loads" });
	CHECK(hybrid, "slots:u", { P_CORE_TYPE, 0x400, 0, 0, "slots:u" });
	CHECK(hybrid, "task-clock", { 1, 1, 0, 0, "task-clock" });
}

static void pmu_names_on_hybrid_machines(void **state)
{
	(void)state;
	CHECK(hybrid, "cpu_core/cycles/", { 0, ON_P_CORE, 0, 0, "cpu_core/cycles/" });
	CHECK(hybrid, "cpu_core/cycles/u,cpu_atom/L1-dcache-loads/",
	      { 0, ON_P_CORE, 0, 0, "cpu_core/cycles/u" },
	      { 3, ON_E_CORE, 1, 1, "cpu_atom/L1-dcache-loads/" });
	CHECK(hybrid, "cpu_atom/r1a8/", { E_CORE_TYPE, 0x1a8, 0, 0, "cpu_atom/r1a8/" });
	CHECK(hybrid, "cpu_core/umask=0x1ff,event=1/",
	      { P_CORE_TYPE, UINT64_C(0x1000000ff01), 0, 0, "cpu_core/umask=0x1ff,event=1/" });
	CHECK(hybrid, "cpu_*/mem-loads/", { E_CORE_TYPE, 0x5d0, 0, 0, "cpu_*/mem-loads/" },
	      { P_CORE_TYPE, 0x1cd, 0, 1, "cpu_*/mem-loads/" });
	/* only one of the PMUs has it */
	CHECK(hybrid, "cpu_*/slots/", { P_CORE_TYPE, 0x400, 0, 0, "cpu_*/slots/" });
	/* on a machine with one core PMU, a generic name is the same with and without the PMU */
	CHECK(plain, "cpu/cycles/", { 0, 0, 0, 0, "cpu/cycles/" });
	CHECK(plain, "cpu/cpu-cycles/", { 4, 0x3c, 0, 0, "cpu/cpu-cycles/" });
	CHECK(plain, "cpu/LLC-loads,period=3/k", { 3, 2, 0, 0, "cpu/LLC-loads,period=3/k" });
	CHECK(plain, "cycles,r1a8", { 0, 0, 0, 0, "cycles" }, { 4, 0x1a8, 1, 1, "r1a8" });
}

/* Kernels without a PMU type in config: the events of each PMU are used; if one PMU has none, a
 * single generic event. */
static void generic_names_on_arm(void **state)
{
	struct perch_events events;
	struct perch_error err;

	(void)state;
	CHECK(newer, "cycles:u", { 0, UINT64_C(8) << 32, 0, 0, "armv8_cortex_a53/cycles/u" },
	      { 0, UINT64_C(9) << 32, 0, 1, "armv8_cortex_a72/cycles/u" });
	CHECK(older, "cycles:u", { 8, 0x11, 0, 0, "armv8_cortex_a53/cycles/u" },
	      { 9, 0x11, 0, 1, "armv8_cortex_a72/cycles/u" });
	CHECK(older, "{branches,cs}", { 8, 0xc, 0, 0, "armv8_cortex_a53/branches/" },
	      { 1, 3, 1, 0, "cs" }, { 9, 0x21, 0, 2, "armv8_cortex_a72/branches/" });
	CHECK(older, "cs,instructions,faults", { 1, 3, 0, 0, "cs" }, { 0, 1, 1, 1, "instructions" },
	      { 1, 2, 2, 2, "faults" });
	CHECK(older, "LLC-loads", { 3, 2, 0, 0, "LLC-loads" });
	CHECK(older, "r11", { 8, 0x11, 0, 0, "armv8_cortex_a53/r11/" },
	      { 9, 0x11, 0, 1, "armv8_cortex_a72/r11/" });
	CHECK(older, "armv8_cortex_a72/cycles/k", { 9, 0x11, 0, 0, "armv8_cortex_a72/cycles/k" });
	assert_int_equal(perch_events_parse(&events, "armv8_cortex_a72/instructions/", older, &err),
			 -EOPNOTSUPP);
	assert_int_equal(err.column, 17);
	assert_int_equal(err.kind, PERCH_ERROR_TOO_NEW);
	assert_string_equal(err.since, "6.6");
}

/* A group has events of one PMU. */
static void groups_on_hybrid_machines(void **state)
{
	struct perch_events events;

	(void)state;
	CHECK(hybrid, "cs,{cycles,instructions}:u", { 1, 3, 0, 0, "cs" },
	      { 0, ON_E_CORE, 1, 1, "cpu_atom/cycles/u" },
	      { 0, ON_E_CORE | 1, 2, 1, "cpu_atom/instructions/u" },
	      { 0, ON_P_CORE, 1, 3, "cpu_core/cycles/u" },
	      { 0, ON_P_CORE | 1, 2, 3, "cpu_core/instructions/u" });
	CHECK(hybrid, "{cycles,cs}", { 0, ON_E_CORE, 0, 0, "cpu_atom/cycles/" },
	      { 1, 3, 1, 0, "cs" }, { 0, ON_P_CORE, 0, 2, "cpu_core/cycles/" });
	CHECK(hybrid, "{cpu_core/cycles/,cpu_core/instructions/}",
	      { 0, ON_P_CORE, 0, 0, "cpu_core/cycles/" },
	      { 0, ON_P_CORE | 1, 1, 0, "cpu_core/instructions/" });
	/* an event of one PMU joins its group; software events join the first group */
	CHECK(hybrid, "{cs,cpu_core/cycles/,instructions,faults}", { 1, 3, 0, 0, "cs" },
	      { 0, ON_E_CORE | 1, 1, 0, "cpu_atom/instructions/" }, { 1, 2, 2, 0, "faults" },
	      { 0, ON_P_CORE, 3, 3, "cpu_core/cycles/" },
	      { 0, ON_P_CORE | 1, 1, 3, "cpu_core/instructions/" });
	CHECK(hybrid, "{imc/event=1/,uncore_imc_1/event=2/}", { 20, 1, 0, 0, "imc/event=1/" },
	      { 21, 1, 0, 1, "imc/event=1/" }, { 21, 2, 2, 1, "uncore_imc_1/event=2/" },
	      { 23, 1, 0, 3, "imc/event=1/" });
	assert_int_equal(perch_events_parse(&events, "{cycles,instructions}:DSu", hybrid, NULL), 0);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(events.event[i].attr.pinned, i % 2 == 0);
		assert_int_equal(events.event[i].members, i % 2 ? 0 : 2);
		assert_int_equal(events.event[i].attr.exclude_kernel, 1);
		assert_true(events.event[i].leader_sampling);
	}
	perch_events_clear(&events);
}

static void returns_cpus_of_pmu(void **state)
{
	static const struct {
		const char *text;
		int first; /* -1 is every CPU */
		size_t nr;
	} cases[] = {
		{ "cpu_core/cycles/", 0, 4 },
		{ "cpu_atom/instructions/", 4, 4 },
		{ "cpu_atom/r1/", 4, 4 },
		{ "uncore_imc_0/event=1/", 0, 1 },
		{ "cs", -1, 0 },
		{ "uncore_imc_free_running/data_read/", -1, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct perch_cpus *cpus;
		struct perch_events events;

		assert_int_equal(perch_events_parse(&events, cases[i].text, hybrid, NULL), 0);
		cpus = perch_attr_cpus(&events.event[0].attr, hybrid);
		if (cases[i].first < 0) {
			assert_null(cpus);
		} else {
			assert_non_null(cpus);
			assert_int_equal(cpus->cpu[0], cases[i].first);
			assert_int_equal(cpus->nr, cases[i].nr);
		}
		assert_null(perch_attr_cpus(&events.event[0].attr, NULL));
		perch_events_clear(&events);
	}
}

static void names_attrs_of_core_pmus(void **state)
{
	struct perch_attr attr = { .type = PERCH_TYPE_HARDWARE,
				   .config = ON_P_CORE | PERCH_COUNT_HW_INSTRUCTIONS };
	char name[64];

	(void)state;
	assert_string_equal(perch_attr_name(&attr, name, sizeof(name)), "instructions");
	attr = (struct perch_attr){ .type = PERCH_TYPE_HW_CACHE,
				    .config = ON_E_CORE | 0x10002,
				    .exclude_kernel = 1,
				    .exclude_hv = 1 };
	assert_string_equal(perch_attr_name(&attr, name, sizeof(name)), "LLC-load-misses:u");
}

static void matches_uncore_units(void **state)
{
	struct perch_events events;

	(void)state;
	CHECK(hybrid, "uncore_imc/cas_count_read/", { 20, 4, 0, 0, "uncore_imc/cas_count_read/" },
	      { 21, 0x14, 0, 1, "uncore_imc/cas_count_read/" },
	      { 23, 0x24, 0, 2, "uncore_imc/cas_count_read/" });
	CHECK(hybrid, "imc/event=7/", { 20, 7, 0, 0, "imc/event=7/" },
	      { 21, 7, 0, 1, "imc/event=7/" }, { 23, 7, 0, 2, "imc/event=7/" });
	CHECK(hybrid, "imc_1/event=7/", { 21, 7, 0, 0, "imc_1/event=7/" });
	CHECK(hybrid, "uncore_imc_?/event=7/", { 20, 7, 0, 0, "uncore_imc_?/event=7/" },
	      { 21, 7, 0, 1, "uncore_imc_?/event=7/" });
	CHECK(hybrid, "imc_[01]/event=7/", { 20, 7, 0, 0, "imc_[01]/event=7/" },
	      { 21, 7, 0, 1, "imc_[01]/event=7/" });
	/* units with addresses; two digits are not an address */
	CHECK(hybrid, "arm_smmuv3_pmcg/event=7/", { 40, 7, 0, 0, "arm_smmuv3_pmcg/event=7/" });
	CHECK(hybrid, "uncore_*/data_read/", { 22, 15, 0, 0, "uncore_*/data_read/" });
	CHECK(hybrid, "cas_count_read", { 20, 4, 0, 0, "cas_count_read" },
	      { 21, 0x14, 0, 1, "cas_count_read" }, { 23, 0x24, 0, 2, "cas_count_read" });
	CHECK(hybrid, "cas_count_read/period=5/", { 20, 4, 0, 0, "cas_count_read/period=5/" },
	      { 21, 0x14, 0, 1, "cas_count_read/period=5/" },
	      { 23, 0x24, 0, 2, "cas_count_read/period=5/" });
	CHECK(hybrid, "{imc_?/event=1/,imc/event=2/}", { 20, 1, 0, 0, "imc_?/event=1/" },
	      { 20, 2, 1, 0, "imc/event=2/" }, { 21, 1, 0, 2, "imc_?/event=1/" },
	      { 21, 2, 1, 2, "imc/event=2/" }, { 23, 2, 1, 4, "imc/event=2/" });
	assert_int_equal(
		perch_events_parse(&events,
				   "imc/cas_count_read/,uncore_imc_free_running/data_read/,"
				   "power/energy-pkg/",
				   hybrid, NULL),
		0);
	assert_string_equal(events.event[0].unit, "MiB");
	assert_true(events.event[0].scale == 6.103515625e-5);
	assert_true(events.event[0].per_package && !events.event[0].snapshot);
	assert_true(events.event[1].scale == 6.103515625e-5 && !events.event[1].per_package);
	assert_true(events.event[3].snapshot);
	assert_string_equal(events.event[4].unit, "Joules");
	assert_true(events.event[4].scale > 2.32e-10 && events.event[4].scale < 2.33e-10);
	perch_events_clear(&events);
	/* events of one name with different scales */
	CHECK(hybrid, "power-level", { 30, 4, 0, 0, "power-level" },
	      { 22, 5, 1, 1, "power-level" });
	/* a name with a dot can be an event */
	assert_int_equal(perch_events_parse(&events, "power/energy-pkg.v2/", hybrid, NULL), 0);
	assert_int_equal(events.event[0].attr.config, 3);
	assert_true(events.event[0].scale == 0.5);
	perch_events_clear(&events);
}

static void applies_pmu_terms(void **state)
{
	struct perch_events events;

	(void)state;
	/* format terms take precedence over aliases and config terms, in any order */
	CHECK(plain, "cpu/mem-loads,event=0x2/", { 4, 2, 0, 0, "cpu/mem-loads,event=0x2/" });
	CHECK(plain, "cpu/event=0x2,mem-loads/", { 4, 2, 0, 0, "cpu/event=0x2,mem-loads/" });
	CHECK(plain, "cpu/event=2,config=0x100/", { 4, 0x102, 0, 0, "cpu/event=2,config=0x100/" });
	CHECK(plain, "cpu/split=0x7f/",
	      { 4, UINT64_C(0xf00000000000000d), 0, 0, "cpu/split=0x7f/" });
	CHECK(plain, "cpu/event=010/", { 4, 10, 0, 0, "cpu/event=010/" });
	CHECK(plain, "cpu/MEM-Loads/,Mem-loads:u", { 4, 0xcd, 0, 0, "cpu/MEM-Loads/" },
	      { 4, 0xcd, 1, 1, "Mem-loads:u" });
	CHECK(plain, "pair{cs,faults},cs", { 1, 3, 0, 0, "cs" }, { 1, 2, 1, 0, "faults" },
	      { 1, 3, 2, 2, "cs" });
	CHECK(plain, "cpu/r0x1A8/,cpu/r1a8,period=4/", { 4, 0x1a8, 0, 0, "cpu/r0x1A8/" },
	      { 4, 0x1a8, 1, 1, "cpu/r1a8,period=4/" });
	CHECK(plain, "cpu/long/", { 4, 0x22, 0, 0, "cpu/long/" });
	CHECK(plain, "cpu//", { 4, 0, 0, 0, "cpu//" });
	CHECK(plain, "cpu//u", { 4, 0, 0, 0, "cpu//u" });
	CHECK(plain, "hv_24x7/PM_CYC,core=5/",
	      { 6, UINT64_C(0xe000050002), 0, 0, "hv_24x7/PM_CYC,core=5/" });
	CHECK(plain, "hv_24x7/core=0x6,PM_CYC/",
	      { 6, UINT64_C(0xe000060002), 0, 0, "hv_24x7/core=0x6,PM_CYC/" });
	assert_int_equal(perch_events_parse(&events,
					    "cpu/mem-loads,ldlat=30,whole=0xffffffffffffffff,"
					    "filter=7,period=4/pp",
					    plain, NULL),
			 0);
	assert_true(events.event[0].attr.config1 == 30 &&
		    events.event[0].attr.config2 == UINT64_MAX);
	assert_true(events.event[0].attr.config3 == 7 && !events.event[0].filter);
	assert_true(events.event[0].attr.sample_period == 4 &&
		    events.event[0].attr.precise_ip == 2);
	perch_events_clear(&events);
}

static void reports_wrong_text(void **state)
{
	static const struct {
		struct mistake mistake;
		bool hybrid;
	} cases[] = {
		{ { "hv_24x7/PM_CYC/", 8, PERCH_ERROR_UNKNOWN_TERM, "its parameter 'core'" },
		  false },
		{ { "hv_24x7/PM_CYC/", 8, PERCH_ERROR_UNKNOWN_TERM, "hv_24x7/PM_CYC,core=NUMBER/" },
		  false },
		{ { "hv_24x7/PM_CYC,core=x/", 20, PERCH_ERROR_SYNTAX,
		    "expected a number, found 'x'" },
		  false },
		{ { "hv_24x7/PM_CYC,core=65536/", 20, PERCH_ERROR_UNKNOWN_TERM, "at most 0xffff" },
		  false },
		{ { "cpu/odd/", 4, PERCH_ERROR_FORMAT, "'event'" }, false },
		{ { "cpu/event=0x100/", 10, PERCH_ERROR_UNKNOWN_TERM, "at most 0xff" }, false },
		{ { "cpu/evnt=0x100/", 4, PERCH_ERROR_UNKNOWN_TERM, "did you mean event?" },
		  false },
		{ { "cpu/perid=5/", 4, PERCH_ERROR_UNKNOWN_TERM, "did you mean period?" }, false },
		{ { "cpu/mem-laods/", 4, PERCH_ERROR_UNKNOWN_TERM, "did you mean mem-loads?" },
		  false },
		{ { "cpu/cycles,event=3/", 4, PERCH_ERROR_CONFLICT, "cannot be combined" }, false },
		{ { "hv_24x7/cycles/", 8, PERCH_ERROR_UNKNOWN_TERM, "no event or term 'cycles'" },
		  false },
		{ { "mem-loads/perod=5/", 10, PERCH_ERROR_UNKNOWN_TERM, "period" }, false },
		{ { "cs,nosuch*/event=1/", 3, PERCH_ERROR_UNKNOWN_PMU, "matches 'nosuch*'" },
		  false },
		{ { "uncore_im/event=1/", 0, PERCH_ERROR_UNKNOWN_PMU, "no PMU 'uncore_im'" },
		  true },
		{ { "uncore_*/nosuch/", 9, PERCH_ERROR_UNKNOWN_TERM, "uncore_imc_0" }, true },
		{ { "imc/event=256/", 10, PERCH_ERROR_UNKNOWN_TERM, "too large" }, true },
		{ { "power/energy-pkg.scale/", 6, PERCH_ERROR_UNKNOWN_TERM,
		    "no event or term 'energy-pkg.scale'" },
		  true },
		{ { "cpu/event=1/", 0, PERCH_ERROR_UNKNOWN_PMU, "no PMU 'cpu'" }, true },
		{ { "cs,mem-laods", 3, PERCH_ERROR_UNKNOWN_EVENT, "did you mean mem-loads?" },
		  false },
		{ { "cpu/r0x/", 4, PERCH_ERROR_UNKNOWN_TERM, "'r0x'" }, false },
		{ { "duration_time", 0, PERCH_ERROR_NOT_SUPPORTED, "perf stat measures" }, false },
		{ { "{cycles,nosuch}", 8, PERCH_ERROR_UNKNOWN_EVENT, "nosuch" }, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		check_mistake(&cases[i].mistake, cases[i].hybrid ? hybrid : plain);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(generic_names_on_hybrid_machines),
		cmocka_unit_test(pmu_names_on_hybrid_machines),
		cmocka_unit_test(groups_on_hybrid_machines),
		cmocka_unit_test(generic_names_on_arm),
		cmocka_unit_test(returns_cpus_of_pmu),
		cmocka_unit_test(names_attrs_of_core_pmus),
		cmocka_unit_test(matches_uncore_units),
		cmocka_unit_test(applies_pmu_terms),
		cmocka_unit_test(reports_wrong_text),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
