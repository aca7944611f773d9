/* SPDX-License-Identifier: MIT */
/* Makes the records that decode.c decodes, in either byte order. */
#ifndef DECODE_RECORDS_H
#define DECODE_RECORDS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <perch/file.h>
#include <perch/record.h>

struct records {
	unsigned char *bytes;
	size_t size, capacity, nr;
	size_t start; /* of the record that is being written */
	bool swapped;
	uint64_t random, time;
};

#define COMMON                                                                              \
	(PERCH_SAMPLE_IDENTIFIER | PERCH_SAMPLE_IP | PERCH_SAMPLE_TID | PERCH_SAMPLE_TIME | \
	 PERCH_SAMPLE_CPU | PERCH_SAMPLE_PERIOD | PERCH_SAMPLE_CALLCHAIN)
#define REGISTERS  0xff0fffull
#define STACK_SIZE 8192u /* the default of perf record */
#define EVENTS	   3

static const uint64_t sample_types[EVENTS] = {
	COMMON,
	COMMON | PERCH_SAMPLE_RAW,
	COMMON | PERCH_SAMPLE_REGS_USER | PERCH_SAMPLE_STACK_USER,
};
static const char *const event_names[EVENTS] = { "cpu-clock", "sched:sched_switch", "task-clock" };
static const uint64_t event_ids[EVENTS][2] = { { 101, 102 }, { 103, 104 }, { 105, 106 } };

static struct perch_attr make_attr(int event)
{
	return (struct perch_attr){
		.type = event == 1 ? PERCH_TYPE_TRACEPOINT : PERCH_TYPE_SOFTWARE,
		.size = sizeof(struct perch_attr),
		.config = event == 1 ? 300 : event / 2,
		.sample_type = sample_types[event],
		.sample_period = 1,
		.sample_id_all = 1,
		.sample_regs_user = event == 2 ? REGISTERS : 0,
		.sample_stack_user = event == 2 ? STACK_SIZE : 0,
	};
}

/* Pseudo-random numbers, the same in each run. */
static uint64_t random_below(struct records *r, uint64_t below)
{
	r->random = r->random * 6364136223846793005u + 1442695040888963407u;
	return (r->random >> 33) % below;
}

static void put16(struct records *r, uint16_t value)
{
	value = r->swapped ? __builtin_bswap16(value) : value;
	memcpy(r->bytes + r->size, &value, sizeof(value));
	r->size += sizeof(value);
}

static void put32(struct records *r, uint32_t value)
{
	value = r->swapped ? __builtin_bswap32(value) : value;
	memcpy(r->bytes + r->size, &value, sizeof(value));
	r->size += sizeof(value);
}

static void put64(struct records *r, uint64_t value)
{
	value = r->swapped ? __builtin_bswap64(value) : value;
	memcpy(r->bytes + r->size, &value, sizeof(value));
	r->size += sizeof(value);
}

static void put_text(struct records *r, const char *text)
{
	size_t size = (strlen(text) + 8) & ~7ul;

	memset(r->bytes + r->size, 0, size);
	memcpy(r->bytes + r->size, text, strlen(text));
	r->size += size;
}

static void begin_record(struct records *r, uint32_t type, uint16_t misc)
{
	r->start = r->size;
	r->time += random_below(r, 20000);
	put32(r, type);
	put16(r, misc);
	put16(r, 0);
}

static void end_record(struct records *r)
{
	size_t size = r->size, start = r->start;

	r->size = start + 6;
	put16(r, size - start);
	r->size = size;
	r->nr++;
}

static void put_chain(struct records *r, uint64_t nr)
{
	put64(r, nr + 2);
	put64(r, PERCH_CONTEXT_KERNEL);
	for (uint64_t i = 0; i < nr; i++) {
		if (i == nr / 3)
			put64(r, PERCH_CONTEXT_USER);
		put64(r, (i < nr / 3 ? 0xffffffff81000000u : 0x555500000000u) +
				 random_below(r, 1 << 24));
	}
}

static void put_sample(struct records *r, int event)
{
	begin_record(r, PERCH_RECORD_SAMPLE, PERCH_MISC_USER);
	put64(r, event_ids[event][random_below(r, 2)]);
	put64(r, 0x555500000000u + random_below(r, 1 << 24));
	put32(r, 1000 + random_below(r, 8));
	put32(r, 1000 + random_below(r, 64));
	put64(r, r->time);
	put32(r, random_below(r, 8));
	put32(r, 0);
	put64(r, 250000);
	put_chain(r, 5 + random_below(r, 36));
	if (event == 1) {
		uint64_t words = 4 + random_below(r, 8);

		put32(r, words * 8 + 4);
		memset(r->bytes + r->size, 0x22, words * 8 + 4);
		r->size += words * 8 + 4;
	}
	if (event == 2) {
		put64(r, PERCH_SAMPLE_REGS_ABI_64);
		for (int i = 0; i < __builtin_popcountll(REGISTERS); i++)
			put64(r, random_below(r, 1 << 30));
		put64(r, STACK_SIZE);
		memset(r->bytes + r->size, 0x11, STACK_SIZE);
		r->size += STACK_SIZE;
		put64(r, STACK_SIZE - 8 * random_below(r, 64));
	}
	end_record(r);
}

