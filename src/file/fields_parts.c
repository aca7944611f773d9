/* SPDX-License-Identifier: MIT */
/* perf.data's own records: what has no fixed size. Each function begins where the numbers in front
 * of it ended. */
#include <stdio.h>
#include "fields.h"

#define TEXT_LEFT SIZE_MAX

static size_t left(const struct perch__teller *teller)
{
	return teller->end - teller->at;
}

/* One number, told and given; false, and nothing told, when there is no room for it. */
static bool take(struct perch__teller *teller, const char *name, size_t size, uint64_t *value)
{
	if (left(teller) < size)
		return false;
	*value = perch__teller_load(teller, teller->at, size);
	teller->at += size;
	perch__tell_field(teller, name, PERCH_FIELD_NUMBER, *value);
	return true;
}

/* The same, with what the value means. */
static bool take_words(struct perch__teller *teller, const char *name, size_t size,
		       const char *const *words, size_t nr, uint64_t *value)
{
	if (left(teller) < size)
		return false;
	*value = perch__teller_load(teller, teller->at, size);
	teller->at += size;
	perch__tell_words(teller, name, *value, *value < nr ? words[*value] : "");
	return true;
}

/* Text of at most `size` bytes at the cursor, which ends at its first NUL. */
static void take_text(struct perch__teller *teller, const char *name, size_t size)
{
	if (size > left(teller))
		size = left(teller);
	perch__tell_bytes(teller, name, PERCH_FIELD_TEXT, teller->at,
			  strnlen((const char *)teller->at, size));
	teller->at += size;
}

/* ---- lists ---- */

static const struct perch__part word[] = { { NULL, PERCH_FIELD_HEX, 8, NULL, 0 } };
static const struct perch__part id[] = { { NULL, PERCH_FIELD_NUMBER, 8, NULL, 0 } };

void perch__tell_attr_record(struct perch__teller *teller)
{
	struct perch_attr attr;
	size_t size;

	if (left(teller) < PERCH__ATTR_LEAST)
		return;
	size = perch__teller_load(teller, teller->at + offsetof(struct perch_attr, size), 4);
	if (size < PERCH__ATTR_LEAST)
		size = PERCH__ATTR_LEAST;
	if (size > left(teller))
		size = left(teller);
	if (perch_attr_from_bytes(&attr, teller->at, size, teller->swapped) < 0)
		return;
	teller->at += size;
	perch__tell_field(teller, "attr", PERCH_FIELD_GROUP, 0);
	if (!teller->rc)
		teller->rc = perch_attr_each_field(&attr, teller->function, teller->context);
	perch__tell_end(teller);
	perch__tell_list(teller, "id", UINT64_MAX, id, PERCH__NR(id));
}

void perch__tell_build_id(struct perch__teller *teller)
{
	size_t size = sizeof(((struct perch__build_id_record *)0)->id);

	if (left(teller) < size + 4)
		return;
	/* older ones do not tell how long it is */
	if (teller->misc & PERCH__BUILD_ID_SIZE_KNOWN && teller->at[size] < size)
		size = teller->at[size];
	perch__tell_bytes(teller, "build_id", PERCH_FIELD_BYTES, teller->at, size);
	teller->at += sizeof(((struct perch__build_id_record *)0)->id) + 4;
	take_text(teller, "filename", TEXT_LEFT);
}

/* Behind nr entries stand, in files with guests, as many of another kind. */
void perch__tell_id_index(struct perch__teller *teller)
{
	static const struct perch__part entry[] = {
		{ "id", PERCH_FIELD_NUMBER, 8, NULL, 0 },
		{ "idx", PERCH_FIELD_NUMBER, 8, NULL, 0 },
		{ "cpu", PERCH_FIELD_SIGNED, 8, NULL, 0 },
		{ "tid", PERCH_FIELD_SIGNED, 8, NULL, 0 },
	};
	static const struct perch__part guest[] = {
		{ "machine_pid", PERCH_FIELD_SIGNED, 8, NULL, 0 },
		{ "vcpu", PERCH_FIELD_SIGNED, 8, NULL, 0 },
	};
	uint64_t nr;

	if (!take(teller, "nr", 8, &nr))
		return;
	perch__tell_list(teller, "entries", nr, entry, PERCH__NR(entry));
	if (left(teller) / 16 && left(teller) / 16 >= nr)
		perch__tell_list(teller, "guests", nr, guest, PERCH__NR(guest));
}

