/* SPDX-License-Identifier: MIT */
/* Rows of tables become findings. */
#include <stdio.h>
#include <string.h>

#include "finding.h"

void perch__fill_words(const char *sentence, perch__word_function *word, const void *context, char *buffer, size_t size)
{
	size_t used = 0;

	while (*sentence && used + 1 < size) {
		const char *end = *sentence == '{' ? strchr(sentence, '}') : NULL;

		if (end && word(context, sentence + 1, end - sentence - 1, buffer + used, size - used)) {
			used += strnlen(buffer + used, size - used - 1);
			sentence = end + 1;
		} else {
			buffer[used++] = *sentence++;
		}
	}
	buffer[used] = '\0';
}

void perch__finding_make(struct perch_finding *finding, enum perch_cause cause, const char *const *field,
			 const char *since)
{
	*finding = (struct perch_finding){ .cause = cause, .kind = perch_cause_kind(cause) };
	while (finding->nr_fields < 4 && field[finding->nr_fields]) {
		finding->field[finding->nr_fields] = field[finding->nr_fields];
		finding->nr_fields++;
	}
	snprintf(finding->since, sizeof(finding->since), "%s", since ? since : "");
}

void perch__finding_say(struct perch_finding *finding, const char *message, const char *remedy)
{
	perch_clean_text(finding->message, sizeof(finding->message), message);
	perch_clean_text(finding->remedy, sizeof(finding->remedy), remedy);
}
