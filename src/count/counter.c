/* SPDX-License-Identifier: MIT */
/* One event, counted. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define MOST_WORDS 5			/* value, two times, id, lost */

struct perch_counter {
	const struct perch_calls *calls;
	int fd;
	uint64_t read_format;
	size_t words;			/* of one read */
	struct perch__base base;
	char name[sizeof(((struct perch_event *)0)->name)];
};

int perch_counter_open_event(struct perch_counter **counter, const struct perch_event *event,
			     const struct perch_target *target, const struct perch_options *options,
			     struct perch_error *err)
{
	struct perch_machine *machine = options ? options->machine : NULL;
	struct perch_counter *made;
	struct perch_attr attr;
	int rc;

	*counter = NULL;
	rc = perch_attr_build(&attr, event, options, err);
	if (rc)
		return rc;
	attr.read_format |= PERCH__TIMES;
	if (attr.read_format & PERCH_FORMAT_GROUP) {
		perch_error_set(err, EINVAL, PERCH_CAUSE_USAGE, "PERCH_FORMAT_GROUP is for groups: perch_group_open()");
		perch_error_field(err, "read_format", NULL);
		return -EINVAL;
	}
	made = malloc(sizeof(*made));
	if (!made)
		return perch_error_set(err, ENOMEM, PERCH_CAUSE_NO_MEMORY, "no memory for the counter");
	*made = (struct perch_counter){ .calls = perch_machine_calls(machine), .read_format = attr.read_format,
					.words = perch__read_words(attr.read_format, 1) };
	memcpy(made->name, event->name, sizeof(made->name));
	made->name[sizeof(made->name) - 1] = '\0';
	made->fd = perch_open(&attr, target, -1, 0, machine, err);
	if (made->fd < 0) {
		rc = made->fd;
		free(made);
		return rc;
	}
	*counter = made;
	return 0;
}

int perch_counter_open(struct perch_counter **counter, const char *text, const struct perch_target *target,
		       const struct perch_options *options, struct perch_error *err)
{
	struct perch_events events = { 0 };
	int rc;

	*counter = NULL;
	rc = perch_events_parse(&events, text, options ? options->machine : NULL, err);
	if (rc)
		return rc;
	if (events.nr == 1)
		rc = perch_counter_open_event(counter, &events.event[0], target, options, err);
	else
		rc = perch_error_set(err, EINVAL, PERCH_CAUSE_USAGE,
				     "'%s' is %zu events and a counter has one: perch_group_open() takes several", text,
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

int perch_counter_enable(struct perch_counter *counter)
{
	return perch__control(counter->calls, counter->fd, PERCH_IOC_ENABLE, 0);
}

int perch_counter_disable(struct perch_counter *counter)
{
	return perch__control(counter->calls, counter->fd, PERCH_IOC_DISABLE, 0);
}

int perch_counter_reset(struct perch_counter *counter)
{
	uint64_t words[MOST_WORDS];
	int rc;

	rc = perch__control(counter->calls, counter->fd, PERCH_IOC_RESET, 0);
	if (!rc)
		rc = perch__read(counter->calls, counter->fd, words, counter->words, counter->name, NULL);
	if (!rc)
		counter->base = (struct perch__base){ words[1], words[2] };
	return rc;
}

int perch_counter_read(struct perch_counter *counter, struct perch_count *count, struct perch_error *err)
{
	uint64_t words[MOST_WORDS];
	int rc;

	rc = perch__read(counter->calls, counter->fd, words, counter->words, counter->name, err);
	if (!rc)
		perch__take_counts(count, words, counter->read_format, &counter->base);
	return rc;
}

int perch_counter_id(struct perch_counter *counter, uint64_t *id, struct perch_error *err)
{
	int rc = perch__control(counter->calls, counter->fd, PERCH_IOC_ID, (unsigned long)id);

	if (rc)
		return perch_error_set(err, -rc, PERCH_CAUSE_SYSTEM, "cannot ask the id of '%s': %s", counter->name,
				       strerror(-rc));
	return 0;
}
