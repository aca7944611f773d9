/* SPDX-License-Identifier: MIT */
/* The first release with each feature of an open call. Fields and bits of the attr are in the
 * tables of abi. */
#include <string.h>

#include "internal.h"

/* The flags argument is not in the tables of abi. */
static const struct {
	uint64_t bit;
	const char *since;
} call_bits[] = {
	{ PERCH_FLAG_PID_CGROUP, "2.6.39" },
	{ PERCH_FLAG_FD_CLOEXEC, "3.14" },
};

unsigned perch__running_rank(const struct perch__case *c)
{
	struct perch_release release;

	if (!c->machine || perch_machine_release(c->machine, &release, NULL))
		return 0;
	return perch_release_rank(release.text);
}

struct search {
	unsigned rank; /* of the newest feature found so far */
	struct perch__feature *feature;
	bool found;
};

/* Names and releases are from tables and fit. */
static void name_feature(struct perch__feature *feature, const char *name, const char *since)
{
	memset(feature, 0, sizeof(*feature));
	memcpy(feature->name, name, strnlen(name, sizeof(feature->name) - 1));
	memcpy(feature->since, since, strnlen(since, sizeof(feature->since) - 1));
}

static void consider(struct search *search, const char *name, const char *since)
{
	unsigned rank = perch_release_rank(since);

	if (rank <= search->rank)
		return;
	search->rank = rank;
	search->found = true;
	name_feature(search->feature, name, since);
}

/* The kernel checks branch bits only when branches are sampled. */
static void consider_bits(struct search *search, const struct perch_attr *attr)
{
	const struct perch_attr_bit *bits;
	const char *name = NULL;
	uint64_t value = 0;
	size_t nr;

	bits = perch_attr_bits(&nr);
	for (size_t i = 0; i < nr; i++) {
		if (name != bits[i].field) {
			name = bits[i].field;
			value = perch_attr_get(attr, perch_attr_get_field(name));
			if (!strcmp(name, "branch_sample_type") &&
			    !(attr->sample_type & PERCH_SAMPLE_BRANCH_STACK))
				value = 0;
		}
		if (value & bits[i].bit)
			consider(search, name, bits[i].since);
	}
}

/* Only one name of a union counts, and the PMU checks config1. */
static bool is_checked(const struct perch_attr_field *field)
{
	static const char *const skipped[] = { "kprobe_func",  "uprobe_path", "kprobe_addr",
					       "probe_offset", "aux_action",  "clockid" };

	for (size_t i = 0; i < sizeof(skipped) / sizeof(*skipped); i++)
		if (!strcmp(field->name, skipped[i]))
			return false;
	return true;
}

bool perch__newest_feature(const struct perch__case *c, unsigned after,
			   struct perch__feature *feature)
{
	struct search search = { after, feature, false };
	const struct perch_attr_field *fields;
	size_t nr;

	fields = perch_attr_fields(&nr);
	for (size_t i = 0; i < nr; i++)
		if (fields[i].since[0] && perch_attr_get(&c->attr, &fields[i]) &&
		    is_checked(&fields[i]))
			consider(&search, fields[i].name, fields[i].since);
	consider_bits(&search, &c->attr);
	for (size_t i = 0; i < sizeof(call_bits) / sizeof(*call_bits); i++)
		if (c->call->flags & call_bits[i].bit)
			consider(&search, "flags", call_bits[i].since);
	return search.found;
}

bool perch__field_beyond(const struct perch_attr *attr, size_t offset,
			 struct perch__feature *feature)
{
	const struct perch_attr_field *fields;
	size_t nr;

	fields = perch_attr_fields(&nr);
	for (size_t i = 0; i < nr; i++) {
		if (fields[i].offset < offset || !perch_attr_get(attr, &fields[i]))
			continue;
		name_feature(feature, fields[i].name, fields[i].since);
		return true;
	}
	return false;
}

/* Bits of newer releases are removed too: a kernel without the older bit does not have them. */
void perch__drop_feature(struct perch_attr *attr, const struct perch__feature *feature)
{
	const struct perch_attr_field *field = perch_attr_get_field(feature->name);
	const struct perch_attr_bit *bits;
	uint64_t value, dropped = 0;
	size_t nr;

	if (!field)
		return;
	value = perch_attr_get(attr, field);
	bits = perch_attr_bits(&nr);
	for (size_t i = 0; i < nr; i++)
		if (!strcmp(bits[i].field, feature->name) &&
		    perch_release_rank(bits[i].since) >= perch_release_rank(feature->since))
			dropped |= value & bits[i].bit;
	perch_attr_set(attr, field, dropped ? value & ~dropped : 0);
}
