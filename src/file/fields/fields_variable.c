/* SPDX-License-Identifier: MIT */
/* Emits the fields of variable size of perf.data's own records. The cursor is after the fields of
 * fixed size. */
#include <stdio.h>
#include "fields.h"

#define TEXT_LEFT SIZE_MAX

static size_t bytes_left(const struct perch__emitter *emitter)
{
	return emitter->end - emitter->at;
}

/* Emits a number and returns it in *value. False if the record ends before it. */
static bool emit_number(struct perch__emitter *emitter, const char *name, size_t size,
			uint64_t *value)
{
	if (bytes_left(emitter) < size)
		return false;
	*value = perch__emitter_load(emitter, emitter->at, size);
	emitter->at += size;
	perch__emitter_field(emitter, name, PERCH_FIELD_NUMBER, *value);
	return true;
}

/* Like the function above, with the name of the value. */
static bool emit_flags(struct perch__emitter *emitter, const char *name, size_t size,
		       const char *const *names, size_t nr, uint64_t *value)
{
	if (bytes_left(emitter) < size)
		return false;
	*value = perch__emitter_load(emitter, emitter->at, size);
	emitter->at += size;
	perch__emitter_flags(emitter, name, *value, *value < nr ? names[*value] : "");
	return true;
}

/* Emits a text of at most `size` bytes. It ends at its first NUL. */
static void emit_text(struct perch__emitter *emitter, const char *name, size_t size)
{
	if (size > bytes_left(emitter))
		size = bytes_left(emitter);
	perch__emitter_bytes(emitter, name, PERCH_FIELD_TEXT, emitter->at,
			     strnlen((const char *)emitter->at, size));
	emitter->at += size;
}

/* ---- lists ---- */

static const struct perch__field_format hex_word[] = { { NULL, PERCH_FIELD_HEX, 8, NULL, 0 } };
static const struct perch__field_format id[] = { { NULL, PERCH_FIELD_NUMBER, 8, NULL, 0 } };

void perch__emit_file_attr_record(struct perch__emitter *emitter)
{
	struct perch_attr attr;
	size_t size;

	if (bytes_left(emitter) < PERCH__ATTR_MIN)
		return;
	size = perch__emitter_load(emitter, emitter->at + offsetof(struct perch_attr, size), 4);
	if (size < PERCH__ATTR_MIN)
		size = PERCH__ATTR_MIN;
	if (size > bytes_left(emitter))
		size = bytes_left(emitter);
	if (perch_attr_from_bytes(&attr, emitter->at, size, perch__byte_order(emitter->swapped)) <
	    0)
		return;
	emitter->at += size;
	perch__emitter_field(emitter, "attr", PERCH_FIELD_GROUP, 0);
	if (!emitter->rc)
		emitter->rc = perch_attr_each_field(&attr, emitter->function, emitter->context);
	perch__emitter_end(emitter);
	perch__emitter_list(emitter, "id", UINT64_MAX, id, PERCH__NR(id));
}

void perch__emit_file_build_id(struct perch__emitter *emitter)
{
	size_t size = sizeof(((struct perch__build_id_record *)0)->id);

	if (bytes_left(emitter) < size + 4)
		return;
	/* older perf versions do not write its size */
	if (emitter->misc & PERCH__BUILD_ID_SIZE_KNOWN && emitter->at[size] < size)
		size = emitter->at[size];
	perch__emitter_bytes(emitter, "build_id", PERCH_FIELD_BYTES, emitter->at, size);
	emitter->at += sizeof(((struct perch__build_id_record *)0)->id) + 4;
	emit_text(emitter, "filename", TEXT_LEFT);
}

