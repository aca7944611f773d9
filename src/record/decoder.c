/* SPDX-License-Identifier: MIT */
/*
 * Which attr a record belongs to. With one attr nothing is looked up. With several, the record's id
 * is read from where the attrs' layouts have it (perf makes them agree; where they do not, each
 * place is tried and only an attr that has its id there counts), and found in an open-addressing
 * table that is at most half full.
 */
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>
#include "internal.h"

#define MOST_EVENTS 65535u /* perch_record.event is 16 bits wide */
#define MOST_IDS    (1u << 28)

struct slot {
	uint64_t id; /* 0: free; the kernel's ids start at 1 */
	uint16_t event;
};

struct perch_decoder {
	size_t nr;
	struct perch_layout *layout;
	uint64_t seed;
	unsigned int shift; /* 64 - log2 of the table's size */
	size_t mask;
	struct slot *table;
	bool has_ids;
	size_t nr_sample_words; /* distinct places of the id */
	int8_t *sample_word;
	size_t nr_trailer_words;
	int8_t *trailer_word;
};

/*
 * The ids come from a file that anyone may have made. With a seed that nobody knows beforehand, and
 * every bit of the id stirred into the upper ones, none can be chosen to fall into one place.
 */
static uint64_t make_seed(const struct perch_decoder *decoder)
{
	struct timespec now = { 0 };
	uint64_t seed;

	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) == sizeof(seed))
		return seed;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uintptr_t)decoder ^ (uint64_t)now.tv_nsec << 32 ^ now.tv_sec;
}

static inline size_t hash(const struct perch_decoder *decoder, uint64_t id)
{
	id ^= decoder->seed;
	id = (id ^ id >> 33) * 0xff51afd7ed558ccdu;
	id = (id ^ id >> 33) * 0xc4ceb9fe1a85ec53u;
	return (id ^ id >> 33) >> decoder->shift;
}

/* The event of an id, or -1. */
static inline int find_id(const struct perch_decoder *decoder, uint64_t id)
{
	size_t at = hash(decoder, id);

	if (!id)
		return -1;
	while (decoder->table[at].id) {
		if (decoder->table[at].id == id)
			return decoder->table[at].event;
		at = (at + 1) & decoder->mask;
	}
	return -1;
}

/* The first attr that claims an id keeps it. */
static void add_id(struct perch_decoder *decoder, uint64_t id, uint16_t event)
{
	size_t at = hash(decoder, id);

	if (!id)
		return;
	while (decoder->table[at].id) {
		if (decoder->table[at].id == id)
			return;
		at = (at + 1) & decoder->mask;
	}
	decoder->table[at] = (struct slot){ .id = id, .event = event };
	decoder->has_ids = true;
}

static void add_word(int8_t *words, size_t *nr, int8_t word)
{
	if (word < 0)
		return;
	for (size_t i = 0; i < *nr; i++) {
		if (words[i] == word)
			return;
	}
	words[(*nr)++] = word;
}

static int make_table(struct perch_decoder *decoder, const struct perch_decoder_event *events,
		      struct perch_error *err)
{
	size_t ids = 0, slots = 2;
	unsigned int log2 = 1;

	for (size_t i = 0; i < decoder->nr; i++) {
		if (events[i].nr_ids > MOST_IDS - ids)
			return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
					       "more than %u event ids", MOST_IDS);
		ids += events[i].nr_ids;
	}
	while (slots < 2 * ids) {
		slots *= 2;
		log2++;
	}
	decoder->seed = make_seed(decoder);
	decoder->shift = 64 - log2;
	decoder->mask = slots - 1;
	decoder->table = calloc(slots, sizeof(*decoder->table));
	if (!decoder->table)
		return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY,
				       "no memory for %zu event ids", ids);
	for (size_t i = 0; i < decoder->nr; i++) {
		for (size_t k = 0; k < events[i].nr_ids; k++)
			add_id(decoder, events[i].ids[k], i);
	}
	return 0;
}

static void make_layouts(struct perch_decoder *decoder, const struct perch_decoder_event *events,
			 enum perch_byte_order order)
{
	for (size_t i = 0; i < decoder->nr; i++) {
		struct perch_layout *layout = &decoder->layout[i];

		perch_layout_init(layout, events[i].attr, order);
		add_word(decoder->sample_word, &decoder->nr_sample_words, layout->sample_id_word);
		add_word(decoder->trailer_word, &decoder->nr_trailer_words,
			 layout->trailer_id_word);
	}
}

