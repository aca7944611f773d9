/* SPDX-License-Identifier: MIT */
/*
 * plain_copy FROM TO: writes the records of a recording, and its features, to a file that is not
 * compressed, for compressed.py.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <perch/file.h>

static struct perch_error err;

static void die(void)
{
	perch_error_print(stderr, &err);
	exit(1);
}

static void copy_features(struct perch_reader *reader, struct perch_writer *writer)
{
	for (int i = PERCH_FEATURE_TRACING_DATA; i < PERCH_FEATURE_MAX; i++) {
		const void *data;
		size_t size;

		if (i == PERCH_FEATURE_COMPRESSED || i == PERCH_FEATURE_DIR_FORMAT ||
		    perch_reader_feature(reader, (enum perch_feature)i, &data, &size))
			continue;
		if (perch_writer_set_feature(writer, (enum perch_feature)i, data, size, &err))
			die();
	}
}

/* Compressed records, and those of a pipe that describe the recording. */
static bool is_left_out(uint32_t type)
{
	static const uint32_t types[] = {
		PERCH_RECORD_COMPRESSED,	  PERCH_RECORD_COMPRESSED2,
		PERCH_RECORD_HEADER_ATTR,	  PERCH_RECORD_HEADER_FEATURE,
		PERCH_RECORD_HEADER_TRACING_DATA, PERCH_RECORD_HEADER_BUILD_ID,
		PERCH_RECORD_EVENT_UPDATE,
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (type == types[i])
			return true;
	return false;
}

static void copy_records(struct perch_reader *reader, struct perch_writer *writer)
{
	struct perch_reader_damage damage;
	struct perch_record record;
	int rc;

	while ((rc = perch_reader_next(reader, &record, &err)) > 0) {
		struct iovec piece = { (void *)record.bytes, record.size };

		if (is_left_out(record.type))
			continue;
		if (perch_writer_append(writer, &piece, 1, &err))
			die();
	}
	if (rc)
		die();
	perch_reader_get_damage(reader, &damage);
	if (damage.corrupt_bytes || damage.undecoded_records || damage.too_large) {
		fprintf(stderr, "plain_copy: the recording is damaged\n");
		exit(1);
	}
}

int main(int argc, char **argv)
{
	const struct perch_file_event *events;
	struct perch_reader *reader;
	struct perch_writer *writer;
	size_t nr;

	if (argc != 3)
		return 2;
	if (perch_reader_open(&reader, argv[1], PERCH_ORDER_FILE, &err))
		die();
	nr = perch_reader_events(reader, &events);
	if (perch_writer_open(&writer, argv[2], events, nr, &err))
		die();
	copy_records(reader, writer);
	copy_features(reader, writer);
	if (perch_writer_close(writer, &err))
		die();
	perch_reader_close(reader);
	return 0;
}
