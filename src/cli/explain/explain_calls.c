/* SPDX-License-Identifier: MIT */
/* What becomes of a call that was seen: it is numbered, remembered when it succeeded, explained
 * when it did not. */
#include <string.h>

#include "explain_attr.h"
#include "explain_descriptors.h"
#include "explain_strace.h"
#include "options.h"

static const struct perch_probing probing = { .open_calls = 25, .microseconds = 5000 };

static void describe(struct explain_job *job, pid_t process, pid_t thread,
		     struct perch_machine *machine, struct explain_caller *caller)
{
	struct perch_process_state state;

	*caller = (struct explain_caller){ .process = process,
					   .thread = thread,
					   .machine = machine,
					   .has_memory = machine && !job->from_log };
	caller->several = explain_add_process(job, process);
	if (!job->from_log && job->machine &&
	    !perch_machine_process(job->machine, thread, &state, NULL)) {
		char name[sizeof(state.name) + 1] = "";

		memcpy(name, state.name, sizeof(state.name));
		perch_clean_text(caller->name, sizeof(caller->name), name);
	}
}

static bool is_argument(const char *field)
{
	static const char *const arguments[] = { "pid", "cpu", "group_fd", "flags", "attr" };

	for (size_t i = 0; i < CLI_NR(arguments); i++)
		if (!strcmp(arguments[i], field))
			return true;
	return false;
}

/* Of an attr that nobody saw nothing is certain, nor what would come next. */
static void without_attr(const struct perch_open_call *call, struct perch_explanation *explanation)
{
	const struct perch_finding *finding = &explanation->finding[0];

	explanation->nr_next = 0;
	for (size_t i = 0; i < finding->nr_fields; i++)
		if (call->attr_is_partial && !is_argument(finding->field[i]) &&
		    explanation->confidence == PERCH_CONFIDENCE_CERTAIN)
			explanation->confidence = PERCH_CONFIDENCE_LIKELY;
}

static void refused(struct explain_job *job, const struct explain_caller *caller,
		    const struct perch_open_call *call, struct perch_machine *machine)
{
	struct perch_explanation explanation;

	job->refused++;
	if (perch_explain_open_call(call, machine, job->probe && machine ? &probing : NULL,
				    &explanation))
		return;
	if (!call->attr)
		without_attr(call, &explanation);
	if (job->from_log)
		strace_answer(call, machine, &explanation);
	if (job->json)
		explain_json_call(job, job->calls, caller, call, &explanation);
	else
		explain_print_call(job, job->calls, caller, call, &explanation);
}

static void succeeded(struct explain_job *job, const struct explain_caller *caller,
		      const struct perch_open_call *call, int fd, struct perch_machine *machine)
{
	struct perch_finding lint[8];
	struct perch_open_call copy = *call;
	struct perch_attr attr;
	size_t nr = 0;

	if (explain_attr_copy(&attr, call->attr)) {
		copy.attr = &attr;
		nr = perch_lint(&copy, machine, lint, CLI_NR(lint));
	}
	if (nr > CLI_NR(lint))
		nr = CLI_NR(lint);
	if (job->json)
		explain_json_success(job, job->calls, caller, call, fd, lint, nr);
	else
		explain_print_success(job, job->calls, caller, call, fd, lint, nr);
}

void explain_handle_open(struct explain_job *job, pid_t process, pid_t thread,
			 const struct perch_open_call *call, int fd, struct perch_machine *machine)
{
	struct explain_event *group;
	struct perch_open_call_leader leader;
	struct explain_caller caller;
	struct perch_open_call whole = *call;

	job->calls++;
	group = explain_find_event(job->descriptors, process, call->group_fd);
	if (!whole.leader && explain_get_leader(group, &leader))
		whole.leader = &leader;
	if (fd >= 0 && !job->verbose) {
		explain_add_process(job, process);
	} else {
		describe(job, process, thread, machine, &caller);
		if (fd >= 0)
			succeeded(job, &caller, &whole, fd, machine);
		else
			refused(job, &caller, &whole, machine);
		explain_flush(job);
	}
	if (fd >= 0)
		explain_add_event(job, process, fd, &whole);
}

/* What an operation that succeeded changes about the event. */
static void note_success(struct explain_event *event, const struct perch_operation *operation)
{
	if (operation->kind == PERCH_OPERATION_MMAP && !operation->offset)
		event->ring_size = operation->length;
	if (operation->kind == PERCH_OPERATION_IOCTL && operation->request == PERCH_IOC_SET_OUTPUT)
		event->has_output = operation->other_fd >= 0;
}

static void fill_in(struct perch_operation *operation, const struct explain_event *event)
{
	if (event->attr_known)
		operation->attr = &event->attr;
	operation->pid = event->pid;
	operation->cpu = event->cpu;
	operation->flags = event->flags;
	operation->group_size = explain_group_size(event);
	if (!operation->ring_size)
		operation->ring_size = event->ring_size;
}

/* The second parameter of read(2) has a name, and it is not that of ioctl's. */
static void name_buffer(const struct perch_operation *operation,
			struct perch_explanation *explanation)
{
	struct perch_finding *finding = &explanation->finding[0];

	for (size_t i = 0; operation->kind == PERCH_OPERATION_READ && i < finding->nr_fields; i++)
		if (!strcmp(finding->field[i], "argument"))
			finding->field[i] = "buf";
}

void explain_handle_operation(struct explain_job *job, pid_t process, pid_t thread, int fd,
			      struct perch_operation *operation, long result,
			      struct perch_machine *machine)
{
	struct explain_event *event = explain_find_event(job->descriptors, process, fd);
	bool ended = operation->kind == PERCH_OPERATION_READ && !operation->errnum && !result &&
		     operation->size;
	struct perch_explanation explanation;
	struct perch_open_call_leader other;
	struct explain_caller caller;

	if (!operation->errnum && !ended) {
		if (event)
			note_success(event, operation);
		return;
	}
	if (event)
		fill_in(operation, event);
	operation->fd = fd;
	if (operation->kind == PERCH_OPERATION_IOCTL &&
	    operation->request == PERCH_IOC_SET_OUTPUT &&
	    explain_get_leader(explain_find_event(job->descriptors, process, operation->other_fd),
			       &other))
		operation->other = &other;
	job->operations_refused++;
	if (!perch_explain_operation(operation, machine, &explanation)) {
		name_buffer(operation, &explanation);
		describe(job, process, thread, machine, &caller);
		if (job->json)
			explain_json_operation(job, event, &caller, fd, operation, &explanation);
		else
			explain_print_operation(job, event ? event->number : 0, &caller, fd,
						operation, &explanation);
	}
	operation->other = NULL;
	explain_flush(job);
}
