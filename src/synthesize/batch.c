/* SPDX-License-Identifier: MIT */
/* A batch: collects records and passes many at a time to the sink. */
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/reserved.h"
#include "base/no_memory.h"
#include "internal.h"

#define DEFAULT_RECORDS (PERCH_SYNTHESIZE_COMM | PERCH_SYNTHESIZE_MMAP)
#define ALL_BITS	((uint32_t)PERCH_SYNTHESIZE_ALL | PERCH_SYNTHESIZE_BUILD_IDS)

/* Makes the sample id, whose fields have a fixed order. */
static void make_sample_id(struct perch__batch *batch,
			   const struct perch_synthesize_options *options)
{
	const struct {
		uint64_t bit, value;
	} words[] = {
		{ PERCH_SAMPLE_TID, 0 },	  { PERCH_SAMPLE_TIME, options->time },
		{ PERCH_SAMPLE_ID, options->id }, { PERCH_SAMPLE_STREAM_ID, 0 },
		{ PERCH_SAMPLE_CPU, 0 },	  { PERCH_SAMPLE_IDENTIFIER, options->id },
	};
	size_t nr = 0;

	if (!options->attr || !options->attr->sample_id_all)
		return;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (options->attr->sample_type & words[i].bit)
			batch->sample_id[nr++] = words[i].value;
	batch->id_size = nr * sizeof(batch->sample_id[0]);
}

int perch__batch_new(struct perch__batch **result, struct perch_machine *machine,
		     const struct perch_synthesize_options *options, perch_synthesize_sink *sink,
		     void *context, struct perch_error *err)
{
	static const struct perch_synthesize_options none;
	struct perch__batch *batch;

	options = options ? options : &none;
	if (PERCH__CHECK_RESERVED(options, "perch_synthesize_options", err))
		return -EINVAL;
	if (options->records & ~ALL_BITS)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "perch_synthesize_options.records has the unknown bits %#x",
				       options->records & ~ALL_BITS);
	batch = malloc(sizeof(*batch));
	if (!batch)
		return PERCH__NO_MEMORY(err, "to synthesize records");
	/* the large arrays after it are written before they are read */
	memset(batch, 0, offsetof(struct perch__batch, bytes));
	batch->machine = machine;
	batch->records = options->records;
	if (!(batch->records & PERCH_SYNTHESIZE_ALL))
		batch->records |= DEFAULT_RECORDS;
	batch->certain_build_ids = !options->attr || options->attr->build_id;
	batch->time = options->time;
	batch->sink = sink;
	batch->context = context;
	batch->err = err;
	make_sample_id(batch, options);
	*result = batch;
	return 0;
}

static void flush_batch(struct perch__batch *batch)
{
	int rc = 0;

	if (!batch->rc && batch->used)
		rc = batch->sink(batch->context, batch->bytes, batch->used, &batch->sink_error);
	if (rc < 0)
		batch->rc = rc;
	if (rc < 0 && !batch->sink_error.errnum)
		perch_error_set(&batch->sink_error, -rc, PERCH_ERROR_SYSTEM,
				"the function that receives the records failed: %s", strerror(-rc));
	batch->used = 0;
}

void perch__batch_add(struct perch__batch *batch, uint32_t type, uint16_t misc, const void *body,
		      size_t size, const char *name)
{
	size_t length = name ? strlen(name) : 0;
	size_t padded = name ? (length + 8) & ~(size_t)7 : 0;
	size_t id_at = sizeof(struct perch_record_header) + size + padded;
	size_t all = id_at + batch->id_size;
	struct perch_record_header header = { type, misc, (uint16_t)all };
	char *to;

	if (batch->rc)
		return;
	if (all > UINT16_MAX) {
		batch->counts.skipped++;
		return;
	}
	if (batch->used + all > sizeof(batch->bytes))
		flush_batch(batch);
	to = (char *)batch->bytes + batch->used;
	memset(to, 0, all);
	memcpy(to, &header, sizeof(header));
	memcpy(to + sizeof(header), body, size);
	if (name)
		memcpy(to + sizeof(header) + size, name, length);
	memcpy(to + id_at, batch->sample_id, batch->id_size);
	batch->used += all;
	batch->counts.records++;
}

int perch__batch_end(struct perch__batch *batch, int rc, struct perch_synthesize_counts *counts)
{
	flush_batch(batch);
	/* a failure of the sink has ended the synthesis: it is the result, whatever failed besides
	 */
	if (batch->rc) {
		rc = batch->rc;
		if (batch->err)
			*batch->err = batch->sink_error;
	}
	if (counts) {
		counts->records += batch->counts.records;
		counts->processes += batch->counts.processes;
		counts->ended += batch->counts.ended;
		if (!counts->denied_pid)
			counts->denied_pid = batch->counts.denied_pid;
		counts->denied += batch->counts.denied;
		counts->skipped += batch->counts.skipped;
	}
	perch__free_build_ids(batch);
	free(batch);
	return rc;
}

int perch__batch_open(const struct perch__batch *batch, const char *path)
{
	char whole[PATH_MAX];
	int fd, rc;

	rc = perch_machine_path(batch->machine, path, whole, sizeof(whole));
	if (rc < 0)
		return rc;
	/* a tree that describes a machine may have a FIFO in place of a file */
	fd = open(whole, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

FILE *perch__batch_open_stream(const struct perch__batch *batch, const char *path)
{
	int fd = perch__batch_open(batch, path);
	FILE *file;

	if (fd < 0) {
		errno = -fd;
		return NULL;
	}
	file = fdopen(fd, "r");
	if (!file)
		close(fd);
	return file;
}

bool perch__batch_next_line(struct perch__batch *batch, FILE *file)
{
	while (fgets(batch->line, sizeof(batch->line), file)) {
		size_t length = strlen(batch->line);
		int byte;

		if (length && batch->line[length - 1] == '\n') {
			batch->line[length - 1] = '\0';
			return true;
		}
		byte = getc(file);
		if (byte == EOF)
			return length;
		while (byte != '\n' && byte != EOF)
			byte = getc(file);
		batch->counts.skipped++;
	}
	return false;
}
