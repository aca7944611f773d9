/* SPDX-License-Identifier: MIT */
/*
 * The functions of the running kernel, as far as /proc/kallsyms names them. A file that cannot be
 * read, or has no functions, says nothing: then it is the kernel that refuses a name when the event
 * is opened.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe.h"

#define MOST_TEXT ((size_t)256 << 20) /* kernels have 10 MiB of it, with many modules 20 */

/* Read once for all probes of a text: the kernel takes tens of milliseconds to write it. */
struct perch__kernel_functions {
	char *text;
	size_t nr;
	struct kernel_function {
		const char *name, *module; /* "": of the kernel itself */
	} * function;
};

/* "ffffffff81234560 t name [module]": false when it is no function. */
static bool read_line(char *line, const char **name, const char **module)
{
	char *type = strchr(line, ' '), *text, *end;

	if (!type || !type[1] || !strchr("tTwW", type[1]) || type[2] != ' ')
		return false;
	text = type + 3;
	end = text + strcspn(text, " \t\n");
	*module = "";
	if (*end && *end != '\n') {
		char *open = strchr(end, '['), *close = open ? strchr(open, ']') : NULL;

		if (close) {
			*close = '\0';
			*module = open + 1;
		}
	}
	*end = '\0';
	*name = text;
	return end > text;
}

/* All of a file, with a NUL behind it; NULL: it cannot be read. */
static char *read_text(const char *path)
{
	FILE *stream = fopen(path, "re");
	size_t room = 1 << 16, used = 0, got;
	char *text = stream ? malloc(room) : NULL;

	while (text && (got = fread(text + used, 1, room - used - 1, stream)) > 0) {
		char *larger = text;

		used += got;
		if (room - used < 2) {
			room *= 2;
			larger = room <= MOST_TEXT ? realloc(text, room) : NULL;
			if (!larger)
				free(text);
		}
		text = larger;
	}
	if (text)
		text[used] = '\0';
	if (stream)
		fclose(stream);
	return text;
}

static void take_functions(struct perch__kernel_functions *kernel)
{
	size_t lines = 0;
	char *next;

	for (const char *at = kernel->text; (at = strchr(at, '\n')); at++)
		lines++;
	kernel->function = malloc((lines + 1) * sizeof(*kernel->function));
	for (char *line = kernel->text; kernel->function && line; line = next) {
		struct kernel_function *function = &kernel->function[kernel->nr];

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		kernel->nr += read_line(line, &function->name, &function->module);
	}
}

/* Those of this parser. nr 0: nothing is known. NULL: no memory. */
static const struct perch__kernel_functions *functions_of(struct perch__parser *parser)
{
	struct perch__kernel_functions *kernel = parser->kernel;
	char path[PATH_MAX];

	if (kernel)
		return kernel;
	kernel = parser->kernel = calloc(1, sizeof(*kernel));
	if (kernel &&
	    perch_machine_path(parser->machine, path, sizeof(path), "/proc/kallsyms") >= 0)
		kernel->text = read_text(path);
	if (kernel && kernel->text)
		take_functions(kernel);
	return kernel;
}

void perch__free_kernel_functions(struct perch__parser *parser)
{
	if (!parser->kernel)
		return;
	free(parser->kernel->function);
	free(parser->kernel->text);
	free(parser->kernel);
	parser->kernel = NULL;
}

static int no_function(struct perch__parser *parser, const struct perch__probe_spec *probe,
		       const struct perch__kernel_functions *kernel, const char *name)
{
	struct perch__suggestions suggestions = { .word = name };

	perch__parse_error(parser, probe->at_symbol, ENOENT, PERCH_ERROR_UNKNOWN_EVENT,
			   "the kernel has no function '%s'", probe->symbol);
	for (size_t i = 0; i < kernel->nr; i++)
		perch__suggest(&suggestions, kernel->function[i].name);
	perch__suggestions_remedy(&suggestions, parser->err, "/proc/kallsyms lists its functions");
	return -ENOENT;
}

int perch__check_kernel_function(struct perch__parser *parser,
				 const struct perch__probe_spec *probe)
{
	const struct perch__kernel_functions *kernel = functions_of(parser);
	const char *colon = strchr(probe->symbol, ':'), *name = colon ? colon + 1 : probe->symbol;
	size_t length = colon ? (size_t)(colon - probe->symbol) : 0, found = 0;

	if (!kernel || !kernel->nr)
		return 0;
	for (size_t i = 0; i < kernel->nr; i++) {
		const struct kernel_function *function = &kernel->function[i];

		if (!strcmp(function->name, name) &&
		    (!length || (!strncmp(function->module, probe->symbol, length) &&
				 !function->module[length])))
			found++;
	}
	if (found == 1)
		return 0;
	if (!found)
		return no_function(parser, probe, kernel, name);
	/* from 6.6 on the kernel refuses these; older ones take the first */
	perch__parse_error(parser, probe->at_symbol, ENOTUNIQ, PERCH_ERROR_UNKNOWN_EVENT,
			   "the kernel has %zu functions '%s'", found, probe->symbol);
	perch_error_remedy(parser->err, "give the address of one, as kprobe:0xADDRESS%s",
			   length ? "" : ", or its module, as kprobe:'MODULE:FUNCTION'");
	return -ENOTUNIQ;
}
