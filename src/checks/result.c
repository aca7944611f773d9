/* SPDX-License-Identifier: MIT */
/* Results of checks: texts, and the lookup by id. */
#include <stdarg.h>
#include <string.h>

#include "internal.h"

const struct perch_check *perch_checks_find(const struct perch_checks *checks, const char *id)
{
	for (size_t i = 0; i < checks->nr; i++)
		if (!strcmp(checks->result[i].id, id))
			return &checks->result[i];
	return NULL;
}

__attribute__((format(printf, 3, 0))) static void format_clean(char *text, size_t size,
							       const char *format, va_list list)
{
	char raw[640];

	vsnprintf(raw, sizeof(raw), format, list);
	perch_clean_text(raw, text, size);
}

void perch__check_value(struct perch_check *result, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	format_clean(result->value, sizeof(result->value), format, list);
	va_end(list);
}

void perch__check_reason(struct perch_check *result, enum perch_check_status status,
			 const char *format, ...)
{
	va_list list;

	result->status = status;
	va_start(list, format);
	format_clean(result->reason, sizeof(result->reason), format, list);
	va_end(list);
}

void perch__check_change(struct perch_check *result, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	format_clean(result->change, sizeof(result->change), format, list);
	va_end(list);
}
