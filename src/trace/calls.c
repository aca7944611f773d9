/* SPDX-License-Identifier: MIT */
/* Handles the system calls that a source reports: numbers open calls, records events, explains
 * refusals. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "descriptors.h"

#define PAGE	    4096 /* the limit of attr.size in a kernel with the smallest pages */
#define FIXED_TYPES 6	 /* PERCH_TYPE_*; larger types are dynamic, and differ among machines */

static const struct perch_probing probing = { .open_calls = 25, .microseconds = 5000 };

static void fill_caller(struct trace_job *job, pid_t process, pid_t thread,
			struct perch_machine *machine, struct trace_caller *caller)
{
	struct perch_process_state state;

	*caller = (struct trace_caller){ .process = process,
					 .thread = thread,
					 .machine = machine,
					 .has_memory = machine && !job->from_log };
	caller->several_processes = trace_add_process(job, process);
	if (!job->from_log && job->machine &&
	    !perch_machine_process(job->machine, thread, &state, NULL)) {
		char name[sizeof(state.name) + 1] = "";

		memcpy(name, state.name, sizeof(state.name));
		perch_clean_text(name, caller->name, sizeof(caller->name));
	}
}

static bool is_argument(const char *field)
{
	static const char *const arguments[] = { "pid", "cpu", "group_fd", "flags", "attr" };

	for (size_t i = 0; i < TRACE_NR(arguments); i++)
		if (!strcmp(arguments[i], field))
			return true;
	return false;
}

/* Without the attr, a cause in one of its fields is not certain, and the next cause is unknown. */
static void lower_confidence(const struct perch_open_call *call,
			     struct perch_explanation *explanation)
{
	const struct perch_finding *finding = &explanation->finding[0];

	explanation->nr_next = 0;
	for (size_t i = 0; i < finding->nr_fields; i++)
		if (call->attr_is_partial && !is_argument(finding->field[i]) &&
		    explanation->confidence == PERCH_CONFIDENCE_CERTAIN)
			explanation->confidence = PERCH_CONFIDENCE_LIKELY;
}

/*
 * E2BIG for an attr whose size is in range: the attr is longer than the kernel's, and a byte beyond
 * the kernel's size is not zero. The log does not show these bytes, so the rules cannot find this
 * cause. Groups and probes fail with E2BIG for other reasons.
 */
static void check_unknown_bytes(const struct perch_open_call *call,
				struct perch_explanation *explanation)
{
	struct perch_finding *finding = &explanation->finding[0];
	const uint32_t size = call->attr->size, kernel = call->kernel_size;

	if (call->errnum != E2BIG || finding->cause != PERCH_CAUSE_ATTR_SIZE ||
	    !call->attr_is_partial)
		return;
	if (kernel < PERCH_ATTR_SIZE_VER0 || size <= kernel || size > PAGE || call->group_fd >= 0 ||
	    call->attr->type >= FIXED_TYPES)
		return;
	memset(finding, 0, sizeof(*finding));
	finding->cause = PERCH_CAUSE_TOO_NEW;
	finding->kind = perch_cause_kind(finding->cause);
	finding->field[finding->nr_fields++] = "size";
	snprintf(finding->message, sizeof(finding->message),
		 "bytes %u to %u of the attr must be zero, because struct "
		 "perf_event_attr of this kernel has %u bytes",
		 kernel, size - 1, kernel);
	snprintf(finding->remedy, sizeof(finding->remedy),
		 "set the bytes after the fields in use to zero, or use a newer kernel");
	explanation->nr_findings = 1;
	explanation->nr_next = 0;
	explanation->confidence = PERCH_CONFIDENCE_CERTAIN;
}

/* A smaller rank is a likelier cause. */
static int rank(const struct perch_finding *finding)
{
	switch (finding->cause) {
	case PERCH_CAUSE_PMU_SAMPLING:
	case PERCH_CAUSE_PMU_EXCLUDE:
		return 0; /* the attr has the fields that these causes refuse */
	case PERCH_CAUSE_PROBE_FILE:
	case PERCH_CAUSE_PROBE_SYMBOL:
	case PERCH_CAUSE_PROBE_OFFSET:
	case PERCH_CAUSE_PROBE_NAME:
	case PERCH_CAUSE_PROBE_POINTER:
		return 2;
	default:
		return 1;
	}
}

/*
 * Sorts the candidates. The rules of probes come first, but a dynamic type may belong to any PMU,
 * and a probe without a function or path is the least likely.
 */
