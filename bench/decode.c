/* SPDX-License-Identifier: MIT */
/*
 * decode [FILE [PROGRAM]]: decodes 100 MB of records in memory, and adds up every field of every
 * record. It compares this with a loop that only goes from header to header and reads one byte of
 * each cache line ("hop"), and with decoding the same records in the other byte order. FILE is
 * written with the same records. PROGRAM reads FILE by another library; its time is compared with
 * libperch-profile's. The loops alternate, and the least of the rounds is the result.
 *
 * The records are like those of `perf record` with three events. Four of five are samples of a
 * clock with 5 to 40 callers. The others are samples of a tracepoint with raw data, samples with
 * registers and a copy of the stack, and side-band records.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include <perch/file.h>
#include <perch/record.h>

#include "bench.h"
#include "decode_records.h"

#define MEGABYTES 100
#define ROUNDS	  15

static size_t record_bytes, rounds;

/*
 * Four sums at a time, so that an addition does not wait for the previous one. The last block of
 * four overlaps the block before it, and a mask removes the words that are added already: a second
 * loop for the rest would be a branch that CPUs predict badly.
 */
static inline uint64_t sum_words(const struct perch_record *record, const uint64_t *word,
				 uint64_t nr)
{
	static const uint64_t mask[4][4] = { { 0, 0, 0, 0 },
					     { 0, 0, 0, ~0ull },
					     { 0, 0, ~0ull, ~0ull },
					     { 0, ~0ull, ~0ull, ~0ull } };
	uint64_t part[4] = { 0 };

	if (nr < 4) {
		for (uint64_t i = 0; i < nr; i++)
			part[0] += perch_word(record, word + i);
		return part[0];
	}
	for (uint64_t i = 0; i + 4 <= nr; i += 4) {
		for (int k = 0; k < 4; k++)
			part[k] += perch_word(record, word + i + k);
	}
	for (int k = 0; k < 4; k++)
		part[k] += perch_word(record, word + nr - 4 + k) & mask[nr % 4][k];
	return part[0] + part[1] + part[2] + part[3];
}

static uint64_t first_byte(const void *data, uint64_t size)
{
	return size ? *(const unsigned char *)data : 0;
}

static uint64_t sum_registers(const struct perch_record *record,
			      const struct perch_registers *registers)
{
	return registers->abi + registers->mask +
	       sum_words(record, registers->value, registers->nr);
}

/* The fields that the events of decode_records.h request. */
static uint64_t sum_sample(const struct perch_record *record)
{
	const struct perch_sample *s = &record->sample;
	const uint64_t type = record->parse_info->sample_type;
	uint64_t sum = s->id + s->ip + s->pid + s->tid + s->time + s->cpu + s->period;

	sum += sum_words(record, s->callchain.ip, s->callchain.nr);
	if (type & PERCH_SAMPLE_RAW)
		sum += s->raw.size + first_byte(s->raw.data, s->raw.size);
	if (type & PERCH_SAMPLE_REGS_USER)
		sum += sum_registers(record, &s->regs_user);
	if (type & PERCH_SAMPLE_STACK_USER)
		sum += s->stack_user.size + s->stack_user.dynamic_size +
		       first_byte(s->stack_user.data, s->stack_user.size);
	return sum;
}

static uint64_t sum_other(const struct perch_record *record)
{
	switch (record->type) {
	case PERCH_RECORD_MMAP2:
		return record->mmap.pid + record->mmap.tid + record->mmap.start +
		       record->mmap.length + record->mmap.page_offset + record->mmap.major +
		       record->mmap.minor + record->mmap.inode + record->mmap.inode_generation +
		       record->mmap.protection + record->mmap.flags + record->mmap.filename.length +
		       first_byte(record->mmap.filename.text, 1);
	case PERCH_RECORD_COMM:
		return record->comm.pid + record->comm.tid + record->comm.exec +
		       record->comm.comm.length + first_byte(record->comm.comm.text, 1);
	case PERCH_RECORD_FORK:
	case PERCH_RECORD_EXIT:
		return record->task.pid + record->task.ppid + record->task.tid + record->task.ptid +
		       record->task.time;
	case PERCH_RECORD_SWITCH_CPU_WIDE:
		return record->context_switch.out + record->context_switch.preempt +
		       record->context_switch.other_pid + record->context_switch.other_tid;
	default:
		return 0;
	}
}

static uint64_t sum_record(const struct perch_record *record)
{
	const struct perch_sample_id *sample_id = &record->sample_id;
	uint64_t sum = record->type + record->misc + record->size + record->event +
		       record->trailing_bytes + sample_id->has + sample_id->pid + sample_id->tid +
		       sample_id->time + sample_id->id + sample_id->stream_id + sample_id->cpu;

	return sum + (record->type == PERCH_RECORD_SAMPLE ? sum_sample(record) : sum_other(record));
}

/* Goes from header to header and reads one byte of each cache line. */
static uint64_t hop(const struct records *records)
{
	const unsigned char *at = records->bytes, *end = at + records->size;
	uint64_t sum = 0;

	while (at < end) {
		struct perch_record_header header;

		memcpy(&header, at, sizeof(header));
		sum += header.type + header.misc;
		for (size_t line = 64; line < header.size; line += 64)
			sum += at[line];
		at += header.size;
	}
	return sum;
}

static uint64_t decode(const struct records *records, struct perch_decoder *decoder)
{
	const unsigned char *at = records->bytes, *end = at + records->size;
	struct perch_error err = { 0 };
	struct perch_record record;
	uint64_t sum = 0;

	while (at < end) {
		if (perch_decoder_decode(decoder, at, end - at, &record, &err)) {
			fprintf(stderr, "decode: %s\n", err.message);
			exit(EXIT_FAILURE);
		}
		sum += sum_record(&record);
		at += record.size;
	}
	return sum;
}

