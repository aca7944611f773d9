/* SPDX-License-Identifier: MIT */
/* Which release first knew what a call asks for. Fields of the attr are in abi's own table. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

struct bit {
	uint64_t bit;
	const char *since;
};

static const struct bit sample_bits[] = {
	{ PERCH_SAMPLE_BRANCH_STACK, "3.4" },	 { PERCH_SAMPLE_REGS_USER, "3.7" },
	{ PERCH_SAMPLE_STACK_USER, "3.7" },	 { PERCH_SAMPLE_WEIGHT, "3.10" },
	{ PERCH_SAMPLE_DATA_SRC, "3.10" },	 { PERCH_SAMPLE_IDENTIFIER, "3.12" },
	{ PERCH_SAMPLE_TRANSACTION, "3.13" },	 { PERCH_SAMPLE_REGS_INTR, "3.19" },
	{ PERCH_SAMPLE_PHYS_ADDR, "4.14" },	 { PERCH_SAMPLE_AUX, "5.5" },
	{ PERCH_SAMPLE_CGROUP, "5.7" },		 { PERCH_SAMPLE_DATA_PAGE_SIZE, "5.11" },
	{ PERCH_SAMPLE_CODE_PAGE_SIZE, "5.11" }, { PERCH_SAMPLE_WEIGHT_STRUCT, "5.12" },
};

static const struct bit read_bits[] = {
	{ PERCH_FORMAT_LOST, "6.0" },
};

static const struct bit branch_bits[] = {
	{ PERCH_SAMPLE_BRANCH_ABORT_TX, "3.11" },  { PERCH_SAMPLE_BRANCH_IN_TX, "3.11" },
	{ PERCH_SAMPLE_BRANCH_NO_TX, "3.11" },	   { PERCH_SAMPLE_BRANCH_COND, "3.16" },
	{ PERCH_SAMPLE_BRANCH_CALL_STACK, "4.1" }, { PERCH_SAMPLE_BRANCH_IND_JUMP, "4.2" },
	{ PERCH_SAMPLE_BRANCH_CALL, "4.4" },	   { PERCH_SAMPLE_BRANCH_NO_FLAGS, "4.5" },
	{ PERCH_SAMPLE_BRANCH_NO_CYCLES, "4.5" },  { PERCH_SAMPLE_BRANCH_TYPE_SAVE, "4.14" },
	{ PERCH_SAMPLE_BRANCH_HW_INDEX, "5.7" },   { PERCH_SAMPLE_BRANCH_PRIV_SAVE, "6.1" },
	{ PERCH_SAMPLE_BRANCH_COUNTERS, "6.8" },
};

static const struct bit call_bits[] = {
	{ PERCH_FLAG_PID_CGROUP, "2.6.39" },
	{ PERCH_FLAG_FD_CLOEXEC, "3.14" },
};

unsigned perch__release_rank(const char *since)
{
	unsigned major, minor;

	return sscanf(since, "%3u.%3u", &major, &minor) == 2 ? major * 1000 + minor : 0;
}

unsigned perch__running_rank(const struct perch__case *c)
{
	struct perch_release release;

	if (!c->machine || perch_machine_release(c->machine, &release, NULL))
		return 0;
	return release.major * 1000 + release.minor;
}

struct search {
	unsigned rank;			/* of the newest found so far */
	struct perch__feature *feature;
	bool found;
};

static void offer(struct search *search, const char *name, const char *since)
{
	unsigned rank = perch__release_rank(since);

	if (rank <= search->rank)
		return;
	search->rank = rank;
	search->found = true;
	snprintf(search->feature->name, sizeof(search->feature->name), "%s", name);
	snprintf(search->feature->since, sizeof(search->feature->since), "%s", since);
}

static void offer_bits(struct search *search, const char *name, uint64_t value, const struct bit *bits, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (value & bits[i].bit)
			offer(search, name, bits[i].since);
}

#define OFFER_BITS(search, name, value, bits) offer_bits(search, name, value, bits, sizeof(bits) / sizeof(*(bits)))

/* A union's word has one name for each use: only the one in use counts, and config1's are for the PMU to judge. */
static bool field_is_judged(const struct perch_attr_field *field)
{
	static const char *const skipped[] = { "kprobe_func", "uprobe_path", "kprobe_addr", "probe_offset",
					       "aux_action", "clockid" };

	for (size_t i = 0; i < sizeof(skipped) / sizeof(*skipped); i++)
		if (!strcmp(field->name, skipped[i]))
			return false;
	return true;
}

bool perch__newest_feature(const struct perch__case *c, unsigned after, struct perch__feature *feature)
{
	struct search search = { after, feature, false };
	const struct perch_attr_field *fields;
	size_t nr;

	fields = perch_attr_fields(&nr);
	for (size_t i = 0; i < nr; i++)
		if (field_is_judged(&fields[i]) && perch_attr_get(&c->attr, &fields[i]))
			offer(&search, fields[i].name, fields[i].since);
	OFFER_BITS(&search, "sample_type", c->attr.sample_type, sample_bits);
	OFFER_BITS(&search, "read_format", c->attr.read_format, read_bits);
	if (c->attr.sample_type & PERCH_SAMPLE_BRANCH_STACK)
		OFFER_BITS(&search, "branch_sample_type", c->attr.branch_sample_type, branch_bits);
	OFFER_BITS(&search, "flags", c->call->flags, call_bits);
	return search.found;
}

bool perch__field_beyond(const struct perch_attr *attr, size_t offset, struct perch__feature *feature)
{
	const struct perch_attr_field *fields;
	size_t nr;

	fields = perch_attr_fields(&nr);
	for (size_t i = 0; i < nr; i++) {
		if (fields[i].offset < offset || !perch_attr_get(attr, &fields[i]))
			continue;
		snprintf(feature->name, sizeof(feature->name), "%s", fields[i].name);
		snprintf(feature->since, sizeof(feature->since), "%s", fields[i].since);
		return true;
	}
	return false;
}
