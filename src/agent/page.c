/* SPDX-License-Identifier: MIT */
/* Folded stacks of the window become a page, by the export of the library. */
#include "page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <perch/export.h>

#include "base/no_memory.h"
#include "names.h"

struct folding {
	const struct agent_window *window;
	struct agent_names *names;
	FILE *out;
};

/* Semicolons and blanks at the end have a meaning in a line. */
static void put_name(FILE *out, const char *name)
{
	for (; *name; name++)
		fputc(*name == ';' || *name == '\n' ? ':' : *name, out);
}

/* Writes ";OUTER;INLINED_[i]" of an address. */
static void put_address(const struct folding *folding, uint32_t number,
			const struct agent_address *address)
{
	size_t nr;
	const struct agent_function *function = agent_names_at(folding->names, number, &nr);

	while (nr-- > 0) {
		fputc(';', folding->out);
		put_name(folding->out, function[nr].name);
		fputs(function[nr].inlined   ? "_[i]"
		      : address->mode == 'k' ? "_[k]"
					     : "",
		      folding->out);
	}
}

static void put_stack(const struct folding *folding, uint32_t stack)
{
	uint32_t chain[PERCH_MAX_CALL_CHAIN], next;
	size_t nr = 0;

	for (; stack != AGENT_NONE && nr < PERCH_MAX_CALL_CHAIN; stack = next) {
		chain[nr++] = stack;
		agent_window_frame(folding->window, stack, &next);
	}
	while (nr-- > 0)
		put_address(folding, agent_window_address(folding->window, chain[nr]),
			    agent_window_frame(folding->window, chain[nr], &next));
}

/* Writes the stacks of the first event: "NAME;main;f 3". Returns the number of its samples. */
static uint64_t fold_rows(const struct folding *folding, const struct agent_row *rows, size_t nr)
{
	uint64_t samples = 0;

	for (size_t i = 0; i < nr && !rows[i].event; i++) {
		struct agent_sample_labels labels =
			agent_window_labels(folding->window, rows[i].labels);

		put_name(folding->out, labels.comm     ? labels.comm
				       : labels.cgroup ? labels.cgroup
						       : "[all threads]");
		put_stack(folding, rows[i].stack);
		fprintf(folding->out, " %u\n", rows[i].samples);
		samples += rows[i].samples;
	}
	return samples;
}

struct folded {
	char *text; /* for free(3) */
	size_t size;
	uint64_t samples;
};

/* Stores the text; NULL after a failure. */
static int fold_all(const struct agent *agent, uint64_t from, uint64_t to, bool functions,
		    struct folded *folded, struct agent_unnamed *unnamed, struct perch_error *err)
{
	struct folding folding = { .window = agent->window };
	size_t nr;
	struct agent_row *rows = agent_window_sum(agent->window, from, to, &nr);
	int rc = agent_names_new(&folding.names, agent->window, agent->source, rows, nr, functions,
				 err);

	*folded = (struct folded){ .text = NULL };
	folding.out = rc < 0 ? NULL : open_memstream(&folded->text, &folded->size);
	if (folding.out) {
		folded->samples = fold_rows(&folding, rows, nr);
		if (fclose(folding.out)) {
			free(folded->text);
			folded->text = NULL;
		}
	}
	if (folding.names)
		agent_names_unnamed(folding.names, unnamed);
	agent_names_free(folding.names);
	free(rows);
	return rc < 0 || folded->text ? rc : PERCH__NO_MEMORY(err, "for a page");
}

static void put_time(uint64_t ns, char text[16])
{
	time_t seconds = (time_t)(ns / 1000000000);
	struct tm local;

	if (!localtime_r(&seconds, &local) || !strftime(text, 16, "%H:%M:%S", &local))
		text[0] = '\0';
}

/* The time that the page is of, and the CPU time if samples stand for it. */
static void make_title(const struct agent *agent, uint64_t from, uint64_t to, uint64_t samples,
		       char *title, size_t size)
{
	uint64_t begin, end, now = agent_now(), wall = agent_wall_now(),
			     sample_ns = agent_source_sample_ns(agent->source);
	char first[16], last[16], cpu[64] = "";

	agent_window_times(agent->window, from, to, &begin, &end);
	put_time(wall - (now - begin), first);
	put_time(wall - (now - end), last);
	if (sample_ns)
		snprintf(cpu, sizeof(cpu), ", %.1f s of CPU time",
			 (double)(samples * sample_ns) / 1e9);
	snprintf(title, size, "perch agent: %s to %s%s", first, last, cpu);
}

static int write_page(const char *title, FILE *in, FILE *out, struct perch_error *err)
{
	const struct perch_export_options options = { .title = title };
	struct perch_export *export;
	int rc = perch_export_new(&export, NULL, PERCH_EXPORT_PAGE, &options, err);

	if (rc >= 0)
		rc = perch_export_add_text(export, in, err);
	if (rc >= 0)
		rc = perch_export_write(export, out, err);
	perch_export_free(export);
	return rc;
}

int agent_page(const struct agent *agent, uint64_t from, uint64_t to, bool functions, FILE *out,
	       struct agent_unnamed *unnamed, struct perch_error *err)
{
	struct folded folded;
	char title[128];
	FILE *in;
	int rc = fold_all(agent, from, to, functions, &folded, unnamed, err);

	if (rc < 0)
		return rc;
	if (!folded.size) {
		free(folded.text);
		return perch_error_set(err, EAGAIN, PERCH_ERROR_USAGE,
				       "no samples yet: look again in some seconds");
	}
	make_title(agent, from, to, folded.samples, title, sizeof(title));
	in = fmemopen(folded.text, folded.size, "r");
	rc = in ? write_page(title, in, out, err) : PERCH__NO_MEMORY(err, "for a page");
	if (in)
		fclose(in);
	free(folded.text);
	return rc;
}
