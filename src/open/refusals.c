/* SPDX-License-Identifier: MIT */
/* Why the kernel refuses a call on an open event: request x errno -> sentence and remedy. */
#include <errno.h>
#include <string.h>

#include "internal.h"

#define ANY 0

static const struct refusal {
	unsigned long request;
	int errnum;
	enum perch_error_kind kind;
	const char *sentence;
	const char *remedy;
} refusals[] = {
	{ PERCH_IOC_REFRESH, EINVAL, PERCH_ERROR_CONFLICT,
	  "the event counts and does not sample, or is inherited: neither can be enabled for a number of samples",
	  "open it with period or frequency, and without inherit" },
	{ PERCH_IOC_PERIOD, EINVAL, PERCH_ERROR_PERIOD,
	  "the event counts and does not sample, or its PMU or kernel.perf_event_max_sample_rate forbids the new period "
	  "or frequency",
	  "open it with period or frequency, and ask for less often" },
	{ PERCH_IOC_SET_OUTPUT, EINVAL, PERCH_ERROR_CONFLICT,
	  "the records cannot go into the other event's ring: that one has none mapped, or this one has its own mapped, "
	  "or the two differ in CPU, thread (with cpu -1), clockid or write_backward",
	  "map the other event's ring first, and open both with the same cpu, clockid and write_backward" },
	{ PERCH_IOC_SET_OUTPUT, EBADF, PERCH_ERROR_USAGE,
	  "one of the two descriptors is not that of an open event", "pass descriptors of open events, or -1 for its own ring" },
	{ PERCH_IOC_SET_FILTER, EINVAL, PERCH_ERROR_BAD_FIELD,
	  "the event takes no filter, or the filter is no expression that it understands",
	  "a tracepoint takes its fields (tracefs, events/SYSTEM/NAME/format) compared with values: 'prev_pid == 1 && "
	  "next_comm ~ \"x*\"'" },
	{ PERCH_IOC_SET_FILTER, EEXIST, PERCH_ERROR_CONFLICT,
	  "the tracepoint's event has a filter already, and it cannot be replaced", "open the event once more" },
	{ PERCH_IOC_SET_FILTER, EOPNOTSUPP, PERCH_ERROR_NOT_SUPPORTED,
	  "the PMU cannot filter so: too many ranges, or a file on an event that is bound to no thread",
	  "give fewer ranges (nr_addr_filters in the PMU's folder), or measure a process" },
	/* the kernel's parser answers -1, -2 and -3 here, which come out as errnos that mean something else */
	{ PERCH_IOC_SET_FILTER, EPERM, PERCH_ERROR_BAD_FIELD,
	  "the filter closes a parenthesis that it has not opened (or a security module refuses it)",
	  "count the parentheses" },
	{ PERCH_IOC_SET_FILTER, ENOENT, PERCH_ERROR_BAD_FIELD,
	  "the filter does not close a parenthesis, or, as an address filter, it names a file that is not there",
	  "count the parentheses, or give the file's absolute path" },
	{ PERCH_IOC_SET_FILTER, ESRCH, PERCH_ERROR_BAD_FIELD, "the filter does not end a string in quotes",
	  "put the second quote behind it" },
	{ PERCH_IOC_SET_FILTER, E2BIG, PERCH_ERROR_BAD_FIELD, "the filter is longer than a page", "write a shorter one" },
	{ PERCH_IOC_SET_BPF, EBADF, PERCH_ERROR_USAGE,
	  "the event's descriptor or the program's is not open", "load the program by bpf(2) and pass its descriptor" },
	{ PERCH_IOC_SET_BPF, EINVAL, PERCH_ERROR_CONFLICT,
	  "the descriptor is no BPF program, or one of a kind that this event does not run",
	  "tracepoints run BPF_PROG_TYPE_TRACEPOINT, probes _KPROBE, events that sample _PERF_EVENT" },
	{ PERCH_IOC_SET_BPF, EEXIST, PERCH_ERROR_CONFLICT, "the event runs that or another BPF program already",
	  "open the event once more for a second program" },
	{ PERCH_IOC_SET_BPF, EPROTO, PERCH_ERROR_CONFLICT,
	  "the BPF program takes stacks, which a precise event has only with whole callchains in its samples",
	  "add PERCH_SAMPLE_CALLCHAIN, without exclude_callchain_kernel or _user" },
	{ PERCH_IOC_SET_BPF, EACCES, PERCH_ERROR_CONFLICT,
	  "the BPF program reads more of its context than this tracepoint has, or a security module refuses it",
	  "check the program against events/SYSTEM/NAME/format in tracefs" },
	{ PERCH_IOC_SET_BPF, E2BIG, PERCH_ERROR_CONFLICT, "the tracepoint runs 64 BPF programs already",
	  "detach one by closing its event" },
	{ PERCH_IOC_SET_BPF, EOPNOTSUPP, PERCH_ERROR_NOT_SUPPORTED, "this kernel or this event runs no BPF programs",
	  "use a kernel with CONFIG_BPF_EVENTS" },
	{ PERCH_IOC_QUERY_BPF, EPERM, PERCH_ERROR_PRIVILEGE, "the list of BPF programs needs CAP_PERFMON",
	  "run as root, or give the program CAP_PERFMON" },
	{ PERCH_IOC_QUERY_BPF, EINVAL, PERCH_ERROR_USAGE,
	  "the event is no tracepoint: only those tell the BPF programs that they run", "ask a tracepoint's descriptor" },
	{ PERCH_IOC_QUERY_BPF, EOPNOTSUPP, PERCH_ERROR_NOT_SUPPORTED, "this kernel runs no BPF programs on events",
	  "use a kernel with CONFIG_BPF_EVENTS" },
	{ PERCH_IOC_PAUSE_OUTPUT, EINVAL, PERCH_ERROR_USAGE, "the event has no ring whose output could pause",
	  "map its ring first, or send its output to another event's" },
	{ PERCH_IOC_MODIFY_ATTRIBUTES, EOPNOTSUPP, PERCH_ERROR_NOT_SUPPORTED,
	  "the event is no breakpoint: no other kind can be changed once it is open", "open a new event" },
	{ PERCH_IOC_MODIFY_ATTRIBUTES, EINVAL, PERCH_ERROR_BAD_FIELD,
	  "the attr is not that of the event with another address, length or kind of breakpoint, or the hardware does "
	  "not watch such a place",
	  "start from the attr that the event was opened with, and change bp_addr, bp_len, bp_type or sig_data alone" },
	{ PERCH_IOC_MODIFY_ATTRIBUTES, ENOSPC, PERCH_ERROR_BREAKPOINTS,
	  "all debug registers for that kind of breakpoint are in use", "close another breakpoint" },
	{ ANY, EBADF, PERCH_ERROR_USAGE, "the descriptor is not open", "pass the descriptor of an open event" },
	{ ANY, ENODEV, PERCH_ERROR_NOT_SUPPORTED, "the event's PMU is gone", "open another event" },
	{ ANY, EACCES, PERCH_ERROR_BLOCKED, "a security module refuses it", "as root look into the audit log" },
	{ ANY, EPERM, PERCH_ERROR_BLOCKED, "a seccomp filter or a security module refuses it",
	  "let the container's profile pass ioctl on events" },
	{ ANY, EFAULT, PERCH_ERROR_USAGE, "the argument points to memory that the kernel cannot use",
	  "pass memory of this process" },
	{ ANY, ENOMEM, PERCH_ERROR_NO_MEMORY, "the kernel has no memory for it", "try again later" },
};

