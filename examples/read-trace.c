/* SPDX-License-Identifier: MIT */
/*
 * Reads the AUX area of a trace unit: each AUX record in the ring has the position of new bytes in
 * the area, and flags for missing ones. Few machines have a trace unit (Intel PT, Arm SPE,
 * CoreSight), so this program emulates it in its own memory. With a real one, use perch_ring_open()
 * and perch_ring_open_aux() instead of the two _from_memory functions.
 */
#include <stdio.h>
#include <string.h>
#include <perch/ring.h>

#define RING_BYTES 4096
#define AREA_BYTES 64

static struct perch_mmap_page control;
static uint64_t ring_bytes[RING_BYTES / 8];
static char area[AREA_BYTES];

/* Emulates the trace unit and the kernel: writes bytes to the area, as far as there is space, then
 * a record, then the heads. */
static void emulate_unit(const char *trace)
{
	size_t wanted = strlen(trace),
	       space = AREA_BYTES - 1 - (control.aux_head - control.aux_tail);
	struct {
		struct perch_record_header header;
		uint64_t offset, size, flags;
	} record = {
		{ PERCH_RECORD_AUX, 0, sizeof(record) },
		control.aux_head,
		wanted,
		0,
	};

	if (wanted > space) {
		record.size = space;
		record.flags = PERCH_AUX_FLAG_TRUNCATED;
	}
	for (uint64_t i = 0; i < record.size; i++)
		area[(control.aux_head + i) % AREA_BYTES] = trace[i];
	memcpy((char *)ring_bytes + control.data_head % RING_BYTES, &record, sizeof(record));
	control.data_head += sizeof(record);
	control.aux_head += record.size;
}

static void print_trace(struct perch_ring *ring, const struct perch_parse_info *parse_info)
{
	const struct perch_record_header *bytes;
	struct perch_record record;
	struct iovec pieces[2];

	while ((bytes = perch_ring_next(ring))) {
		if (perch_record_decode(&record, parse_info, bytes, bytes->size, NULL) < 0 ||
		    record.type != PERCH_RECORD_AUX)
			continue;
		if (perch_ring_aux_data(ring, &record, pieces) > 0)
			for (int i = 0; i < 2; i++)
				fwrite(pieces[i].iov_base, 1, pieces[i].iov_len, stdout);
		puts(record.aux.flags & PERCH_AUX_FLAG_TRUNCATED ? " ...truncated" : "");
	}
	perch_ring_aux_consume(ring, SIZE_MAX);
}

int main(void)
{
	static const struct perch_attr attr = { .size = sizeof(attr) };
	struct perch_aux_stats stats;
	struct perch_parse_info parse_info;
	struct perch_ring *ring;
	struct perch_error err;

	perch_parse_info_init(&parse_info, &attr, PERCH_BYTES_NATIVE);
	if (perch_ring_from_memory(&ring, &control, ring_bytes, RING_BYTES, PERCH_RING_FORWARD,
				   &err) < 0 ||
	    perch_ring_aux_from_memory(ring, area, AREA_BYTES, PERCH_RING_FORWARD, &err) < 0) {
		fprintf(stderr, "%s\n", err.message);
		return 1;
	}
	emulate_unit("main called start");
	emulate_unit("start called twenty functions");
	print_trace(ring, &parse_info);
	emulate_unit("all of them returned, the last one in two pieces"); /* wraps around the end of
									     the area */
	emulate_unit("main returned, but this was too much at once");
	print_trace(ring, &parse_info);
	perch_ring_get_aux_stats(ring, &stats);
	printf("%llu bytes, %llu truncated records\n", (unsigned long long)stats.bytes,
	       (unsigned long long)stats.truncated);
	perch_ring_close(ring);
	return stats.truncated == 1 ? 0 : 1;
}
