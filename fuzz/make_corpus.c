/* SPDX-License-Identifier: MIT */
/*
 * make_corpus DIRECTORY: writes the first inputs of the fuzzers of records, attrs, files, rings,
 * processes, tracepoints, filters, programs, jitdump and texts to DIRECTORY/record, /attr, /file,
 * /ring, /process, /tracepoint, /filter, /elf, /jitdump and /flamegraph.
 * Most are records that this kernel writes, if this user may record them, and records by
 * tests/build of the types that this machine does not write. All are small, and few.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <perch/file.h>
#include <perch/sampler.h>

#include "build/one_target.h"
#include "corpus.h"

#define SEEDS	     6	/* built records of each type */
#define LIVE_RECORDS 24 /* of each event, in one file */
#define WAIT_MS	     50

static void write_record_input(const char *name, const struct perch_attr *attr, bool big,
			       const void *bytes, size_t size)
{
	static uint8_t all[sizeof(struct record_input) + CORPUS_BYTES];
	struct record_input input = {
		.sample_type = attr->sample_type,
		.read_format = attr->read_format,
		.branch_sample_type = attr->branch_sample_type,
		.regs_user = attr->sample_regs_user,
		.regs_intr = attr->sample_regs_intr,
		.other_type = attr->sample_type ^ PERCH_SAMPLE_ADDR,
		.id = 1,
		.other_id = 2,
		.flags = (attr->sample_id_all ? RECORD_INPUT_ID_ALL : 0) |
			 (big ? RECORD_INPUT_BIG : 0),
	};

	if (size > CORPUS_BYTES)
		size = CORPUS_BYTES;
	memcpy(all, &input, sizeof(input));
	memcpy(all + sizeof(input), bytes, size);
	corpus_write("record", name, all, sizeof(input) + size);
}

static void write_built_records(void)
{
	static struct build_record record;
	static struct build_bytes bytes;
	struct perch_attr attr;
	char name[64];

	for (uint32_t type = PERCH_RECORD_MMAP; type <= PERCH_RECORD_MAX; type++)
		for (unsigned seed = 0; seed < (type == PERCH_RECORD_SAMPLE ? 8 * SEEDS : SEEDS);
		     seed++) {
			struct build_rng rng = { .state = seed };

			build_fill_shape(&record.shape, &rng);
			build_fill(&record, type, &rng);
			record.sample_id.id = 1 + seed % 2;
			build_write(&bytes, &record);
			build_attr(&attr, &record.shape);
			snprintf(name, sizeof(name), "built-%u-%u", type, seed);
			write_record_input(name, &attr, record.shape.big_endian, bytes.byte,
					   bytes.size);
		}
}

/* A sample whose user call chain is deferred, or the record with its user part. */
static void add_deferred(struct build_bytes *stream, struct build_record *record, uint32_t type,
			 uint32_t tid, uint64_t cookie)
{
	static struct build_bytes bytes;
	struct build_rng rng = { .state = stream->size };

	build_fill(record, type, &rng);
	record->newer = 0;
	record->sample_id.id = 1;
	record->sample_id.tid = tid;
	record->cookie = cookie;
	record->chain = (struct build_words){ .nr = 1, .word = { 0x400000 } };
	record->sample.callchain = (struct build_words){
		.nr = 4,
		.word = { PERCH_CONTEXT_KERNEL, 0xffff0000, PERCH_CONTEXT_USER_DEFERRED, cookie }
	};
	build_write(&bytes, record);
	memcpy(stream->byte + stream->size, bytes.byte, bytes.size);
	stream->size += bytes.size;
}

