/* SPDX-License-Identifier: MIT */
/* Tables by record type: names, and functions of a visitor. */
#include <stdio.h>

#include "internal.h"
#include <perch/fields.h>

static const char *const kernel_names[] = {
	[PERCH_RECORD_MMAP] = "MMAP",
	[PERCH_RECORD_LOST] = "LOST",
	[PERCH_RECORD_COMM] = "COMM",
	[PERCH_RECORD_EXIT] = "EXIT",
	[PERCH_RECORD_THROTTLE] = "THROTTLE",
	[PERCH_RECORD_UNTHROTTLE] = "UNTHROTTLE",
	[PERCH_RECORD_FORK] = "FORK",
	[PERCH_RECORD_READ] = "READ",
	[PERCH_RECORD_SAMPLE] = "SAMPLE",
	[PERCH_RECORD_MMAP2] = "MMAP2",
	[PERCH_RECORD_AUX] = "AUX",
	[PERCH_RECORD_ITRACE_START] = "ITRACE_START",
	[PERCH_RECORD_LOST_SAMPLES] = "LOST_SAMPLES",
	[PERCH_RECORD_SWITCH] = "SWITCH",
	[PERCH_RECORD_SWITCH_CPU_WIDE] = "SWITCH_CPU_WIDE",
	[PERCH_RECORD_NAMESPACES] = "NAMESPACES",
	[PERCH_RECORD_KSYMBOL] = "KSYMBOL",
	[PERCH_RECORD_BPF_EVENT] = "BPF_EVENT",
	[PERCH_RECORD_CGROUP] = "CGROUP",
	[PERCH_RECORD_TEXT_POKE] = "TEXT_POKE",
	[PERCH_RECORD_AUX_OUTPUT_HW_ID] = "AUX_OUTPUT_HW_ID",
	[PERCH_RECORD_CALLCHAIN_DEFERRED] = "CALLCHAIN_DEFERRED",
};

/* The types of perf.data, from 64 on, by the names in the output of perf report --stats. */
static const char *const file_names[] = {
	"ATTR",		  "EVENT_TYPE",	   "TRACING_DATA",     "BUILD_ID",
	"FINISHED_ROUND", "ID_INDEX",	   "AUXTRACE_INFO",    "AUXTRACE",
	"AUXTRACE_ERROR", "THREAD_MAP",	   "CPU_MAP",	       "STAT_CONFIG",
	"STAT",		  "STAT_ROUND",	   "EVENT_UPDATE",     "TIME_CONV",
	"FEATURE",	  "COMPRESSED",	   "FINISHED_INIT",    "COMPRESSED2",
	"BPF_METADATA",	  "SCHEDSTAT_CPU", "SCHEDSTAT_DOMAIN",
};

const char *perch_record_name(uint32_t type)
{
	if (type < PERCH__NR(kernel_names))
		return kernel_names[type];
	if (type >= 64 && type - 64 < PERCH__NR(file_names))
		return file_names[type - 64];
	return NULL;
}

int perch__bad_field(struct perch_error *err, const char *field, size_t offset)
{
	perch_error_field(err, field, NULL);
	if (err)
		err->column = (int)offset;
	return -EBADMSG;
}

/* The field is a path of perch-records(7), or a phrase with it: "number of callchain entries". */
int perch__truncated(const struct perch_record *record, const void *at, const char *field,
		     struct perch_error *err)
{
	const char *name = perch_record_name(record->type);
	const size_t offset = (size_t)((const char *)at - (const char *)record->bytes);
	char path[sizeof(((struct perch_error *)0)->field)];

	if (!err)
		return -EBADMSG; /* snprintf() is not async-signal-safe */
	perch_error_set(err, EBADMSG, PERCH_ERROR_FORMAT,
			"%s record of %u bytes: %s at byte %zu exceeds the record",
			name ? name : "unknown", record->size, field, offset);
	if (!strncmp(field, "number of ", 10))
		field += 10;
	snprintf(path, sizeof(path), "%.*s", (int)strcspn(field, " ,"), field);
	return perch__bad_field(err, path, offset);
}

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

_Static_assert(PERCH__NR(members) == PERCH_RECORD_MAX, "a function for each type");

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
