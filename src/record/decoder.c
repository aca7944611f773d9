/* SPDX-License-Identifier: MIT */
/*
 * Finds the attr of a record by its id. With one attr there is no lookup.
 *
 * In files of perf, all attrs have the same position of the id. If positions differ, each one is
 * tried, and an id is valid only if its own attr has the id at that position.
 *
 * The kernel increments ids, so the ids of one session are mostly close to each other. Such ids
 * index an array ("dense"); others are in a hash table ("sparse").
 */
#include <stdlib.h>
#include "base/hash_table.h"
#include "base/reserved.h"
#include "base/no_memory.h"
#include "internal.h"

#define MAX_EVENTS 65535u /* perch_record.event is 16 bits wide */
#define MAX_IDS	   (1u << 28)
#define NO_EVENT   UINT16_MAX

/* Ids within this range use the array. It then takes about as much memory as the hash table. */
#define DENSE_RANGE(nr) (8 * (uint64_t)(nr) + 1024)

struct sparse_id {
	uint64_t id;
	uint16_t event;
};

struct perch_decoder {
	size_t nr;
	struct perch_parse_info *parse_info;
	struct perch__hash_table table;
	size_t nr_sparse;
	struct sparse_id *sparse; /* items of the table */
	uint64_t lowest_id, nr_dense;
	uint16_t *dense; /* event by id - lowest_id, or NO_EVENT; NULL if the table is used */
	bool has_ids;
	bool swapped;
	/* byte offset of the id in a sample if it is the same for all attrs, else 0 */
	uint16_t common_id_offset;
	struct perch_parse_info no_event; /* for samples with an unknown id */
	size_t nr_sample_id_words;	  /* distinct positions of the id */
	int8_t *sample_id_words;
	size_t nr_trailer_id_words;
	int8_t *trailer_id_words;
};

static bool same_id(const void *items, uint32_t index, const void *key)
{
	return ((const struct sparse_id *)items)[index].id == *(const uint64_t *)key;
}

static int find_sparse(const struct perch_decoder *decoder, uint64_t id)
{
	uint32_t index = perch__hash_find(&decoder->table,
					  perch__hash_integer(decoder->table.seed, id), same_id,
					  decoder->sparse, &id);

	return index == PERCH__HASH_NONE ? -1 : decoder->sparse[index].event;
}

/* Returns the event of an id, or -1. */
static inline int find_id(const struct perch_decoder *decoder, uint64_t id)
{
	uint64_t at = id - decoder->lowest_id;

	if (__builtin_expect(at < decoder->nr_dense, 1))
		return decoder->dense[at] == NO_EVENT ? -1 : decoder->dense[at];
	return decoder->nr_sparse ? find_sparse(decoder, id) : -1;
}

/* If several attrs have an id, it belongs to the first one. The capacity suffices for all ids. */
static void add_id(struct perch_decoder *decoder, uint64_t id, uint16_t event)
{
	if (decoder->dense) {
		uint16_t *dense = &decoder->dense[id - decoder->lowest_id];

		if (*dense == NO_EVENT)
			*dense = event;
		return;
	}
	if (find_sparse(decoder, id) >= 0)
		return;
	decoder->sparse[decoder->nr_sparse] = (struct sparse_id){ .id = id, .event = event };
	perch__hash_add(&decoder->table, perch__hash_integer(decoder->table.seed, id),
			decoder->nr_sparse++);
}

static void add_id_word(int8_t *words, size_t *nr, int8_t word)
{
	if (word < 0)
		return;
	for (size_t i = 0; i < *nr; i++) {
		if (words[i] == word)
			return;
	}
	words[(*nr)++] = word;
}

struct id_range {
	size_t nr;
	uint64_t least, most;
};

/* 0 is not an id. */
static int count_ids(struct id_range *range, const struct perch_decoder_event *events, size_t nr,
		     struct perch_error *err)
{
	*range = (struct id_range){ .least = UINT64_MAX };
	for (size_t i = 0; i < nr; i++) {
		if (events[i].nr_ids > MAX_IDS - range->nr)
			return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
					       "more than %u event ids", MAX_IDS);
		range->nr += events[i].nr_ids;
		for (size_t k = 0; k < events[i].nr_ids; k++) {
			uint64_t id = events[i].ids[k];

			if (id && id < range->least)
				range->least = id;
			if (id > range->most)
				range->most = id;
		}
	}
	return 0;
}

