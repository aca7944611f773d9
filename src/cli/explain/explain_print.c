/* SPDX-License-Identifier: MIT */
/* Refusals as text, in the manner of a compiler: where, what, why; then what to do about it. */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "explain_attr.h"
#include "options.h"

#define BOLD  "\033[1m"
#define RED   "\033[1;31m"
#define CYAN  "\033[36m"
#define PLAIN "\033[0m"

static void paint(const struct explain_job *job, const char *colour)
{
	if (job->colours)
		fputs(colour, job->out);
}

/* "  do:     " */
static void label(const struct explain_job *job, const char *text)
{
	fputs("  ", job->out);
	paint(job, CYAN);
	fprintf(job->out, "%-7s", text);
	paint(job, PLAIN);
	fputc(' ', job->out);
}

/* " (thread 12 of 10, perf)" where that is worth telling. */
static void put_caller(const struct explain_job *job, const struct explain_caller *caller)
{
	if (caller->thread == caller->process && !caller->several)
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
static void put_verdict(const struct explain_job *job, const struct perch_explanation *explanation)
{
	char number[32];

	fputs(": ", job->out);
	paint(job, RED);
	fputs(explanation->errnum
		      ? explain_format_errno(explanation->errnum, number, sizeof(number))
		      : "end of file",
	      job->out);
	paint(job, PLAIN);
	fprintf(job->out, " [%s", perch_cause_slug(explanation->finding[0].cause));
	if (explanation->confidence != PERCH_CONFIDENCE_CERTAIN)
		fprintf(job->out, ", %s", perch_confidence_name(explanation->confidence));
	fputs("]\n  ", job->out);
	cli_put_clean(job->out, explanation->finding[0].message);
	fputc('\n', job->out);
}

static void put_fields(const struct explain_job *job, const struct perch_finding *finding)
{
	if (!finding->nr_fields && !finding->since[0])
		return;
	label(job, "fields:");
	for (size_t i = 0; i < finding->nr_fields; i++)
		fprintf(job->out, "%s%s", i ? ", " : "", finding->field[i]);
	if (finding->since[0])
		fprintf(job->out, finding->nr_fields ? " (since Linux %s)" : "since Linux %s",
			finding->since);
	fputc('\n', job->out);
}

/* Another candidate, or what would come next. */
static void put_short(const struct explain_job *job, const char *name,
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

static void put_answer(struct explain_job *job, const struct perch_explanation *explanation)
{
	const struct perch_finding *finding = &explanation->finding[0];

	put_verdict(job, explanation);
	put_fields(job, finding);
	if (finding->remedy[0]) {
		label(job, "do:");
		cli_put_clean(job->out, finding->remedy);
		fputc('\n', job->out);
	}
	for (size_t i = 1; i < explanation->nr_findings && i < PERCH_FINDINGS_MAX; i++)
		put_short(job, "or:", &explanation->finding[i]);
	for (size_t i = 0; i < explanation->nr_next && i < PERCH_NEXT_MAX; i++)
		put_short(job, "then:", &explanation->next[i]);
	if (explanation->out_of_budget && explanation->confidence != PERCH_CONFIDENCE_CERTAIN) {
		label(job, "note:");
		fputs("looking into it ended early, for it took too long\n", job->out);
	}
	if (job->from_log && !job->machine &&
	    explanation->confidence == PERCH_CONFIDENCE_AMBIGUOUS && !job->here_hint_printed) {
		job->here_hint_printed = true;
		label(job, "note:");
		fputs("with --here more can be told, if the log was made on this machine\n",
		      job->out);
	}
}

static void put_call(const struct explain_job *job, const struct explain_caller *caller,
		     const struct perch_open_call *call)
{
	const struct explain_attr_format words = { .out = job->out,
						   .partial = call->attr_is_partial,
						   .machine = caller->machine,
						   .memory = caller->has_memory };
	char flags[96];

	label(job, "call:");
	fputs("perf_event_open(", job->out);
	explain_attr_print(&words, call->attr);
	fprintf(job->out, ", pid %d, cpu %d, group_fd %d, flags %s)\n", call->pid, call->cpu,
		call->group_fd, explain_format_open_flags(call->flags, flags, sizeof(flags)));
}

static uint64_t hash_byte(uint64_t sum, unsigned char byte)
{
	return (sum ^ byte) * UINT64_C(1099511628211);
}

/* How long the text at this place is when it begins with the word and does not go on in the same
 * number. */
static size_t whole_word(const char *text, const char *word)
{
	const size_t length = strlen(word);

	return strncmp(text, word, length) || isxdigit((unsigned char)text[length]) ? 0 : length;
}

/* Two texts are the same when they differ in what the CPU and the event are called. */
static uint64_t hash_text(uint64_t sum, const char *text, const char *cpu, const char *config)
{
	size_t skip;

	while (*text) {
		skip = whole_word(text, cpu);
		if (!skip)
			skip = whole_word(text, config);
		sum = hash_byte(sum, skip ? 1 : *text);
		text += skip ? skip : 1;
	}
	return hash_byte(sum, 0);
}

static uint64_t hash_findings(uint64_t sum, const struct perch_finding *findings, size_t nr,
			      const char *cpu, const char *config)
{
	for (size_t i = 0; i < nr; i++) {
		sum = hash_byte(sum, findings[i].cause);
		sum = hash_text(sum, findings[i].message, cpu, config);
		sum = hash_text(sum, findings[i].remedy, cpu, config);
		for (size_t j = 0; j < findings[i].nr_fields; j++)
			sum = hash_text(sum, findings[i].field[j], cpu, config);
	}
	return hash_byte(sum, 0);
}

static uint64_t hash_answer(const struct explain_refusal *refusal,
			    const struct perch_explanation *explanation)
{
	const size_t nr = explanation->nr_findings < PERCH_FINDINGS_MAX ? explanation->nr_findings
									: PERCH_FINDINGS_MAX;
	const size_t next = explanation->nr_next < PERCH_NEXT_MAX ? explanation->nr_next
								  : PERCH_NEXT_MAX;
	uint64_t sum = UINT64_C(14695981039346656037);
	char cpu[32], config[32];

	snprintf(cpu, sizeof(cpu), "CPU %d", refusal->cpu);
	snprintf(config, sizeof(config), "0x%" PRIx64, refusal->config);
	sum = hash_findings(sum, explanation->finding, nr, cpu, config);
	return hash_findings(sum, explanation->next, next, cpu, config);
}

static bool is_told(struct explain_job *job, struct explain_refusal *refusal,
		    const struct perch_attr *attr, const struct perch_explanation *explanation)
{
	struct perch_attr copy;

	explain_attr_copy(&copy, attr);
	refusal->type = copy.type;
	refusal->config = copy.config;
	refusal->errnum = explanation->errnum;
	refusal->cause = explanation->finding[0].cause;
	refusal->confidence = explanation->confidence;
	refusal->text = hash_answer(refusal, explanation);
	return explain_dedup_count(job, refusal);
}

static void begin(const struct explain_job *job)
{
	paint(job, BOLD);
	fputs("perch explain:", job->out);
	paint(job, PLAIN);
}

void explain_print_call(struct explain_job *job, uint64_t number,
			const struct explain_caller *caller, const struct perch_open_call *call,
			const struct perch_explanation *explanation)
{
	struct explain_refusal refusal = { .number = number,
					   .cpu = call->cpu,
					   .process = caller->process };

	if (is_told(job, &refusal, call->attr, explanation))
		return;
	begin(job);
	fprintf(job->out, " call %" PRIu64 " of perf_event_open", number);
	put_caller(job, caller);
	put_answer(job, explanation);
	put_call(job, caller, call);
}

/* What the argument points to tells more than where that is. */
static void put_control(const struct explain_job *job, int fd,
			const struct perch_operation *operation)
{
	char text[128];

	fprintf(job->out, "ioctl(fd %d, %s, ", fd,
		explain_format_request(operation->request, text, sizeof(text)));
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

static void put_operation(const struct explain_job *job, const struct explain_caller *caller,
			  int fd, const struct perch_operation *operation)
{
	const struct explain_attr_format words = { .out = job->out, .machine = caller->machine };
	char text[128], flags[128];

	label(job, "call:");
	if (operation->kind == PERCH_OPERATION_MMAP)
		fprintf(job->out, "mmap(length %zu, %s, %s, fd %d, offset %" PRIu64 ")",
			operation->length,
			explain_format_protection(operation->protection, text, sizeof(text)),
			explain_format_map_flags(operation->map_flags, flags, sizeof(flags)), fd,
			operation->offset);
	else if (operation->kind == PERCH_OPERATION_READ)
		fprintf(job->out, "read(fd %d, %zu bytes)", fd, operation->size);
	else if (operation->kind == PERCH_OPERATION_MUNMAP)
		fprintf(job->out, "munmap(length %zu, from byte %" PRIu64 " of the mapping on)",
			operation->length, operation->offset);
	else
		put_control(job, fd, operation);
	if (operation->attr) {
		fputs(" of ", job->out);
		explain_attr_print(&words, operation->attr);
		fprintf(job->out, ", pid %d, cpu %d", operation->pid, operation->cpu);
	}
	fputc('\n', job->out);
}

void explain_print_operation(struct explain_job *job, uint64_t number,
			     const struct explain_caller *caller, int fd,
			     const struct perch_operation *operation,
			     const struct perch_explanation *explanation)
{
	struct explain_refusal refusal = {
		.number = number,
		.cpu = operation->attr ? operation->cpu : -1,
		.process = caller->process,
		.operation = operation->kind + 1,
		.request = operation->request,
		.fd = fd,
	};

	if (is_told(job, &refusal, operation->attr, explanation))
		return;
	begin(job);
	fprintf(job->out, " %s of descriptor %d", explain_operation_name(operation->kind), fd);
	if (number)
		fprintf(job->out, ", from call %" PRIu64, number);
	put_caller(job, caller);
	put_answer(job, explanation);
	put_operation(job, caller, fd, operation);
}

void explain_print_success(struct explain_job *job, uint64_t number,
			   const struct explain_caller *caller, const struct perch_open_call *call,
			   int fd, const struct perch_finding *lint, size_t nr)
{
	explain_dedup_print_last(job);
	begin(job);
	fprintf(job->out, " call %" PRIu64 " of perf_event_open", number);
	put_caller(job, caller);
	fprintf(job->out, ": descriptor %d\n", fd);
	for (size_t i = 0; i < nr; i++)
		put_short(job, "lint:", &lint[i]);
	put_call(job, caller, call);
}

/* Always on stderr: the file of -o has refusals alone, and there is one who waits for the end. */
void explain_print_summary(struct explain_job *job)
{
	if (!job->json)
		explain_dedup_print_all(job);
	explain_flush(job);
	if (job->json && !job->verbose && !job->unreadable)
		return;
	fprintf(stderr, "perch explain: %" PRIu64 " call%s of perf_event_open, %" PRIu64 " refused",
		job->calls, job->calls == 1 ? "" : "s", job->refused);
	if (job->operations_refused)
		fprintf(stderr, "; %" PRIu64 " of mmap, ioctl and read refused",
			job->operations_refused);
	if (job->unreadable)
		fprintf(stderr, "; %" PRIu64 " %s could not be read", job->unreadable,
			job->from_log	       ? job->unreadable == 1 ? "line" : "lines"
			: job->unreadable == 1 ? "call"
					       : "calls");
	fputc('\n', stderr);
}
