/* SPDX-License-Identifier: MIT */
/* Opening without what an older kernel does not know. */
#include <errno.h>
#include <string.h>

#include "internal.h"

/*
 * What makes no sense, or means something else, without a part that is gone: a clockid of 0 is a
 * clock too. NULL as the bit: the whole field.
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

static void move(struct perch_attr *from, struct perch_attr *to,
		 const struct perch_attr_field *field, uint64_t mask)
{
	uint64_t value = perch_attr_get(from, field);

	perch_attr_set(to, field, perch_attr_get(to, field) | (value & mask));
	perch_attr_set(from, field, value & ~mask);
}

static bool same(const char *one, const char *other)
{
	return one && other ? !strcmp(one, other) : one == other;
}

static void drop(const struct perch_attr_part *part, struct perch_attr *attr,
		 struct perch_attr *missing_features)
{
	const char *bit = part->bit ? part->bit->name : NULL;

	if (!(perch_attr_get(attr, part->field) & part->mask))
		return;
	move(attr, missing_features, part->field, part->mask);
	for (size_t i = 0; i < PERCH__NR(dependents); i++)
		if (!strcmp(dependents[i].field, part->field->name) && same(dependents[i].bit, bit))
			move(attr, missing_features, perch_attr_get_field(dependents[i].goes),
			     mask_of(dependents[i].goes, dependents[i].goes_bit));
}

/* Newest first; of one release, what comes later in the attr first, for it tends to need what comes
 * before. */
static void newest_first(struct perch_attr_part *part, size_t nr)
{
	for (size_t i = 1; i < nr; i++) {
		struct perch_attr_part one = part[i];
		size_t k = i;

		for (; k && part[k - 1].rank <= one.rank; k--)
			part[k] = part[k - 1];
		part[k] = one;
	}
}

/* What is wanted, and which of the optional parts are gone. */
struct dropping {
	const struct perch_attr *wanted;
	struct perch_attr_part part[PERCH_MOST_ATTR_PARTS]; /* the newest first */
	size_t nr;
	bool gone[PERCH_MOST_ATTR_PARTS];
	/* gone, and the kernel did not say that it is that one */
	bool guessed[PERCH_MOST_ATTR_PARTS];
	size_t next; /* to be guessed */
	struct perch_attr attr, missing_features;
};

/* The attr without what is gone. False: that is the same as before. */
static bool leave_out(struct dropping *d)
{
	struct perch_attr before = d->attr;

	d->attr = *d->wanted;
	memset(&d->missing_features, 0, sizeof(d->missing_features));
	for (size_t i = 0; i < d->nr; i++)
		if (d->gone[i])
			drop(&d->part[i], &d->attr, &d->missing_features);
	return memcmp(&before, &d->attr, sizeof(before)) != 0;
}

/* Drops what the refusal may be about. False: there is nothing left that it could be. */
static bool drop_next(struct dropping *d, const struct perch__attempt *refused)
{
	if (refused->call.errnum == EINVAL) {
		while (d->next < d->nr) {
			size_t i = d->next++;

			if (d->gone[i])
				continue;
			d->gone[i] = true;
			d->guessed[i] = leave_out(d);
			if (d->guessed[i])
				return true;
		}
		return false;
	}
	/* the kernel wrote its own size into the attr: all that lies beyond is unknown to it */
	if (refused->call.errnum != E2BIG || refused->given.size < PERCH_ATTR_SIZE_VER0)
		return false;
	for (size_t i = 0; i < d->nr; i++)
		d->gone[i] |= d->part[i].field->offset >= refused->given.size;
	return leave_out(d);
}

/*
 * The refusal may have been about the last part alone, with newer ones gone in vain: each is tried
 * once more. None is open meanwhile: of breakpoints and counters there may be room for one.
 */
static int take_back(struct dropping *d, int fd, const struct perch_target *target, int group_fd,
		     unsigned long flags, struct perch_machine *machine,
		     struct perch__attempt *made)
{
	const struct perch_syscalls *calls = perch_machine_syscalls(machine);
	size_t nr = d->next ? d->next - 1 : 0;
	bool any = false;

	for (size_t i = 0; i < nr; i++)
		any |= d->guessed[i];
	if (!any)
		return fd;
	calls->close(calls->context, fd);
	while (nr-- > 0) {
		if (!d->guessed[nr])
			continue;
		d->gone[nr] = false;
		if (!leave_out(d))
			continue;
		fd = perch__attempt_open(made, &d->attr, target, group_fd, flags, machine);
		if (fd >= 0)
			calls->close(calls->context, fd);
		d->gone[nr] = fd < 0;
		leave_out(d);
	}
	return perch__attempt_open(made, &d->attr, target, group_fd, flags, machine);
}

int perch_open_optional(struct perch_attr *attr, const struct perch_attr *optional,
			struct perch_attr *missing_features, const struct perch_target *target,
			int group_fd, unsigned long flags, struct perch_machine *machine,
			struct perch_error *err)
{
	struct dropping d;
	struct perch__attempt first, later;
	int fd, rc;

	if (missing_features)
		memset(missing_features, 0, sizeof(*missing_features));
	rc = perch__check_call(attr, err);
	if (rc)
		return rc;
	fd = perch__attempt_open(&first, attr, target, group_fd, flags, machine);
	if (fd >= 0)
		return fd;
	if (!optional)
		return perch__explain_attempt(&first, machine, err);
	memset(&d, 0, sizeof(d));
	d.wanted = attr;
	d.attr = *attr;
	d.nr = perch_attr_split(optional, d.part, PERCH__NR(d.part));
	newest_first(d.part, d.nr);
	later = first;
	while (fd < 0 && drop_next(&d, &later))
		fd = perch__attempt_open(&later, &d.attr, target, group_fd, flags, machine);
	if (fd < 0)
		return perch__explain_attempt(&first, machine, err);
	fd = take_back(&d, fd, target, group_fd, flags, machine, &later);
	if (fd < 0)
		return perch__explain_attempt(&later, machine, err);
	*attr = d.attr;
	if (missing_features)
		*missing_features = d.missing_features;
	return fd;
}