static bool make_dense(struct perch_decoder *decoder, const struct id_range *range)
{
	decoder->lowest_id = range->least;
	decoder->nr_dense = range->most - range->least + 1;
	decoder->dense = malloc(decoder->nr_dense * sizeof(*decoder->dense));
	if (decoder->dense)
		memset(decoder->dense, 0xff, decoder->nr_dense * sizeof(*decoder->dense));
	return decoder->dense;
}

static bool make_sparse(struct perch_decoder *decoder, const struct id_range *range)
{
	decoder->table.seed = perch__hash_seed(decoder);
	decoder->sparse = malloc(range->nr * sizeof(*decoder->sparse));
	return decoder->sparse && !perch__hash_reserve(&decoder->table, range->nr);
}

static int index_ids(struct perch_decoder *decoder, const struct perch_decoder_event *events,
		     struct perch_error *err)
{
	struct id_range range;
	int rc = count_ids(&range, events, decoder->nr, err);

	if (rc || !range.most || decoder->nr == 1)
		return rc;
	if (!(range.most - range.least < DENSE_RANGE(range.nr) ? make_dense(decoder, &range)
							       : make_sparse(decoder, &range)))
		return PERCH__NO_MEMORY(err, "for %zu event ids", range.nr);
	decoder->has_ids = true;
	for (size_t i = 0; i < decoder->nr; i++) {
		for (size_t k = 0; k < events[i].nr_ids; k++) {
			if (events[i].ids[k])
				add_id(decoder, events[i].ids[k], i);
		}
	}
	return 0;
}

static void add_id_words(struct perch_decoder *decoder, bool identifier)
{
	for (size_t i = 0; i < decoder->nr; i++) {
		const struct perch_parse_info *parse_info = &decoder->parse_info[i];

		if (!(parse_info->sample_type & PERCH_SAMPLE_IDENTIFIER) == identifier)
			continue;
		add_id_word(decoder->sample_id_words, &decoder->nr_sample_id_words,
			    parse_info->sample_id_word);
		add_id_word(decoder->trailer_id_words, &decoder->nr_trailer_id_words,
			    parse_info->trailer_id_word);
	}
}

/* The positions of IDENTIFIER are tried before those of ID, because its position is fixed. */
static void init_parse_infos(struct perch_decoder *decoder,
			     const struct perch_decoder_event *events, enum perch_byte_order order)
{
	for (size_t i = 0; i < decoder->nr; i++)
		perch_parse_info_init(&decoder->parse_info[i], events[i].attr, order);
	add_id_words(decoder, true);
	add_id_words(decoder, false);
	if (decoder->parse_info[0].sample_id_word >= 0)
		decoder->common_id_offset =
			PERCH__HEADER_BYTES + 8 * decoder->parse_info[0].sample_id_word;
	for (size_t i = 0; i < decoder->nr; i++) {
		if (decoder->parse_info[i].sample_id_word != decoder->parse_info[0].sample_id_word)
			decoder->common_id_offset = 0;
	}
	decoder->swapped = decoder->parse_info[0].swapped;
	perch_parse_info_init(&decoder->no_event, &(struct perch_attr){ 0 }, order);
}

int perch_decoder_new(struct perch_decoder **result, const struct perch_decoder_event *events,
		      size_t nr, enum perch_byte_order order, struct perch_error *err)
{
	struct perch_decoder *decoder;
	int rc;

	*result = NULL;
	if (!nr || nr > MAX_EVENTS)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "a decoder takes 1 to %u events, not %zu", MAX_EVENTS, nr);
	for (size_t i = 0; i < nr; i++) {
		if (PERCH__CHECK_RESERVED(&events[i], "perch_decoder_event", err))
			return -EINVAL;
	}
	decoder = calloc(1, sizeof(*decoder));
	if (!decoder)
		return PERCH__NO_MEMORY(err, "for a decoder");
	decoder->nr = nr;
	decoder->parse_info = calloc(nr, sizeof(*decoder->parse_info));
	decoder->sample_id_words = calloc(nr, sizeof(*decoder->sample_id_words));
	decoder->trailer_id_words = calloc(nr, sizeof(*decoder->trailer_id_words));
	if (!decoder->parse_info || !decoder->sample_id_words || !decoder->trailer_id_words) {
		perch_decoder_free(decoder);
		return PERCH__NO_MEMORY(err, "for the attrs of %zu events", nr);
	}
	init_parse_infos(decoder, events, order);
	rc = index_ids(decoder, events, err);
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
	free(decoder->parse_info);
	free(decoder->sample_id_words);
	free(decoder->trailer_id_words);
	perch__hash_clear(&decoder->table);
	free(decoder->sparse);
	free(decoder->dense);
	free(decoder);
}

