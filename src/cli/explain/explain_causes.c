/* SPDX-License-Identifier: MIT */
/* perch explain --causes: every cause there is. */
#include <errno.h>
#include <string.h>
#include <jansson.h>

#include "explain.h"
#include "options.h"

static int list_json(void)
{
	puts("[");
	for (int cause = PERCH_CAUSE_NONE + 1; cause < PERCH_CAUSE_MAX; cause++) {
		json_t *object = json_pack("{s:s, s:s, s:s}", "cause", perch_cause_slug(cause),
					   "kind", perch_error_kind_slug(perch_cause_kind(cause)),
					   "meaning", perch_cause_meaning(cause));
		int rc = object ? json_dumpf(object, stdout, JSON_COMPACT) : -1;

		json_decref(object);
		if (rc)
			return -1;
		puts(cause + 1 < PERCH_CAUSE_MAX ? "," : "");
	}
	puts("]");
	return 0;
}

static int list_text(void)
{
	printf("%-21s %-16s %s\n", "CAUSE", "KIND", "MEANING");
	for (int cause = PERCH_CAUSE_NONE + 1; cause < PERCH_CAUSE_MAX; cause++)
		printf("%-21s %-16s %s\n", perch_cause_slug(cause),
		       perch_error_kind_slug(perch_cause_kind(cause)), perch_cause_meaning(cause));
	return 0;
}

int explain_list_causes(bool json)
{
	struct perch_error err;
	int rc = json ? list_json() : list_text(), error;

	if (!fflush(stdout) && !ferror(stdout) && !rc)
		return 0;
	error = errno ? errno : EIO;
	perch_error_set(&err, error, PERCH_ERROR_FILE, "cannot write the list of causes: %s",
			strerror(error));
	return cli_error(EXPLAIN_COMMAND, &err);
}