/* The release that first had the request; "" for those as old as the call itself. */
static const struct {
	unsigned long request;
	const char *name, *since;
} requests[] = {
	{ PERCH_IOC_ENABLE, "enable", "" },
	{ PERCH_IOC_DISABLE, "disable", "" },
	{ PERCH_IOC_REFRESH, "refresh", "" },
	{ PERCH_IOC_RESET, "reset", "" },
	{ PERCH_IOC_PERIOD, "set the period", "" },
	{ PERCH_IOC_SET_OUTPUT, "set the output", "" },
	{ PERCH_IOC_SET_FILTER, "set the filter", "2.6.33" },
	{ PERCH_IOC_ID, "tell the id", "3.12" },
	{ PERCH_IOC_SET_BPF, "set the BPF program", "4.1" },
	{ PERCH_IOC_PAUSE_OUTPUT, "pause the output", "4.7" },
	{ PERCH_IOC_QUERY_BPF, "query the BPF programs", "4.16" },
	{ PERCH_IOC_MODIFY_ATTRIBUTES, "modify the event", "4.17" },
};

static int unknown_request(const char *what, const char *since, struct perch_error *err)
{
	if (since[0])
		perch_error_set(err, ENOTTY, PERCH_ERROR_USAGE,
				"cannot %s: the descriptor is no event, or this kernel is older than Linux %s", what, since);
	else
		perch_error_set(err, ENOTTY, PERCH_ERROR_USAGE, "cannot %s: the descriptor is no event", what);
	perch_error_field(err, "", since[0] ? since : NULL);
	perch_error_remedy(err, "pass the descriptor that opening the event gave");
	return -ENOTTY;
}

int perch__refused(unsigned long request, int errnum, struct perch_error *err)
{
	const char *what = "control the event", *since = "";

	for (size_t i = 0; i < PERCH__NR(requests); i++)
		if (requests[i].request == request) {
			what = requests[i].name;
			since = requests[i].since;
		}
	if (errnum == ENOTTY)
		return unknown_request(what, since, err);
	for (const struct refusal *row = refusals; row < refusals + PERCH__NR(refusals); row++) {
		if (row->errnum != errnum || (row->request != ANY && row->request != request))
			continue;
		perch_error_set(err, errnum, row->kind, "cannot %s: %s", what, row->sentence);
		perch_error_remedy(err, "%s", row->remedy);
		return -errnum;
	}
	return perch_error_set(err, errnum, PERCH_ERROR_SYSTEM, "cannot %s: %s", what, strerror(errnum));
}
