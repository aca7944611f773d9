/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "list.h"
#include "options.h"

const struct list_kind_text list_kinds[LIST_KINDS] = {
	[LIST_HARDWARE] = { "Hardware event", "hardware", "hardware events", { "hw", "hardware" } },
	[LIST_SOFTWARE] = { "Software event", "software", "software events", { "sw", "software" } },
	[LIST_CACHE] = { "Hardware cache event",
			 "cache",
			 "hardware cache events",
			 { "cache", "hwcache" } },
	[LIST_PMU] = { "Kernel PMU event", "pmu", "PMU events", { "pmu" } },
	[LIST_RAW] = { "Raw event descriptor", "raw", "raw events", { "raw", "pmu" } },
	[LIST_BREAKPOINT] = { "Hardware breakpoint",
			      "breakpoint",
			      "hardware breakpoints",
			      { "mem", "breakpoint", "breakpoints" } },
	[LIST_PROBE] = { "Probe", "probe", "probes", { "probe", "probes", "sdt", "usdt" } },
	[LIST_PFM] = { "libpfm4 event", "pfm", "names of libpfm4", { "pfm" } },
	[LIST_TRACEPOINT] = { "Tracepoint event",
			      "tracepoint",
			      "tracepoints",
			      { "tracepoint", "tp" } },
};

bool list_kind_word(const char *word, unsigned *kinds)
{
	bool found = false;

	for (unsigned kind = 0; kind < LIST_KINDS; kind++)
		for (size_t i = 0; i < CLI_NR(list_kinds[kind].words) && list_kinds[kind].words[i];
		     i++)
			if (!strcmp(word, list_kinds[kind].words[i])) {
				*kinds |= 1u << kind;
				found = true;
			}
	return found;
}

const char *list_state_text(enum list_state state)
{
	static const char *const texts[] = {
		[LIST_UNTRIED] = "not tried",
		[LIST_WORKS] = "works",
		[LIST_UNSUPPORTED] = "not supported",
		[LIST_FORBIDDEN] = "not permitted",
	};

	return texts[state];
}