/* TID, TIME, CPU and IDENTIFIER: all events have these. */
static void put_sample_id(struct records *r)
{
	put32(r, 1000 + random_below(r, 8));
	put32(r, 1000 + random_below(r, 64));
	put64(r, r->time);
	put32(r, random_below(r, 8));
	put32(r, 0);
	put64(r, event_ids[0][random_below(r, 2)]);
	end_record(r);
}

static void put_map(struct records *r)
{
	begin_record(r, PERCH_RECORD_MMAP2, PERCH_MISC_USER);
	put32(r, 1000);
	put32(r, 1000 + random_below(r, 64));
	put64(r, 0x7f0000000000u + random_below(r, 1 << 30));
	put64(r, 4096 * (1 + random_below(r, 500)));
	put64(r, 0);
	put32(r, 8);
	put32(r, 1);
	put64(r, 1000000 + random_below(r, 1 << 20));
	put64(r, 0);
	put32(r, 5);
	put32(r, 2);
	put_text(r, random_below(r, 2) ? "/usr/lib/x86_64-linux-gnu/libc.so.6" : "/usr/bin/make");
	put_sample_id(r);
}

static void put_sideband(struct records *r)
{
	uint64_t kind = random_below(r, 10);

	if (kind == 0) {
		put_map(r);
	} else if (kind == 1) {
		begin_record(r, PERCH_RECORD_COMM, PERCH_MISC_COMM_EXEC);
		put32(r, 1000);
		put32(r, 1000 + random_below(r, 64));
		put_text(r, "worker");
		put_sample_id(r);
	} else if (kind < 4) {
		begin_record(r, kind == 2 ? PERCH_RECORD_FORK : PERCH_RECORD_EXIT, 0);
		for (int i = 0; i < 4; i++)
			put32(r, 1000 + random_below(r, 64));
		put64(r, r->time);
		put_sample_id(r);
	} else {
		begin_record(r, PERCH_RECORD_SWITCH_CPU_WIDE, kind % 2 ? PERCH_MISC_SWITCH_OUT : 0);
		put32(r, 1000);
		put32(r, 1000 + random_below(r, 64));
		put_sample_id(r);
	}
}

/* With stacks, two of 100 records are samples with a copy of the stack; without, they are samples
 * of the clock. */
static struct records make_records(size_t size, bool swapped, bool stacks)
{
	struct records records = {
		.capacity = size + UINT16_MAX, .swapped = swapped, .random = 42, .time = 1000000000
	};

	records.bytes = aligned_alloc(4096, (records.capacity + 4095) & ~4095ul);
	if (!records.bytes) {
		fprintf(stderr, "decode: no memory\n");
		exit(EXIT_FAILURE);
	}
	while (records.size < size) {
		uint64_t kind = random_below(&records, 100);

		if (kind < 80)
			put_sample(&records, 0);
		else if (kind < 88)
			put_sample(&records, 1);
		else if (kind < 90)
			put_sample(&records, stacks ? 2 : 0);
		else
			put_sideband(&records);
	}
	return records;
}

static struct perch_decoder *make_decoder(bool swapped)
{
	const bool here_big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	struct perch_attr attrs[EVENTS] = { make_attr(0), make_attr(1), make_attr(2) };
	struct perch_decoder_event events[EVENTS];
	struct perch_decoder *decoder;

	for (int i = 0; i < EVENTS; i++)
		events[i] = (struct perch_decoder_event){ &attrs[i], event_ids[i], 2 };
	if (perch_decoder_new(&decoder, events, EVENTS,
			      swapped != here_big ? PERCH_BYTES_BIG : PERCH_BYTES_LITTLE, NULL))
		exit(EXIT_FAILURE);
	return decoder;
}

static void write_records(const struct records *records, const char *path)
{
	struct perch_file_event events[EVENTS] = { 0 };
	struct perch_error err = { 0 };
	struct perch_writer *writer;
	struct iovec all = { records->bytes, records->size };

	for (int i = 0; i < EVENTS; i++)
		events[i] = (struct perch_file_event){
			.attr = make_attr(i),
			.name = event_names[i],
			.ids = event_ids[i],
			.nr_ids = 2,
		};
	if (perch_writer_open(&writer, path, events, EVENTS, &err) ||
	    perch_writer_append(writer, &all, 1, &err) || perch_writer_close(writer, &err)) {
		fprintf(stderr, "decode: %s\n", err.message);
		exit(EXIT_FAILURE);
	}
}

#endif
