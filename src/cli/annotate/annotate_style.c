/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include "annotate_style.h"

static const struct cli_word percent_types[] = {
	{ "local-period", 0 },
	{ "local-hits", ANNOTATE_HITS },
	{ "global-period", ANNOTATE_GLOBAL },
	{ "global-hits", ANNOTATE_GLOBAL | ANNOTATE_HITS },
	{ 0 },
};

static const struct cli_word syntaxes[] = {
	{ "intel", true },
	{ "att", false },
	{ 0 },
};

#define SETS(member) CLI_SETS(struct annotate_style, member)

const struct cli_option annotate_style_options[] = {
	CLI_ROW(.name = "percent-type", .argument = "TYPE", SETS(percent_type),
		.words = percent_types, .help = "what 100 % of annotate is"),
	CLI_ROW(.letter = 'M', .name = "disassembler-style", .argument = "SYNTAX", SETS(intel),
		.words = syntaxes, .help = "syntax of x86"),
	CLI_ROW(.name = "asm-raw", SETS(asm_raw), .help = "show the bytes of instructions"),
	CLI_ROW(.name = "source", SETS(no_source), .inverted = true,
		.help = "show source lines between instructions (default)"),
	CLI_ROW(.name = "prefix", .argument = "DIR", SETS(prefix),
		.help = "directory to put before the paths of source files"),
	CLI_ROW(.name = "prefix-strip", .argument = "N", SETS(strip),
		.help = "first remove N directories of these paths"),
	{ 0 },
};

int annotate_style_check(const struct annotate_style *style, const char *command)
{
	return style->strip && !style->prefix
		       ? cli_usage_error(
				 command,
				 "--prefix-strip shortens paths for --prefix: add --prefix DIR")
		       : 0;
}

size_t annotate_style_arguments(struct annotate_style *style,
				const char *arguments[ANNOTATE_STYLE_MOST_ARGUMENTS])
{
	const struct {
		const char *name, *value;
	} options[] = {
		{ "--percent-type", percent_types[style->percent_type].name },
		{ "--disassembler-style", style->intel ? "intel" : "att" },
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
