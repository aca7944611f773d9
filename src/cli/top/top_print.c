/* SPDX-License-Identifier: MIT */
/* The rows as text. */
#include <inttypes.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "top.h"

/* The cgroup of an event; NULL: it has none, and counts everything. */
static const char *cgroup_of(const struct top *top, size_t event)
{
	const struct cli_cgroups *cgroups = &top->record.cgroups;
	const char *name = event < cgroups->nr ? cgroups->name[event] : NULL;

	return name && name[0] ? name : NULL;
}

static bool is_same_cgroup(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/* Each cgroup once, and "all" if an event has none. */
static void put_cgroups(FILE *out, const struct top *top)
{
	for (size_t i = 0; i < top->plan.events.nr; i++) {
		const char *name = cgroup_of(top, i);
		size_t before = 0;

		while (before < i && !is_same_cgroup(cgroup_of(top, before), name))
			before++;
		if (before < i)
			continue;
		fputs(i ? ", " : "", out);
		if (name) {
			fputs("cgroup ", out);
			cli_put_clean(out, name);
		} else {
			fputs("all", out);
		}
	}
}

static void put_targets(FILE *out, const struct top *top)
{
	const struct cli_target *target = &top->record.target;
	const struct perch_cpus *cpus = &top->plan.cpus;

	if (cli_target_has_tasks(target)) {
		fprintf(out, "%s: ",
			target->pids   ? "processes"
			: target->tids ? "threads"
				       : "user");
		cli_put_clean(out, target->pids	  ? target->pids
				   : target->tids ? target->tids
						  : target->user);
	} else {
		put_cgroups(out, top);
	}
	if (cpus->nr) {
		fputs(", CPUs ", out);
		cli_put_clean(out, target->cpu_list);
	} else if (!perch_machine_cpus(top->record.events.machine, &cpus, NULL)) {
		fprintf(out, ", %zu CPU%s", cpus->nr, cpus->nr == 1 ? "" : "s");
	}
}

static void put_events(FILE *out, const struct top *top)
{
	const struct perch_attr *attr;
	const uint64_t *ids;
	const char *name;
	size_t nr;

	for (size_t i = 0; i < top->plan.events.nr; i++) {
		attr = perch_sampler_event(top->sampler, i, &name, &ids, &nr);
		if (!attr)
			continue;
		fputs(i ? ", " : "", out);
		if (attr->freq)
			fprintf(out, "%" PRIu64 " Hz ", (uint64_t)attr->sample_freq);
		else
			fprintf(out, "every %" PRIu64 " ", (uint64_t)attr->sample_period);
		cli_put_clean(out, name);
	}
}

void top_put_summary(FILE *out, const struct top *top)
{
	const struct top_interval *now = &top->shown;
	double rate = now->seconds > 0 ? now->samples / now->seconds : 0;

	fprintf(out, "%.0f samples/s  kernel: %.1f%%  lost: %" PRIu64 "/%" PRIu64, rate,
		now->samples ? 100.0 * now->kernel / now->samples : 0, now->lost, top->lost);
	if (top->throttled)
		fprintf(out, "  throttled: %" PRIu64, top->throttled);
	if (top->starts > 1)
		fprintf(out, "  started anew: %u", top->starts - 1);
	if (top->zero)
		fputs("  since the last refresh", out);
	fputs("  [", out);
	put_events(out, top);
	fputs("]  (", out);
	put_targets(out, top);
	putc(')', out);
}

static void put_time(FILE *out)
{
	time_t now = time(NULL);
	struct tm local;
	char text[32];

	if (localtime_r(&now, &local) && strftime(text, sizeof(text), "%H:%M:%S", &local))
		fputs(text, out);
}

/* Without -E: the rows that fit on the terminal, or LOGGED_ROWS. */
static uint64_t rows_of(const struct top *top, FILE *out)
{
	enum { LOGGED_ROWS = 50, OTHER_LINES = 10 };
	struct winsize size;

	if (top->entries)
		return top->entries;
	if (!isatty(fileno(out)) || ioctl(fileno(out), TIOCGWINSZ, &size) || !size.ws_row)
		return LOGGED_ROWS;
	return size.ws_row > OTHER_LINES ? size.ws_row - OTHER_LINES : 1;
}

int top_print(FILE *out, struct top *top, struct perch_profile *profile)
{
	const struct perch_file_event *events;
	size_t nr = top->plan.events.nr;
	int status = 0;

	perch_reader_events(perch_session_reader(top->report.input.session), &events);
	if (isatty(fileno(out)))
		fputs("\033[H\033[2J", out);
	fputs("# ", out);
	put_time(out);
	fputs("  ", out);
	top_put_summary(out, top);
	putc('\n', out);
	report_put_hidden(out, &top->report);
	top->report.entries = rows_of(top, out);
	for (size_t event = 0, members; event < nr && !status; event += members) {
		struct report of_events;

		members = report_group_events(&top->report, events, event, nr - event);
		of_events = report_of_events(&top->report, event, members);
		status = report_print_event(out, &of_events, profile, events, event, members);
	}
	fflush(out);
	return status;
}
