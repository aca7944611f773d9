/* SPDX-License-Identifier: MIT */
/*
 * Writes and prints perf.data files for file.sh.
 *
 *	file_writer write FILE		every field and feature that perf and perch print
 *	file_writer plain FILE		records for perf report: comm, mmap, samples
 *	file_writer killed FILE		the same, ended by SIGKILL before it is closed
 *	file_writer header FILE		what perch_reader_print_header() prints
 *	file_writer stats FILE		records by type, as `perf report --stats` counts them
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <perch/file.h>

#define TYPE                                                                                \
	(PERCH_SAMPLE_IDENTIFIER | PERCH_SAMPLE_IP | PERCH_SAMPLE_TID | PERCH_SAMPLE_TIME | \
	 PERCH_SAMPLE_CPU | PERCH_SAMPLE_PERIOD | PERCH_SAMPLE_CALLCHAIN)
#define PID 4242

static struct perch_error err;

static void die(void)
{
	perch_error_print(stderr, &err);
	exit(1);
}

/* ---- records ---- */

struct buffer {
	_Alignas(8) char bytes[512];
	size_t size;
};

static void put(struct buffer *buffer, const void *data, size_t size)
{
	memcpy(buffer->bytes + buffer->size, data, size);
	buffer->size += size;
}

static void put_u64(struct buffer *buffer, uint64_t value)
{
	put(buffer, &value, sizeof(value));
}

static void put_pair(struct buffer *buffer, uint32_t first, uint32_t second)
{
	put(buffer, &first, sizeof(first));
	put(buffer, &second, sizeof(second));
}

static void put_name(struct buffer *buffer, const char *name)
{
	put(buffer, name, strlen(name) + 1);
	while (buffer->size % 8)
		buffer->bytes[buffer->size++] = 0;
}

static struct buffer start(uint32_t type, uint16_t misc)
{
	struct perch_record_header header = { .type = type, .misc = misc };
	struct buffer buffer = { .size = 0 };

	put(&buffer, &header, sizeof(header));
	return buffer;
}

static void finish(struct perch_writer *writer, struct buffer *buffer)
{
	struct perch_record_header header;
	struct iovec piece = { buffer->bytes, buffer->size };

	memcpy(&header, buffer->bytes, sizeof(header));
	header.size = buffer->size;
	memcpy(buffer->bytes, &header, sizeof(header));
	if (perch_writer_append(writer, &piece, 1, &err))
		die();
}

static void finish_with_trailer(struct perch_writer *writer, struct buffer *buffer, uint64_t time)
{
	put_pair(buffer, PID, PID);
	put_u64(buffer, time);
	put_pair(buffer, 1, 0);
	put_u64(buffer, 11);
	finish(writer, buffer);
}

static void write_comm(struct perch_writer *writer)
{
	struct buffer buffer = start(PERCH_RECORD_COMM, PERCH_MISC_COMM_EXEC);

	put_pair(&buffer, PID, PID);
	put_name(&buffer, "worker");
	finish_with_trailer(writer, &buffer, 1000);
}

static void write_map(struct perch_writer *writer)
{
	struct buffer buffer = start(PERCH_RECORD_MMAP2, PERCH_MISC_USER);

	put_pair(&buffer, PID, PID);
	put_u64(&buffer, 0x400000);
	put_u64(&buffer, 0x10000);
	put_u64(&buffer, 0);
	put_pair(&buffer, 8, 1);
	put_u64(&buffer, 12345);
	put_u64(&buffer, 0);
	put_pair(&buffer, 5, 2);
	put_name(&buffer, "/proc/none/worker");
	finish_with_trailer(writer, &buffer, 1001);
}

static void write_sample(struct perch_writer *writer, uint64_t id, uint64_t time, uint64_t ip)
{
	struct buffer buffer = start(PERCH_RECORD_SAMPLE, PERCH_MISC_USER);

	put_u64(&buffer, id);
	put_u64(&buffer, ip);
	put_pair(&buffer, PID, PID);
	put_u64(&buffer, time);
	put_pair(&buffer, 1, 0);
	put_u64(&buffer, 1000);
	put_u64(&buffer, 3);
	put_u64(&buffer, (uint64_t)PERCH_CONTEXT_USER);
	put_u64(&buffer, ip);
	put_u64(&buffer, 0x400800);
	finish(writer, &buffer);
}

static void write_records(struct perch_writer *writer)
{
	struct buffer round = start(PERCH_RECORD_FINISHED_ROUND, 0);

	write_comm(writer);
	write_map(writer);
	for (uint64_t i = 0; i < 1000; i++) {
		/* the rings of two CPUs, one after the other */
		uint64_t time = 2000 + i % 500 * 20 + i / 500;

		write_sample(writer, i % 10 ? 11 : 31, time, 0x400100 + i % 7 * 16);
	}
	finish(writer, &round);
}

/* ---- files ---- */

static const uint64_t ids[] = { 11, 12, 31, 41 };

static const struct perch_file_event plain_events[] = {
	{ .attr = { .type = PERCH_TYPE_SOFTWARE,
		    .sample_type = TYPE,
		    .sample_period = 1000,
		    .sample_id_all = 1,
		    .mmap = 1,
		    .mmap2 = 1,
		    .comm = 1,
		    .comm_exec = 1,
		    .task = 1 },
	  .name = "cpu-clock",
	  .ids = ids,
	  .nr_ids = 2,
	  .members = 2 },
	{ .attr = { .type = PERCH_TYPE_SOFTWARE,
		    .config = PERCH_COUNT_SW_PAGE_FAULTS,
		    .sample_type = TYPE,
		    .sample_period = 1,
		    .sample_id_all = 1 },
	  .name = "page-faults",
	  .ids = ids + 2,
	  .nr_ids = 1 },
};