void perch__tell_auxtrace_info(struct perch__teller *teller)
{
	perch__tell_list(teller, "priv", UINT64_MAX, word, PERCH__NR(word));
}

/* Format 0 has no time, and format 2 tells the guest. */
void perch__tell_auxtrace_error(struct perch__teller *teller)
{
	static const struct perch__part ip[] = { { "ip", PERCH_FIELD_ADDRESS, 8, NULL, 0 } };
	static const struct perch__part time[] = { { "time", PERCH_FIELD_TIME, 8, NULL, 0 } };
	static const struct perch__part guest[] = {
		{ "machine_pid", PERCH_FIELD_SIGNED, 4, NULL, 0 },
		{ "vcpu", PERCH_FIELD_SIGNED, 4, NULL, 0 },
	};
	uint64_t format;

	if (!take(teller, "fmt", 4, &format) || !perch__tell_parts(teller, ip, 1))
		return;
	if (format && !perch__tell_parts(teller, time, 1))
		return;
	take_text(teller, "msg", 64);
	if (format >= 2)
		perch__tell_parts(teller, guest, PERCH__NR(guest));
}

void perch__tell_thread_map(struct perch__teller *teller)
{
	static const struct perch__part entry[] = {
		{ "pid", PERCH_FIELD_SIGNED, 8, NULL, 0 },
		{ "comm", PERCH_FIELD_TEXT, 16, NULL, 0 },
	};
	uint64_t nr;

	if (take(teller, "nr", 8, &nr))
		perch__tell_list(teller, "entries", nr, entry, PERCH__NR(entry));
}

void perch__tell_stat_config(struct perch__teller *teller)
{
	static const char *const tags[] = { "AGGR_MODE", "INTERVAL", "SCALE", "AGGR_LEVEL" };
	static const struct perch__part entry[] = {
		{ "tag", PERCH_FIELD_FLAGS, 8, tags, PERCH__NR(tags) },
		{ "val", PERCH_FIELD_NUMBER, 8, NULL, 0 },
	};
	uint64_t nr;

	if (take(teller, "nr", 8, &nr))
		perch__tell_list(teller, "data", nr, entry, PERCH__NR(entry));
}

/* ---- CPUs ---- */

static void tell_mask(struct perch__teller *teller)
{
	uint64_t nr, size, set = 0;
	const uint8_t *mask;

	if (!take(teller, "nr", 2, &nr) || !take(teller, "long_size", 2, &size))
		return;
	/* masks of 8 bytes are padded to a multiple of 8 from nr on */
	if (size == 8 && left(teller) >= 4)
		teller->at += 4;
	if (size != 4 && size != 8)
		return;
	if (nr > left(teller) / size)
		nr = left(teller) / size;
	mask = teller->at;
	for (uint64_t i = 0; i < nr; i++)
		set += __builtin_popcountll(perch__teller_load(teller, mask + i * size, size));
	perch__tell_field(teller, "cpus", PERCH_FIELD_LIST, set);
	for (uint64_t bit = 0; bit < nr * size * 8 && !teller->rc; bit++) {
		uint64_t bits = perch__teller_load(teller, mask + bit / (size * 8) * size, size);

		if (bits >> bit % (size * 8) & 1)
			perch__tell_field(teller, NULL, PERCH_FIELD_SIGNED, bit);
	}
	perch__tell_end(teller);
	teller->at += nr * size;
}

static void tell_range(struct perch__teller *teller)
{
	uint64_t any, start, end, nr;

	if (!take(teller, "any_cpu", 1, &any) || !left(teller))
		return;
	teller->at++;
	if (!take(teller, "start_cpu", 2, &start) || !take(teller, "end_cpu", 2, &end))
		return;
	nr = end >= start ? end - start + 1 : 0;
	perch__tell_field(teller, "cpus", PERCH_FIELD_LIST, !!any + nr);
	if (any)
		perch__tell_field(teller, NULL, PERCH_FIELD_SIGNED, -1);
	for (uint64_t i = 0; i < nr && !teller->rc; i++)
		perch__tell_field(teller, NULL, PERCH_FIELD_SIGNED, start + i);
	perch__tell_end(teller);
}