static void sort_candidates(const struct perch_open_call *call,
			    struct perch_explanation *explanation)
{
	if (call->attr->type < FIXED_TYPES ||
	    (call->attr_is_partial && call->attr_shown_size < PERCH_ATTR_SIZE_VER1) ||
	    call->attr->config1 || call->attr->config2)
		return;
	for (size_t i = 1; i < explanation->nr_findings; i++)
		for (size_t j = i;
		     j > 0 && rank(&explanation->finding[j]) < rank(&explanation->finding[j - 1]);
		     j--) {
			struct perch_finding other = explanation->finding[j];

			explanation->finding[j] = explanation->finding[j - 1];
			explanation->finding[j - 1] = other;
		}
}

/* Corrects an explanation of an open call in a log, about which the rules have fewer facts. */
static void correct_for_log(const struct perch_open_call *call, const struct perch_machine *machine,
			    struct perch_explanation *explanation)
{
	if (!call->attr)
		return;
	check_unknown_bytes(call, explanation);
	if (!machine && explanation->confidence == PERCH_CONFIDENCE_AMBIGUOUS)
		sort_candidates(call, explanation);
}

static void trace_refusal(struct trace_job *job, const struct trace_caller *caller,
			  const struct perch_open_call *call, struct perch_machine *machine)
{
	struct perch_explanation explanation;

	job->refused++;
	if (perch_explain_open_call(call, job->probe && machine ? &probing : NULL, machine,
				    &explanation))
		return;
	if (!call->attr)
		lower_confidence(call, &explanation);
	if (job->from_log)
		correct_for_log(call, machine, &explanation);
	job->output->call(job, job->calls, caller, call, &explanation);
}

static void handle_success(struct trace_job *job, const struct trace_caller *caller,
			   const struct perch_open_call *call, int fd,
			   struct perch_machine *machine)
{
	struct perch_finding lint[8];
	struct perch_open_call copy = *call;
	struct perch_attr attr;
	size_t nr = 0;

	if (trace_copy_attr(&attr, call->attr)) {
		copy.attr = &attr;
		nr = perch_lint(&copy, machine, lint, TRACE_NR(lint));
	}
	if (nr > TRACE_NR(lint))
		nr = TRACE_NR(lint);
	job->output->success(job, job->calls, caller, call, fd, lint, nr);
}

void trace_handle_open(struct trace_job *job, pid_t process, pid_t thread,
		       const struct perch_open_call *call, int fd, struct perch_machine *machine)
{
	struct trace_event *group;
	struct perch_open_call_leader leader;
	struct trace_caller caller;
	struct perch_open_call whole = *call;

	whole.from_log = job->from_log;
	job->calls++;
	group = trace_find_event(job->descriptors, process, call->group_fd);
	if (!whole.leader && trace_get_leader(group, thread, &leader))
		whole.leader = &leader;
	if (fd >= 0 && !job->verbose) {
		trace_add_process(job, process);
	} else {
		fill_caller(job, process, thread, machine, &caller);
		if (fd >= 0)
			handle_success(job, &caller, &whole, fd, machine);
		else
			trace_refusal(job, &caller, &whole, machine);
	}
	if (fd >= 0)
		trace_add_event(job, process, thread, fd, &whole);
	else
		trace_handle_refusal(job, process);
}

void trace_handle_filtered_open(struct trace_job *job, pid_t process, pid_t thread,
				const struct perch_open_call *call, enum trace_filter_action action)
{
	static const char *const messages[] = {
		[TRACE_FILTER_KILLS] =
			"a seccomp filter of the process ends it by SIGSYS when it calls "
			"perf_event_open (SECCOMP_RET_KILL)",
		[TRACE_FILTER_TRAPS] =
			"a seccomp filter of the process sends SIGSYS in place of perf_event_open "
			"(SECCOMP_RET_TRAP)",
		[TRACE_FILTER_TRACES] =
			"a seccomp filter of the process leaves perf_event_open to a tracer that the "
			"process does not have (SECCOMP_RET_TRACE)",
	};
	struct perch_explanation explanation = { .errnum = call->errnum,
						 .confidence = PERCH_CONFIDENCE_CERTAIN,
						 .nr_findings = 1 };
	struct perch_finding *finding = &explanation.finding[0];
	struct trace_caller caller;

	job->calls++;
	job->refused++;
	finding->cause = PERCH_CAUSE_SECCOMP;
	finding->kind = perch_cause_kind(finding->cause);
	snprintf(finding->message, sizeof(finding->message), "%s", messages[action]);
	snprintf(finding->remedy, sizeof(finding->remedy),
		 "allow perf_event_open where the filter is set%s",
		 call->errnum ? "" : ", or make the filter return an errno");
	fill_caller(job, process, thread, NULL, &caller);
	job->output->call(job, job->calls, &caller, call, &explanation);
	trace_handle_refusal(job, process);
}

