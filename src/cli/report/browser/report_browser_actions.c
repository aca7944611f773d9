/* SPDX-License-Identifier: MIT */
/* What keys of the report's browser do besides moving: annotation, menus, files. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/text_stream.h"
#include "options.h"
#include "report_browser.h"

extern char **environ;

#define MOST_TEXT (1u << 20) /* bytes of messages */

/* ---- texts ---- */

/* Splits a text, which it changes, into lines. Returns NULL if out of memory. */
static const char **split_lines(char *text, size_t *nr)
{
	const char **lines = NULL;

	*nr = 0;
	while (*text) {
		char *end = strchrnul(text, '\n');
		bool last = !*end;

		if (PERCH__ARRAY_RESERVE_BY_NR(lines, *nr, 1)) {
			free(lines);
			return NULL;
		}
		*end = '\0';
		lines[(*nr)++] = text;
		if (last)
			break;
		text = end + 1;
	}
	return lines;
}

static void show_text(const char *title, char *text)
{
	size_t nr;
	const char **lines = split_lines(text, &nr);

	if (lines)
		screen_text(title, lines, nr, 0);
	free(lines);
}

void browser_show_help(void)
{
	static const char *const lines[] = {
		"Up, Down, Page Up, Page Down, b, Space, Home, End   move",
		"q, Control-C                                        leave",
		"Enter, +      unfold or fold a row or a branch; Enter shows the menu of rows",
		"              without call graph",
		"e             unfold or fold a row with all branches",
		"E, C          unfold the first 1000 rows, fold all rows",
		"a             annotate the function: its instructions with their shares",
		"d             zoom into the DSO of the row, or out",
		"t             zoom into the thread or command of the row, or out",
		"k             zoom into the kernel, or out",
		"/             show only functions with this text in their name",
		"L             show only rows from this percentage on",
		"F             percentages of the rows that are shown, or of all",
		"Right, Left   move the view by a column; after the last column by 8 characters",
		"Escape, Left  remove the last zoom or filter; Left does so at the first column,",
		"              and without one shows the list of events",
		"m             menu of what can be done with the row",
		"Tab, Back Tab next and previous event",
		"s             another event or file",
		"o             other columns to group and sort by (as -s)",
		"O             sort by the own share (Self), or by that with callees (Children)",
		"H             show or hide the titles of columns",
		"P             write the lines into the file perf.hist.N",
		"i             the header of the file",
		"z             perch top: only the samples since the last refresh, or all",
		"Control-L     draw the screen anew",
		"h, ?, F1      this help",
	};

	screen_text("Keys", lines, sizeof(lines) / sizeof(lines[0]), 0);
}

void browser_show_header(struct browser *browser)
{
	char *text = NULL;
	size_t size;
	FILE *out = perch__open_text(&text, &size);

	if (!out)
		return;
	cli_input_print_header(&browser->report.input, out, true);
	if (perch__close_text(out, &text))
		show_text("Header", text);
	free(text);
}

/* ---- annotation ---- */

/* Reads a pipe to its end. Returns NULL if out of memory. */
static char *read_all(int fd)
{
	size_t used = 0, capacity = 0;
	char *text = NULL;

	while (used < MOST_TEXT) {
		ssize_t got;

		if (used + 65536 > capacity) {
			char *larger = realloc(text, capacity + 262144);

			if (!larger)
				break;
			text = larger;
			capacity += 262144;
		}
		got = read(fd, text + used, 65535);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		used += (size_t)got;
	}
	if (text)
		text[used] = '\0';
	return text;
}

enum { MOST_ARGUMENTS = 64 };

/* The options of perch annotate that select the same samples and symbols as the report. */
static size_t annotate_options(const struct report *report, const char **argv)
{
	const struct perch_symbols_options *symbols = &report->input.options.symbols;
	const struct {
		const char *name, *value;
	} options[] = {
		{ "--input", report->input.path },
		{ "--symfs", symbols->root },
		{ "--vmlinux", symbols->vmlinux },
		{ "--kallsyms", symbols->kallsyms },
	};
	size_t nr = cli_filter_arguments(&report->filter, argv);

	for (size_t i = 0; i < CLI_NR(options); i++)
		if (options[i].value) {
			argv[nr++] = options[i].name;
			argv[nr++] = options[i].value;
		}
	if (report->no_inline)
		argv[nr++] = "--no-inline";
	if (report->input.no_debuginfod)
		argv[nr++] = "--no-debuginfod";
	if (symbols->no_demangle)
		argv[nr++] = "--no-demangle";
	if (symbols->demangle_kernel)
		argv[nr++] = "--demangle-kernel";
	if (symbols->no_vmlinux)
		argv[nr++] = "--ignore-vmlinux";
	return nr;
}

/* Runs a command of perch on the terminal, and returns its messages; NULL after an error. */
static char *run_perch(const char *const *argv)
{
	posix_spawn_file_actions_t actions;
	char *text = NULL;
	int ends[2], status;
	pid_t child;

	if (pipe2(ends, O_CLOEXEC))
		return NULL;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
	if (!posix_spawn(&child, "/proc/self/exe", &actions, NULL, (char *const *)argv, environ)) {
		close(ends[1]);
		ends[1] = -1;
		text = read_all(ends[0]);
		/* more messages than are read must not block it */
		close(ends[0]);
		ends[0] = -1;
		while (waitpid(child, &status, 0) < 0 && errno == EINTR)
			;
	}
	posix_spawn_file_actions_destroy(&actions);
	for (size_t i = 0; i < 2; i++)
		if (ends[i] >= 0)
			close(ends[i]);
	return text;
}