/* Files with guests have a second array with the same number of entries. */
void perch__emit_file_id_index(struct perch__emitter *emitter)
{
	static const struct perch__field_format entry[] = {
		{ "id", PERCH_FIELD_NUMBER, 8, NULL, 0 },
		{ "idx", PERCH_FIELD_NUMBER, 8, NULL, 0 },
		{ "cpu", PERCH_FIELD_SIGNED, 8, NULL, 0 },
		{ "tid", PERCH_FIELD_SIGNED, 8, NULL, 0 },
	};
	static const struct perch__field_format guest[] = {
		{ "machine_pid", PERCH_FIELD_SIGNED, 8, NULL, 0 },
		{ "vcpu", PERCH_FIELD_SIGNED, 8, NULL, 0 },
	};
	uint64_t nr;

	if (!emit_number(emitter, "nr", 8, &nr))
		return;
	perch__emitter_list(emitter, "entries", nr, entry, PERCH__NR(entry));
	if (bytes_left(emitter) / 16 && bytes_left(emitter) / 16 >= nr)
		perch__emitter_list(emitter, "guests", nr, guest, PERCH__NR(guest));
}

void perch__emit_file_auxtrace_info(struct perch__emitter *emitter)
{
	perch__emitter_list(emitter, "priv", UINT64_MAX, hex_word, PERCH__NR(hex_word));
}

/* Format 0 has no time. Format 2 has the guest. */
void perch__emit_file_auxtrace_error(struct perch__emitter *emitter)
{
	static const struct perch__field_format ip[] = { { "ip", PERCH_FIELD_ADDRESS, 8, NULL,
							   0 } };
	static const struct perch__field_format time[] = { { "time", PERCH_FIELD_TIME, 8, NULL,
							     0 } };
	static const struct perch__field_format guest[] = {
		{ "machine_pid", PERCH_FIELD_SIGNED, 4, NULL, 0 },
		{ "vcpu", PERCH_FIELD_SIGNED, 4, NULL, 0 },
	};
	uint64_t format;

	if (!emit_number(emitter, "fmt", 4, &format) || !perch__emitter_fields(emitter, ip, 1))
		return;
	if (format && !perch__emitter_fields(emitter, time, 1))
		return;
	emit_text(emitter, "msg", 64);
	if (format >= 2)
		perch__emitter_fields(emitter, guest, PERCH__NR(guest));
}

void perch__emit_file_thread_map(struct perch__emitter *emitter)
{
	static const struct perch__field_format entry[] = {
		{ "pid", PERCH_FIELD_SIGNED, 8, NULL, 0 },
		{ "comm", PERCH_FIELD_TEXT, 16, NULL, 0 },
	};
	uint64_t nr;

	if (emit_number(emitter, "nr", 8, &nr))
		perch__emitter_list(emitter, "entries", nr, entry, PERCH__NR(entry));
}

void perch__emit_file_stat_config(struct perch__emitter *emitter)
{
	static const char *const tags[] = { "AGGR_MODE", "INTERVAL", "SCALE", "AGGR_LEVEL" };
	static const struct perch__field_format entry[] = {
		{ "tag", PERCH_FIELD_FLAGS, 8, tags, PERCH__NR(tags) },
		{ "val", PERCH_FIELD_NUMBER, 8, NULL, 0 },
	};
	uint64_t nr;

	if (emit_number(emitter, "nr", 8, &nr))
		perch__emitter_list(emitter, "data", nr, entry, PERCH__NR(entry));
}

/* ---- CPUs ---- */

static void emit_mask(struct perch__emitter *emitter)
{
	uint64_t nr, size, set = 0;
	const uint8_t *mask;

	if (!emit_number(emitter, "nr", 2, &nr) || !emit_number(emitter, "long_size", 2, &size))
		return;
	/* masks of 8 bytes are aligned to 8 bytes */
	if (size == 8 && bytes_left(emitter) >= 4)
		emitter->at += 4;
	if (size != 4 && size != 8)
		return;
	if (nr > bytes_left(emitter) / size)
		nr = bytes_left(emitter) / size;
	mask = emitter->at;
	for (uint64_t i = 0; i < nr; i++)
		set += __builtin_popcountll(perch__emitter_load(emitter, mask + i * size, size));
	perch__emitter_field(emitter, "cpus", PERCH_FIELD_LIST, set);
	for (uint64_t bit = 0; bit < nr * size * 8 && !emitter->rc; bit++) {
		uint64_t bits = perch__emitter_load(emitter, mask + bit / (size * 8) * size, size);

		if (bits >> bit % (size * 8) & 1)
			perch__emitter_field(emitter, NULL, PERCH_FIELD_SIGNED, bit);
	}
	perch__emitter_end(emitter);
	emitter->at += nr * size;
}

