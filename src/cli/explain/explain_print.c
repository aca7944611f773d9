/* SPDX-License-Identifier: MIT */
/* Refusals as text: which call, the errno and cause, the reason; then what to do. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/hash_table.h"
#include "explain.h"
#include "options.h"
#include "trace/descriptors.h"
#include "trace/names.h"

#define BOLD  "\033[1m"
#define RED   "\033[1;31m"
#define CYAN  "\033[36m"
#define PLAIN "\033[0m"

void explain_flush(struct explain_job *job)
{
	if (!fflush(job->out) && !ferror(job->out))
		return;
	if (!job->write_failed)
		job->write_error = errno;
	job->write_failed = true;
}

static void set_colour(const struct explain_job *job, const char *colour)
{
	if (job->colours)
		fputs(colour, job->out);
}

/* "  do:     " */
static void label(const struct explain_job *job, const char *text)
{
	fputs("  ", job->out);
	set_colour(job, CYAN);
	fprintf(job->out, "%-7s", text);
	set_colour(job, PLAIN);
	fputc(' ', job->out);
}

/* " (thread 12 of process 10, perf)" if it is not the main thread of the only process. */
static void print_caller(const struct explain_job *job, const struct trace_caller *caller)
{
	if (caller->thread == caller->process && !caller->several_processes)
		return;
	if (caller->thread != caller->process)
		fprintf(job->out, " (thread %d of process %d", caller->thread, caller->process);
	else
		fprintf(job->out, " (process %d", caller->process);
	if (caller->name[0])
		fprintf(job->out, ", %s", caller->name);
	fputc(')', job->out);
}

/* ": ENOENT [no-hardware, likely]" and the sentence below it. */
static void print_result(const struct explain_job *job, const struct perch_explanation *explanation)
{
	const struct perch_finding *finding = &explanation->finding[0];
	char number[32];

	fputs(": ", job->out);
	set_colour(job, RED);
	fputs(explanation->errnum ? trace_format_errno(explanation->errnum, number, sizeof(number))
	      : finding->cause == PERCH_CAUSE_SECCOMP ? "SIGSYS"
						      : "end of file",
	      job->out);
	set_colour(job, PLAIN);
	fprintf(job->out, " [%s", perch_cause_slug(explanation->finding[0].cause));
	if (explanation->confidence != PERCH_CONFIDENCE_CERTAIN)
		fprintf(job->out, ", %s", perch_confidence_name(explanation->confidence));
	fputs("]\n  ", job->out);
	cli_put_clean(job->out, explanation->finding[0].message);
	fputc('\n', job->out);
}

/* False if the kernel is known to be new enough for the feature. */
static bool release_matters(const struct explain_job *job, const struct perch_finding *finding)
{
	struct perch_release running;

	if (!finding->since[0])
		return false;
	return finding->cause == PERCH_CAUSE_TOO_NEW || !job->trace.machine ||
	       perch_machine_release(job->trace.machine, &running, NULL) ||
	       perch_release_rank(running.text) < perch_release_rank(finding->since);
}

static void print_fields(const struct explain_job *job, const struct perch_finding *finding)
{
	const bool with_release = release_matters(job, finding);

	if (!finding->nr_fields && !with_release)
		return;
	label(job, "fields:");
	for (size_t i = 0; i < finding->nr_fields; i++)
		fprintf(job->out, "%s%s", i ? ", " : "", finding->field[i]);
	if (with_release)
		fprintf(job->out, finding->nr_fields ? " (since Linux %s)" : "since Linux %s",
			finding->since);
	fputc('\n', job->out);
}

/* Another candidate, or what would be refused next. */
static void print_finding(const struct explain_job *job, const char *name,
			  const struct perch_finding *finding)
{
	label(job, name);
	fprintf(job->out, "[%s] ", perch_cause_slug(finding->cause));
	cli_put_clean(job->out, finding->message);
	if (finding->remedy[0]) {
		fputs("; ", job->out);
		cli_put_clean(job->out, finding->remedy);
	}
	fputc('\n', job->out);
}

static void print_explanation(struct explain_job *job, const struct perch_explanation *explanation)
{
	const struct perch_finding *finding = &explanation->finding[0];

	print_result(job, explanation);
	print_fields(job, finding);
	if (finding->remedy[0]) {
		label(job, "do:");
		cli_put_clean(job->out, finding->remedy);
		fputc('\n', job->out);
	}
	for (size_t i = 1; i < explanation->nr_findings && i < PERCH_FINDINGS_MAX; i++)
		print_finding(job, "or:", &explanation->finding[i]);
	for (size_t i = 0; i < explanation->nr_next && i < PERCH_NEXT_MAX; i++)
		print_finding(job, "then:", &explanation->next[i]);
	if (explanation->out_of_budget && explanation->confidence != PERCH_CONFIDENCE_CERTAIN) {
		label(job, "note:");
		fputs("the search for the cause ended at its limit of calls or time\n", job->out);
	}
	if (job->trace.from_log && !job->trace.machine &&
	    explanation->confidence == PERCH_CONFIDENCE_AMBIGUOUS && !job->here_hint_printed) {
		job->here_hint_printed = true;
		label(job, "note:");
		fputs("if the log was made on this machine, --here gives more certain causes\n",
		      job->out);
	}
}

