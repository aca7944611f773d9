/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <string.h>

#include "annotate_style.h"

int annotate_style_set_percent_type(struct annotate_style *style, const char *command,
				    const char *argument, bool negated)
{
	static const char *const types[] = { "local-period", "local-hits", "global-period",
					     "global-hits" };

	if (negated)
		argument = types[0];
	for (size_t i = 0; i < CLI_NR(types); i++) {
		if (strcmp(types[i], argument))
			continue;
		style->percent_type = argument;
		style->global = i >= 2;
		style->hits = i & 1;
		return 0;
	}
	return cli_usage_error(command,
			       "--percent-type '%s': expected local-period, local-hits, "
			       "global-period or global-hits",
			       argument);
}

int annotate_style_set_syntax(struct annotate_style *style, const char *command,
			      const char *argument, bool negated)
{
	if (!negated && strcmp(argument, "intel") && strcmp(argument, "att"))
		return cli_usage_error(command, "-M '%s': expected intel or att", argument);
	style->syntax = negated ? NULL : argument;
	style->intel = style->syntax && !strcmp(argument, "intel");
	return 0;
}

int annotate_style_set_source(void *style, const char *argument, bool negated)
{
	(void)argument;
	((struct annotate_style *)style)->no_source = negated;
	return 0;
}

int annotate_style_check(const struct annotate_style *style, const char *command)
{
	return style->strip && !style->prefix
		       ? cli_usage_error(command, "--prefix-strip needs --prefix")
		       : 0;
}

size_t annotate_style_arguments(struct annotate_style *style,
				const char *arguments[ANNOTATE_STYLE_MOST_ARGUMENTS])
{
	const struct {
		const char *name, *value;
	} options[] = {
		{ "--percent-type", style->percent_type },
		{ "--disassembler-style", style->syntax },
		{ "--prefix", style->prefix },
		{ "--prefix-strip", style->strip ? style->strip_text : NULL },
	};
	size_t nr = 0;

	snprintf(style->strip_text, sizeof(style->strip_text), "%" PRIu64, style->strip);
	for (size_t i = 0; i < CLI_NR(options); i++)
		if (options[i].value) {
			arguments[nr++] = options[i].name;
			arguments[nr++] = options[i].value;
		}
	if (style->asm_raw)
		arguments[nr++] = "--asm-raw";
	if (style->no_source)
		arguments[nr++] = "--no-source";
	return nr;
}
