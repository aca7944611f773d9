/* SPDX-License-Identifier: MIT */
/*
 * dump_built FILE SEED: writes records of all types of perf 6.1, of one event with random fields,
 * for dump.py. Most machines cannot record most of these types. Values that perf does not print
 * well are left out: text with line ends, registers of equal names, newer fields.
 */
#include <stdlib.h>
#include <string.h>
#include <perch/file.h>

#include "build/build.h"

#define RECORDS 300
#define ID	77

/* The bits of sample_type in 6.1, and the registers of x86 that are one word each. */
#define SAMPLE_TYPE ((UINT64_C(1) << 25) - 1)
#define X86_WORDS   UINT64_C(0xffffff)
#define BRANCH_TYPES \
	(PERCH_SAMPLE_BRANCH_ANY | PERCH_SAMPLE_BRANCH_USER | PERCH_SAMPLE_BRANCH_HW_INDEX)

static void choose_shape(struct build_shape *shape, struct build_rng *rng)
{
	build_fill_shape(shape, rng);
	shape->big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	shape->sample_id_all = true;
	shape->sample_type &= SAMPLE_TYPE;
	shape->sample_type |= PERCH_SAMPLE_IP | PERCH_SAMPLE_TID | PERCH_SAMPLE_TIME |
			      PERCH_SAMPLE_CPU | PERCH_SAMPLE_ID;
	/* perf decodes READ records as if these were always set */
	shape->read_format |= PERCH_FORMAT_ID | PERCH_FORMAT_TOTAL_TIME_ENABLED |
			      PERCH_FORMAT_TOTAL_TIME_RUNNING;
	shape->branch_sample_type = (shape->branch_sample_type & BRANCH_TYPES) |
				    PERCH_SAMPLE_BRANCH_ANY;
	shape->regs_user &= X86_WORDS;
	shape->regs_intr &= X86_WORDS;
}

/* All types are equally frequent: recorded files have enough samples. */
static uint32_t choose_type(const struct build_shape *shape, struct build_rng *rng)
{
	uint32_t type = 1 + build_below(rng, PERCH_RECORD_AUX_OUTPUT_HW_ID);

	/* perf decodes the READ of a group as that of one event */
	return type == PERCH_RECORD_READ && shape->read_format & PERCH_FORMAT_GROUP
		       ? PERCH_RECORD_AUX
		       : type;
}

/* perf makes threads and mappings from the records, so their numbers must not be too large. */
static void limit_numbers(struct build_record *record)
{
	uint32_t *threads[] = { &record->pid,  &record->tid,	       &record->ppid,
				&record->ptid, &record->sample_id.pid, &record->sample_id.tid };

	for (size_t i = 0; i < sizeof(threads) / sizeof(*threads); i++)
		*threads[i] &= 0xffff;
	record->address &= UINT64_C(0x7ffffff000);
	record->length = (record->length & 0xff000) + 0x1000;
	record->page_offset &= 0xffff000;
	record->bpf_id &= 0xffff;
	record->protection &= 7;
	record->flags &= 3;
	record->kind %= 3;
	record->kind_flags &= 1;
	for (char *at = record->text; *at; at++)
		*at = *at < 'a' || *at > 'z' ? '_' : *at;
	if (!record->text[0])
		record->text[0] = 'x';
	record->sample_id.time >>= 1;
	record->time >>= 1;
	if (record->nr_namespaces > PERCH_NR_NAMESPACES)
		record->nr_namespaces = PERCH_NR_NAMESPACES;
}

static void choose_record(struct build_record *record, struct build_rng *rng)
{
	static const uint64_t pages[] = { 0, 1 << 12, 1 << 16, 1 << 21, 1 << 30 };

	build_fill(record, choose_type(&record->shape, rng), rng);
	limit_numbers(record);
	record->newer = 0;
	record->misc = (record->misc & 0x6000) | PERCH_MISC_USER;
	if (record->type != PERCH_RECORD_MMAP2 && record->type != PERCH_RECORD_SAMPLE)
		record->misc &= PERCH_MISC_USER | 0x2000;
	record->sample_id.cpu = build_below(rng, 8);
	record->sample_id.id = record->id = ID;
	record->sample.no_branch_stack = false;
	record->sample.data_page_size = pages[build_below(rng, 5)];
	record->sample.code_page_size = pages[build_below(rng, 5)];
}

/* The names of registers depend on the machine. */
static int put_machine(struct perch_writer *writer, struct perch_error *err)
{
	struct {
		uint32_t size;
		char name[64];
	} machine = { 64, "x86_64" };

	return perch_writer_set_feature(writer, PERCH_FEATURE_ARCH, &machine, sizeof(machine), err);
}

int main(int argc, char **argv)
{
	static const uint64_t ids[] = { ID };
	static struct build_record record;
	static struct build_bytes bytes;
	struct build_rng rng = { .state = argc == 3 ? strtoull(argv[2], NULL, 0) : 0 };
	struct perch_file_event event = { .name = "dummy", .ids = ids, .nr_ids = 1 };
	struct perch_writer *writer;
	struct perch_error err;

	if (argc != 3)
		return 2;
	choose_shape(&record.shape, &rng);
	build_attr(&event.attr, &record.shape);
	event.attr.type = PERCH_TYPE_SOFTWARE;
	event.attr.config = PERCH_COUNT_SW_DUMMY;
	if (perch_writer_open(&writer, argv[1], &event, 1, &err) < 0)
		return perch_error_print(stderr, &err), 1;
	for (int i = 0; i < RECORDS; i++) {
		struct iovec piece = { bytes.byte, 0 };

		choose_record(&record, &rng);
		build_write(&bytes, &record);
		piece.iov_len = bytes.size;
		if (perch_writer_append(writer, &piece, 1, &err) < 0)
			return perch_error_print(stderr, &err), 1;
	}
	if (put_machine(writer, &err) < 0 || perch_writer_close(writer, &err) < 0)
		return perch_error_print(stderr, &err), 1;
	return 0;
}
