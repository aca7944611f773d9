/* SPDX-License-Identifier: MIT */
/* One event, counted. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

struct perch_counter {
	const struct perch_calls *calls;
	int fd;
	uint64_t format;
	struct reset_times reset;
	char name[128];
};

int perch_counter_open_event(struct perch_counter **result, const struct perch_event *event,
			     const struct perch_target *target, const struct perch_options *options,
			     struct perch_error *err)
{
	struct perch_options wanted = options ? *options : (struct perch_options){ 0 };
	struct perch_counter *counter;
	struct perch_attr attr;
	int rc;

	wanted.read |= PERCH_FORMAT_TOTAL_TIME_ENABLED | PERCH_FORMAT_TOTAL_TIME_RUNNING;
	wanted.read &= ~(uint64_t)PERCH_FORMAT_GROUP;
	rc = perch_attr_build(&attr, event, &wanted, err);
	if (rc < 0)
		return rc;
	counter = calloc(1, sizeof(*counter));
	if (!counter)
		return perch_error_set(err, ENOMEM, PERCH_CAUSE_NO_MEMORY, "no memory for a counter");
	counter->calls = perch_machine_calls(wanted.machine);
	counter->format = wanted.read;
	snprintf(counter->name, sizeof(counter->name), "%s", event->name);
	counter->fd = perch_open(&attr, target, -1, 0, wanted.machine, err);
	if (counter->fd < 0) {
		rc = counter->fd;
		free(counter);
		perch_error_prefix(err, "event '%s': ", event->name);
		return rc;
	}
	*result = counter;
	return 0;
}

int perch_counter_open(struct perch_counter **counter, const char *text, const struct perch_target *target,
		       const struct perch_options *options, struct perch_error *err)
{
	struct perch_events events = { 0, NULL };
	int rc = perch_events_parse(&events, text, options ? options->machine : NULL, err);

	if (rc < 0)
		return rc;
	if (events.nr == 1)
		rc = perch_counter_open_event(counter, &events.event[0], target, options, err);
	else
		rc = perch_error_set(err, EINVAL, PERCH_CAUSE_USAGE, "'%s' is %zu events; a counter counts one", text,
				     events.nr);
	perch_events_clear(&events);
	return rc;
}

void perch_counter_close(struct perch_counter *counter)
{
	if (!counter)
		return;
	counter->calls->close(counter->calls->context, counter->fd);
	free(counter);
}

int perch_counter_fd(const struct perch_counter *counter)
{
	return counter->fd;
}

const char *perch_counter_name(const struct perch_counter *counter)
{
	return counter->name;
}

static int control(const struct perch_counter *counter, unsigned long request, unsigned long argument)
{
	int rc = counter->calls->control(counter->calls->context, counter->fd, request, argument);

	return rc < 0 ? -errno : 0;
}

int perch_counter_enable(struct perch_counter *counter)
{
	return control(counter, PERCH_IOC_ENABLE, 0);
}

int perch_counter_disable(struct perch_counter *counter)
{
	return control(counter, PERCH_IOC_DISABLE, 0);
}

static int read_raw(struct perch_counter *counter, struct raw_count *raw, struct perch_error *err)
{
	uint64_t words[8];		/* a lone event has at most five */

	return perch__read_counts(counter->calls, counter->fd, counter->name, counter->format, words, raw, 1, err);
}

int perch_counter_reset(struct perch_counter *counter)
{
	struct raw_count raw;
	int rc = control(counter, PERCH_IOC_RESET, 0);

	if (rc < 0)
		return rc;
	rc = read_raw(counter, &raw, NULL);
	if (rc < 0)
		return rc;
	counter->reset = (struct reset_times){ raw.enabled, raw.running };
	return 0;
}

int perch_counter_read(struct perch_counter *counter, struct perch_count *count, struct perch_error *err)
{
	struct raw_count raw;
	int rc = read_raw(counter, &raw, err);

	if (rc == 0)
		perch__make_count(count, &raw, &counter->reset);
	return rc;
}

int perch_counter_id(struct perch_counter *counter, uint64_t *id, struct perch_error *err)
{
	int rc = control(counter, PERCH_IOC_ID, (unsigned long)id);

	if (rc < 0)
		return perch_error_set(err, -rc, PERCH_CAUSE_SYSTEM, "no id of event '%s': %s", counter->name,
				       strerror(-rc));
	return 0;
}
