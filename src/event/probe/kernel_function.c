/* SPDX-License-Identifier: MIT */
/*
 * Checks the function of a kprobe against /proc/kallsyms. When that file cannot be read or has no
 * functions, every name passes, and the kernel checks it when the event is opened.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/function_name.h"
#include "probe.h"

#define TEXT_MAX ((size_t)256 << 20) /* bytes; kernels have 10 MiB, with many modules 20 */

struct kernel_function {
	const char *name, *module; /* module: "" for the kernel itself */
};

/* Read once for all probes of a text: the kernel takes tens of milliseconds to write the file. */
struct perch__kernel_functions {
	char *text;
	size_t nr, capacity;
	struct kernel_function *function;
};

/* Parses "ffffffff81234560 t name [module]". Returns false when the symbol is not a function. */
static bool parse_line(char *line, struct kernel_function *function)
{
	char *type = strchr(line, ' '), *name, *end;

	if (!type || !type[1] || !strchr("tTwW", type[1]) || type[2] != ' ')
		return false;
	name = type + 3;
	end = name + strcspn(name, " \t\n");
	function->module = "";
	if (*end && *end != '\n') {
		char *open = strchr(end, '['), *close = open ? strchr(open, ']') : NULL;

		if (close) {
			*close = '\0';
			function->module = open + 1;
		}
	}
	*end = '\0';
	function->name = name;
	return end > name;
}

/* Returns the contents of a file, with a NUL at the end; NULL when it cannot be read. */
static char *read_text(const char *path)
{
	size_t capacity = 0, used = 0, got = 0;
	FILE *stream = fopen(path, "re");
	char *text = NULL;
	int rc = 0;

	if (!stream)
		return NULL;
	do {
		used += got;
		rc = PERCH__ARRAY_RESERVE_MAX(text, capacity, used + BUFSIZ, TEXT_MAX);
		got = rc ? 0 : fread(text + used, 1, capacity - used - 1, stream);
	} while (got);
	fclose(stream);
	if (rc) {
		free(text);
		return NULL;
	}
	text[used] = '\0';
	return text;
}

static void parse_text(struct perch__kernel_functions *kernel)
{
	char *next;

	for (char *line = kernel->text; line; line = next) {
		struct kernel_function function, *slot;

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (!parse_line(line, &function))
			continue;
		slot = PERCH__ARRAY_APPEND(kernel->function, kernel->nr, kernel->capacity);
		if (!slot) {
			kernel->nr = 0; /* an incomplete list would refuse existing functions */
			return;
		}
		*slot = function;
	}
}

/*
 * Returns the functions that this parser has read. Their number is 0 when the file cannot be read;
 * NULL if out of memory.
 */
static const struct perch__kernel_functions *get_functions(struct perch__parser *parser)
{
	struct perch__kernel_functions *kernel = parser->kernel;
	char path[PATH_MAX];

	if (kernel)
		return kernel;
	kernel = parser->kernel = calloc(1, sizeof(*kernel));
	if (kernel &&
	    perch_machine_path(parser->machine, "/proc/kallsyms", path, sizeof(path)) >= 0)
		kernel->text = read_text(path);
	if (kernel && kernel->text)
		parse_text(kernel);
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

static int report_unknown(struct perch__parser *parser, const struct perch__probe_spec *probe,
			  const struct perch__kernel_functions *kernel, const char *name)
{
	struct perch__suggestions suggestions = { .word = name };

	perch__parse_error(parser, probe->at_symbol, ENOENT, PERCH_ERROR_UNKNOWN_EVENT,
			   "the kernel has no function '%s'", probe->symbol);
	for (size_t i = 0; i < kernel->nr; i++)
		perch__suggest(&suggestions, kernel->function[i].name);
	perch__suggestions_remedy(&suggestions, parser->err,
				  "/proc/kallsyms lists the functions of the kernel");
	return -ENOENT;
}

int perch__check_kernel_function(struct perch__parser *parser,
				 const struct perch__probe_spec *probe)
{
	const struct perch__kernel_functions *kernel = get_functions(parser);
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
	if (found == 1 && probe->returns && perch__is_moved_part(name))
		return perch__parse_error(parser, probe->at_symbol, EINVAL, PERCH_ERROR_CONFLICT,
					  "'%s' is a part of a function that is jumped to: it has "
					  "no return",
					  probe->symbol);
	if (found == 1)
		return 0;
	if (!found)
		return report_unknown(parser, probe, kernel, name);
	/* Linux 6.6 and later refuse the name; older kernels probe the first function */
	perch__parse_error(parser, probe->at_symbol, ENOTUNIQ, PERCH_ERROR_UNKNOWN_EVENT,
			   "the kernel has %zu functions '%s'", found, probe->symbol);
	perch_error_remedy(parser->err, "use an address, as kprobe:0xADDRESS%s",
			   length ? "" : ", or add the module, as kprobe:'MODULE:FUNCTION'");
	return -ENOTUNIQ;
}
