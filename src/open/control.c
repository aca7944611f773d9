/* SPDX-License-Identifier: MIT */
/* ioctl(2) and prctl(2) on open events. */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "internal.h"

#define MAX_PROGRAMS 64 /* BPF programs of one tracepoint; the kernel refuses to return more */

/* Explains a refusal. */
static int operation_error(const struct perch_operation *operation, struct perch_machine *machine,
			   struct perch_error *err)
{
	struct perch_explanation explanation;

	if (!err)
		return -operation->errnum;
	perch_explain_operation(operation, machine, &explanation);
	return perch_explanation_error(&explanation, err);
}

/* operation describes what the argument points to, for the explanation. */
static int control_described(int fd, unsigned long request, unsigned long argument,
			     struct perch_operation *operation, struct perch_machine *machine,
			     struct perch_error *err)
{
	const struct perch_syscalls *calls = perch_machine_syscalls(machine);

	if (calls->ioctl(calls->context, fd, request, argument) >= 0)
		return 0;
	operation->kind = PERCH_OPERATION_IOCTL;
	operation->errnum = errno;
	operation->request = request;
	operation->argument = argument;
	return operation_error(operation, machine, err);
}

static int control_event(int fd, unsigned long request, unsigned long argument,
			 struct perch_machine *machine, struct perch_error *err)
{
	struct perch_operation operation = { .other_fd = -1 };

	return control_described(fd, request, argument, &operation, machine, err);
}

int perch_event_enable(int fd, bool group, struct perch_machine *machine, struct perch_error *err)
{
	return control_event(fd, PERCH_IOC_ENABLE, group ? PERCH_IOC_FLAG_GROUP : 0, machine, err);
}

int perch_event_disable(int fd, bool group, struct perch_machine *machine, struct perch_error *err)
{
	return control_event(fd, PERCH_IOC_DISABLE, group ? PERCH_IOC_FLAG_GROUP : 0, machine, err);
}

int perch_event_reset(int fd, bool group, struct perch_machine *machine, struct perch_error *err)
{
	return control_event(fd, PERCH_IOC_RESET, group ? PERCH_IOC_FLAG_GROUP : 0, machine, err);
}

/* The kernel adds the number to a signed counter; the meaning of 0 is not documented. */
int perch_event_refresh(int fd, unsigned samples, struct perch_machine *machine,
			struct perch_error *err)
{
	if (!samples || samples > INT_MAX)
		return perch_error_set(
			err, EINVAL, PERCH_ERROR_USAGE,
			"cannot refresh the event: the number of samples must be 1..%d (currently %u)",
			INT_MAX, samples);
	return control_event(fd, PERCH_IOC_REFRESH, samples, machine, err);
}

int perch_event_set_period(int fd, uint64_t period, struct perch_machine *machine,
			   struct perch_error *err)
{
	struct perch_operation operation = { .other_fd = -1,
					     .period = period,
					     .period_known = true };

	if (!period || period >> 63) {
		perch_error_set(err, EINVAL, PERCH_ERROR_PERIOD,
				"cannot set the period: it must be 1..2^63-1 (currently %llu)",
				(unsigned long long)period);
		perch_error_field(err, "sample_period", NULL);
		return -EINVAL;
	}
	return control_described(fd, PERCH_IOC_PERIOD, (unsigned long)&period, &operation, machine,
				 err);
}

int perch_event_set_output(int fd, int into_fd, struct perch_machine *machine,
			   struct perch_error *err)
{
	struct perch_operation operation = { .other_fd = into_fd };

	if (fd == into_fd) {
		perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				"cannot set the output of an event to the event itself");
		perch_error_remedy(err, "pass -1 to write into the ring of the event");
		return -EINVAL;
	}
	/* as a long: an int of -1 would become a large positive number */
	return control_described(fd, PERCH_IOC_SET_OUTPUT, (unsigned long)(long)into_fd, &operation,
				 machine, err);
}

int perch_event_set_filter(int fd, const char *filter, const struct perch_attr *attr,
			   struct perch_machine *machine, struct perch_error *err)
{
	struct perch_operation operation = { .other_fd = -1, .attr = attr, .filter = filter };
	int rc;

