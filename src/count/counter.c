/* SPDX-License-Identifier: MIT */
/* Counters: one event each. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "self_monitoring.h"

struct perch_counter {
	const struct perch__rdpmc *rdpmc;    /* &perch__no_rdpmc if all reads are system calls */
	enum perch__rdpmc_state rdpmc_state; /* of the last read */
	int fd;
	uint32_t generation; /* of the process that opened it */
	struct perch__base base;
	uint64_t id; /* for reads without a system call with PERCH_FORMAT_ID */
	uint64_t read_format;
	size_t words; /* of one read(2) */
	const struct perch_syscalls *calls;
	int map_errno;		       /* of mmap(2), if the page could not be mapped */
	uint32_t type;		       /* attr.type */
	struct perch_machine *machine; /* the caller's, or NULL */
	bool has_missing_features;
	struct perch_attr missing_features;
	char name[sizeof(((struct perch_event *)0)->name)];
};

static int build(struct perch_attr *attr, const struct perch_event *event,
		 const struct perch_options *options, struct perch_error *err)
{
	int rc = perch_attr_build(attr, event, options, err);

	if (rc)
		return rc;
	attr->read_format |= PERCH__TIMES;
	if (!(attr->read_format & PERCH_FORMAT_GROUP))
		return 0;
	perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
			"a counter cannot be read with PERCH_FORMAT_GROUP: use perch_group_open()");
	perch_error_field(err, "read_format", NULL);
	return -EINVAL;
}

/*
 * On arm64 a bit of config1 requests user-space access, and the kernel refuses events that do not
 * support it. The event is then opened again without the bit.
 */
static int open_without_rdpmc(struct perch_counter *counter, struct perch_attr *attr,
			      const struct perch_event *event, const struct perch_target *target,
			      const struct perch_options *options)
{
	struct perch_options plain = *options;
	struct perch_attr other;

	plain.self_monitoring = 0;
	if (build(&other, event, &plain, NULL) || !memcmp(&other, attr, sizeof(other)))
		return -1;
	*attr = other;
	counter->rdpmc_state = PERCH__RDPMC_REFUSED;
	return perch__open_counting(attr, options->optional, &counter->missing_features, target, -1,
				    options->machine, NULL);
}

static int open_descriptor(struct perch_counter *counter, struct perch_attr *attr,
			   const struct perch_event *event, const struct perch_target *target,
			   const struct perch_options *options, struct perch_error *err)
{
	struct perch_error first_err;
	int fd = perch__open_counting(attr, options->optional, &counter->missing_features, target,
				      -1, options->machine, &first_err);
	int rc = fd;

	if (fd < 0 && options->self_monitoring && (rc == -EINVAL || rc == -EOPNOTSUPP))
		fd = open_without_rdpmc(counter, attr, event, target, options);
	if (fd < 0) {
		if (err)
			*err = first_err;
		return rc;
	}
	counter->fd = fd;
	if (!event->filter)
		return 0;
	rc = perch_event_set_filter(fd, event->filter, attr, options->machine, err);
	if (rc)
		counter->calls->close(counter->calls->context, fd);
	return rc;
}

/* After any failure the counter is read by system calls. */
static void map_rdpmc_page(struct perch_counter *counter)
{
	if (counter->rdpmc_state == PERCH__RDPMC_REFUSED)
		return;
	counter->rdpmc_state =
		perch__rdpmc_map(&counter->rdpmc, counter->fd, counter->calls, &counter->map_errno);
	if (counter->rdpmc->page && counter->read_format & PERCH_FORMAT_ID &&
	    perch__control(counter->calls, counter->fd, PERCH_IOC_ID, (unsigned long)&counter->id))
		counter->id = 0;
}

int perch_counter_open_event(struct perch_counter **counter, const struct perch_event *event,
			     const struct perch_target *target, const struct perch_options *options,
			     struct perch_error *err)
{
	struct perch_options wanted = options ? *options : (struct perch_options){ 0 };
	enum perch__rdpmc_state state = PERCH__RDPMC_NOT_REQUESTED;
	struct perch_counter *new_counter;
	struct perch_attr attr;
	int rc;

	*counter = NULL;
	options = &wanted;
	rc = build(&attr, event, options, err);
	if (!rc && wanted.self_monitoring)
		state = perch__rdpmc_check(&attr, target);
	if (!rc && wanted.self_monitoring && state != PERCH__RDPMC_USED) {
		wanted.self_monitoring = 0; /* some PMUs refuse the bit that requests it */
		rc = build(&attr, event, options, err);
	}
	if (rc)
		return rc;
	new_counter = calloc(1, sizeof(*new_counter));
	if (!new_counter)
		return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY,
				       "no memory for the counter");
	new_counter->calls = perch_machine_syscalls(options->machine);
	new_counter->generation = perch__fork_generation();
	new_counter->rdpmc = &perch__no_rdpmc;
	new_counter->rdpmc_state = state;
	new_counter->type = attr.type;
	new_counter->machine = options->machine;
	rc = open_descriptor(new_counter, &attr, event, target, options, err);
	if (rc) {
		free(new_counter);
		return rc;
	}
	new_counter->has_missing_features = perch__any_feature(&new_counter->missing_features);
	new_counter->read_format = attr.read_format;
	new_counter->words = perch__read_words(attr.read_format, 1);
	memcpy(new_counter->name, event->name, sizeof(new_counter->name));
	new_counter->name[sizeof(new_counter->name) - 1] = '\0';
	if (options->self_monitoring)
		map_rdpmc_page(new_counter);
	*counter = new_counter;
	return 0;
}

