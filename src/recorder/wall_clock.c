/* SPDX-License-Identifier: MIT */
/*
 * One point in time by the wall clock and by the clock of samples. No system call reads the clock
 * that events have by default. But when this thread sets its name, which stays the same, the kernel
 * writes a COMM record with the time.
 */
#include <sys/prctl.h>
#include <time.h>
#include <perch/open.h>
#include <perch/ring.h>

#include "internal.h"

/* The wall clock at the middle of a call is that of the call. */
static bool cause_record(struct recorder_moment *moment)
{
	uint64_t before, after;
	char name[16];

	if (prctl(PR_GET_NAME, name))
		return false;
	before = recorder_clock(CLOCK_REALTIME);
	if (prctl(PR_SET_NAME, name))
		return false;
	after = recorder_clock(CLOCK_REALTIME);
	moment->wall = before + (after - before) / 2;
	return before && before <= after;
}

static bool read_record(struct perch_ring *ring, const struct perch_attr *attr,
			struct recorder_moment *moment)
{
	const struct perch_record_header *header;
	struct perch_parse_info parse_info;
	struct perch_record record;

	perch_parse_info_init(&parse_info, attr, PERCH_BYTES_NATIVE);
	while ((header = perch_ring_next(ring)))
		if (perch_record_decode(&record, &parse_info, header, header->size, NULL) >= 0 &&
		    record.type == PERCH_RECORD_COMM)
			moment->time = record.sample_id.time;
	return moment->time;
}

static bool by_default(struct recorder_moment *moment, struct perch_machine *machine)
{
	const struct perch_attr attr = { .type = PERCH_TYPE_SOFTWARE,
					 .size = sizeof(attr),
					 .config = PERCH_COUNT_SW_DUMMY,
					 .sample_type = PERCH_SAMPLE_TIME,
					 .exclude_kernel = 1,
					 .exclude_hv = 1,
					 .comm = 1,
					 .sample_id_all = 1 };
	struct recorder_moment found = { .clock = RECORDER_DEFAULT_CLOCK };
	int fd = perch_open(&attr, &perch_self, -1, PERCH_FLAG_FD_CLOEXEC, machine, NULL);
	const struct perch_syscalls *calls = perch_machine_syscalls(machine);
	struct perch_ring *ring = NULL;
	bool complete;

	if (fd < 0)
		return false;
	complete = !perch_ring_open(&ring, fd, 1, PERCH_RING_FORWARD, machine, NULL) &&
		   cause_record(&found) && read_record(ring, &attr, &found);
	perch_ring_close(ring);
	calls->close(calls->context, fd);
	if (complete)
		*moment = found;
	return complete;
}

static bool by_clock(struct recorder_moment *moment, int32_t clock)
{
	uint64_t time = recorder_clock(clock), wall = recorder_clock(CLOCK_REALTIME);

	if (!time || !wall)
		return false;
	*moment = (struct recorder_moment){ (uint32_t)clock, wall, time };
	return true;
}

bool perch__recorder_take_moment(struct recorder_moment *moment,
				 const struct perch_options *options, struct perch_machine *machine)
{
	return options->use_clockid ? by_clock(moment, options->clockid)
				    : by_default(moment, machine);
}

int perch__recorder_write_moment(struct perch_writer *writer, const struct recorder_moment *moment,
				 struct perch_error *err)
{
	const struct {
		uint32_t version, clock;
		uint64_t wall, time;
	} data = { 1, moment->clock, moment->wall, moment->time };

	return perch_writer_set_feature(writer, PERCH_FEATURE_CLOCK_DATA, &data, sizeof(data), err);
}
