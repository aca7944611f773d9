/* SPDX-License-Identifier: MIT */
/* Counters: one event each. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/no_memory.h"
#include "self_monitoring.h"

struct perch_counter {
	const struct perch__rdpmc *rdpmc;    /* &perch__no_rdpmc if all reads are system calls */
	enum perch__rdpmc_state rdpmc_state; /* of the last read */
	int fd;				     /* opened.fd */
	uint32_t generation;		     /* of the process that opened it */
	struct perch__base base;
	uint64_t id; /* for reads without a system call with PERCH_FORMAT_ID */
	uint64_t read_format;
	size_t words; /* of one read(2) */
	const struct perch_syscalls *calls;
	int map_errno;			    /* of mmap(2), if the page could not be mapped */
	struct perch_machine *machine;	    /* the caller's, or NULL */
	const struct perch_mmap_page *page; /* for times; NULL until it is mapped */
	struct perch__opened opened;
};

static int check_format(const struct perch_attr *attr, struct perch_error *err)
{
	if (!(attr->read_format & PERCH_FORMAT_GROUP))
		return 0;
	perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
			"a counter cannot be read with PERCH_FORMAT_GROUP: use a group");
	perch_error_field(err, "read_format", NULL);
	return -EINVAL;
}

static int build_attr(struct perch_attr *attr, const struct perch_event *event,
		      const struct perch_options *options, struct perch_error *err)
{
	int rc = perch_attr_build(attr, event, options, err);

	if (rc)
		return rc;
	attr->read_format |= PERCH__TIMES;
	return check_format(attr, err);
}

/*
 * On arm64 a bit of config1 requests user-space access, and the kernel refuses events that do not
 * support it. The event is then opened again without the bit.
 */
static int open_without_rdpmc(struct perch_counter *counter, const struct perch_event *event,
			      const struct perch_target *target,
			      const struct perch_options *options)
{
	struct perch_options plain = *options;
	struct perch_attr other;

	plain.self_monitoring = 0;
	if (build_attr(&other, event, &plain, NULL) ||
	    !memcmp(&other, &counter->opened.attr, sizeof(other)))
		return -1;
	counter->opened.attr = other;
	counter->rdpmc_state = PERCH__RDPMC_REFUSED;
	return perch__open_event(&counter->opened, event, target, -1, &plain, NULL);
}

static int open_descriptor(struct perch_counter *counter, const struct perch_event *event,
			   const struct perch_target *target, const struct perch_options *options,
			   struct perch_error *err)
{
	struct perch_error first_err;
	int rc = perch__open_event(&counter->opened, event, target, -1, options, &first_err);
	bool may_be_rdpmc = rc == -EINVAL || rc == -EOPNOTSUPP ||
			    (rc == -EACCES && options->may & PERCH_MAY_EXCLUDE_KERNEL);

	if (may_be_rdpmc && options->self_monitoring &&
	    !open_without_rdpmc(counter, event, target, options))
		return 0;
	if (rc && err)
		*err = first_err;
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

static struct perch_counter *make_counter(struct perch_machine *machine, struct perch_error *err)
{
	struct perch_counter *counter = calloc(1, sizeof(*counter));

