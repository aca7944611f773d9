/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a record of any two attrs.
 *
 *	clang -g -O1 -fsanitize=fuzzer,address,undefined -Iinclude fuzz/fuzz_record.c \
 *		src/record/?*.c src/error/?*.c src/abi/?*.c -o fuzz_record
 */
#include "touch.h"

struct input {
	uint64_t sample_type, read_format, branch_sample_type, regs_user, regs_intr;
	uint64_t other_type;
	uint8_t sample_id_all;
	uint8_t ids[2];
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void decode(const struct input *input, const void *bytes, size_t size)
{
	struct perch_attr attrs[2] = {
		{ .sample_type = input->sample_type,
		  .read_format = input->read_format,
		  .branch_sample_type = input->branch_sample_type,
		  .sample_regs_user = input->regs_user,
		  .sample_regs_intr = input->regs_intr,
		  .sample_id_all = input->sample_id_all },
		{ .sample_type = input->other_type, .sample_id_all = input->sample_id_all },
	};
	uint64_t ids[2] = { input->ids[0], input->ids[1] };
	struct perch_decoder_event events[2] = { { &attrs[0], &ids[0], 1 },
						 { &attrs[1], &ids[1], 1 } };
	struct perch_decoder *decoder;
	struct perch_record record;
	struct perch_layout layout;
	struct perch_error err;
	uint64_t time;

	perch_layout_init(&layout, &attrs[0], PERCH_BYTES_NATIVE);
	if (!perch_record_decode(&record, &layout, bytes, size, &err))
		touch_record(&record);
	if (perch_decoder_new(&decoder, events, 2, PERCH_BYTES_NATIVE, &err))
		return;
	if (!perch_decoder_decode(decoder, &record, bytes, size, &err))
		touch_record(&record);
	perch_decoder_time(decoder, bytes, size, &time);
	perch_decoder_free(decoder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input;
	void *bytes;

	if (size < sizeof(input))
		return 0;
	memcpy(&input, data, sizeof(input));
	size -= sizeof(input);
	bytes = malloc(size ? size : 1);
	if (!bytes)
		return 0;
	memcpy(bytes, data + sizeof(input), size);
	decode(&input, bytes, size);
	/* Most sizes in a record are wrong: this one right, the rest gets its turn. */
	if (size >= 8 && size <= UINT16_MAX) {
		uint16_t own = size;

		memcpy((char *)bytes + 6, &own, sizeof(own));
		decode(&input, bytes, size);
	}
	free(bytes);
	return 0;
}
