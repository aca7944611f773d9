/* SPDX-License-Identifier: MIT */
/*
 * The functions of the running kernel, as far as /proc/kallsyms names them. A file that cannot be read, or has no
 * functions, says nothing: then it is the kernel that refuses a name when the event is opened.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "probe.h"

#define LINE 1024	/* the longest names have 511 bytes */

/* What is known of a name after the whole file has been read. */
struct search {
	const char *name, *module;	/* module "": any, or none */
	size_t functions;		/* in the file */
	size_t found;			/* of that name */
	struct perch__nearest *nearest;	/* NULL: names are not offered */
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

static int walk(const struct perch_machine *machine, struct search *search)
{
	char path[PATH_MAX], line[LINE];
	const char *name, *module;
	FILE *stream;

	if (perch_machine_path(machine, path, sizeof(path), "/proc/kallsyms") < 0)
		return -ENAMETOOLONG;
	stream = fopen(path, "re");
	if (!stream)
		return -errno;
	while (fgets(line, sizeof(line), stream)) {
		if (!read_line(line, &name, &module))
			continue;
		search->functions++;
		if (search->nearest)
			perch__nearest_offer(search->nearest, name);
		else
			search->found += !strcmp(name, search->name) &&
					 (!*search->module || !strcmp(module, search->module));
	}
	fclose(stream);
	return 0;
}

int perch__kernel_function(struct perch__parser *parser, const struct perch__probe_text *probe)
{
	const char *colon = strchr(probe->symbol, ':');
	char module[64] = "";
	struct search search = { .name = colon ? colon + 1 : probe->symbol, .module = module };
	struct perch__nearest nearest = { .word = search.name };

	if (colon && (size_t)(colon - probe->symbol) < sizeof(module))
		memcpy(module, probe->symbol, colon - probe->symbol);
	if (walk(parser->machine, &search) || !search.functions || search.found == 1)
		return 0;
	if (search.found) {
		/* from 6.6 on the kernel refuses these; older ones take the first */
		perch__refuse(parser, probe->at_symbol, ENOTUNIQ, PERCH_CAUSE_UNKNOWN_EVENT,
			      "the kernel has %zu functions '%s'", search.found, probe->symbol);
		perch_error_remedy(parser->err, "give the address of one, as kprobe:0xADDRESS%s",
				   module[0] ? "" : ", or its module, as kprobe:'MODULE:FUNCTION'");
		return -ENOTUNIQ;
	}
	perch__refuse(parser, probe->at_symbol, ENOENT, PERCH_CAUSE_UNKNOWN_EVENT, "the kernel has no function '%s'",
		      probe->symbol);
	search.nearest = &nearest;
	walk(parser->machine, &search);
	perch__nearest_remedy(&nearest, parser->err, "/proc/kallsyms lists its functions");
	return -ENOENT;
}
