/* SPDX-License-Identifier: MIT */
/* The number of lost samples of an event, as read(2) returns it with PERCH_FORMAT_LOST. */
#include <errno.h>
#include <string.h>

#include "internal.h"

#define READ_WORDS 2048 /* the kernel's limit for one read(2) is 16 KiB */

/* The result of a read(2) of the event, as a READ record, which has the same body. */
struct reading {
	struct perch_record_header header;
	uint32_t pid, tid;
	uint64_t word[READ_WORDS];
};

static int find_lost(const struct perch_read_values *values, uint64_t id, uint64_t *lost)
{
	for (uint64_t i = 0; i < values->nr; i++) {
		struct perch_read_value value;

		perch_read_values_at(values, i, &value);
		if (values->nr > 1 && value.id != id)
			continue;
		*lost = value.lost;
		return 0;
	}
	return -EBADMSG;
}

static int read_lost(struct perch_sampler *sampler, const struct perch__sampler_event *event,
		     size_t id, uint64_t *lost)
{
	const struct perch_syscalls *calls = perch_machine_syscalls(sampler->machine);
	struct reading reading = { .header = { .type = PERCH_RECORD_READ } };
	struct perch_parse_info parse_info;
	struct perch_record record;
	ssize_t got = calls->read(calls->context, event->id_info[id].fd, reading.word,
				  sizeof(reading.word));

	if (got < 0)
		return -errno;
	/* a pinned event in error state takes no samples */
	if (!got) {
		*lost = 0;
		return 0;
	}
	perch_parse_info_init(&parse_info, &event->attr, PERCH_BYTES_NATIVE);
	parse_info.sample_id_all = false; /* no trailer here */
	parse_info.id_size = 0;
	parse_info.trailer_id_word = parse_info.trailer_time_word = -1;
	reading.header.size = (uint16_t)(offsetof(struct reading, word) + (size_t)got);
	if (perch_record_decode(&record, &parse_info, &reading, reading.header.size, NULL) < 0)
		return -EBADMSG;
	return find_lost(&record.read.values, event->ids[id], lost);
}

static int explain_read(const struct perch_sampler *sampler,
			const struct perch__sampler_event *event, size_t id, int errnum,
			struct perch_error *err)
{
	const struct perch_operation operation = {
		.kind = PERCH_OPERATION_READ,
		.errnum = errnum,
		.attr = &event->attr,
		.pid = event->id_info[id].tid,
		.cpu = event->id_info[id].cpu,
		.size = READ_WORDS * sizeof(uint64_t),
		.other_fd = -1,
	};
	struct perch_explanation explanation;

	perch_explain_operation(&operation, sampler->machine, &explanation);
	perch_explanation_error(&explanation, err);
	perch_error_prefix(err, "lost samples of event '%s': ", event->name);
	return -errnum;
}

int perch_sampler_lost(struct perch_sampler *sampler, size_t index, size_t id, uint64_t *lost,
		       struct perch_error *err)
{
	const struct perch__sampler_event *event =
		index < sampler->nr_events ? &sampler->events[index] : NULL;
	int rc = perch__sampler_check_fork(sampler, err);

	if (rc)
		return rc;
	if (!event || id >= event->nr_ids)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "the sampler has no id %zu of an event %zu", id, index);
	if (event->id_info[id].fd < 0)
		return perch_error_set(err, ESRCH, PERCH_ERROR_NO_PROCESS,
				       "thread %d was removed from the sampler",
				       (int)event->id_info[id].tid);
	if (!(event->attr.read_format & PERCH_FORMAT_LOST) ||
	    (event->attr.read_format & PERCH_FORMAT_GROUP &&
	     !(event->attr.read_format & PERCH_FORMAT_ID)))
		return perch_error_set(
			err, EINVAL, PERCH_ERROR_USAGE,
			"lost samples of event '%s' need PERCH_FORMAT_LOST, and PERCH_FORMAT_ID in a group",
			event->name);
	rc = read_lost(sampler, event, id, lost);
	if (rc == -EBADMSG)
		return perch_error_set(err, EBADMSG, PERCH_ERROR_SHORT_READ,
				       "read(2) returned no count of lost samples of event '%s'",
				       event->name);
	return rc < 0 ? explain_read(sampler, event, id, -rc, err) : 0;
}
