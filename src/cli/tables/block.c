/* SPDX-License-Identifier: MIT */
/*
 * perch block: requests to disks, from their insertion into a queue to the driver (queue), and from
 * the driver to their end (latency).
 *
 * The tracepoints have the device and the first sector of a request, and no number of it. A
 * completion of a part moves the rest to the sectors behind it. Requests without sectors (flush)
 * of one device are joined in any order.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/array.h"
#include "commands.h"
#include "tables.h"

#define COMMAND "block"

enum { LATENCY, QUEUE };			     /* pairs */
enum { DEVICE, SECTOR, SECTORS, KIND, LENGTH };	     /* fields */
enum { BYTES, QUEUED, QUEUE_NS, QUEUE_MAX, ERRORS }; /* numbers of a row */
enum { REQUEST_BYTES, REQUEST_KIND, REQUEST_SECTORS, REQUEST_QUEUE };

/* ---- kinds ---- */

/* What rwbs begins with. 'F' before another letter: flush before the data. */
enum kind { READS, WRITES, DISCARD, FLUSH, ZONE, OTHER };

static const char *const kind_names[] = { "read", "write", "discard", "flush", "zone", "other" };

static enum kind kind_of(const char *rwbs)
{
	bool flush = *rwbs == 'F';

	switch (rwbs[flush ? 1 : 0]) {
	case 'R':
		return READS;
	case 'W':
		return WRITES;
	case 'D':
		return DISCARD;
	case 'Z':
		return ZONE;
	default:
		return flush ? FLUSH : OTHER;
	}
}

static enum kind kind_of_sample(const struct tables_sample *sample)
{
	char rwbs[16];

	tables_text_of(sample, KIND, rwbs, sizeof(rwbs));
	return kind_of(rwbs);
}

/* ---- devices ---- */

static uint64_t major_of(uint64_t device)
{
	return device >> 20;
}

static uint64_t minor_of(uint64_t device)
{
	return device & ((1u << 20) - 1);
}

/* True if the file was recorded on a machine of this name and kernel. */
static bool is_this_machine(const struct tables *tables)
{
	struct perch_reader *reader = perch_session_reader(tables->input.session);
	const char *name = perch_reader_text(reader, PERCH_FEATURE_HOSTNAME);
	const char *release = perch_reader_text(reader, PERCH_FEATURE_OSRELEASE);
	struct utsname own;

	return name && release && !uname(&own) && !strcmp(name, own.nodename) &&
	       !strcmp(release, own.release);
}

/* Copies the name of a device of this machine. Returns false if it is not known. */
static bool find_name(uint64_t device, char *name, size_t size)
{
	char path[64], line[128];
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "/sys/dev/block/%" PRIu64 ":%" PRIu64 "/uevent",
		 major_of(device), minor_of(device));
	file = fopen(path, "re");
	while (file && !found && fgets(line, sizeof(line), file)) {
		found = !strncmp(line, "DEVNAME=", strlen("DEVNAME="));
		if (found)
			snprintf(name, size, "%.*s", (int)strcspn(line + strlen("DEVNAME="), "\n"),
				 line + strlen("DEVNAME="));
	}
	if (file)
		fclose(file);
	return found;
}

/* ---- rows ---- */

static struct tables_row *find_row(struct tables *tables, uint64_t device, uint64_t kind)
{
	const uint64_t key[TABLES_KEYS] = { device, kind };
	struct tables_row *row = tables_row(&tables->table[0], key);
	char name[64];

	if (!row || row->name)
		return row;
	if (!is_this_machine(tables) || !find_name(device, name, sizeof(name)))
		snprintf(name, sizeof(name), "%" PRIu64 ":%" PRIu64, major_of(device),
			 minor_of(device));
	row->name = perch__strdup(name);
	return row->name ? row : NULL;
}

/* ---- events ---- */

