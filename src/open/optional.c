/* SPDX-License-Identifier: MIT */
/* Opens events without optional features that the kernel does not have. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"

/*
 * Fields and bits that are invalid, or have another meaning, when a feature is omitted: clockid 0
 * is a clock. A bit of NULL is the whole field.
 */
static const struct {
	const char *field, *bit;
	const char *dependent, *dependent_bit;
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

static void move_bits(struct perch_attr *from, struct perch_attr *to,
		      const struct perch_attr_field *field, uint64_t mask)
{
	uint64_t value = perch_attr_get(from, field);

	perch_attr_set(to, field, perch_attr_get(to, field) | (value & mask));
	perch_attr_set(from, field, value & ~mask);
}

static bool same_name(const char *one, const char *other)
{
	return one && other ? !strcmp(one, other) : one == other;
}

static void omit(const struct perch_attr_part *part, struct perch_attr *attr,
		 struct perch_attr *missing_features)
{
	const char *bit = part->bit ? part->bit->name : NULL;

	if (!(perch_attr_get(attr, part->field) & part->mask))
		return;
	move_bits(attr, missing_features, part->field, part->mask);
	for (size_t i = 0; i < PERCH__NR(dependents); i++)
		if (!strcmp(dependents[i].field, part->field->name) &&
		    same_name(dependents[i].bit, bit))
			move_bits(attr, missing_features,
				  perch_attr_get_field(dependents[i].dependent),
				  mask_of(dependents[i].dependent, dependents[i].dependent_bit));
}

/* Sorts the newest features first. Of the same release, later fields of the attr come first,
 * because they tend to depend on earlier fields. */
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

/* The requested attr and the state of its optional features. */
struct fallback {
	const struct perch_attr *wanted;
	struct perch_attr_part part[PERCH_ATTR_PARTS_MAX]; /* newest first */
	size_t nr;
	bool omitted[PERCH_ATTR_PARTS_MAX];
	/* omitted because of EINVAL, which does not name the feature */
	bool guessed[PERCH_ATTR_PARTS_MAX];
	size_t next; /* the next feature to omit after EINVAL */
	struct perch_attr attr, missing_features;
};

/* Builds the attr without the omitted features. Returns false if it is the same as before. */
static bool build_attr(struct fallback *d)
{
	struct perch_attr before = d->attr;

	d->attr = *d->wanted;
	memset(&d->missing_features, 0, sizeof(d->missing_features));
	for (size_t i = 0; i < d->nr; i++)
		if (d->omitted[i])
			omit(&d->part[i], &d->attr, &d->missing_features);
	return memcmp(&before, &d->attr, sizeof(before)) != 0;
}

/* Omits the next feature that may have caused the refusal. Returns false if there is none. */
static bool omit_next(struct fallback *d, const struct perch__attempt *refused)
{
	if (refused->call.errnum == EINVAL) {
		while (d->next < d->nr) {
			size_t i = d->next++;

			if (d->omitted[i])
				continue;
			d->omitted[i] = true;
			d->guessed[i] = build_attr(d);
			if (d->guessed[i])
				return true;
		}
		return false;
	}
	/* the kernel wrote its own size into the attr: it does not have the fields after that */
	if (refused->call.errnum != E2BIG || refused->attr.size < PERCH_ATTR_SIZE_VER0)
		return false;
	for (size_t i = 0; i < d->nr; i++)
		d->omitted[i] |= d->part[i].field->offset >= refused->attr.size;
	return build_attr(d);
}

/*
 * The last omitted feature may be the only cause of the refusals. Adds each newer feature again and
 * keeps it if the kernel accepts it. No other event is open meanwhile, because breakpoints and
 * counters are few.
 */
static int restore_features(struct fallback *d, int fd, const struct perch_target *target,
			    int group_fd, unsigned long flags, struct perch_machine *machine,
			    struct perch__attempt *attempt)
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
		d->omitted[nr] = false;
		if (!build_attr(d))
			continue;
		fd = perch__attempt_open(attempt, &d->attr, target, group_fd, flags, machine);
		if (fd >= 0)
			calls->close(calls->context, fd);
		d->omitted[nr] = fd < 0;
		build_attr(d);
	}
	return perch__attempt_open(attempt, &d->attr, target, group_fd, flags, machine);
}

/*
 * Explains the refusal of the open call without any optional feature: that the kernel lacks one of
 * these is no reason to fail. *refused is the last refusal, of a call that may still have some.
 */
static int explain_required(struct fallback *d, struct perch__attempt *refused,
			    const struct perch_target *target, int group_fd, unsigned long flags,
			    struct perch_machine *machine, struct perch_error *err)
{
	const struct perch_syscalls *calls = perch_machine_syscalls(machine);
	struct perch__attempt required;
	int fd;

	for (size_t i = 0; i < d->nr; i++)
		d->omitted[i] = true;
	if (!build_attr(d))
		return perch__explain_attempt(refused, machine, err);
	fd = perch__attempt_open(&required, &d->attr, target, group_fd, flags, machine);
	if (fd >= 0)
		calls->close(calls->context, fd);
	return perch__explain_attempt(fd < 0 ? &required : refused, machine, err);
}

int perch_open_optional(struct perch_attr *attr, const struct perch_attr *optional,
			const struct perch_target *target, int group_fd, unsigned long flags,
			struct perch_machine *machine, struct perch_attr *missing_features,
			struct perch_error *err)
{
	struct perch__attempt attempt;
	struct fallback d;
	int fd, rc;

	if (missing_features)
		memset(missing_features, 0, sizeof(*missing_features));
	rc = perch__check_call(attr, err);
	if (!rc)
		rc = perch__check_target(target, err);
	if (rc)
		return rc;
	fd = perch__attempt_open(&attempt, attr, target, group_fd, flags, machine);
	if (fd >= 0)
		return fd;
	if (!optional)
		return perch__explain_attempt(&attempt, machine, err);
	memset(&d, 0, sizeof(d));
	d.wanted = attr;
	d.attr = *attr;
	d.nr = perch_attr_split(optional, d.part, PERCH__NR(d.part));
	newest_first(d.part, d.nr);
	while (fd < 0 && omit_next(&d, &attempt))
		fd = perch__attempt_open(&attempt, &d.attr, target, group_fd, flags, machine);
	/* another errno: the omission helped, and what is refused now has another reason */
	if (fd < 0 && attempt.call.errnum != EINVAL && attempt.call.errnum != E2BIG)
		return perch__explain_attempt(&attempt, machine, err);
	if (fd < 0)
		return explain_required(&d, &attempt, target, group_fd, flags, machine, err);
	fd = restore_features(&d, fd, target, group_fd, flags, machine, &attempt);
	if (fd < 0)
		return perch__explain_attempt(&attempt, machine, err);
	*attr = d.attr;
	if (missing_features)
		*missing_features = d.missing_features;
	return fd;
}

const char *perch_format_attr_features(const struct perch_attr *attr, char *buffer, size_t size)
{
	struct perch_attr_part part[PERCH_ATTR_PARTS_MAX];
	size_t used = 0, nr;

	if (!size)
		return buffer;
	buffer[0] = '\0';
	nr = perch_attr_split(attr, part, PERCH__NR(part));
	for (size_t i = 0; i < nr && used + 1 < size; i++) {
		const struct perch_attr_bit *bit = part[i].bit;
		int length = snprintf(buffer + used, size - used, "%s%s%s%s", used ? ", " : "",
				      part[i].field->name, bit ? " " : "", bit ? bit->name : "");

		if (length < 0)
			break;
		used += length;
	}
	return buffer;
}
