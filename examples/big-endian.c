/* SPDX-License-Identifier: MIT */
/*
 * Decodes the bytes that a big-endian machine recorded: an attr and the records of its event. They
 * could be from a file or a socket; here they are in the program. They lie at any address.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <perch/fields.h>

/* The first 64 bytes of the attr, as kernels since 2.6.31 have them. */
static const char attr_bytes[] =
	"\0\0\0\1"			    /* type: software */
	"\0\0\0\100"			    /* size */
	"\0\0\0\0\0\0\0\0"		    /* config: cpu-clock */
	"\0\0\0\0\0\0\3\350"		    /* sample_period: 1000 */
	"\0\0\0\0\0\0\0\47"		    /* sample_type: IP, TID, TIME, CALLCHAIN */
	"\0\0\0\0\0\0\0\0"		    /* read_format */
	"\0\100\0\0\0\0\0\0"		    /* bits: comm */
	"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"; /* wakeup_events, bp_type, config1 */

/* The final NUL of the string is not a part of the records. */
static const char records[] =
	/* COMM of 24 bytes: thread 71 of process 70 has the name "java" */
	"\0\0\0\3\0\0\0\30\0\0\0\106\0\0\0\107java\0\0\0\0"
	/* SAMPLE of 56 bytes */
	"\0\0\0\11\0\2\0\70"
	"\0\0\0\0\0\1\20\4"	/* ip */
	"\0\0\0\106\0\0\0\107"	/* pid, tid */
	"\0\0\0\0\73\232\312\0" /* time: 1 s */
	"\0\0\0\0\0\0\0\2"	/* two addresses */
	"\0\0\0\0\0\1\20\4\0\0\0\0\0\1\40\10";

/* Numbers of the view are in the order of this machine; the functions convert those of arrays. */
static void print_sample(const struct perch_record *record)
{
	struct perch_chain_address address;
	struct perch_chain chain;

	printf("SAMPLE of thread %" PRIu32 " at %" PRIu64 " ns:", record->sample.tid,
	       record->sample.time);
	perch_chain_init(&chain, record);
	while (perch_chain_next(&chain, &address))
		printf(" 0x%" PRIx64, address.ip);
	printf("\n");
}

static void print_record(const struct perch_record *record)
{
	const char *name = perch_record_name(record->type);
	char comm[64];

	if (record->type == PERCH_RECORD_SAMPLE) {
		print_sample(record);
	} else if (record->type == PERCH_RECORD_COMM) {
		perch_clean_text(record->comm.comm.text, comm, sizeof(comm));
		printf("COMM of thread %" PRIu32 ": %s\n", record->comm.tid, comm);
	} else {
		printf("%s\n", name ? name : "unknown");
	}
}

static int fail(const struct perch_error *err)
{
	perch_error_print(stderr, err);
	return 1;
}

int main(void)
{
	static char scratch[PERCH_SCRATCH_BYTES];
	struct perch_parse_info parse_info;
	struct perch_record record;
	struct perch_error err;
	size_t at = 0;

	if (perch_parse_info_from_bytes(&parse_info, NULL, attr_bytes, sizeof(attr_bytes) - 1,
					PERCH_BYTES_BIG, &err) < 0)
		return fail(&err);
	for (; at < sizeof(records) - 1; at += record.size) {
		struct iovec piece = { (void *)(records + at), sizeof(records) - 1 - at };

		if (perch_record_decode_pieces(&record, &parse_info, &piece, 1, scratch,
					       sizeof(scratch), &err))
			return fail(&err);
		print_record(&record);
	}
	return 0;
}
