/* SPDX-License-Identifier: MIT */
/* Fields whose form is not that of one value, of all records but SAMPLE; and what SAMPLE has in
 * common with them. */
#include "fields.h"

void perch__emit_read_values(struct perch__walk *walk, const char *name,
			     const struct perch_read_values *values)
{
	bool group = values->format & PERCH_FORMAT_GROUP;
	struct perch_read_value value = { 0 };

	perch__emit_field(walk, name, PERCH_FIELD_GROUP, 0);
	if (!group) {
		perch_read_values_at(values, 0, &value);
		perch__emit_field(walk, "value", PERCH_FIELD_NUMBER, value.value);
	}
	if (values->format & PERCH_FORMAT_TOTAL_TIME_ENABLED)
		perch__emit_field(walk, "time_enabled", PERCH_FIELD_NUMBER, values->enabled_ns);
	if (values->format & PERCH_FORMAT_TOTAL_TIME_RUNNING)
		perch__emit_field(walk, "time_running", PERCH_FIELD_NUMBER, values->running_ns);
	if (group)
		perch__emit_field(walk, "values", PERCH_FIELD_LIST, values->nr);
	for (uint64_t i = 0; i < values->nr && !walk->rc; i++) {
		perch_read_values_at(values, i, &value);
		if (group) {
			perch__emit_field(walk, NULL, PERCH_FIELD_GROUP, 0);
			perch__emit_field(walk, "value", PERCH_FIELD_NUMBER, value.value);
		}
		if (values->format & PERCH_FORMAT_ID)
			perch__emit_field(walk, "id", PERCH_FIELD_NUMBER, value.id);
		if (values->format & PERCH_FORMAT_LOST)
			perch__emit_field(walk, "lost", PERCH_FIELD_NUMBER, value.lost);
		if (group)
			perch__emit_field(walk, NULL, PERCH_FIELD_END, 0);
	}
	if (group)
		perch__emit_field(walk, NULL, PERCH_FIELD_END, 0);
	perch__emit_field(walk, NULL, PERCH_FIELD_END, 0);
}

/* Markers are told as words; the word behind USER_DEFERRED is a cookie, not an address. */
void perch__emit_chain(struct perch__walk *walk, const char *name, const uint64_t *ip, uint64_t nr)
{
	bool cookie = false;

	perch__emit_field(walk, name, PERCH_FIELD_LIST, nr);
	for (uint64_t i = 0; i < nr && !walk->rc; i++) {
		uint64_t word = perch_word(walk->record, ip + i);

		if (cookie)
			perch__emit_field(walk, NULL, PERCH_FIELD_HEX, word);
		else if (word >= PERCH_CONTEXT_MAX)
			perch__emit_flags(walk, NULL, word, perch__format_context);
		else
			perch__emit_field(walk, NULL, PERCH_FIELD_ADDRESS, word);
		cookie = !cookie && word == PERCH_CONTEXT_USER_DEFERRED;
	}
	perch__emit_field(walk, NULL, PERCH_FIELD_END, 0);
}

void perch__emit_read_record(struct perch__walk *walk, const char *name)
{
	perch__emit_read_values(walk, name, &walk->record->read.values);
}

void perch__emit_mmap_build_id(struct perch__walk *walk, const char *name)
{
	perch__emit_bytes(walk, name, walk->record->mmap.build_id,
			  walk->record->mmap.build_id_size);
}

void perch__emit_namespace_links(struct perch__walk *walk, const char *name)
{
	uint64_t nr = walk->record->namespaces.nr;

	perch__emit_field(walk, name, PERCH_FIELD_LIST, nr);
	for (uint64_t i = 0; i < nr && !walk->rc; i++) {
		struct perch_ns_link_info link;

		perch_namespace_at(walk->record, i, &link);
		perch__emit_field(walk, NULL, PERCH_FIELD_GROUP, 0);
		perch__emit_flags(walk, "ns", i, perch__format_namespace);
		perch__emit_field(walk, "dev", PERCH_FIELD_HEX, link.dev);
		perch__emit_field(walk, "inode", PERCH_FIELD_NUMBER, link.ino);
		perch__emit_field(walk, NULL, PERCH_FIELD_END, 0);
	}
	perch__emit_field(walk, NULL, PERCH_FIELD_END, 0);
}

void perch__emit_bpf_tag(struct perch__walk *walk, const char *name)
{
	perch__emit_bytes(walk, name, walk->record->bpf.tag, sizeof(walk->record->bpf.tag));
}

void perch__emit_text_poke_old_bytes(struct perch__walk *walk, const char *name)
{
	perch__emit_bytes(walk, name, walk->record->text_poke.before,
			  walk->record->text_poke.old_length);
}

void perch__emit_text_poke_new_bytes(struct perch__walk *walk, const char *name)
{
	perch__emit_bytes(walk, name, walk->record->text_poke.after,
			  walk->record->text_poke.new_length);
}

void perch__emit_deferred_chain(struct perch__walk *walk, const char *name)
{
	perch__emit_chain(walk, name, walk->record->deferred.ip, walk->record->deferred.nr);
}

static const char *trailer_end(const struct perch_record *record)
{
	return (const char *)record->bytes +
	       perch__extent(record->parse_info, record->type, record->bytes, record->size);
}

/* Both are read where they stand: the view has one id, and a record that somebody made up may have
 * two. */
void perch__emit_trailer_id(struct perch__walk *walk, const char *name)
{
	const struct perch_record *record = walk->record;
	const char *end = trailer_end(record);
	uint64_t before = record->parse_info->sample_type & (PERCH_SAMPLE_TID | PERCH_SAMPLE_TIME);
	const char *at = end - record->parse_info->id_size + 8 * __builtin_popcountll(before);

	perch__emit_field(walk, name, PERCH_FIELD_NUMBER,
			  perch__u64(at, record->parse_info->swapped));
}

void perch__emit_trailer_identifier(struct perch__walk *walk, const char *name)
{
	const char *end = trailer_end(walk->record);

	perch__emit_field(walk, name, PERCH_FIELD_NUMBER,
			  perch__u64(end - sizeof(uint64_t), walk->record->parse_info->swapped));
}