static void print_call(const struct explain_job *job, const struct trace_caller *caller,
		       const struct perch_open_call *call)
{
	const struct explain_attr_format format = { .out = job->out,
						    .partial = call->attr_is_partial,
						    .machine = caller->machine,
						    .memory = caller->has_memory };
	char flags[96];

	label(job, "call:");
	fputs("perf_event_open(", job->out);
	explain_attr_print(&format, call->attr);
	fprintf(job->out, ", pid %d, cpu %d, group_fd %d, flags %s)\n", call->pid, call->cpu,
		call->group_fd, trace_format_open_flags(call->flags, flags, sizeof(flags)));
}

/*
 * Returns the length of the word if the text begins with it and no further digit follows; else 0.
 */
static size_t whole_word(const char *text, const char *word)
{
	const size_t length = strlen(word);

	return strncmp(text, word, length) || isxdigit((unsigned char)text[length]) ? 0 : length;
}

/* Adds the text to the hash, with one byte in place of the CPU and of the config. */
static uint64_t hash_text(uint64_t sum, const char *text, const char *cpu, const char *config)
{
	size_t skip;

	while (*text) {
		skip = whole_word(text, cpu);
		if (!skip)
			skip = whole_word(text, config);
		sum = perch__hash_integer(sum, skip ? 1 : (unsigned char)*text);
		text += skip ? skip : 1;
	}
	return perch__hash_integer(sum, 0);
}

static uint64_t hash_findings(uint64_t sum, const struct perch_finding *findings, size_t nr,
			      const char *cpu, const char *config)
{
	for (size_t i = 0; i < nr; i++) {
		sum = perch__hash_integer(sum, findings[i].cause);
		sum = hash_text(sum, findings[i].message, cpu, config);
		sum = hash_text(sum, findings[i].remedy, cpu, config);
		for (size_t j = 0; j < findings[i].nr_fields; j++)
			sum = hash_text(sum, findings[i].field[j], cpu, config);
	}
	return perch__hash_integer(sum, 0);
}

static uint64_t hash_explanation(const struct explain_refusal *refusal,
				 const struct perch_explanation *explanation)
{
	const size_t nr = explanation->nr_findings < PERCH_FINDINGS_MAX ? explanation->nr_findings
									: PERCH_FINDINGS_MAX;
	const size_t next = explanation->nr_next < PERCH_NEXT_MAX ? explanation->nr_next
								  : PERCH_NEXT_MAX;
	uint64_t sum = 0;
	char cpu[32], config[32];

	snprintf(cpu, sizeof(cpu), "CPU %d", refusal->cpu);
	snprintf(config, sizeof(config), "0x%" PRIx64, refusal->config);
	sum = hash_findings(sum, explanation->finding, nr, cpu, config);
	return hash_findings(sum, explanation->next, next, cpu, config);
}

static bool was_printed(struct explain_job *job, struct explain_refusal *refusal,
			const struct perch_attr *attr, const struct perch_explanation *explanation)
{
	struct perch_attr copy;

	trace_copy_attr(&copy, attr);
	refusal->type = copy.type;
	refusal->config = copy.config;
	refusal->errnum = explanation->errnum;
	refusal->cause = explanation->finding[0].cause;
	refusal->confidence = explanation->confidence;
	refusal->text = hash_explanation(refusal, explanation);
	return explain_dedup_count(job, refusal);
}

static void print_prefix(const struct explain_job *job)
{
	set_colour(job, BOLD);
	fputs("perch explain:", job->out);
	set_colour(job, PLAIN);
}

static void text_call(struct trace_job *trace, uint64_t number, const struct trace_caller *caller,
		      const struct perch_open_call *call,
		      const struct perch_explanation *explanation)
{
	struct explain_job *job = explain_job(trace);
	struct explain_refusal refusal = { .number = number,
					   .cpu = call->cpu,
					   .process = caller->process };

	if (was_printed(job, &refusal, call->attr, explanation))
		return;
	print_prefix(job);
	fprintf(job->out, " call %" PRIu64 " of perf_event_open", number);
	print_caller(job, caller);
	print_explanation(job, explanation);
	print_call(job, caller, call);
	explain_flush(job);
}

/* Prints what the argument points to, if that is known. */
static void print_ioctl(const struct explain_job *job, int fd,
			const struct perch_operation *operation)
{
	char text[128];

	fprintf(job->out, "ioctl(fd %d, %s, ", fd,
		trace_format_request(operation->request, text, sizeof(text)));
	if (operation->filter) {
		fputc('"', job->out);
		cli_put_clean(job->out, operation->filter);
		fputs("\")", job->out);
	} else if (operation->period_known) {
		fprintf(job->out, "[%" PRIu64 "])", operation->period);
	} else {
		fprintf(job->out, "%#lx)", operation->argument);
	}
}