/* A flush has no sectors: it begins at sector 0, and ends at UINT64_MAX. */
static struct perch_pair_key key_of(const struct tables_sample *sample)
{
	return (struct perch_pair_key){
		.word = { sample->value[DEVICE], sample->value[SECTORS] ? sample->value[SECTOR] : 0,
			  kind_of_sample(sample) },
	};
}

static int insert(struct tables *tables, const struct tables_sample *sample)
{
	const struct perch_pair pair = { .key = key_of(sample), .start = sample->time };

	return perch_pairs_begin(tables->pairs[QUEUE], &pair, NULL) < 0 ? -ENOMEM : 0;
}

static int issue(struct tables *tables, const struct tables_sample *sample)
{
	struct perch_pair request = { .key = key_of(sample), .start = sample->time };
	struct perch_pair queue;

	if (perch_pairs_find(tables->pairs[QUEUE], &request.key) &&
	    perch_pairs_end(tables->pairs[QUEUE], &request.key, sample->time, &queue) &&
	    !queue.uncertain)
		request.value[REQUEST_QUEUE] = queue.end - queue.start + 1;
	request.value[REQUEST_BYTES] = sample->value[LENGTH];
	request.value[REQUEST_SECTORS] = sample->value[SECTORS];
	return perch_pairs_begin(tables->pairs[LATENCY], &request, NULL) < 0 ? -ENOMEM : 0;
}

/* A request that goes back into the queue is issued again. */
static int requeue(struct tables *tables, const struct tables_sample *sample)
{
	const struct perch_pair_key key = key_of(sample);
	struct perch_pair request;

	if (!perch_pairs_find(tables->pairs[LATENCY], &key) ||
	    !perch_pairs_end(tables->pairs[LATENCY], &key, sample->time, &request))
		return 0;
	return insert(tables, sample);
}

/* Adds the time in the queue to the row. */
static void add_queue(struct tables_row *row, uint64_t queue)
{
	if (!queue)
		return;
	queue--;
	row->number[QUEUED]++;
	row->number[QUEUE_NS] += queue;
	if (queue > row->number[QUEUE_MAX])
		row->number[QUEUE_MAX] = queue;
}

static int complete(struct tables *tables, const struct tables_sample *sample)
{
	const struct perch_pair_key key = key_of(sample);
	struct perch_pair request;
	struct tables_row *row;

	/* the write whose flush has ended ends, too, without sectors, and is never issued */
	if (!sample->value[SECTORS] && !perch_pairs_find(tables->pairs[LATENCY], &key))
		return 0;
	if (!perch_pairs_end(tables->pairs[LATENCY], &key, sample->time, &request))
		return 0;
	if (sample->value[SECTORS] && sample->value[SECTORS] < request.value[REQUEST_SECTORS]) {
		request.key.word[1] += sample->value[SECTORS];
		request.value[REQUEST_SECTORS] -= sample->value[SECTORS];
		return perch_pairs_begin(tables->pairs[LATENCY], &request, NULL) < 0 ? -ENOMEM : 0;
	}
	row = find_row(tables, key.word[0], key.word[2]);
	if (!row)
		return -ENOMEM;
	if (!request.uncertain) {
		row->number[BYTES] += request.value[REQUEST_BYTES];
		row->number[ERRORS] += sample->value[LENGTH] != 0;
		add_queue(row, request.value[REQUEST_QUEUE]);
	}
	return tables_add(row, &request);
}

#define REQUEST(last)                                      \
	{                                                  \
		"dev", "sector", "nr_sector", "rwbs", last \
	}

static const struct tables_event events[] = {
	{ "block:block_rq_issue", REQUEST("bytes"), issue },
	{ "block:block_rq_complete", REQUEST("error"), complete },
	{ "block:block_rq_insert", REQUEST("bytes"), insert, .optional = true },
	{ "block:block_rq_requeue", REQUEST(NULL), requeue, .optional = true },
	{ 0 },
};

/* ---- columns ---- */

static void put_kind(const struct tables *tables, const struct tables_row *row,
		     char text[TABLES_CELL])
{
	(void)tables;
	snprintf(text, TABLES_CELL, "%s", kind_names[row->key[1]]);
}