/* One by one, as bits, or from first to last; -1 stands for any CPU. */
void perch__tell_cpu_map(struct perch__teller *teller)
{
	static const char *const kinds[] = { "CPUS", "MASK", "RANGE" };
	static const struct perch__part cpu[] = { { NULL, PERCH_FIELD_SIGNED, 2, NULL, 0 } };
	uint64_t kind, nr;

	if (!take_words(teller, "type", 2, kinds, PERCH__NR(kinds), &kind))
		return;
	if (kind == 0 && take(teller, "nr", 2, &nr))
		perch__tell_list(teller, "cpus", nr, cpu, PERCH__NR(cpu));
	else if (kind == 1)
		tell_mask(teller);
	else if (kind == 2)
		tell_range(teller);
}

/* ---- events and features ---- */

static void tell_scale(struct perch__teller *teller)
{
	char text[32];
	uint64_t bits;
	double scale;

	if (left(teller) < sizeof(bits))
		return;
	bits = perch__teller_load(teller, teller->at, sizeof(bits));
	teller->at += sizeof(bits);
	memcpy(&scale, &bits, sizeof(scale));
	perch__tell_bytes(teller, "scale", PERCH_FIELD_TEXT, text,
			  snprintf(text, sizeof(text), "%.17g", scale));
}

void perch__tell_event_update(struct perch__teller *teller)
{
	static const char *const kinds[] = { "UNIT", "SCALE", "NAME", "CPUS" };
	uint64_t kind, event;

	if (!take_words(teller, "type", 8, kinds, PERCH__NR(kinds), &kind) ||
	    !take(teller, "id", 8, &event))
		return;
	if (kind == 0)
		take_text(teller, "unit", TEXT_LEFT);
	else if (kind == 1)
		tell_scale(teller);
	else if (kind == 2)
		take_text(teller, "name", TEXT_LEFT);
	else if (kind == 3) {
		/* a group of their own: they have a type, too */
		perch__tell_field(teller, "cpus", PERCH_FIELD_GROUP, 0);
		perch__tell_cpu_map(teller);
		perch__tell_end(teller);
	}
}

/* These are the size of a text, and the text. */
static bool is_text(uint64_t feature)
{
	return (feature >= PERCH_FEATURE_HOSTNAME && feature <= PERCH_FEATURE_ARCH) ||
	       feature == PERCH_FEATURE_CPUDESC || feature == PERCH_FEATURE_CPUID;
}

/* Behind the last one comes one more, of the number that follows all those perf knew: it has
 * nothing in it. */
void perch__tell_feature(struct perch__teller *teller)
{
	const char *name = NULL;
	uint64_t feature;

	if (left(teller) < sizeof(feature))
		return;
	feature = perch__teller_load(teller, teller->at, sizeof(feature));
	teller->at += sizeof(feature);
	if (!left(teller) && feature != PERCH_FEATURE_BRANCH_STACK)
		name = "END";
	else if (feature < PERCH_FEATURE_MAX)
		name = perch_feature_name(feature);
	perch__tell_words(teller, "feat_id", feature, name ? name : "");
	if (is_text(feature) && left(teller) > sizeof(uint32_t)) {
		teller->at += sizeof(uint32_t);
		take_text(teller, "text", TEXT_LEFT);
		return;
	}
	perch__tell_bytes(teller, "data", PERCH_FIELD_BYTES, teller->at, left(teller));
	teller->at = teller->end;
}

/* The packed bytes are not shown: what is in them follows, as records. */
void perch__tell_packed(struct perch__teller *teller)
{
	perch__tell_field(teller, "data_size", PERCH_FIELD_NUMBER, left(teller));
	teller->at = teller->end;
}