int perch_decoder_new(struct perch_decoder **result, const struct perch_decoder_event *events,
		      size_t nr, enum perch_byte_order order, struct perch_error *err)
{
	struct perch_decoder *decoder;
	int rc;

	*result = NULL;
	if (!nr || nr > MOST_EVENTS)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "a decoder takes 1 to %u events, not %zu", MOST_EVENTS, nr);
	decoder = calloc(1, sizeof(*decoder));
	if (!decoder)
		return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY,
				       "no memory for a decoder");
	decoder->nr = nr;
	decoder->layout = calloc(nr, sizeof(*decoder->layout));
	decoder->sample_word = calloc(nr, sizeof(*decoder->sample_word));
	decoder->trailer_word = calloc(nr, sizeof(*decoder->trailer_word));
	if (!decoder->layout || !decoder->sample_word || !decoder->trailer_word) {
		perch_decoder_free(decoder);
		return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY,
				       "no memory for the layouts of %zu events", nr);
	}
	make_layouts(decoder, events, order);
	rc = make_table(decoder, events, err);
	if (rc) {
		perch_decoder_free(decoder);
		return rc;
	}
	*result = decoder;
	return 0;
}

void perch_decoder_free(struct perch_decoder *decoder)
{
	if (!decoder)
		return;
	free(decoder->layout);
	free(decoder->sample_word);
	free(decoder->trailer_word);
	free(decoder->table);
	free(decoder);
}

/*
 * Byte offset of word `word` of a sample, and of the trailer's word counted from the end; 0 when it
 * is not there.
 */
static inline size_t sample_offset(int word, size_t size)
{
	size_t offset = PERCH__HEADER_BYTES + 8 * (size_t)word;

	return word >= 0 && offset + 8 <= size ? offset : 0;
}

static inline size_t trailer_offset(int word, size_t size)
{
	return word > 0 && PERCH__HEADER_BYTES + 8 * (size_t)word <= size ? size - 8 * (size_t)word
									  : 0;
}

/*
 * The event of a record of several attrs: its index, or -1 when it has an id that is nobody's. *id
 * is the last one tried.
 */
static int find_event(const struct perch_decoder *decoder, uint32_t type, const char *bytes,
		      size_t size, uint64_t *id)
{
	bool sample = type == PERCH_RECORD_SAMPLE;
	const int8_t *words = sample ? decoder->sample_word : decoder->trailer_word;
	size_t nr = sample ? decoder->nr_sample_words : decoder->nr_trailer_words;

	*id = 0;
	if (!decoder->has_ids || type >= PERCH__FIRST_USER_TYPE)
		return 0;
	for (size_t i = 0; i < nr; i++) {
		size_t offset = sample ? sample_offset(words[i], size)
				       : trailer_offset(words[i], size);
		int event;

		if (!offset)
			continue;
		*id = perch__u64(bytes + offset);
		event = find_id(decoder, *id);
		if (event >= 0 && words[i] == (sample ? decoder->layout[event].sample_id_word
						      : decoder->layout[event].trailer_id_word))
			return event;
	}
	return sample && *id ? -1 : 0;
}

/* size is that of the bytes there are; the record's own may be smaller, or a lie. */
static inline size_t own_size(const void *bytes, size_t size)
{
	struct perch_record_header header;

	memcpy(&header, bytes, sizeof(header));
	return header.size < size ? header.size : size;
}

int perch_decoder_decode(struct perch_decoder *decoder, struct perch_record *record,
			 const void *bytes, size_t size, struct perch_error *err)
{
	int event = 0, rc;
	uint64_t id;

	if (decoder->nr > 1 && size >= PERCH__HEADER_BYTES)
		event = find_event(decoder, perch__u32(bytes), bytes, own_size(bytes, size), &id);
	if (__builtin_expect(event < 0, 0)) {
		struct perch_layout none = { .sample_id_word = -1, .trailer_id_word = -1 };

		rc = perch_record_decode(record, &none, bytes, size, err);
		return rc ? rc
			  : perch_error_set(err, EBADMSG, PERCH_ERROR_FORMAT,
					    "a sample of id %llu, which no event has",
					    (unsigned long long)id);
	}
	rc = perch_record_decode(record, &decoder->layout[event], bytes, size, err);
	record->event = event;
	return rc;
}

bool perch_decoder_time(const struct perch_decoder *decoder, const void *bytes, size_t size,
			uint64_t *time)
{
	const struct perch_layout *layout = decoder->layout;
	size_t offset;
	uint32_t type;

	if (size < PERCH__HEADER_BYTES)
		return false;
	type = perch__u32(bytes);
	size = own_size(bytes, size);
	if (type >= PERCH__FIRST_USER_TYPE)
		return false;
	if (decoder->nr > 1) {
		uint64_t id;
		int event = find_event(decoder, type, bytes, size, &id);

		if (event < 0)
			return false;
		layout += event;
	}
	offset = type == PERCH_RECORD_SAMPLE ? sample_offset(layout->sample_time_word, size)
					     : trailer_offset(layout->trailer_time_word, size);
	if (!offset)
		return false;
	*time = perch__u64((const char *)bytes + offset);
	return true;
}
