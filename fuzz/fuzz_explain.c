/* SPDX-License-Identifier: MIT */
/*
 * The input is a refused open call, explained with this machine's facts and without. The kernel
 * refuses as the input says. Each explanation must have a message within its bounds, and probing
 * must not open an event that could start by itself.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <perch/explain.h>

static struct perch_machine *machine;
static unsigned open_calls;

/* The kernel refuses an attr by the values of the bytes at which the input points. */
static unsigned char refused_at, refused_errno;

static int open_event(void *context, const struct perch_attr *attr, pid_t pid, int cpu,
		      int group_fd, unsigned long flags)
{
	(void)context, (void)pid, (void)cpu, (void)group_fd, (void)flags;
	open_calls++;
	errno = EFAULT;
	if (!attr)
		return -1;
	if (!attr->disabled || (attr->size > sizeof(*attr) && attr->size <= 4096))
		abort();
	errno = refused_errno;
	if (((const unsigned char *)attr)[refused_at % sizeof(*attr)])
		return -1;
	return 1 << 20;
}

static int close_event(void *context, int fd)
{
	(void)context;
	if (fd != 1 << 20)
		abort();
	return 0;
}

static struct perch_syscalls table = { .perf_event_open = open_event, .close = close_event };

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	if (perch_machine_new(&machine, NULL, &table, NULL))
		abort();
	return 0;
}

static void check(const struct perch_finding *finding)
{
	if (!finding->message[0] || finding->nr_fields > 4 ||
	    !memchr(finding->message, '\0', sizeof(finding->message)) ||
	    !memchr(finding->remedy, '\0', sizeof(finding->remedy)) ||
	    finding->kind != perch_cause_kind(finding->cause))
		abort();
	for (size_t i = 0; i < finding->nr_fields; i++)
		if (!finding->field[i] || !finding->field[i][0])
			abort();
}

static void explain(const struct perch_open_call *call, struct perch_machine *facts,
		    const struct perch_probing *probing)
{
	struct perch_explanation explanation;
	struct perch_finding lint[8];
	struct perch_error err;

	open_calls = 0;
	if (perch_explain_open_call(call, probing, facts, &explanation) ||
	    explanation.open_calls != open_calls || open_calls > 25 || !explanation.nr_findings ||
	    explanation.nr_findings > PERCH_FINDINGS_MAX || explanation.nr_next > PERCH_NEXT_MAX)
		abort();
	for (size_t i = 0; i < explanation.nr_findings; i++)
		check(&explanation.finding[i]);
	for (size_t i = 0; i < explanation.nr_next; i++)
		check(&explanation.next[i]);
	if (perch_explanation_error(&explanation, &err) != -call->errnum || !err.message[0])
		abort();
	if (call->attr && call->attr->size >= sizeof(*call->attr) && call->attr->size <= 4096 &&
	    perch_lint(call, facts, lint, 8) > 64)
		abort();
}

struct head {
	int32_t pid, cpu, group_fd;
	uint16_t errnum, flags;
	uint32_t kernel_size;
	uint8_t partial, refused_at, refused_errno, has_leader;
};

/* The attr is in memory of exactly its size, so that ASan detects a read beyond it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct perch_probing probing = { .microseconds = 1000000 };
	struct perch_open_call_leader leader = { .cpu = -1 };
	struct perch_attr led = { .size = sizeof(led) };
	uint32_t attr_size = 0;
	struct head head;
	unsigned char *attr;
	size_t readable;

	if (size < sizeof(head) + 8)
		return 0;
	memcpy(&head, data, sizeof(head));
	memcpy(&attr_size, data + sizeof(head) + 4, sizeof(attr_size));
	readable = attr_size ? attr_size : PERCH_ATTR_SIZE_VER0;
	if (readable > 4096)
		readable = PERCH_ATTR_SIZE_VER0;
	/* after E2BIG without the kernel's size, all of a struct perch_attr is read */
	if (head.errnum == E2BIG && !head.kernel_size && readable < sizeof(led))
		readable = sizeof(led);
	if (readable < 8)
		readable = 8;
	attr = calloc(1, readable);
	if (!attr)
		return 0;
	size -= sizeof(head);
	memcpy(attr, data + sizeof(head), size < readable ? size : readable);
	memcpy(&led, attr, readable < sizeof(led) ? readable : sizeof(led));
	led.size = sizeof(led);
	leader.attr = &led;
	refused_at = head.refused_at;
	refused_errno = head.refused_errno & 1 ? head.errnum : head.refused_errno;
	if (!refused_errno)
		refused_errno = EINVAL;

	const struct perch_open_call call = {
		.attr = head.partial & 4 ? NULL : (struct perch_attr *)attr,
		.pid = head.pid,
		.cpu = head.cpu,
		.group_fd = head.group_fd,
		.flags = head.flags,
		.errnum = head.errnum ? head.errnum : EINVAL,
		.attr_is_partial = head.partial & 1,
		.pid_is_cgroup_fd = head.partial & 2,
		.kernel_size = head.kernel_size,
		.leader = head.has_leader & 1 ? &leader : NULL,
	};

	explain(&call, NULL, NULL);
	explain(&call, machine, NULL);
	explain(&call, machine, &probing);
	free(attr);
	return 0;
}