void perch__tell_packed2(struct perch__teller *teller)
{
	uint64_t size;

	if (!take(teller, "data_size", 8, &size))
		return;
	teller->at += size < left(teller) ? size : left(teller);
}

void perch__tell_bpf_metadata(struct perch__teller *teller)
{
	static const struct perch__part entry[] = {
		{ "key", PERCH_FIELD_TEXT, 64, NULL, 0 },
		{ "value", PERCH_FIELD_TEXT, 256, NULL, 0 },
	};
	uint64_t nr;

	if (left(teller) < 512)
		return;
	take_text(teller, "prog_name", 512);
	if (take(teller, "nr_entries", 8, &nr))
		perch__tell_list(teller, "entries", nr, entry, PERCH__NR(entry));
}

/* ---- /proc/schedstat ---- */

static const struct perch__part of_cpu[] = {
	{ "yld_count", PERCH_FIELD_NUMBER, 4, NULL, 0 },
	{ "array_exp", PERCH_FIELD_NUMBER, 4, NULL, 0 },
	{ "sched_count", PERCH_FIELD_NUMBER, 4, NULL, 0 },
	{ "sched_goidle", PERCH_FIELD_NUMBER, 4, NULL, 0 },
	{ "ttwu_count", PERCH_FIELD_NUMBER, 4, NULL, 0 },
	{ "ttwu_local", PERCH_FIELD_NUMBER, 4, NULL, 0 },
	{ "rq_cpu_time", PERCH_FIELD_TIME, 8, NULL, 0 },
	{ "run_delay", PERCH_FIELD_TIME, 8, NULL, 0 },
	{ "pcount", PERCH_FIELD_NUMBER, 8, NULL, 0 },
};

void perch__tell_schedstat_cpu(struct perch__teller *teller)
{
	uint64_t version;

	if (!take(teller, "version", 2, &version) || left(teller) < 2)
		return;
	teller->at += 2;
	if (version >= 15 && version <= 17)
		perch__tell_parts(teller, of_cpu, PERCH__NR(of_cpu));
}

/* What load balancing did, from a busy, idle and newly idle CPU; version 15 had the first two the
 * other way round. */
static void tell_balance(struct perch__teller *teller, const char *from, bool in_detail)
{
	static const char *const plain[] = { "lb_count",     "lb_balanced", "lb_failed",
					     "lb_imbalance", "lb_gained",   "lb_hot_gained",
					     "lb_nobusyq",   "lb_nobusyg" };
	static const char *const detailed[] = { "lb_count",
						"lb_balanced",
						"lb_failed",
						"lb_imbalance_load",
						"lb_imbalance_util",
						"lb_imbalance_task",
						"lb_imbalance_misfit",
						"lb_gained",
						"lb_hot_gained",
						"lb_nobusyq",
						"lb_nobusyg" };
	const char *const *names = in_detail ? detailed : plain;
	size_t nr = in_detail ? PERCH__NR(detailed) : PERCH__NR(plain);
	uint64_t value;
	char name[64];

	for (size_t i = 0; i < nr; i++) {
		snprintf(name, sizeof(name), "%s_%s", from, names[i]);
		if (!take(teller, name, 4, &value))
			return;
	}
}

void perch__tell_schedstat_domain(struct perch__teller *teller)
{
	static const char *const last[] = {
		"alb_count",	"alb_failed",	    "alb_pushed",	"sbe_count",
		"sbe_balanced", "sbe_pushed",	    "sbf_count",	"sbf_balanced",
		"sbf_pushed",	"ttwu_wake_remote", "ttwu_move_affine", "ttwu_move_balance"
	};
	uint64_t version, value;

	if (!take(teller, "version", 2, &version) || !take(teller, "domain", 2, &value))
		return;
	if (version < 15 || version > 17)
		return;
	tell_balance(teller, version == 15 ? "idle" : "busy", version == 17);
	tell_balance(teller, version == 15 ? "busy" : "idle", version == 17);
	tell_balance(teller, "newidle", version == 17);
	for (size_t i = 0; i < PERCH__NR(last); i++)
		if (!take(teller, last[i], 4, &value))
			return;
}