int perch_counter_open(struct perch_counter **counter, const char *text,
		       const struct perch_target *target, const struct perch_options *options,
		       struct perch_error *err)
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
		rc = perch_error_set(
			err, EINVAL, PERCH_ERROR_USAGE,
			"'%s' is %zu events, and a counter has one: use perch_group_open()", text,
			events.nr);
	perch_events_clear(&events);
	return rc;
}

void perch_counter_close(struct perch_counter *counter)
{
	if (!counter)
		return;
	perch__rdpmc_unmap(counter->rdpmc, counter->calls);
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

/* In a child the requests would act on the event of the parent. */
static int check_fork(const struct perch_counter *counter, struct perch_error *err)
{
	return perch__is_forked(counter->generation)
		       ? PERCH__FORK_ERROR(err, "the counter '%s'", counter->name)
		       : 0;
}

int perch_counter_enable(struct perch_counter *counter)
{
	if (perch__is_forked(counter->generation))
		return -ESTALE;
	return perch__control(counter->calls, counter->fd, PERCH_IOC_ENABLE, 0);
}

int perch_counter_disable(struct perch_counter *counter)
{
	if (perch__is_forked(counter->generation))
		return -ESTALE;
	return perch__control(counter->calls, counter->fd, PERCH_IOC_DISABLE, 0);
}

int perch_counter_reset(struct perch_counter *counter)
{
	uint64_t words[PERCH__SINGLE_WORDS];
	int rc;

	if (perch__is_forked(counter->generation))
		return -ESTALE;
	rc = perch__control(counter->calls, counter->fd, PERCH_IOC_RESET, 0);
	if (!rc)
		rc = perch__read(counter->calls, counter->fd, words, counter->words, counter->name,
				 NULL);
	if (!rc)
		counter->base = (struct perch__base){ words[1], words[2] };
	return rc;
}

/* Not inline: the path without a system call needs no stack frame. */
static __attribute__((noinline)) int read_by_syscall(struct perch_counter *counter,
						     struct perch_count *count,
						     struct perch_error *err)
{
	uint64_t words[PERCH__SINGLE_WORDS];
	int rc;

	rc = perch__read(counter->calls, counter->fd, words, counter->words, counter->name, err);
	if (!rc)
		perch__parse_single(count, words, counter->read_format, &counter->base);
	return rc;
}

/* Fast path for an event that was on the PMU all the time since the last reset. */
static inline int fill_count(struct perch_counter *counter, struct perch_count *count,
			     const uint64_t words[3])
{
	uint64_t enabled = words[1] - counter->base.enabled_ns;
	uint64_t running = words[2] - counter->base.running_ns;

	counter->rdpmc_state = PERCH__RDPMC_USED;
	count->value = count->scaled = words[0];
	count->enabled_ns = enabled;
	count->running_ns = running;
	count->id = counter->id;
	count->lost = 0;
	count->state = PERCH_COUNT_STATE_EXACT;
	if (PERCH__UNLIKELY(enabled != running || (int64_t)enabled <= 0))
		return perch__evaluate_signed(count, enabled, running);
	return 0;
}

/*
 * Called after the first attempt has failed. If the page was changing, makes attempts with
 * adjust_wrapped; otherwise uses read(2).
 */
static __attribute__((noinline)) int read_slow(struct perch_counter *counter,
					       struct perch_count *count,
					       enum perch__rdpmc_state state,
					       struct perch_error *err)
{
	uint64_t words[3] = { 0 };

	/* a child comes here, because the memory with the thread is zero there */
	if (perch__is_forked(counter->generation))
		return check_fork(counter, err);
	if (state == PERCH__RDPMC_BUSY)
		state = perch__page_read(counter->rdpmc->page, words, perch__read_register,
					 perch__read_clock);
	if (state == PERCH__RDPMC_USED)
		return fill_count(counter, count, words);
	if (counter->rdpmc != &perch__no_rdpmc) /* otherwise the state is final since the open */
		counter->rdpmc_state = state;
	return read_by_syscall(counter, count, err);
}

int perch_counter_read(struct perch_counter *counter, struct perch_count *count,
		       struct perch_error *err)
{
	struct perch__rdpmc rdpmc = *counter->rdpmc;
	enum perch__rdpmc_state state = PERCH__RDPMC_OTHER_THREAD;
	uint64_t words[3];

	if (PERCH__LIKELY(rdpmc.thread == perch__this_thread())) {
		state = perch__page_try(rdpmc.page, words, false, perch__read_register,
					perch__read_clock);
		if (PERCH__LIKELY(state == PERCH__RDPMC_USED))
			return fill_count(counter, count, words);
	}
	return read_slow(counter, count, state, err);
}

bool perch_counter_self_monitoring(const struct perch_counter *counter, struct perch_error *err)
{
	enum perch__rdpmc_state state = counter->rdpmc_state;

	if (perch__is_forked(counter->generation)) {
		check_fork(counter, err);
		return false;
	}
	if (err)
		state = perch__rdpmc_cause(state, counter->type, counter->machine);
	return perch__rdpmc_report(state, counter->map_errno, counter->name, err);
}

const struct perch_attr *perch_counter_missing_features(const struct perch_counter *counter)
{
	return counter->has_missing_features ? &counter->missing_features : NULL;
}

int perch_counter_id(struct perch_counter *counter, uint64_t *id, struct perch_error *err)
{
	int rc = check_fork(counter, err);

	if (rc)
		return rc;
	rc = perch__control(counter->calls, counter->fd, PERCH_IOC_ID, (unsigned long)id);
	if (rc)
		return perch__control_error(-rc, PERCH_IOC_ID, counter->name, err);
	return 0;
}
