/* SPDX-License-Identifier: MIT */
/* The fields and bits of an open call that are newer than the kernel. Their releases are in the
 * tables of abi. */
#include <errno.h>
#include <string.h>

#include "internal.h"

/* The flags argument is not in the tables of abi. */
static const struct {
	uint64_t bit;
	const char *name, *since;
} call_bits[] = {
	{ PERCH_FLAG_PID_CGROUP, "PERF_FLAG_PID_CGROUP", "2.6.39" },
	{ PERCH_FLAG_FD_CLOEXEC, "PERF_FLAG_FD_CLOEXEC", "3.14" },
};

/* The releases that made the attr longer, and its size before. Fields of other releases took the
 * place of reserved bits. */
static const struct {
	const char *since;
	size_t size_before;
} growth[] = {
	{ "2.6.33", PERCH_ATTR_SIZE_VER0 }, { "3.4", PERCH_ATTR_SIZE_VER1 },
	{ "3.7", PERCH_ATTR_SIZE_VER2 },    { "3.19", PERCH_ATTR_SIZE_VER3 },
	{ "4.1", PERCH_ATTR_SIZE_VER4 },    { "5.5", PERCH_ATTR_SIZE_VER5 },
	{ "5.13", PERCH_ATTR_SIZE_VER6 },   { "6.3", PERCH_ATTR_SIZE_VER7 },
	{ "6.19", PERCH_ATTR_SIZE_VER8 },
};

/* If the release is unknown, only features after this one are considered: older kernels are rare.
 */
#define USUAL_RELEASE "5.12"

