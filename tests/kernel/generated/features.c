/* SPDX-License-Identifier: MIT */
/* Asks the kernel which fields it lacks, by open calls that are valid apart from them. */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "generated.h"

#define EVENT                                                           \
	.type = PERCH_TYPE_SOFTWARE, .size = sizeof(struct perch_attr), \
	.config = PERCH_COUNT_SW_DUMMY, .disabled = 1, .exclude_kernel = 1

/*
 * A kernel without the field returns EINVAL. A kernel with the field accepts the open call. Only
 * aux_start_paused is refused by every software event, but with EOPNOTSUPP.
 */
static const struct {
	enum feature feature;
	const char *fields; /* their names in findings */
	struct perch_attr attr;
} tests[] = {
	{ FEATURE_REMOVE_ON_EXEC, "remove_on_exec", { EVENT, .remove_on_exec = 1 } },
	{ FEATURE_SIGTRAP, "sigtrap", { EVENT, .sigtrap = 1, .remove_on_exec = 1 } },
	{ FEATURE_INHERIT_THREAD, "inherit_thread", { EVENT, .inherit = 1, .inherit_thread = 1 } },
	{ FEATURE_AUX_ACTION,
	  "aux_action,aux_start_paused,aux_pause,aux_resume",
	  { EVENT, .aux_start_paused = 1 } },
	{ FEATURE_WEIGHT_STRUCT,
	  "sample_type",
	  { EVENT, .sample_type = PERCH_SAMPLE_WEIGHT_STRUCT } },
};

unsigned features_lacking(void)
{
	unsigned lacks = 0;

	for (size_t i = 0; i < COUNT_OF(tests); i++) {
		int fd = syscall(SYS_perf_event_open, &tests[i].attr, 0, -1, -1,
				 PERCH_FLAG_FD_CLOEXEC);

		if (fd >= 0)
			close(fd);
		else if (errno == EINVAL)
			lacks |= tests[i].feature;
	}
	return lacks;
}

const char *feature_fields(enum feature feature)
{
	for (size_t i = 0; i < COUNT_OF(tests); i++)
		if (tests[i].feature == feature)
			return tests[i].fields;
	return "";
}
