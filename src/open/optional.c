/* SPDX-License-Identifier: MIT */
/* Opening without what an older kernel does not know. */
#include <errno.h>
#include <string.h>

#include "internal.h"

/*
 * What makes no sense, or means something else, without a part that is gone: a clockid of 0 is a clock too. NULL as
 * the bit: the whole field.
 */
static const struct {
	const char *field, *bit;
	const char *goes, *goes_bit;
} dependents[] = {
	{ "inherit", NULL, "inherit_thread", NULL },
	{ "inherit", NULL, "inherit_stat", NULL },
	{ "remove_on_exec", NULL, "sigtrap", NULL },
	{ "remove_on_exec", NULL, "sig_data", NULL },
	{ "sigtrap", NULL, "sig_data", NULL },
	{ "use_clockid", NULL, "clockid", NULL },
	{ "clockid", NULL, "use_clockid", NULL },
	{ "freq", NULL, "sample_period", NULL },
	{ "sample_period", NULL, "freq", NULL },
	{ "watermark", NULL, "wakeup_events", NULL },
	{ "mmap", NULL, "mmap2", NULL },
	{ "mmap", NULL, "mmap_data", NULL },
	{ "mmap", NULL, "build_id", NULL },
	{ "mmap2", NULL, "build_id", NULL },
	{ "comm", NULL, "comm_exec", NULL },
	{ "sample_type", "BRANCH_STACK", "branch_sample_type", NULL },
	{ "branch_sample_type", NULL, "sample_type", "BRANCH_STACK" },
	{ "sample_type", "REGS_USER", "sample_regs_user", NULL },
	{ "sample_regs_user", NULL, "sample_type", "REGS_USER" },
	{ "sample_type", "REGS_INTR", "sample_regs_intr", NULL },
	{ "sample_regs_intr", NULL, "sample_type", "REGS_INTR" },
	{ "sample_type", "STACK_USER", "sample_stack_user", NULL },
	{ "sample_type", "CALLCHAIN", "sample_max_stack", NULL },
	{ "sample_type", "AUX", "aux_sample_size", NULL },
	{ "aux_sample_size", NULL, "sample_type", "AUX" },
};

static uint64_t mask_of(const char *field, const char *bit)
{
	const struct perch_attr_bit *bits;
	size_t nr;

	if (!bit)
		return UINT64_MAX;
	bits = perch_attr_bits(&nr);
	for (size_t i = 0; i < nr; i++)
		if (!strcmp(bits[i].field, field) && !strcmp(bits[i].name, bit))
			return bits[i].bit;
	return 0;
}

static void move(struct perch_attr *from, struct perch_attr *to, const struct perch_attr_field *field, uint64_t mask)
{
	uint64_t value = perch_attr_get(from, field);

	perch_attr_set(to, field, perch_attr_get(to, field) | (value & mask));
	perch_attr_set(from, field, value & ~mask);
}

static bool same(const char *one, const char *other)
{
	return one && other ? !strcmp(one, other) : one == other;
}

/* False: it is not asked for, or no longer. */
static bool drop(const struct perch__part *part, struct perch_attr *attr, struct perch_attr *dropped)
{
	if (!(perch_attr_get(attr, part->field) & part->mask))
		return false;
	move(attr, dropped, part->field, part->mask);
	for (size_t i = 0; i < PERCH__NR(dependents); i++)
		if (!strcmp(dependents[i].field, part->field->name) && same(dependents[i].bit, part->name))
			move(attr, dropped, perch_attr_field(dependents[i].goes),
			     mask_of(dependents[i].goes, dependents[i].goes_bit));
	return true;
}

/* Newest first; of one release, what comes later in the attr first, for it tends to need what comes before. */
static void newest_first(struct perch__parts *parts)
{
	for (size_t i = 1; i < parts->nr; i++) {
		struct perch__part part = parts->part[i];
		size_t k = i;

		for (; k && parts->part[k - 1].rank <= part.rank; k--)
			parts->part[k] = parts->part[k - 1];
		parts->part[k] = part;
	}
}

/* Drops what the refusal may be about. False: there is nothing left that it could be. */
static bool drop_next(const struct perch__parts *parts, size_t *next, const struct perch__try *refused,
		      struct perch_attr *attr, struct perch_attr *dropped)
{
	bool found = false;

	if (refused->call.errnum == EINVAL) {
		while (!found && *next < parts->nr)
			found = drop(&parts->part[(*next)++], attr, dropped);
		return found;
	}
	/* the kernel wrote its own size into the attr: all that lies beyond is unknown to it */
	if (refused->call.errnum == E2BIG && refused->given.size >= PERCH_ATTR_SIZE_VER0)
		for (size_t i = *next; i < parts->nr; i++)
			if (parts->part[i].field->offset >= refused->given.size)
				found |= drop(&parts->part[i], attr, dropped);
	return found;
}

int perch_open_optional(struct perch_attr *attr, const struct perch_attr *optional, struct perch_attr *dropped,
			const struct perch_target *target, int group_fd, unsigned long flags,
			struct perch_machine *machine, struct perch_error *err)
{
	struct perch_attr tried, gone = { 0 };
	struct perch__try first, later;
	struct perch__parts parts;
	size_t next = 0;
	int fd, rc;

	if (dropped)
		memset(dropped, 0, sizeof(*dropped));
	rc = perch__check_call(attr, err);
	if (rc)
		return rc;
	fd = perch__try_open(&first, attr, target, group_fd, flags, machine);
	if (fd >= 0)
		return fd;
	tried = *attr;
	later = first;
	parts.nr = 0;
	if (optional)
		perch__parts_of(&parts, optional);
	newest_first(&parts);
	while (fd < 0 && drop_next(&parts, &next, &later, &tried, &gone))
		fd = perch__try_open(&later, &tried, target, group_fd, flags, machine);
	if (fd < 0)
		return perch__explain_try(&first, machine, err);
	*attr = tried;
	if (dropped)
		*dropped = gone;
	return fd;
}