/* Updates the event after an operation that succeeded. */
static void update_event(struct trace_event *event, const struct perch_operation *operation)
{
	if (operation->kind == PERCH_OPERATION_MMAP && !operation->offset)
		event->ring_size = operation->length;
	if (operation->kind == PERCH_OPERATION_IOCTL && operation->request == PERCH_IOC_SET_OUTPUT)
		event->has_output = operation->other_fd >= 0;
}

static void fill_event_members(struct perch_operation *operation, const struct trace_event *event)
{
	if (event->has_attr)
		operation->attr = &event->attr;
	operation->pid = event->pid;
	operation->cpu = event->cpu;
	operation->flags = event->flags;
	operation->group_size = trace_group_size(event);
	if (!operation->ring_size)
		operation->ring_size = event->ring_size;
}

static bool trace_is_read(const struct perch_operation *operation)
{
	return operation->kind == PERCH_OPERATION_READ || operation->kind == PERCH_OPERATION_READV;
}

/* EBADF proves that the event was closed, unless the request has a second descriptor. */
static bool proves_close(const struct perch_operation *operation)
{
	return operation->errnum == EBADF && (operation->kind != PERCH_OPERATION_IOCTL ||
					      (operation->request != PERCH_IOC_SET_OUTPUT &&
					       operation->request != PERCH_IOC_SET_BPF));
}

/* The second parameter of read(2) is named buf, not argument as that of ioctl(2). */
static void rename_buffer(const struct perch_operation *operation,
			  struct perch_explanation *explanation)
{
	struct perch_finding *finding = &explanation->finding[0];

	for (size_t i = 0; trace_is_read(operation) && i < finding->nr_fields; i++)
		if (!strcmp(finding->field[i], "argument"))
			finding->field[i] = "buf";
}

static void report_operation(struct trace_job *job, pid_t process, pid_t thread, int fd,
			     const struct perch_operation *operation, struct perch_machine *machine,
			     const struct perch_explanation *explanation)
{
	const struct trace_event *event = trace_find_event(job->descriptors, process, fd);
	const uint64_t number = event ? event->number : trace_closed_number(job, process, fd);
	struct trace_caller caller;

	fill_caller(job, process, thread, machine, &caller);
	job->output->operation(job, number, event, &caller, fd, operation, explanation);
}

void trace_handle_other_file(struct trace_job *job, pid_t process, pid_t thread, int fd,
			     const struct perch_operation *operation, const char *file)
{
	struct perch_explanation explanation = { .errnum = operation->errnum,
						 .confidence = PERCH_CONFIDENCE_CERTAIN,
						 .nr_findings = 1 };
	struct perch_finding *finding = &explanation.finding[0];
	char name[256];

	job->operations_refused++;
	finding->cause = PERCH_CAUSE_NOT_AN_EVENT;
	finding->kind = perch_cause_kind(finding->cause);
	finding->field[finding->nr_fields++] = "fd";
	perch_clean_text(file, name, sizeof(name));
	snprintf(finding->message, sizeof(finding->message), "descriptor %d is %s, not an event",
		 fd, name[0] ? name : "another file");
	snprintf(finding->remedy, sizeof(finding->remedy), "pass the descriptor of the event");
	report_operation(job, process, thread, fd, operation, NULL, &explanation);
}

void trace_handle_operation(struct trace_job *job, pid_t process, pid_t thread, int fd,
			    struct perch_operation *operation, long result,
			    struct perch_machine *machine)
{
	struct trace_event *event = trace_find_event(job->descriptors, process, fd);
	bool ended = trace_is_read(operation) && !operation->errnum && !result && operation->size;
	struct perch_explanation explanation;
	struct perch_open_call_leader other;

	if (!operation->errnum && !ended) {
		if (event)
			update_event(event, operation);
		return;
	}
	if (event && proves_close(operation)) {
		trace_handle_close(job, process, fd);
		event = NULL;
	}
	if (event)
		fill_event_members(operation, event);
	operation->fd = fd;
	operation->from_log = job->from_log;
	if (operation->kind == PERCH_OPERATION_IOCTL &&
	    operation->request == PERCH_IOC_SET_OUTPUT &&
	    trace_get_leader(trace_find_event(job->descriptors, process, operation->other_fd),
			     thread, &other))
		operation->other = &other;
	job->operations_refused++;
	if (!perch_explain_operation(operation, machine, &explanation)) {
		rename_buffer(operation, &explanation);
		report_operation(job, process, thread, fd, operation, machine, &explanation);
	}
	operation->other = NULL;
}

void trace_note(struct trace_job *job, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	job->output->note(job, text);
}

void trace_job_clear(struct trace_job *job)
{
	trace_descriptors_free(job->descriptors);
	job->descriptors = NULL;
}
