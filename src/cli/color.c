/* SPDX-License-Identifier: MIT */
#include <string.h>
#include <unistd.h>

#include "color.h"
#include "messages.h"
#include "terminal/pager.h"

int cli_set_color(bool *color, const char *command, const char *argument, bool negated)
{
	if (negated || (argument && !strcmp(argument, "never")))
		*color = false;
	else if (!argument || !strcmp(argument, "always"))
		*color = true;
	else if (!strcmp(argument, "auto"))
		*color = cli_no_pager && isatty(STDOUT_FILENO);
	else
		return cli_usage_error(command, "--stdio-color '%s': use always, never or auto",
				       argument);
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
