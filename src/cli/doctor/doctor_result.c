/* SPDX-License-Identifier: MIT */
/* Results of perch doctor: texts, and the lookup by id. */
#include <stdarg.h>
#include <string.h>

#include "doctor.h"
#include "options.h"

const struct doctor_result *doctor_find_result(const struct doctor *doctor, const char *id)
{
	for (size_t i = 0; i < doctor->nr; i++)
		if (!strcmp(doctor->result[i].id, id))
			return &doctor->result[i];
	return NULL;
}

__attribute__((format(printf, 3, 0))) static void format_clean(char *text, size_t size,
							       const char *format, va_list list)
{
	char raw[640];

	vsnprintf(raw, sizeof(raw), format, list);
	perch_clean_text(raw, text, size);
}

void doctor_set_value(struct doctor_result *result, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	format_clean(result->value, sizeof(result->value), format, list);
	va_end(list);
}

void doctor_set_reason(struct doctor_result *result, enum doctor_status status, const char *format,
		       ...)
{
	va_list list;

	result->status = status;
	va_start(list, format);
	format_clean(result->reason, sizeof(result->reason), format, list);
	va_end(list);
}

void doctor_set_change(struct doctor_result *result, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	format_clean(result->change, sizeof(result->change), format, list);
	va_end(list);
}