	if (!counter) {
		PERCH__NO_MEMORY(err, "for the counter");
		return NULL;
	}
	counter->calls = perch_machine_syscalls(machine);
	counter->generation = perch__fork_generation();
	counter->rdpmc = &perch__no_rdpmc;
	counter->rdpmc_state = PERCH__RDPMC_NOT_REQUESTED;
	counter->machine = machine;
	return counter;
}

/* Copies what each read uses out of counter->opened. */
static void set_opened(struct perch_counter *counter)
{
	counter->fd = counter->opened.fd;
	counter->read_format = counter->opened.attr.read_format;
	counter->words = perch__read_words(counter->read_format, 1);
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
	rc = perch__check_may(options, err);
	if (!rc)
		rc = build_attr(&attr, event, options, err);
	if (!rc && wanted.self_monitoring)
		state = perch__rdpmc_check(&attr, target);
	if (!rc && wanted.self_monitoring && state != PERCH__RDPMC_USED) {
		wanted.self_monitoring = 0; /* some PMUs refuse the bit that requests it */
		rc = build_attr(&attr, event, options, err);
	}
	if (rc)
		return rc;
	new_counter = make_counter(options->machine, err);
	if (!new_counter)
		return -ENOMEM;
	new_counter->rdpmc_state = state;
	new_counter->opened.attr = attr;
	rc = open_descriptor(new_counter, event, target, options, err);
	if (rc) {
		free(new_counter);
		return rc;
	}
	set_opened(new_counter);
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

int perch_counter_from_fd(struct perch_counter **counter, int fd, const struct perch_attr *attr,
			  const char *name, struct perch_machine *machine, struct perch_error *err)
{
	struct perch_counter *new_counter;
	int rc;

	*counter = NULL;
	rc = check_format(attr, err);
	if (!rc)
		rc = perch__check_descriptor(fd, attr, machine, err);
	if (rc)
		return rc;
	new_counter = make_counter(machine, err);
	if (!new_counter)
		return -ENOMEM;
	perch__adopt(&new_counter->opened, fd, attr, name);
	set_opened(new_counter);
	*counter = new_counter;
	return 0;
}

void perch_counter_close(struct perch_counter *counter)
{
	if (!counter)
		return;
	perch__rdpmc_unmap(counter->rdpmc, counter->calls);
	/* a child has not inherited the mapping */
	if (counter->page && !perch__is_forked(counter->generation))
		counter->calls->munmap(counter->calls->context, (void *)counter->page,
				       sysconf(_SC_PAGESIZE));
	counter->calls->close(counter->calls->context, counter->fd);
	free(counter);
}

int perch_counter_fd(const struct perch_counter *counter)
{
	return counter->fd;
}

const char *perch_counter_name(const struct perch_counter *counter)
{
	return counter->opened.name;
}

/* In a child the requests would act on the event of the parent. */
static int check_fork(const struct perch_counter *counter, struct perch_error *err)
{
	return perch__is_forked(counter->generation)
		       ? PERCH__FORK_ERROR(err, "the counter '%s'", counter->opened.name)
		       : 0;
}

static int control_counter(struct perch_counter *counter, unsigned long request,
			   struct perch_error *err)
{
	int rc = check_fork(counter, err);

	if (rc)
		return rc;
	rc = perch__control(counter->calls, counter->fd, request, 0);
	return rc ? perch__control_error(-rc, request, counter->opened.name, err) : 0;
}

int perch_counter_enable(struct perch_counter *counter, struct perch_error *err)
{
	return control_counter(counter, PERCH_IOC_ENABLE, err);
}

int perch_counter_disable(struct perch_counter *counter, struct perch_error *err)
{
	return control_counter(counter, PERCH_IOC_DISABLE, err);
}

int perch_counter_reset(struct perch_counter *counter, struct perch_error *err)
{
	uint64_t words[PERCH__SINGLE_WORDS];
	int rc = control_counter(counter, PERCH_IOC_RESET, err);

	if (!rc)
		rc = perch__read(counter->calls, counter->fd, words, counter->words,
				 counter->opened.name, err);
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

	rc = perch__read(counter->calls, counter->fd, words, counter->words, counter->opened.name,
			 err);
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
		state = perch__rdpmc_cause(state, counter->opened.attr.type, counter->machine);
	return perch__rdpmc_report(state, counter->map_errno, counter->opened.name, err);
}

const struct perch_attr *perch_counter_missing_features(const struct perch_counter *counter)
{
	return counter->opened.has_missing_features ? &counter->opened.missing_features : NULL;
}

const struct perch_attr *perch_counter_attr(const struct perch_counter *counter)
{
	return &counter->opened.attr;
}

bool perch_counter_user_only(const struct perch_counter *counter)
{
	return counter->opened.user_only;
}

int perch_counter_id(struct perch_counter *counter, uint64_t *id, struct perch_error *err)
{
	int rc = check_fork(counter, err);

	if (rc)
		return rc;
	rc = perch__control(counter->calls, counter->fd, PERCH_IOC_ID, (unsigned long)id);
	return rc ? perch__control_error(-rc, PERCH_IOC_ID, counter->opened.name, err) : 0;
}

/* Maps the page on the first call, without a ring. Returns NULL after a failure. */
static const struct perch_mmap_page *map_page(struct perch_counter *counter,
					      struct perch_error *err)
{
	struct perch_operation operation = {
		.kind = PERCH_OPERATION_MMAP,
		.length = sysconf(_SC_PAGESIZE),
		.protection = PROT_READ,
		.map_flags = MAP_SHARED,
		.attr = &counter->opened.attr,
		.other_fd = -1,
	};
	void *page;

	if (check_fork(counter, err))
		return NULL;
	if (counter->rdpmc->page)
		return counter->rdpmc->page;
	if (counter->page)
		return counter->page;
	page = counter->calls->mmap(counter->calls->context, operation.length, PROT_READ,
				    MAP_SHARED, counter->fd, 0);
	if (page != MAP_FAILED)
		return counter->page = page;
	operation.errnum = errno;
	perch__operation_error(&operation, counter->opened.name, err);
	return NULL;
}

int perch_counter_times(struct perch_counter *counter, uint64_t *enabled_ns, uint64_t *running_ns,
			struct perch_error *err)
{
	struct perch_error map_err;
	const struct perch_mmap_page *page = map_page(counter, &map_err);

	if (page)
		return perch_page_times(page, enabled_ns, running_ns, err);
	if (err)
		*err = map_err;
	return -map_err.errnum;
}

int perch_counter_clock(struct perch_counter *counter, struct perch_clock_conversion *clock,
			struct perch_error *err)
{
	struct perch_error map_err;
	const struct perch_mmap_page *page = map_page(counter, &map_err);

	if (page)
		return perch_clock_from_page(clock, page, err);
	if (err)
		*err = map_err;
	return -map_err.errnum;
}