static void print_mmap(const struct explain_job *job, int fd,
		       const struct perch_operation *operation)
{
	char protection[128], flags[128];

	fputs("mmap(", job->out);
	if (operation->address_known && operation->address)
		fprintf(job->out, "address %#" PRIx64 ", ", operation->address);
	else if (operation->address_known)
		fputs("address NULL, ", job->out);
	fprintf(job->out, "length %zu, %s, %s, fd %d, offset %" PRIu64 ")", operation->length,
		trace_format_protection(operation->protection, protection, sizeof(protection)),
		trace_format_map_flags(operation->map_flags, flags, sizeof(flags)), fd,
		operation->offset);
}

static void print_operation(const struct explain_job *job, const struct trace_caller *caller,
			    int fd, const struct perch_operation *operation)
{
	const struct explain_attr_format format = { .out = job->out, .machine = caller->machine };

	label(job, "call:");
	if (operation->kind == PERCH_OPERATION_MMAP)
		print_mmap(job, fd, operation);
	else if (operation->kind == PERCH_OPERATION_READ)
		fprintf(job->out, "read(fd %d, %zu bytes)", fd, operation->size);
	else if (operation->kind == PERCH_OPERATION_READV)
		fprintf(job->out, "readv(fd %d, a first buffer of %zu bytes)", fd, operation->size);
	else if (operation->kind == PERCH_OPERATION_MUNMAP)
		fprintf(job->out, "munmap(length %zu, from byte %" PRIu64 " of the mapping on)",
			operation->length, operation->offset);
	else
		print_ioctl(job, fd, operation);
	if (operation->attr) {
		fputs(" of ", job->out);
		explain_attr_print(&format, operation->attr);
		fprintf(job->out, ", pid %d, cpu %d", operation->pid, operation->cpu);
	}
	fputc('\n', job->out);
}

static void text_operation(struct trace_job *trace, uint64_t number,
			   const struct trace_event *event, const struct trace_caller *caller,
			   int fd, const struct perch_operation *operation,
			   const struct perch_explanation *explanation)
{
	struct explain_job *job = explain_job(trace);
	struct explain_refusal refusal = {
		.number = number,
		.cpu = operation->attr ? operation->cpu : -1,
		.process = caller->process,
		.operation = operation->kind + 1,
		.request = operation->request,
		.fd = fd,
	};

	if (was_printed(job, &refusal, operation->attr, explanation))
		return;
	print_prefix(job);
	fprintf(job->out, " %s of descriptor %d", trace_operation_name(operation->kind), fd);
	if (number)
		fprintf(job->out, ", opened by call %" PRIu64 "%s", number,
			event ? "" : " and closed since");
	print_caller(job, caller);
	print_explanation(job, explanation);
	print_operation(job, caller, fd, operation);
	explain_flush(job);
}

static void text_success(struct trace_job *trace, uint64_t number,
			 const struct trace_caller *caller, const struct perch_open_call *call,
			 int fd, const struct perch_finding *lint, size_t nr)
{
	struct explain_job *job = explain_job(trace);

	explain_dedup_print_last(job);
	print_prefix(job);
	fprintf(job->out, " call %" PRIu64 " of perf_event_open", number);
	print_caller(job, caller);
	fprintf(job->out, ": descriptor %d\n", fd);
	for (size_t i = 0; i < nr; i++)
		print_finding(job, "lint:", &lint[i]);
	print_call(job, caller, call);
	explain_flush(job);
}

void explain_note(struct trace_job *trace, const char *text)
{
	(void)trace;
	cli_note(EXPLAIN_COMMAND, "%s", text);
}

const struct trace_output explain_text = {
	.call = text_call,
	.operation = text_operation,
	.success = text_success,
	.note = explain_note,
};

/* On stderr, because the file of -o has refusals only. */
void explain_print_summary(struct explain_job *job)
{
	const bool is_json = job->trace.output != &explain_text;

	if (!is_json)
		explain_dedup_print_all(job);
	explain_flush(job);
	if (is_json && !job->trace.verbose && !job->trace.unreadable)
		return;
	fprintf(stderr, "perch explain: %" PRIu64 " call%s of perf_event_open, %" PRIu64 " refused",
		job->trace.calls, job->trace.calls == 1 ? "" : "s", job->trace.refused);
	if (job->trace.operations_refused)
		fprintf(stderr, "; %" PRIu64 " of mmap, ioctl and read refused",
			job->trace.operations_refused);
	if (job->trace.unreadable)
		fprintf(stderr, "; %" PRIu64 " %s could not be read", job->trace.unreadable,
			job->trace.from_log	     ? job->trace.unreadable == 1 ? "line" : "lines"
			: job->trace.unreadable == 1 ? "call"
						     : "calls");
	fputc('\n', stderr);
}
