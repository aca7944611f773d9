/* SPDX-License-Identifier: MIT */
/* Builds perf.data files and pipes of both byte orders from the description of the format. */
#include <stdio.h>
#include <string.h>
#include <perch/file.h>

#include "corpus.h"

#define HEADER_BYTES 104u
#define PIPE_BYTES   16u
#define NAME_BYTES   64u
#define EVENT_ID     1

static const uint64_t magic = UINT64_C(0x32454c4946524550);

static const struct {
	enum perch_feature feature;
	const char *text;
} features[] = {
	{ PERCH_FEATURE_HOSTNAME, "corpus" },
	{ PERCH_FEATURE_VERSION, "6.1" },
	{ PERCH_FEATURE_ARCH, "s390x" },
};
#define NR_FEATURES (sizeof(features) / sizeof(*features))

static void put8(struct build_bytes *bytes, uint64_t value)
{
	build_put_number(bytes, value, 8);
}

static void put_attr(struct build_bytes *bytes, const struct perch_attr *attr)
{
	struct build_bytes alone = { .big_endian = bytes->big_endian };
	struct build_attr_values values;
	const struct build_attr_field *field = build_attr_fields(&values.nr);

	for (size_t i = 0; i < values.nr; i++)
		values.value[i] = perch_attr_get(attr, perch_attr_get_field(field[i].name));
	build_write_attr(&alone, &values);
	build_put(bytes, alone.byte, alone.size);
}

static void put_name(struct build_bytes *bytes, const char *name)
{
	build_put_number(bytes, NAME_BYTES, 4);
	build_put(bytes, name, strlen(name));
	build_put_zeros(bytes, NAME_BYTES - strlen(name));
}

/* header, id, attr, records, table of features, features */
static void put_file(struct build_bytes *file, const struct perch_attr *attr, const void *records,
		     size_t size)
{
	uint64_t attrs = HEADER_BYTES + 8, data = attrs + BUILD_ATTR_BYTES + 16, bits = 0, at;

	for (size_t i = 0; i < NR_FEATURES; i++)
		bits |= UINT64_C(1) << features[i].feature;
	file->size = 0;
	put8(file, magic);
	put8(file, HEADER_BYTES);
	put8(file, BUILD_ATTR_BYTES + 16);
	put8(file, attrs);
	put8(file, BUILD_ATTR_BYTES + 16);
	put8(file, data);
	put8(file, size);
	build_put_zeros(file, 16);
	put8(file, bits);
	build_put_zeros(file, 24);
	put8(file, EVENT_ID);
	put_attr(file, attr);
	put8(file, HEADER_BYTES);
	put8(file, 8);
	build_put(file, records, size);
	at = file->size + 16 * NR_FEATURES;
	for (size_t i = 0; i < NR_FEATURES; i++, at += 4 + NAME_BYTES) {
		put8(file, at);
		put8(file, 4 + NAME_BYTES);
	}
	for (size_t i = 0; i < NR_FEATURES; i++)
		put_name(file, features[i].text);
}

static void put_header(struct build_bytes *file, uint32_t type, size_t body)
{
	build_put_number(file, type, 4);
	build_put_number(file, 0, 2);
	build_put_number(file, 8 + body, 2);
}

/* A pipe has the contents of the header as records before the others. */
static void put_pipe(struct build_bytes *file, const struct perch_attr *attr, const void *records,
		     size_t size)
{
	file->size = 0;
	put8(file, magic);
	put8(file, PIPE_BYTES);
	for (size_t i = 0; i < NR_FEATURES; i++) {
		put_header(file, PERCH_RECORD_HEADER_FEATURE, 8 + 4 + NAME_BYTES);
		put8(file, features[i].feature);
		put_name(file, features[i].text);
	}
	put_header(file, PERCH_RECORD_HEADER_ATTR, BUILD_ATTR_BYTES + 8);
	put_attr(file, attr);
	put8(file, EVENT_ID);
	build_put(file, records, size);
	put_header(file, PERCH_RECORD_FINISHED_ROUND, 0);
}

void corpus_write_file(const char *name, const struct perch_attr *attr, const void *records,
		       size_t size)
{
	struct build_bytes file = { .big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ };

	put_file(&file, attr, records, size);
	corpus_write("file", name, file.byte, file.size);
}

/* One record of each type, as one stream. */
static void put_records(struct build_bytes *all, const struct build_shape *shape,
			struct build_rng *rng)
{
	static struct build_record record;
	static struct build_bytes one;

	all->size = 0;
	for (uint32_t type = PERCH_RECORD_MMAP; type < PERCH_RECORD_MAX; type++) {
		record.shape = *shape;
		build_fill(&record, type, rng);
		record.sample_id.id = EVENT_ID;
		build_write(&one, &record);
		if (all->size + one.size <= CORPUS_BYTES)
			build_put(all, one.byte, one.size);
	}
}

void corpus_write_built_files(void)
{
	static struct build_bytes all, file;
	struct build_shape shape;
	struct perch_attr attr;
	char name[64];

	for (unsigned seed = 0; seed < 6; seed++) {
		struct build_rng rng = { .state = seed };

		build_fill_shape(&shape, &rng);
		shape.big_endian = seed & 1;
		shape.sample_id_all = true;
		build_attr(&attr, &shape);
		file.big_endian = shape.big_endian;
		put_records(&all, &shape, &rng);
		put_file(&file, &attr, all.byte, all.size);
		snprintf(name, sizeof(name), "built-file-%u", seed);
		corpus_write("file", name, file.byte, file.size);
		put_pipe(&file, &attr, all.byte, all.size);
		snprintf(name, sizeof(name), "built-pipe-%u", seed);
		corpus_write("file", name, file.byte, file.size);
	}
}