unsigned perch__running_rank(const struct perch__case *c)
{
	struct perch_release release;

	if (!c->machine || perch_machine_release(c->machine, &release, NULL))
		return 0;
	return perch_release_rank(release.text);
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

static enum perch__stage stage_of_field(const struct perch_attr_field *field)
{
	for (size_t i = 0; i < sizeof(growth) / sizeof(*growth); i++)
		if (!strcmp(growth[i].since, field->since))
			return field->offset >= growth[i].size_before ? PERCH__STAGE_SIZE
								      : PERCH__STAGE_RESERVED;
	return PERCH__STAGE_RESERVED;
}

static enum perch__stage stage_of_bit(const struct perch_attr_bit *bit)
{
	return bit->field[0] == 's'   ? PERCH__STAGE_SAMPLE_TYPE
	       : bit->field[0] == 'r' ? PERCH__STAGE_READ_FORMAT
				      : PERCH__STAGE_BRANCHES;
}

/* Whether the kernel has the feature, as probing or the written size has shown. */
static enum perch__match shown_to_lack(const struct perch__case *c,
				       const struct perch__newer *feature)
{
	const struct perch_attr_field *field = feature->field;

	if (!field)
		return PERCH__UNKNOWN;
	if (c->shared && perch_attr_get(&c->shared->missing, field) & feature->mask)
		return PERCH__YES;
	if (c->shared && perch_attr_get(&c->shared->present, field) & feature->mask)
		return PERCH__NO;
	if (feature->stage == PERCH__STAGE_SIZE && c->kernel_size)
		return field->offset >= c->kernel_size ? PERCH__YES : PERCH__NO;
	return PERCH__UNKNOWN;
}

/* What a search for newer features has found, and what it compares with. */
struct feature_search {
	const struct perch__case *c;
	unsigned after; /* the release rank of the kernel */
	struct perch__newer_list *list;
};

/* Newest first; of one release in the order of the tables. */
static void add_newer(struct perch__newer_list *list, const struct perch__newer *feature)
{
	unsigned rank = perch_release_rank(feature->since);
	size_t at;

	if (list->nr == PERCH__NEWER_MAX)
		return;
	for (at = list->nr++; at && perch_release_rank(list->feature[at - 1].since) < rank; at--)
		list->feature[at] = list->feature[at - 1];
	list->feature[at] = *feature;
}

static void consider(const struct feature_search *search, struct perch__newer feature)
{
	feature.lacking = shown_to_lack(search->c, &feature);
	if (feature.lacking != PERCH__NO)
		add_newer(search->list, &feature);
}

static void consider_fields(const struct feature_search *search)
{
	const struct perch_attr_field *fields;
	size_t nr;

	fields = perch_attr_fields(&nr);
	for (size_t i = 0; i < nr; i++)
		if (fields[i].since[0] && perch_attr_get(&search->c->attr, &fields[i]) &&
		    perch_release_rank(fields[i].since) > search->after && is_checked(&fields[i]))
			consider(search,
				 (struct perch__newer){ .name = fields[i].name,
							.since = fields[i].since,
							.field = &fields[i],
							.mask = UINT64_MAX,
							.stage = stage_of_field(&fields[i]) });
}

/* The kernel checks branch bits only when branches are sampled. */
static uint64_t bits_of_stage(const struct perch_attr *attr, enum perch__stage stage)
{
	switch (stage) {
	case PERCH__STAGE_SAMPLE_TYPE:
		return attr->sample_type;
	case PERCH__STAGE_READ_FORMAT:
		return attr->read_format;
	default:
		return attr->sample_type & PERCH_SAMPLE_BRANCH_STACK ? attr->branch_sample_type : 0;
	}
}

static void consider_bits(const struct feature_search *search)
{
	const struct perch_attr_bit *bits;
	size_t nr;

	bits = perch_attr_bits(&nr);
	for (size_t i = 0; i < nr; i++) {
		enum perch__stage stage = stage_of_bit(&bits[i]);

		if (bits[i].since[0] && bits_of_stage(&search->c->attr, stage) & bits[i].bit &&
		    perch_release_rank(bits[i].since) > search->after)
			consider(search, (struct perch__newer){
						 .name = bits[i].name,
						 .since = bits[i].since,
						 .field = perch_attr_get_field(bits[i].field),
						 .mask = bits[i].bit,
						 .is_bit = true,
						 .stage = stage });
	}
}

void perch__find_newer(const struct perch__case *c, struct perch__newer_list *list)
{
	unsigned running = perch__running_rank(c);
	const struct feature_search search = {
		c, running ? running : perch_release_rank(USUAL_RELEASE), list
	};

	list->nr = 0;
	consider_fields(&search);
	consider_bits(&search);
	for (size_t i = 0; i < sizeof(call_bits) / sizeof(*call_bits); i++)
		if (c->call->flags & c->flags & call_bits[i].bit &&
		    perch_release_rank(call_bits[i].since) > search.after)
			consider(&search, (struct perch__newer){ .name = call_bits[i].name,
								 .since = call_bits[i].since,
								 .mask = call_bits[i].bit,
								 .stage = PERCH__STAGE_FLAGS });
}

void perch__newer_of_stage(const struct perch__case *c, enum perch__stage stage,
			   struct perch__newer_list *list)
{
	size_t nr = 0;

	perch__find_newer(c, list);
	for (size_t i = 0; i < list->nr; i++)
		if (list->feature[i].stage == stage)
			list->feature[nr++] = list->feature[i];
	list->nr = nr;
}

static void append_newer(struct perch__newer_list *list, const struct perch__newer *feature)
{
	if (list->nr < PERCH__NEWER_MAX)
		list->feature[list->nr++] = *feature;
}

/*
 * After E2BIG the kernel has written its size: the fields behind it are at fault, whatever their
 * releases are. The first one of the attr comes first.
 */
static void find_beyond_size(const struct perch__case *c, uint32_t kernel_size,
			     struct perch__newer_list *list)
{
	const struct perch_attr_field *fields;
	size_t nr, from;

	list->nr = 0;
	fields = perch_attr_fields(&nr);
	for (from = 0; from < nr; from++)
		if (fields[from].offset >= kernel_size && is_checked(&fields[from]) &&
		    perch_attr_get(&c->attr, &fields[from]))
			append_newer(list, &(struct perch__newer){ .name = fields[from].name,
								   .since = fields[from].since,
								   .field = &fields[from],
								   .mask = UINT64_MAX,
								   .lacking = PERCH__YES,
								   .stage = PERCH__STAGE_SIZE });
}

bool perch__exceeds_kernel_size(const struct perch__case *c, struct perch__newer_list *list)
{
	uint32_t kernel = c->kernel_size ? c->kernel_size : c->call->errnum == E2BIG ? c->size : 0;

	list->nr = 0;
	if (c->errnum != E2BIG || kernel < PERCH_ATTR_SIZE_VER0)
		return false;
	if (kernel < sizeof(c->attr))
		find_beyond_size(c, kernel, list);
	if (list->nr)
		return true;
	if (!c->unknown_at || c->size <= sizeof(c->attr))
		return false;
	list->feature[list->nr++] = (struct perch__newer){ .name = "size",
							   .since = "",
							   .field = perch_attr_get_field("size"),
							   .lacking = PERCH__YES,
							   .stage = PERCH__STAGE_SIZE };
	return true;
}

enum perch__match perch__may_lack_field(const struct perch__case *c, const char *name)
{
	const struct perch_attr_field *field = perch_attr_get_field(name);
	unsigned running = perch__running_rank(c);

	if (!running || running >= perch_release_rank(field->since) ||
	    (c->shared && perch_attr_get(&c->shared->present, field)))
		return PERCH__NO;
	return PERCH__UNKNOWN;
}

void perch__drop_newer(struct perch__case *c, const struct perch__newer_list *list)
{
	for (size_t i = 0; i < list->nr; i++) {
		const struct perch__newer *feature = &list->feature[i];

		if (feature->stage == PERCH__STAGE_FLAGS)
			c->flags &= ~feature->mask;
		else if (!feature->since[0])
			c->size = sizeof(c->attr), c->unknown_at = 0;
		else
			perch_attr_set(&c->attr, feature->field,
				       perch_attr_get(&c->attr, feature->field) & ~feature->mask);
	}
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
		/* names and releases are from tables and fit */
		memset(feature, 0, sizeof(*feature));
		memcpy(feature->name, fields[i].name,
		       strnlen(fields[i].name, sizeof(feature->name) - 1));
		memcpy(feature->since, fields[i].since,
		       strnlen(fields[i].since, sizeof(feature->since) - 1));
		return true;
	}
	return false;
}