static uint64_t queue_average(const struct tables *tables, const struct tables_row *row)
{
	(void)tables;
	return row->number[QUEUED] ? row->number[QUEUE_NS] / row->number[QUEUED] : 0;
}

static const struct tables_column columns[] = {
	{ "device", "device", TABLES_TEXT, .text = tables_name },
	{ "kind", "kind", TABLES_TEXT, .text = put_kind },
	{ "count", "count", TABLES_COUNT, TABLES_AT(count) },
	{ "bytes", "bytes", TABLES_COUNT, TABLES_AT(number[BYTES]) },
	{ "queue_avg", "avg queue", TABLES_NS, .number = queue_average },
	{ "queue_max", "max queue", TABLES_NS, TABLES_AT(number[QUEUE_MAX]) },
	{ "queued", "queued", TABLES_COUNT, TABLES_AT(number[QUEUED]) },
	{ "total", "total latency", TABLES_NS, TABLES_AT(total) },
	{ "avg", "avg latency", TABLES_NS, .number = tables_average },
	{ "min", "min", TABLES_NS, TABLES_AT(min) },
	{ "p50", "p50", TABLES_NS, .number = tables_p50 },
	{ "p90", "p90", TABLES_NS, .number = tables_p90 },
	{ "p99", "p99", TABLES_NS, .number = tables_p99 },
	{ "max", "max", TABLES_NS, TABLES_AT(max) },
	{ "errors", "errors", TABLES_COUNT, TABLES_AT(number[ERRORS]) },
	{ "uncertain", "uncertain", TABLES_COUNT, TABLES_AT(uncertain) },
	{ "uncertain_ns", "uncertain time", TABLES_NS, TABLES_AT(uncertain_ns) },
	{ 0 },
};

static const struct tables_view view = {
	NULL,
	columns,
	"device,kind,count,bytes,queue_avg,avg,p50,p99,max,errors",
	"total",
};

/* ---- command ---- */

static const char *const *record_arguments(const struct tables *tables)
{
	static const char *const arguments[] = {
		"-e",
		"block:block_rq_insert,block:block_rq_issue,block:block_rq_complete,"
		"block:block_rq_requeue",
		"-m",
		"1024",
		NULL,
	};

	(void)tables;
	return arguments;
}

static int choose_latency(struct tables *tables)
{
	tables->events = events;
	tables->nr_tables = 1;
	tables->table[0].view = &view;
	return 0;
}

#define SETS(member) CLI_SETS(struct tables, member)

static const struct cli_option options[] = {
	CLI_ROW(.letter = 's', .name = "sort", .argument = "COLUMNS", SETS(sort),
		.help = "sort by these columns (total)"),
	CLI_ROW(.letter = 'E', .name = "entries", .argument = "N", SETS(entries), .positive = true,
		.help = "print at most N rows"),
	CLI_ROW(.table = tables_options),
	{ 0 },
};

static const struct cli_subcommand first_words[] = {
	{ "record", &cli_record_usage },
	{ "latency", NULL },
	{ 0 },
};

static const struct cli_word *column_words(void)
{
	return tables_column_words((const struct tables_column *const[]){ columns, NULL });
}

const struct cli_usage cli_block_usage = {
	.name = COMMAND,
	.operands = "record|latency [OPTIONS] [PROGRAM]",
	.summary = "Shows how long requests to disks take.",
	.options = options,
	.subcommands = first_words,
	.columns = column_words,
};

int perch_cmd_block(int argc, char **argv)
{
	static const struct tables_subcommand subcommands[] = {
		{ .name = "latency", .choose = choose_latency, .by_default = true },
		{ 0 },
	};
	static const struct tables_command command = {
		.usage = &cli_block_usage,
		.subcommands = subcommands,
		.record = record_arguments,
		.system_wide = true,
	};
	struct tables tables = { 0 };

	return tables_run(&tables, &command, argc, argv);
}