/* An attr with all fields of the header line, and all flags. */
static struct perch_attr full_attr(void)
{
	struct perch_attr attr = {
		.type = PERCH_TYPE_RAW,
		.config = 0x1c2,
		.sample_period = 4000,
		.sample_type =
			TYPE | PERCH_SAMPLE_ADDR | PERCH_SAMPLE_READ | PERCH_SAMPLE_ID |
			PERCH_SAMPLE_STREAM_ID | PERCH_SAMPLE_RAW | PERCH_SAMPLE_BRANCH_STACK |
			PERCH_SAMPLE_REGS_USER | PERCH_SAMPLE_STACK_USER | PERCH_SAMPLE_WEIGHT |
			PERCH_SAMPLE_DATA_SRC | PERCH_SAMPLE_REGS_INTR | PERCH_SAMPLE_PHYS_ADDR |
			PERCH_SAMPLE_AUX | PERCH_SAMPLE_CGROUP | PERCH_SAMPLE_DATA_PAGE_SIZE |
			PERCH_SAMPLE_CODE_PAGE_SIZE | PERCH_SAMPLE_WEIGHT_STRUCT,
		.read_format = PERCH_FORMAT_TOTAL_TIME_ENABLED | PERCH_FORMAT_TOTAL_TIME_RUNNING |
			       PERCH_FORMAT_ID | PERCH_FORMAT_GROUP | PERCH_FORMAT_LOST,
		.flags = (1ull << 38) - 1,
		.wakeup_events = 7,
		.bp_type = 3,
		.config1 = 0x1234,
		.config2 = 8,
		.branch_sample_type = (PERCH_SAMPLE_BRANCH_HW_INDEX << 1) - 1,
		.sample_regs_user = 0xff0fff,
		.sample_stack_user = 8192,
		.clockid = 4,
		.sample_regs_intr = 0xff,
		.aux_watermark = 4096,
		.sample_max_stack = 127,
		.aux_sample_size = 64,
		.sig_data = 99,
	};

	return attr;
}

static struct perch_writer *open_writer(const char *path, const struct perch_file_event *events,
					size_t nr)
{
	struct perch_writer *writer;

	if (perch_writer_open(&writer, path, events, nr, &err))
		die();
	return writer;
}

static void describe(struct perch_writer *writer, int argc, char **argv)
{
	static const uint8_t build_id[20] = { 1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
					      11, 12, 13, 14, 15, 16, 17, 18, 19, 20 };
	struct perch_machine *machine;

	if (perch_machine_new(&machine, NULL, NULL, &err) ||
	    perch_writer_describe(writer, "0.1", argc, argv, machine, &err) ||
	    perch_writer_set_sample_time(writer, 2000, 11981, &err) ||
	    perch_writer_add_build_id(writer, PERCH_MISC_USER, build_id, sizeof(build_id),
				      "/proc/none/worker", &err))
		die();
	perch_machine_free(machine);
}

static void write_full(const char *path, int argc, char **argv)
{
	struct perch_file_event events[3] = { plain_events[0], plain_events[1] };
	struct perch_writer *writer;

	events[2] = (struct perch_file_event){
		.attr = full_attr(), .name = "full", .ids = ids + 3, .nr_ids = 1
	};
	writer = open_writer(path, events, 3);
	describe(writer, argc, argv);
	if (perch_writer_close(writer, &err))
		die();
}

static void write_plain(const char *path, int argc, char **argv, bool killed)
{
	struct perch_writer *writer = open_writer(path, plain_events, 2);

	write_records(writer);
	if (killed)
		raise(SIGKILL);
	describe(writer, argc, argv);
	if (perch_writer_close(writer, &err))
		die();
}

static void show_header(const char *path)
{
	struct perch_reader *reader;

	if (perch_reader_open(&reader, path, PERCH_ORDER_FILE, &err))
		die();
	perch_reader_print_header(reader, stdout);
	perch_reader_close(reader);
}

static void show_stats(const char *path)
{
	unsigned long counts[128] = { 0 }, total = 0;
	struct perch_reader *reader;
	struct perch_record record;
	int rc;

	if (perch_reader_open(&reader, path, PERCH_ORDER_TIME, &err))
		die();
	while ((rc = perch_reader_next(reader, &record, &err)) > 0) {
		total++;
		counts[record.type < 128 ? record.type : 0]++;
	}
	if (rc < 0)
		die();
	printf("%16s events: %10lu\n", "TOTAL", total);
	for (uint32_t i = 0; i < 128; i++) {
		if (counts[i])
			printf("%16s events: %10lu\n", perch_record_name(i), counts[i]);
	}
	perch_reader_close(reader);
}

int main(int argc, char **argv)
{
	const char *what = argc == 3 ? argv[1] : "";

	if (!strcmp(what, "write"))
		write_full(argv[2], argc, argv);
	else if (!strcmp(what, "plain"))
		write_plain(argv[2], argc, argv, false);
	else if (!strcmp(what, "killed"))
		write_plain(argv[2], argc, argv, true);
	else if (!strcmp(what, "header"))
		show_header(argv[2]);
	else if (!strcmp(what, "stats"))
		show_stats(argv[2]);
	else
		return fputs("usage: file_writer write|plain|killed|header|stats FILE\n", stderr),
		       2;
	return 0;
}