/* Random cookies do not match: here one sample is incomplete, one is merged, and one comes late. */
static void write_deferred_records(void)
{
	static struct build_record record;
	static struct build_bytes stream;
	struct perch_attr attr;

	for (int big = 0; big < 2; big++) {
		record.shape =
			(struct build_shape){ .big_endian = big,
					      .sample_id_all = true,
					      .sample_type = PERCH_SAMPLE_TID | PERCH_SAMPLE_TIME |
							     PERCH_SAMPLE_CALLCHAIN };
		stream.size = 0;
		add_deferred(&stream, &record, PERCH_RECORD_SAMPLE, 1, 5);
		add_deferred(&stream, &record, PERCH_RECORD_SAMPLE, 2, 6);
		add_deferred(&stream, &record, PERCH_RECORD_SAMPLE, 1, 7);
		add_deferred(&stream, &record, PERCH_RECORD_CALLCHAIN_DEFERRED, 1, 7);
		add_deferred(&stream, &record, PERCH_RECORD_SAMPLE, 1, 7);
		build_attr(&attr, &record.shape);
		write_record_input(big ? "deferred-big" : "deferred-little", &attr, big,
				   stream.byte, stream.size);
	}
}

static void write_built_attrs(void)
{
	static const size_t sizes[] = { 64, 72, 80, 96, 104, 112, 120, 128, 136, 144 };
	struct build_attr_values values;
	struct build_bytes bytes;
	char name[64];

	for (size_t i = 0; i < 2 * sizeof(sizes) / sizeof(*sizes); i++) {
		struct build_rng rng = { .state = i };

		build_fill_attr(&values, &rng);
		bytes.big_endian = i & 1;
		build_write_attr(&bytes, &values);
		snprintf(name, sizeof(name), "built-%zu-%s", sizes[i / 2],
			 i & 1 ? "big" : "little");
		corpus_write("attr", name, bytes.byte, sizes[i / 2]);
	}
}

/* ---- records of this kernel ---- */

struct live {
	const char *name, *events;
	uint64_t sample;
	uint64_t registers;
	uint32_t stack;
};

#define COMMON                                                                       \
	(PERCH_SAMPLE_IP | PERCH_SAMPLE_TID | PERCH_SAMPLE_TIME | PERCH_SAMPLE_CPU | \
	 PERCH_SAMPLE_PERIOD)

static const struct live lives[] = {
	{ "clock", "cpu-clock", COMMON, 0, 0 },
	{ "chain", "cpu-clock", COMMON | PERCH_SAMPLE_CALLCHAIN | PERCH_SAMPLE_ADDR, 0, 0 },
	{ "stack", "cpu-clock:u", COMMON | PERCH_SAMPLE_REGS_USER | PERCH_SAMPLE_STACK_USER, 0xff,
	  512 },
	{ "faults", "page-faults",
	  COMMON | PERCH_SAMPLE_ADDR | PERCH_SAMPLE_DATA_SRC | PERCH_SAMPLE_WEIGHT, 0, 0 },
	{ "switches", "context-switches",
	  COMMON | PERCH_SAMPLE_RAW | PERCH_SAMPLE_STREAM_ID | PERCH_SAMPLE_REGS_INTR, 0xf, 0 },
	{ "group", "{page-faults,minor-faults,task-clock}:S", COMMON | PERCH_SAMPLE_READ, 0, 0 },
};

/* The child maps, faults, switches and ends. */
static pid_t start_work(int *gate)
{
	int pipes[2];
	pid_t pid;
	char byte;

	if (pipe(pipes))
		return -1;
	pid = fork();
	if (!pid) {
		close(pipes[1]);
		if (read(pipes[0], &byte, 1) < 0)
			_exit(1);
		for (unsigned i = 0; i < 64; i++) {
			uint8_t *page = calloc(1, 300000);

			for (size_t at = 0; page && at < 300000; at += 4096)
				page[at] = 1;
			free(page);
			usleep(100);
		}
		execl("/bin/true", "true", (char *)NULL);
		_exit(0);
	}
	close(pipes[0]);
	*gate = pipes[1];
	return pid;
}