static void emit_range(struct perch__emitter *emitter)
{
	uint64_t any, start, end, nr;

	if (!emit_number(emitter, "any_cpu", 1, &any) || !bytes_left(emitter))
		return;
	emitter->at++;
	if (!emit_number(emitter, "start_cpu", 2, &start) ||
	    !emit_number(emitter, "end_cpu", 2, &end))
		return;
	nr = end >= start ? end - start + 1 : 0;
	perch__emitter_field(emitter, "cpus", PERCH_FIELD_LIST, !!any + nr);
	if (any)
		perch__emitter_field(emitter, NULL, PERCH_FIELD_SIGNED, -1);
	for (uint64_t i = 0; i < nr && !emitter->rc; i++)
		perch__emitter_field(emitter, NULL, PERCH_FIELD_SIGNED, start + i);
	perch__emitter_end(emitter);
}

/* A list of CPUs, a bit mask, or a range. -1 is any CPU. */
void perch__emit_file_cpu_map(struct perch__emitter *emitter)
{
	static const char *const kinds[] = { "CPUS", "MASK", "RANGE" };
	static const struct perch__field_format cpu[] = { { NULL, PERCH_FIELD_SIGNED, 2, NULL,
							    0 } };
	uint64_t kind, nr;

	if (!emit_flags(emitter, "type", 2, kinds, PERCH__NR(kinds), &kind))
		return;
	if (kind == 0 && emit_number(emitter, "nr", 2, &nr))
		perch__emitter_list(emitter, "cpus", nr, cpu, PERCH__NR(cpu));
	else if (kind == 1)
		emit_mask(emitter);
	else if (kind == 2)
		emit_range(emitter);
}

/* ---- events and features ---- */

static void emit_scale(struct perch__emitter *emitter)
{
	char text[32];
	uint64_t bits;
	double scale;

	if (bytes_left(emitter) < sizeof(bits))
		return;
	bits = perch__emitter_load(emitter, emitter->at, sizeof(bits));
	emitter->at += sizeof(bits);
	memcpy(&scale, &bits, sizeof(scale));
	perch__emitter_bytes(emitter, "scale", PERCH_FIELD_TEXT, text,
			     snprintf(text, sizeof(text), "%.17g", scale));
}

void perch__emit_file_event_update(struct perch__emitter *emitter)
{
	static const char *const kinds[] = { "UNIT", "SCALE", "NAME", "CPUS" };
	uint64_t kind, event;

	if (!emit_flags(emitter, "type", 8, kinds, PERCH__NR(kinds), &kind) ||
	    !emit_number(emitter, "id", 8, &event))
		return;
	if (kind == 0)
		emit_text(emitter, "unit", TEXT_LEFT);
	else if (kind == 1)
		emit_scale(emitter);
	else if (kind == 2)
		emit_text(emitter, "name", TEXT_LEFT);
	else if (kind == 3) {
		/* a group, because the map has a field "type" too */
		perch__emitter_field(emitter, "cpus", PERCH_FIELD_GROUP, 0);
		perch__emit_file_cpu_map(emitter);
		perch__emitter_end(emitter);
	}
}

/* Features that consist of the size of a text and the text. */
static bool is_text(uint64_t feature)
{
	return (feature >= PERCH_FEATURE_HOSTNAME && feature <= PERCH_FEATURE_ARCH) ||
	       feature == PERCH_FEATURE_CPUDESC || feature == PERCH_FEATURE_CPUID;
}

