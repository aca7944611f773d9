/* SPDX-License-Identifier: MIT */
/* Texts from outside as fields that programs read: between separators, and as JSON. */
#include <string.h>

#include "stat.h"

void stat_put_field(const struct stat_job *stat, const char *text, FILE *out)
{
	const char *sep = stat->separator;
	char clean[512];

	perch_clean_text(clean, sizeof(clean), text);
	if (!strchr(clean, '"') && (!*sep || !strstr(clean, sep))) {
		fputs(clean, out);
		return;
	}
	fputc('"', out);
	for (const char *at = clean; *at; at++) {
		if (*at == '"')
			fputc('"', out);
		fputc(*at, out);
	}
	fputc('"', out);
}

void stat_put_json_string(FILE *out, const char *text)
{
	char clean[512];

	perch_clean_text(clean, sizeof(clean), text);
	fputc('"', out);
	for (const char *at = clean; *at; at++) {
		if (*at == '"' || *at == '\\')
			fputc('\\', out);
		fputc(*at, out);
	}
	fputc('"', out);
}
