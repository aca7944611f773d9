/* SPDX-License-Identifier: MIT */
/* Makes findings from table rows. */
#include <stdio.h>
#include <string.h>

#include "finding.h"

void perch__expand(const char *text, perch__write_placeholder *word, const void *context,
		   char *buffer, size_t size)
{
	size_t used = 0;

	while (*text && used + 1 < size) {
		size_t length = strcspn(text, "{");
		const char *end = length ? NULL : strchr(text, '}');

		if (end && word(context, text + 1, end - text - 1, buffer + used, size - used)) {
			/* facts are untrusted text */
			used += perch_clean_text(buffer + used, buffer + used, size - used);
			text = end + 1;
			continue;
		}
		length += !length; /* a brace that starts no placeholder */
		if (length > size - used - 1)
			length = size - used - 1;
		memcpy(buffer + used, text, length);
		used += length;
		text += length;
	}
	buffer[used] = '\0';
}

void perch__finding_init(struct perch_finding *finding, enum perch_cause cause,
			 const char *const *field, const char *since)
{
	*finding = (struct perch_finding){ .cause = cause, .kind = perch_cause_kind(cause) };
	while (finding->nr_fields < 4 && field[finding->nr_fields]) {
		finding->field[finding->nr_fields] = field[finding->nr_fields];
		finding->nr_fields++;
	}
	snprintf(finding->since, sizeof(finding->since), "%s", since ? since : "");
}

void perch__finding_set_text(struct perch_finding *finding, const char *message, const char *remedy)
{
	perch_clean_text(message, finding->message, sizeof(finding->message));
	perch_clean_text(remedy, finding->remedy, sizeof(finding->remedy));
}