/* The last record is empty, and has the number after the last feature that the recorder knows. */
void perch__emit_file_feature(struct perch__emitter *emitter)
{
	const char *name = NULL;
	uint64_t feature;

	if (bytes_left(emitter) < sizeof(feature))
		return;
	feature = perch__emitter_load(emitter, emitter->at, sizeof(feature));
	emitter->at += sizeof(feature);
	if (!bytes_left(emitter) && feature != PERCH_FEATURE_BRANCH_STACK)
		name = "END";
	else if (feature < PERCH_FEATURE_MAX)
		name = perch_feature_name(feature);
	perch__emitter_flags(emitter, "feat_id", feature, name ? name : "");
	if (is_text(feature) && bytes_left(emitter) > sizeof(uint32_t)) {
		emitter->at += sizeof(uint32_t);
		emit_text(emitter, "text", TEXT_LEFT);
		return;
	}
	perch__emitter_bytes(emitter, "data", PERCH_FIELD_BYTES, emitter->at, bytes_left(emitter));
	emitter->at = emitter->end;
}

/* The compressed bytes are not emitted: the records in them follow. */
void perch__emit_file_compressed(struct perch__emitter *emitter)
{
	perch__emitter_field(emitter, "data_size", PERCH_FIELD_NUMBER, bytes_left(emitter));
	emitter->at = emitter->end;
}

void perch__emit_file_compressed2(struct perch__emitter *emitter)
{
	uint64_t size;

	if (!emit_number(emitter, "data_size", 8, &size))
		return;
	emitter->at += size < bytes_left(emitter) ? size : bytes_left(emitter);
}

void perch__emit_file_bpf_metadata(struct perch__emitter *emitter)
{
	static const struct perch__field_format entry[] = {
		{ "key", PERCH_FIELD_TEXT, 64, NULL, 0 },
		{ "value", PERCH_FIELD_TEXT, 256, NULL, 0 },
	};
	uint64_t nr;

	if (bytes_left(emitter) < 512)
		return;
	emit_text(emitter, "prog_name", 512);
	if (emit_number(emitter, "nr_entries", 8, &nr))
		perch__emitter_list(emitter, "entries", nr, entry, PERCH__NR(entry));
}

/* ---- /proc/schedstat ---- */

static const struct perch__field_format of_cpu[] = {
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

void perch__emit_file_schedstat_cpu(struct perch__emitter *emitter)
{
	uint64_t version;

	if (!emit_number(emitter, "version", 2, &version) || bytes_left(emitter) < 2)
		return;
	emitter->at += 2;
	if (version >= 15 && version <= 17)
		perch__emitter_fields(emitter, of_cpu, PERCH__NR(of_cpu));
}

/* Load balancing counters of a busy, idle or newly idle CPU. */
static void emit_balance(struct perch__emitter *emitter, const char *from, bool in_detail)
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
		if (!emit_number(emitter, name, 4, &value))
			return;
	}
}

void perch__emit_file_schedstat_domain(struct perch__emitter *emitter)
{
	static const char *const last[] = {
		"alb_count",	"alb_failed",	    "alb_pushed",	"sbe_count",
		"sbe_balanced", "sbe_pushed",	    "sbf_count",	"sbf_balanced",
		"sbf_pushed",	"ttwu_wake_remote", "ttwu_move_affine", "ttwu_move_balance"
	};
	uint64_t version, value;

	if (!emit_number(emitter, "version", 2, &version) ||
	    !emit_number(emitter, "domain", 2, &value))
		return;
	if (version < 15 || version > 17)
		return;
	/* version 15 has idle before busy */
	emit_balance(emitter, version == 15 ? "idle" : "busy", version == 17);
	emit_balance(emitter, version == 15 ? "busy" : "idle", version == 17);
	emit_balance(emitter, "newidle", version == 17);
	for (size_t i = 0; i < PERCH__NR(last); i++)
		if (!emit_number(emitter, last[i], 4, &value))
			return;
}
