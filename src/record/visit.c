/* SPDX-License-Identifier: MIT */
/* A record to the function of its type: the table says which member of the visitor that is. */
#include "internal.h"
#include <perch/fields.h>

#define MEMBER(name) offsetof(struct perch_visitor, name)

static const uint16_t members[] = {
	[0] = MEMBER(unknown),
	[PERCH_RECORD_MMAP] = MEMBER(mmap),
	[PERCH_RECORD_LOST] = MEMBER(lost),
	[PERCH_RECORD_COMM] = MEMBER(comm),
	[PERCH_RECORD_EXIT] = MEMBER(exit),
	[PERCH_RECORD_THROTTLE] = MEMBER(throttle),
	[PERCH_RECORD_UNTHROTTLE] = MEMBER(throttle),
	[PERCH_RECORD_FORK] = MEMBER(fork),
	[PERCH_RECORD_READ] = MEMBER(read),
	[PERCH_RECORD_SAMPLE] = MEMBER(sample),
	[PERCH_RECORD_MMAP2] = MEMBER(mmap),
	[PERCH_RECORD_AUX] = MEMBER(aux),
	[PERCH_RECORD_ITRACE_START] = MEMBER(itrace_start),
	[PERCH_RECORD_LOST_SAMPLES] = MEMBER(lost_samples),
	[PERCH_RECORD_SWITCH] = MEMBER(context_switch),
	[PERCH_RECORD_SWITCH_CPU_WIDE] = MEMBER(context_switch),
	[PERCH_RECORD_NAMESPACES] = MEMBER(namespaces),
	[PERCH_RECORD_KSYMBOL] = MEMBER(ksymbol),
	[PERCH_RECORD_BPF_EVENT] = MEMBER(bpf_event),
	[PERCH_RECORD_CGROUP] = MEMBER(cgroup),
	[PERCH_RECORD_TEXT_POKE] = MEMBER(text_poke),
	[PERCH_RECORD_AUX_OUTPUT_HW_ID] = MEMBER(aux_output_hw_id),
	[PERCH_RECORD_CALLCHAIN_DEFERRED] = MEMBER(callchain_deferred),
};

_Static_assert(sizeof(members) / sizeof(members[0]) == PERCH_RECORD_MAX,
	       "a function for each type");

int perch_record_visit(const struct perch_record *record, const struct perch_visitor *visitor,
		       void *context)
{
	uint16_t member = MEMBER(unknown);
	perch_visit_function *visit;

	if (record->type >= PERCH__FIRST_USER_TYPE)
		member = MEMBER(file);
	else if (record->type < PERCH_RECORD_MAX)
		member = members[record->type];
	memcpy(&visit, (const char *)visitor + member, sizeof(visit));
	if (!visit)
		visit = visitor->other;
	return visit ? visit(context, record) : 0;
}