static uint64_t read_file(const char *path, size_t *nr)
{
	struct perch_error err = { 0 };
	struct perch_record record;
	struct perch_reader *reader;
	uint64_t sum = 0;
	int rc = perch_reader_open(&reader, path, PERCH_ORDER_FILE, &err);

	for (*nr = 0; rc >= 0 && (rc = perch_reader_next(reader, &record, &err)) > 0; (*nr)++)
		sum += sum_record(&record);
	if (rc < 0) {
		fprintf(stderr, "decode: %s\n", err.message);
		exit(EXIT_FAILURE);
	}
	perch_reader_close(reader);
	return sum;
}

struct times {
	double hop, native, foreign, file, peer;
	double hop_small, small; /* of records without stacks */
};

static uint64_t sink;

static void measure(struct times *times, const struct records *native,
		    const struct records *foreign, struct perch_decoder *decoders[2])
{
	uint64_t sums[2] = { 0 };

	for (size_t i = 0; i < rounds; i++) {
		double start = bench_cpu_ns(), hopped, decoded, end;

		sink += hop(native);
		hopped = bench_cpu_ns();
		sums[0] = decode(native, decoders[0]);
		decoded = bench_cpu_ns();
		sums[1] = decode(foreign, decoders[1]);
		end = bench_cpu_ns();
		bench_keep_minimum(&times->hop, hopped - start);
		bench_keep_minimum(&times->native, decoded - hopped);
		bench_keep_minimum(&times->foreign, end - decoded);
	}
	if (sums[0] == sums[1])
		return;
	fprintf(stderr, "decode: the records of the other byte order have other values\n");
	exit(EXIT_FAILURE);
}

/* Without the stack copies, which the hop reads and the decoder skips. */
static void measure_small(struct times *times, struct perch_decoder *decoder, size_t *nr)
{
	struct records records = make_records(record_bytes, false, false);

	*nr = records.nr;
	for (size_t i = 0; i < rounds; i++) {
		double start = bench_cpu_ns(), hopped;

		sink += hop(&records);
		hopped = bench_cpu_ns();
		sink += decode(&records, decoder);
		bench_keep_minimum(&times->hop_small, hopped - start);
		bench_keep_minimum(&times->small, bench_cpu_ns() - hopped);
	}
	free(records.bytes);
}

/* The peer prints the number of records, and the nanoseconds of its best round. */
static void measure_files(struct times *times, const char *path, const char *peer, size_t nr)
{
	char command[4096];
	double records = 0, ns = 0;
	FILE *pipe;
	size_t got;

	for (int i = 0; i < 5; i++) {
		double start = bench_cpu_ns();

		sink += read_file(path, &got);
		bench_keep_minimum(&times->file, bench_cpu_ns() - start);
	}
	snprintf(command, sizeof(command), "'%s' '%s' 5", peer, path);
	pipe = popen(command, "r");
	if (!pipe || fscanf(pipe, "%lf %lf", &records, &ns) != 2 || pclose(pipe) ||
	    (size_t)records != nr || got != nr) {
		fprintf(stderr, "decode: the peer read %.0f records and perch %zu of %zu\n",
			records, got, nr);
		exit(EXIT_FAILURE);
	}
	times->peer = ns;
}

static void print_results(const struct times *times, const struct records *records, size_t nr_small,
			  const char *peer)
{
	double nr = records->nr, bytes = records->size;

	printf("decode %zu records, %.0f MB: %.1f ns each, %.1f M/s, %.0f MB/s\n", records->nr,
	       bytes / 1e6, times->native / nr, nr / times->native * 1e3,
	       bytes / times->native * 1e3);
	printf("hop over them %.1f ns each: decoding takes %.2f times that (target <= 2.00%s)\n",
	       times->hop / nr, times->native / times->hop,
	       bench_missed(times->native <= 2 * times->hop));
	printf("without stacks %.1f ns each, hop %.1f ns: %.2f times that\n",
	       times->small / nr_small, times->hop_small / nr_small,
	       times->small / times->hop_small);
	printf("the other byte order %.1f ns each: %.2f of native (target <= 1.50%s)\n",
	       times->foreign / nr, times->foreign / times->native,
	       bench_missed(times->foreign <= 1.5 * times->native));
	if (!peer)
		return;
	printf("linux-perf-data %.1f ns each, %.1f M/s: decoding makes %.1f times that (target >= 4.0%s)\n",
	       times->peer / nr, nr / times->peer * 1e3, times->peer / times->native,
	       bench_missed(times->peer >= 4 * times->native));
	printf("perch's file reader, opening and reading the same file: %.1f ns each, %.1f times the peer's speed\n",
	       times->file / nr, times->peer / times->file);
}

int main(int argc, char **argv)
{
	struct perch_decoder *decoders[2] = { make_decoder(false), make_decoder(true) };
	struct records native, foreign;
	struct times times = { 0 };
	size_t nr_small;

	record_bytes = bench_size(MEGABYTES * 1000000ul, 200000);
	rounds = bench_size(ROUNDS, 2);
	native = make_records(record_bytes, false, true);
	foreign = make_records(record_bytes, true, true);
	if (argc > 1)
		write_records(&native, argv[1]);
	measure(&times, &native, &foreign, decoders);
	measure_small(&times, decoders[0], &nr_small);
	if (argc > 2)
		measure_files(&times, argv[1], argv[2], native.nr);
	print_results(&times, &native, nr_small, argc > 2 ? argv[2] : NULL);
	perch_decoder_free(decoders[0]);
	perch_decoder_free(decoders[1]);
	return sink == 1; /* the compiler must not remove the sums */
}