static struct perch_sampler *open_live(const struct live *live, pid_t pid)
{
	struct perch_sampler_options options = { .ring_pages = 16 };
	struct perch_target target = { .tid = pid, .cpu = -1 };
	struct perch_sampler *sampler;
	struct perch_error err = { 0 };

	options.event.sample = live->sample;
	options.event.period = strstr(live->events, "clock") ? 100000 : 1;
	options.event.sample_regs_user = live->sample & PERCH_SAMPLE_REGS_USER ? live->registers
									       : 0;
	options.event.sample_regs_intr = live->sample & PERCH_SAMPLE_REGS_INTR ? live->registers
									       : 0;
	options.event.sample_stack_user = live->stack;
	options.event.enabled = true;
	options.event.inherit = !strchr(live->events, '{');
	options.event.sideband = PERCH_SIDEBAND_MMAP | PERCH_SIDEBAND_COMM | PERCH_SIDEBAND_TASK |
				 PERCH_SIDEBAND_SWITCH | PERCH_SIDEBAND_NAMESPACES;
	if (!perch_sampler_open(&sampler, live->events, ONE_TARGET(&target), &options, &err))
		return sampler;
	fprintf(stderr, "make_corpus: no live records of %s: %s\n", live->events, err.message);
	return NULL;
}

/* Writes the first records as one input, their attr, and a perf.data file of them. */
static void write_records(const struct live *live, struct perch_sampler *sampler)
{
	static uint8_t bytes[CORPUS_BYTES];
	const struct perch_attr *attr;
	struct perch_record record;
	size_t size = 0, nr = 0, nr_ids;
	const uint64_t *ids;
	const char *event;
	char name[64];

	attr = perch_sampler_event(sampler, 0, &event, &ids, &nr_ids);
	while (perch_sampler_next(sampler, &record, NULL) == 1) {
		if (record.event || nr >= LIVE_RECORDS || record.size > sizeof(bytes) - size)
			continue;
		memcpy(bytes + size, record.bytes, record.size);
		size += record.size;
		nr++;
	}
	if (!nr)
		return;
	snprintf(name, sizeof(name), "live-%s", live->name);
	write_record_input(name, attr, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__, bytes, size);
	corpus_write("attr", name, attr, sizeof(*attr));
	corpus_write_file(name, attr, bytes, size);
}

static void write_live_records(const struct live *live)
{
	struct perch_sampler *sampler;
	int gate, status;
	pid_t pid = start_work(&gate);

	if (pid < 0)
		return;
	sampler = open_live(live, pid);
	close(gate);
	waitpid(pid, &status, 0);
	if (!sampler)
		return;
	perch_sampler_wait(sampler, WAIT_MS, NULL);
	write_records(live, sampler);
	perch_sampler_close(sampler);
}

/* The files of fuzz_synthesize, separated by zeros. */
static void write_processes(void)
{
	static const char process[] =
		"1000-3000 r-xp 00002000 fe:01 77   /bin/two\\012lines (deleted)\n"
		"3000-4000 rw-s 00000000 00:00 0\n"
		"\0worker\n\0Name:\tworker\nTgid:\t7\nPPid:\t1\n\0\0"
		"ffffffff81000000 T _text\nffffffff82000000 T _etext\n"
		"\0ext4 1000 2 - Live 0xffffffffc0000000\n";

	corpus_write("process", "process", process, sizeof(process));
}

int main(int argc, char **argv)
{
	if (argc != 2 || argv[1][0] == '-') {
		fprintf(stderr, "usage: make_corpus DIRECTORY\n");
		return 2;
	}
	corpus_open(argv[1]);
	write_built_records();
	write_deferred_records();
	write_built_attrs();
	corpus_write_built_files();
	corpus_write_rings();
	corpus_write_texts();
	corpus_write_tracepoints();
	corpus_write_go_programs();
	corpus_write_jitdumps();
	write_processes();
	for (size_t i = 0; i < sizeof(lives) / sizeof(*lives); i++)
		write_live_records(&lives[i]);
	return 0;
}
