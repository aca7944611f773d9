/* SPDX-License-Identifier: MIT */
/* Calls perf_event_open(2) directly, without the library, and explains why the kernel refuses it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <perch/explain.h>

static void print_finding(const char *what, const struct perch_finding *finding)
{
	printf("%s [%s] %s\n", what, perch_cause_slug(finding->cause), finding->message);
	for (size_t i = 0; i < finding->nr_fields; i++)
		printf("  field   %s\n", finding->field[i]);
	if (finding->remedy[0])
		printf("  remedy  %s\n", finding->remedy);
}

static void print_explanation(const struct perch_explanation *explanation)
{
	print_finding("why   ", &explanation->finding[0]);
	/* other possible causes, if the cause is ambiguous */
	for (size_t i = 1; i < explanation->nr_findings; i++)
		print_finding("or    ", &explanation->finding[i]);
	for (size_t i = 0; i < explanation->nr_next;
	     i++) /* errors that follow once that is fixed */
		print_finding("then  ", &explanation->next[i]);
	printf("%s; open calls made to find the cause: %u\n\n",
	       perch_confidence_name(explanation->confidence), explanation->open_calls);
}

static int open_event(struct perch_attr *attr) /* for the calling thread, on any CPU */
{
	return syscall(SYS_perf_event_open, attr, 0, -1, -1, 0);
}

int main(void)
{
	/* The address of a breakpoint must be a multiple of its length, and there is no clock 99.
	 */
	struct perch_attr refused = {
		.size = PERCH_ATTR_SIZE_VER6,
		.type = PERCH_TYPE_BREAKPOINT,
		.bp_type = PERCH_BREAKPOINT_W,
		.bp_addr = 0x1001,
		.bp_len = 4,
		.exclude_kernel = 1,
		.use_clockid = 1,
		.clockid = 99,
	};
	/* This opens. But size is 0, which means the first version, without sample_max_stack. */
	struct perch_attr accepted = {
		.type = PERCH_TYPE_SOFTWARE,
		.config = PERCH_COUNT_SW_PAGE_FAULTS,
		.sample_period = 1,
		.sample_type = PERCH_SAMPLE_CALLCHAIN,
		.sample_max_stack = 16,
		.exclude_kernel = 1,
		.exclude_callchain_kernel = 1,
	};
	struct perch_open_call call = { .attr = &refused, .pid = 0, .cpu = -1, .group_fd = -1 };
	/* limits of probing; NULL disables it */
	const struct perch_probing probing = { .open_calls = 25, .microseconds = 5000 };
	struct perch_machine *machine = NULL;
	struct perch_explanation explanation;
	struct perch_finding finding[8];
	struct perch_error err;
	size_t nr;
	int fd;

	/* this machine, with real system calls; facts are read when needed and cached */
	if (perch_machine_new(&machine, NULL, NULL, &err) < 0)
		return perch_error_print(stderr, &err), 1;
	if (open_event(&refused) < 0) {
		call.errnum = errno;
		perch_explain_open_call(&call, &probing, machine, &explanation);
		print_explanation(&explanation);
	}
	call.attr = &accepted;
	fd = open_event(&accepted);
	printf("the second open call is %s\n", fd < 0 ? "refused too" : "accepted");
	if (fd >= 0)
		close(fd);
	/* the number of findings, which may be more than fit into the array */
	nr = perch_lint(&call, machine, finding, 8);
	for (size_t i = 0; i < nr && i < 8; i++)
		print_finding("but   ", &finding[i]);
	perch_machine_free(machine);
	return nr == 0; /* the kernel reports no error for this mistake */
}