	if (!filter)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "cannot set the filter: it is NULL");
	rc = control_described(fd, PERCH_IOC_SET_FILTER, (unsigned long)filter, &operation, machine,
			       err);
	if (rc)
		perch_error_prefix(err, "filter '%s': ", filter);
	return rc;
}

int perch_event_id(int fd, struct perch_machine *machine, uint64_t *id, struct perch_error *err)
{
	return control_event(fd, PERCH_IOC_ID, (unsigned long)id, machine, err);
}

int perch_event_set_bpf(int fd, int program_fd, struct perch_machine *machine,
			struct perch_error *err)
{
	return control_event(fd, PERCH_IOC_SET_BPF, (unsigned long)(long)program_fd, machine, err);
}

/* ENOSPC means that there are more programs than ids_len; prog_cnt is set nevertheless. */
int perch_event_query_bpf(int fd, struct perch_machine *machine, uint32_t *ids, uint32_t capacity,
			  uint32_t *nr, struct perch_error *err)
{
	const struct perch_syscalls *calls = perch_machine_syscalls(machine);
	uint32_t words[2 + MAX_PROGRAMS] = { 0 };
	struct perch_query_bpf *query = (struct perch_query_bpf *)words;
	struct perch_operation operation = {
		.kind = PERCH_OPERATION_IOCTL,
		.request = PERCH_IOC_QUERY_BPF,
		.argument = (unsigned long)words,
		.other_fd = -1,
	};
	uint32_t stored;

	query->ids_len = capacity < MAX_PROGRAMS ? capacity : MAX_PROGRAMS;
	if (calls->ioctl(calls->context, fd, PERCH_IOC_QUERY_BPF, (unsigned long)query) < 0 &&
	    errno != ENOSPC) {
		operation.errnum = errno;
		return operation_error(&operation, machine, err);
	}
	*nr = query->prog_cnt;
	stored = *nr < query->ids_len ? *nr : query->ids_len;
	if (stored)
		memcpy(ids, words + 2, stored * sizeof(*ids));
	return 0;
}

int perch_event_pause_output(int fd, bool pause, struct perch_machine *machine,
			     struct perch_error *err)
{
	return control_event(fd, PERCH_IOC_PAUSE_OUTPUT, pause, machine, err);
}

/* The kernel may write its size into the attr, so it gets a copy. */
int perch_event_modify(int fd, const struct perch_attr *attr, struct perch_machine *machine,
		       struct perch_error *err)
{
	struct perch_attr copy;
	int rc = perch__check_call(attr, err);

	if (rc)
		return rc;
	copy = *attr;
	return control_event(fd, PERCH_IOC_MODIFY_ATTRIBUTES, (unsigned long)&copy, machine, err);
}

static int enable_tasks(bool enable, struct perch_machine *machine, struct perch_error *err)
{
	const struct perch_syscalls *calls = perch_machine_syscalls(machine);
	const char *verb = enable ? "enable" : "disable";
	int errnum;

	if (!calls->prctl_tasks)
		calls = &perch_kernel_syscalls;
	if (calls->prctl_tasks(calls->context, enable) >= 0)
		return 0;
	errnum = errno;
	if (!err)
		return -errnum; /* strerror() is not async-signal-safe */
	if (errnum == EINVAL) {
		perch_error_set(
			err, errnum, PERCH_ERROR_NO_SYSCALL,
			"cannot %s the events of this thread: the kernel has no perf events", verb);
		perch_error_cause(err, PERCH_CAUSE_NO_SYSCALL);
		perch_error_remedy(err, "use a kernel with CONFIG_PERF_EVENTS");
		return -errnum;
	}
	perch_error_set(
		err, errnum, PERCH_ERROR_BLOCKED,
		"cannot %s the events of this thread: a seccomp filter or a security module refuses prctl(2) (%s)",
		verb, strerror(errnum));
	perch_error_cause(err, PERCH_CAUSE_OPERATION_BLOCKED);
	perch_error_remedy(err, "allow prctl(2) with PR_TASK_PERF_EVENTS_* in the sandbox");
	return -errnum;
}

int perch_tasks_enable(struct perch_machine *machine, struct perch_error *err)
{
	return enable_tasks(true, machine, err);
}

int perch_tasks_disable(struct perch_machine *machine, struct perch_error *err)
{
	return enable_tasks(false, machine, err);
}