/* Returns the byte offset of a word in the body of a sample, or 0 if the record is too short. */
static inline size_t sample_offset(int word, size_t size)
{
	size_t offset = PERCH__HEADER_BYTES + 8 * (size_t)word;

	return word >= 0 && offset + 8 <= size ? offset : 0;
}

/*
 * Returns the byte offset of a word of the trailer, counted from the record's end, or 0 if the
 * record is too short.
 */
static inline size_t trailer_offset(int word, size_t size)
{
	return word > 0 && PERCH__HEADER_BYTES + 8 * (size_t)word <= size ? size - 8 * (size_t)word
									  : 0;
}

/*
 * Returns the event of a record that may be oversized. The size of its trailer depends on the
 * event, which is unknown. Each size is tried, and the id in the trailer must belong to an event
 * with a trailer of that size.
 */
static int find_oversized(const struct perch_decoder *decoder, uint32_t type, const char *bytes,
			  size_t size)
{
	size_t end = perch__body_end(type, bytes, size, decoder->swapped),
	       most = end + PERCH__MAX_TRAILER;

	if (!end || end > size)
		end = most = size;
	for (; end <= size && end <= most; end += 8) {
		for (size_t i = 0; i < decoder->nr_trailer_id_words; i++) {
			size_t offset = trailer_offset(decoder->trailer_id_words[i], end);
			int event = offset ? find_id(decoder,
						     perch__u64(bytes + offset, decoder->swapped))
					   : -1;

			if (event < 0 || decoder->parse_info[event].trailer_id_word !=
						 decoder->trailer_id_words[i])
				continue;
			if (perch__extent(&decoder->parse_info[event], type, bytes, size) == end)
				return event;
		}
	}
	return 0;
}

/*
 * Returns the index of a record's event, or -1 if no event has its id. *id is the word at the
 * position of the first attr's id; 0 means that the record has no id.
 */
static int find_event(const struct perch_decoder *decoder, uint32_t type, const char *bytes,
		      size_t size, uint64_t *id)
{
	bool sample = type == PERCH_RECORD_SAMPLE;
	const int8_t *words = sample ? decoder->sample_id_words : decoder->trailer_id_words;
	size_t nr = sample ? decoder->nr_sample_id_words : decoder->nr_trailer_id_words;

	*id = 0;
	if (!decoder->has_ids || type >= PERCH__FIRST_USER_TYPE)
		return 0;
	if (!sample && perch__may_be_oversized(type))
		return find_oversized(decoder, type, bytes, size);
	for (size_t i = 0; i < nr; i++) {
		size_t offset = sample ? sample_offset(words[i], size)
				       : trailer_offset(words[i], size);
		uint64_t value;
		int event;

		if (!offset)
			continue;
		value = perch__u64(bytes + offset, decoder->swapped);
		if (words[i] == decoder->parse_info[0].sample_id_word)
			*id = value;
		event = find_id(decoder, value);
		if (event >= 0 && words[i] == (sample ? decoder->parse_info[event].sample_id_word
						      : decoder->parse_info[event].trailer_id_word))
			return event;
	}
	return sample && *id ? -1 : 0;
}

/* Returns the record's size, but at most the number of bytes available. */
static inline size_t bounded_size(struct perch_record_header header, size_t size)
{
	return header.size < size ? header.size : size;
}

static __attribute__((cold, noinline)) int decode_without_event(const struct perch_decoder *decoder,
								struct perch_record *record,
								const void *bytes, size_t size,
								uint64_t id,
								struct perch_error *err)
{
	const struct perch_parse_info *first = decoder->parse_info;
	int rc = perch_record_decode(record, &decoder->no_event, bytes, size, err);

	if (rc)
		return rc;
	perch_error_set(err, EBADMSG, PERCH_ERROR_FORMAT, "no event has the id %llu of the sample",
			(unsigned long long)id);
	return perch__bad_field(err,
				first->sample_type & PERCH_SAMPLE_IDENTIFIER ? "identifier" : "id",
				sample_offset(first->sample_id_word, record->size));
}

static __attribute__((noinline)) int decode_by_id(const struct perch_decoder *decoder,
						  struct perch_record *record, const void *bytes,
						  size_t size, struct perch_error *err)
{
	struct perch_record_header header = perch__header(bytes, decoder->swapped);
	uint64_t id;
	int event = find_event(decoder, header.type, bytes, bounded_size(header, size), &id);

	if (event < 0)
		return decode_without_event(decoder, record, bytes, size, id, err);
	return perch__decode(record, &decoder->parse_info[event], header, event, bytes, size, err);
}