/* Shows the first line of the messages, without the name of the command. */
static void show_messages(struct browser *browser, char *text)
{
	static const char command[] = "perch annotate: ";

	text[strcspn(text, "\n")] = '\0';
	if (!strncmp(text, command, sizeof(command) - 1))
		text += sizeof(command) - 1;
	perch_clean_text(text, browser->message, sizeof(browser->message));
}

void browser_annotate(struct browser *browser, const struct perch_frame *frame)
{
	const char *argv[MOST_ARGUMENTS] = { "perch", "annotate", "--tui", "-f" };
	struct annotate_style style = browser->report.style;
	size_t nr = 4;
	char *text, *origin;

	if (asprintf(&origin, "%u:%" PRIx64 ":%s", browser->event, frame->symbol->start,
		     frame->symbol->dso->path) < 0)
		return;
	nr += annotate_options(&browser->report, argv + nr);
	nr += annotate_style_arguments(&style, argv + nr);
	argv[nr++] = "--origin";
	argv[nr++] = origin;
	argv[nr++] = "--symbol";
	argv[nr++] = perch_symbols_name(perch_session_symbols(browser->report.input.session),
					frame->symbol);
	screen_put(screen_rows() - 1, 0, SCREEN_TITLE, "Reading the samples of the function...");
	screen_show();
	screen_close();
	text = run_perch(argv);
	free(origin);
	if (!screen_open()) {
		cli_note(browser->report.input.command, "the terminal cannot be used any more");
		exit(CLI_EXIT_FAILURE);
	}
	if (text)
		show_messages(browser, text);
	else
		screen_message("Cannot run perch annotate");
	free(text);
}

/* ---- files ---- */

void browser_print(struct browser *browser)
{
	struct cli_output_file out;

	if (!screen_create_file(&out, "perf.hist", browser->message, sizeof(browser->message)))
		return;
	browser_write(browser, out.stream);
	screen_close_file(&out, browser->lines.nr, browser->message, sizeof(browser->message));
}

/* Adds the events of the file that have samples to a list of texts, and their indices. */
static size_t list_events(const struct browser *browser, const char **texts, unsigned *events,
			  char (*names)[160], size_t most)
{
	size_t nr = 0;

	for (unsigned event = 0; event < browser->nr_events && nr < most; event++) {
		struct perch_profile_total total;
		char name[128];

		perch_profile_get_total(browser->profile, event, &total);
		if (!total.all_samples)
			continue;
		perch_clean_text(browser->events[event].name, name, sizeof(name));
		snprintf(names[nr], sizeof(names[nr]), "event %s", name);
		texts[nr] = names[nr];
		events[nr++] = event;
	}
	return nr;
}

/* Adds the recordings of the current directory to a list of texts, and their paths, which found
 * has. */
static size_t list_files(const char **texts, const char **paths, char (*names)[160], size_t most,
			 glob_t *found)
{
	size_t nr = 0;

	if (glob("*.data*", 0, NULL, found))
		return 0;
	for (size_t i = 0; i < found->gl_pathc && nr < most; i++) {
		char name[128];

		if (!perch_is_recording(found->gl_pathv[i]))
			continue;
		perch_clean_text(found->gl_pathv[i], name, sizeof(name));
		snprintf(names[nr], sizeof(names[nr]), "file %s", name);
		texts[nr] = names[nr];
		paths[nr++] = found->gl_pathv[i];
	}
	return nr;
}

bool browser_switch(struct browser *browser, unsigned *event, char *file, size_t size)
{
	enum { MOST_EVENTS = 64, MOST_FILES = 64 };
	static char names[MOST_EVENTS + MOST_FILES][160];
	const char *texts[MOST_EVENTS + MOST_FILES];
	const char *paths[MOST_FILES];
	unsigned events[MOST_EVENTS];
	glob_t found = { 0 };
	size_t nr = list_events(browser, texts, events, names, MOST_EVENTS), files = 0;
	int selected;

	file[0] = '\0';
	/* perch top reads no file: it has live->nr_events */
	if (!(browser->live && browser->live->nr_events))
		files = list_files(texts + nr, paths, names + nr, MOST_FILES, &found);
	selected = screen_select("Events and files", texts, nr + files);
	if (selected >= 0 && (size_t)selected < nr)
		*event = events[selected];
	else if (selected >= 0)
		snprintf(file, size, "%s", paths[selected - nr]);
	globfree(&found);
	return selected >= 0 && (size_t)selected < nr;
}

void browser_restart(struct browser *browser, const char *option, const char *value)
{
	char **old = browser->report.argv;
	const char **argv;
	size_t nr = 0;

	while (old[nr])
		nr++;
	argv = calloc(nr + 4, sizeof(*argv));
	if (!argv)
		return;
	argv[0] = "perch";
	memcpy(argv + 1, old, nr * sizeof(*argv));
	argv[nr + 1] = option;
	argv[nr + 2] = value;
	screen_close();
	execv("/proc/self/exe", (char *const *)argv);
	free(argv);
	screen_open();
	snprintf(browser->message, sizeof(browser->message), "Cannot start perch again: %s",
		 strerror(errno));
}
