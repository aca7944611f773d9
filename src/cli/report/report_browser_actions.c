/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "options.h"
#include "report_browser.h"

extern char **environ;

#define MOST_TEXT (64u << 20) /* bytes of an annotation */

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

static void show_text(const char *title, char *text, size_t (*first)(const char *const *, size_t))
{
	size_t nr;
	const char **lines = split_lines(text, &nr);

	if (lines)
		screen_text(title, lines, nr, first ? first(lines, nr) : 0);
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
		"Escape, Left  remove the last zoom or filter",
		"m, Right      menu of what can be done with the row",
		"Tab, Back Tab next and previous event",
		"s             another event or file",
		"o             other columns to group and sort by (as -s)",
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
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return;
	perch_reader_print_header(perch_session_reader(browser->report.input.session), out);
	fclose(out);
	show_text("Header", text, NULL);
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

/* Runs a command of perch, and returns its output with its messages; NULL after an error. */
static char *run_perch(const char *const *argv)
{
	posix_spawn_file_actions_t actions;
	char *text = NULL;
	int ends[2], status;
	pid_t child;

	if (pipe2(ends, O_CLOEXEC))
		return NULL;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
	if (!posix_spawn(&child, "/proc/self/exe", &actions, NULL, (char *const *)argv, environ)) {
		close(ends[1]);
		ends[1] = -1;
		text = read_all(ends[0]);
		close(ends[0]); /* a child that still writes ends by SIGPIPE */
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

/* Returns the line with the largest percentage, some lines above it as context. */
static size_t hottest_line(const char *const *lines, size_t nr)
{
	double most = 0;
	size_t hottest = 0;

	for (size_t i = 0; i < nr; i++) {
		char *end;
		double share = strtod(lines[i], &end);

		if (end != lines[i] && share > most && (*end == ' ' || *end == '\0')) {
			most = share;
			hottest = i;
		}
	}
	return hottest > 5 ? hottest - 5 : 0;
}

void browser_annotate(struct browser *browser, const struct perch_frame *frame)
{
	struct perch_symbols *symbols = perch_session_symbols(browser->report.input.session);
	const char *path = browser->report.input.path;
	char title[256], *text;
	const char *name;

	if (!frame->symbol) {
		screen_message("An address without a function cannot be annotated");
		return;
	}
	name = perch_symbols_name(symbols, frame->symbol);
	screen_put(screen_rows() - 1, 0, SCREEN_TITLE, "Reading the instructions...");
	screen_show();
	text = run_perch((const char *const[]){ "perch", "annotate", "--stdio2", "-f", "-i", path,
						"--", name, NULL });
	if (!text) {
		screen_message("Cannot run perch annotate");
		return;
	}
	perch_clean_text(name, title, sizeof(title));
	show_text(title, text, hottest_line);
	free(text);
}

/* ---- files ---- */

void browser_print(struct browser *browser)
{
	char path[64];
	FILE *out;
	int fd = -1;

	for (unsigned i = 0; i < 1000 && fd < 0; i++) {
		snprintf(path, sizeof(path), "perf.hist.%u", i);
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!out) {
		snprintf(browser->message, sizeof(browser->message), "Cannot write %s: %s", path,
			 strerror(errno));
		if (fd >= 0)
			close(fd);
		return;
	}
	browser_write(browser, out);
	if (fclose(out))
		snprintf(browser->message, sizeof(browser->message), "Cannot write %s: %s", path,
			 strerror(errno));
	else
		snprintf(browser->message, sizeof(browser->message), "%zu lines written to %s",
			 browser->lines.nr, path);
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

bool browser_switch(struct browser *browser, unsigned *event, char *file, size_t size)
{
	enum { MOST_EVENTS = 64, MOST_FILES = 64 };
	static char names[MOST_EVENTS + MOST_FILES][160];
	const char *texts[MOST_EVENTS + MOST_FILES];
	unsigned events[MOST_EVENTS];
	glob_t found = { 0 };
	size_t nr = list_events(browser, texts, events, names, MOST_EVENTS), files = 0;
	int selected;

	file[0] = '\0';
	if (!glob("*.data*", 0, NULL, &found))
		for (; files < found.gl_pathc && files < MOST_FILES; files++) {
			char name[128];

			perch_clean_text(found.gl_pathv[files], name, sizeof(name));
			snprintf(names[nr + files], sizeof(names[0]), "file %s", name);
			texts[nr + files] = names[nr + files];
		}
	selected = screen_select("Events and files", texts, nr + files);
	if (selected >= 0 && (size_t)selected < nr)
		*event = events[selected];
	else if (selected >= 0)
		snprintf(file, size, "%s", found.gl_pathv[selected - nr]);
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