/*
 * Prefetches the bytes after the record, if there are enough. The CPU prefetches sequential
 * accesses itself, but a skipped stack of kilobytes ends the sequence.
 */
#define CACHE_LINE	     64u
#define PREFETCH_LINES	     6u
#define PREFETCH_LINES_LARGE 16u /* after a record that is too large for the CPU's prefetcher */
#define LARGE_RECORD	     1024u
PERCH__INLINE void prefetch_following(const char *bytes, size_t record_size, size_t size)
{
	const char *following;

	if (size < record_size + PREFETCH_LINES_LARGE * CACHE_LINE)
		return;
	following = bytes + record_size;
#pragma GCC unroll 6
	for (unsigned int i = 0; i < PREFETCH_LINES; i++)
		__builtin_prefetch(following + i * CACHE_LINE);
	if (__builtin_expect(record_size < LARGE_RECORD, 1))
		return;
	for (unsigned int i = PREFETCH_LINES; i < PREFETCH_LINES_LARGE; i++)
		__builtin_prefetch(following + i * CACHE_LINE);
}

/* The fast path, for nearly all records: samples with the id at a common position and in the array.
 * Returns NO_EVENT for others. */
static inline uint16_t common_event(const struct perch_decoder *decoder,
				    struct perch_record_header header, const void *bytes,
				    size_t size)
{
	const size_t at = decoder->common_id_offset;
	uint64_t id;

	if (__builtin_expect(header.type != PERCH_RECORD_SAMPLE || !at ||
				     at + 8 > bounded_size(header, size),
			     0))
		return NO_EVENT;
	id = perch__u64((const char *)bytes + at, decoder->swapped) - decoder->lowest_id;
	return id < decoder->nr_dense ? decoder->dense[id] : NO_EVENT;
}

int perch_decoder_decode(struct perch_decoder *decoder, const void *bytes, size_t size,
			 struct perch_record *record, struct perch_error *err)
{
	struct perch_record_header header;
	uint16_t event;

	if (__builtin_expect(size < PERCH__HEADER_BYTES, 0))
		return perch__bad_header(record, decoder->parse_info, bytes, size, err);
	header = perch__header(bytes, decoder->swapped);
	prefetch_following(bytes, header.size, size);
	if (!decoder->has_ids)
		return perch__decode(record, decoder->parse_info, header, 0, bytes, size, err);
	event = common_event(decoder, header, bytes, size);
	if (__builtin_expect(event != NO_EVENT, 1))
		return perch__decode(record, &decoder->parse_info[event], header, event, bytes,
				     size, err);
	return decode_by_id(decoder, record, bytes, size, err);
}

int perch_decoder_decode_pieces(struct perch_decoder *decoder, const struct iovec *pieces,
				size_t nr, void *scratch, size_t scratch_size,
				struct perch_record *record, struct perch_error *err)
{
	const struct iovec space = { scratch, scratch_size };
	size_t size;
	const void *bytes = perch__gather(pieces, nr, decoder->swapped, &space, &size, err);

	if (bytes)
		return perch_decoder_decode(decoder, bytes, size, record, err);
	memset(record, 0, sizeof(*record));
	record->parse_info = decoder->parse_info;
	return -ENOSPC;
}

bool perch_decoder_time(const struct perch_decoder *decoder, const void *bytes, size_t size,
			uint64_t *time)
{
	const struct perch_parse_info *parse_info = decoder->parse_info;
	struct perch_record_header header;
	uint16_t common;
	size_t offset;
	uint32_t type;

	if (size < PERCH__HEADER_BYTES)
		return false;
	header = perch__header(bytes, decoder->swapped);
	type = header.type;
	size = bounded_size(header, size);
	if (type >= PERCH__FIRST_USER_TYPE)
		return false;
	common = common_event(decoder, header, bytes, size);
	if (__builtin_expect(common != NO_EVENT, 1)) {
		parse_info += common;
	} else if (decoder->nr > 1) {
		uint64_t id;
		int event = find_event(decoder, type, bytes, size, &id);

		if (event < 0)
			return false;
		parse_info += event;
	}
	size = perch__extent(parse_info, type, bytes, size);
	offset = type == PERCH_RECORD_SAMPLE ? sample_offset(parse_info->sample_time_word, size)
					     : trailer_offset(parse_info->trailer_time_word, size);
	if (!offset)
		return false;
	*time = perch__u64((const char *)bytes + offset, decoder->swapped);
	return true;
}
