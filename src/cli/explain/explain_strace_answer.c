/* SPDX-License-Identifier: MIT */
/* What a log tells beyond what the rules can know of it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "explain_attr.h"
#include "explain_strace.h"
#include "options.h"

#define PAGE	    4096 /* the kernel's limit of attr.size where pages are smallest */
#define FIXED_TYPES 6	 /* PERCH_TYPE_*; above are PMUs' own numbers, others on each machine */

/*
 * E2BIG of an attr whose size is in range: it is longer than the kernel's, and something in what is
 * beyond is not zero. Groups and probes have an E2BIG of their own.
 */
static void tell_too_long(const struct perch_open_call *call, struct perch_explanation *explanation)
{
	struct perch_finding *finding = &explanation->finding[0];
	const uint32_t size = call->attr->size, kernel = call->kernel_size;

	if (call->errnum != E2BIG || finding->cause != PERCH_CAUSE_ATTR_SIZE ||
	    !call->attr_is_partial)
		return;
	if (kernel < PERCH_ATTR_SIZE_VER0 || size <= kernel || size > PAGE || call->group_fd >= 0 ||
	    call->attr->type >= FIXED_TYPES)
		return;
	memset(finding, 0, sizeof(*finding));
	finding->cause = PERCH_CAUSE_TOO_NEW;
	finding->kind = perch_cause_kind(finding->cause);
	finding->field[finding->nr_fields++] = "size";
	snprintf(finding->message, sizeof(finding->message),
		 "a byte of the attr from %u to %u is not zero, and this kernel "
		 "knows its first %u bytes alone",
		 kernel, size - 1, kernel);
	snprintf(finding->remedy, sizeof(finding->remedy),
		 "clear what is behind the fields in use, or use a newer kernel");
	explanation->nr_findings = 1;
	explanation->nr_next = 0;
	explanation->confidence = PERCH_CONFIDENCE_CERTAIN;
}

/* The smaller the likelier. */
static int rank(const struct perch_finding *finding)
{
	switch (finding->cause) {
	case PERCH_CAUSE_PMU_SAMPLING:
	case PERCH_CAUSE_PMU_EXCLUDE:
		return 0; /* what they object to is there */
	case PERCH_CAUSE_PROBE_FILE:
	case PERCH_CAUSE_PROBE_SYMBOL:
	case PERCH_CAUSE_PROBE_OFFSET:
	case PERCH_CAUSE_PROBE_NAME:
	case PERCH_CAUSE_PROBE_POINTER:
		return 2;
	default:
		return 1;
	}
}

/* Probes come first among the rules. One of nothing, when the type may be any PMU's, is the least
 * likely. */
static void order(const struct perch_open_call *call, struct perch_explanation *explanation)
{
	if (call->attr->type < FIXED_TYPES || call->attr_is_partial || call->attr->config1 ||
	    call->attr->config2)
		return;
	for (size_t i = 1; i < explanation->nr_findings; i++)
		for (size_t j = i;
		     j > 0 && rank(&explanation->finding[j]) < rank(&explanation->finding[j - 1]);
		     j--) {
			struct perch_finding other = explanation->finding[j];

			explanation->finding[j] = explanation->finding[j - 1];
			explanation->finding[j - 1] = other;
		}
}

void strace_answer(const struct perch_open_call *call, const struct perch_machine *machine,
		   struct perch_explanation *explanation)
{
	if (!call->attr)
		return;
	tell_too_long(call, explanation);
	if (!machine && explanation->confidence == PERCH_CONFIDENCE_AMBIGUOUS)
		order(call, explanation);
}
