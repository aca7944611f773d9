/* SPDX-License-Identifier: MIT */
#include <unistd.h>

#include "terminal/color.h"
#include "terminal/pager.h"

int cli_set_color(const struct cli_given *given)
{
	*(bool *)given->state = given->value == CLI_COLOR_AUTO
					? cli_no_pager && isatty(STDOUT_FILENO)
					: !given->negated && (!given->text || given->value);
	return 0;
}

const char *cli_color_of(bool color, double percent)
{
	if (!color || percent < 0.5)
		return NULL;
	return percent >= 5 ? CLI_COLOR_RED : CLI_COLOR_GREEN;
}

void cli_put_colored(FILE *out, bool color, double percent, const char *text)
{
	const char *start = cli_color_of(color, percent);

	fprintf(out, "%s%s%s", start ? start : "", text, start ? CLI_COLOR_END : "");
}
