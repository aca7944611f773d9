/* SPDX-License-Identifier: MIT */
#include <perch/record.h>

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

/* From 64 on: what perf adds to its files, by the names that its --stats prints. */
static const char *const file_names[] = {
	"ATTR",		  "EVENT_TYPE",	   "TRACING_DATA",     "BUILD_ID",
	"FINISHED_ROUND", "ID_INDEX",	   "AUXTRACE_INFO",    "AUXTRACE",
	"AUXTRACE_ERROR", "THREAD_MAP",	   "CPU_MAP",	       "STAT_CONFIG",
	"STAT",		  "STAT_ROUND",	   "EVENT_UPDATE",     "TIME_CONV",
	"FEATURE",	  "COMPRESSED",	   "FINISHED_INIT",    "COMPRESSED2",
	"BPF_METADATA",	  "SCHEDSTAT_CPU", "SCHEDSTAT_DOMAIN",
};

#define NR(array) (sizeof(array) / sizeof((array)[0]))

const char *perch_record_name(uint32_t type)
{
	if (type < NR(kernel_names))
		return kernel_names[type];
	if (type >= 64 && type - 64 < NR(file_names))
		return file_names[type - 64];
	return NULL;
}
