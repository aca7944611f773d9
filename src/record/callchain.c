/* SPDX-License-Identifier: MIT */
/* Walks call chains. */
#include "internal.h"

static const struct {
	uint64_t marker;
	uint8_t cpumode;
} contexts[] = {
	{ PERCH_CONTEXT_HV, PERCH_MISC_HYPERVISOR },
	{ PERCH_CONTEXT_KERNEL, PERCH_MISC_KERNEL },
	{ PERCH_CONTEXT_USER, PERCH_MISC_USER },
	{ PERCH_CONTEXT_USER_DEFERRED, PERCH_MISC_USER },
	/* kernel or user space of the guest: the marker does not say which */
	{ PERCH_CONTEXT_GUEST, PERCH_MISC_CPUMODE_UNKNOWN },
	{ PERCH_CONTEXT_GUEST_KERNEL, PERCH_MISC_GUEST_KERNEL },
	{ PERCH_CONTEXT_GUEST_USER, PERCH_MISC_GUEST_USER },
};

/* Markers of newer kernels have an unknown cpumode. */
static uint8_t cpumode_of(uint64_t marker)
{
	for (size_t i = 0; i < PERCH__NR(contexts); i++) {
		if (contexts[i].marker == marker)
			return contexts[i].cpumode;
	}
	return PERCH_MISC_CPUMODE_UNKNOWN;
}

void perch_chain_init(struct perch_chain *chain, const struct perch_record *record)
{
	const uint64_t *ip = NULL;
	uint64_t nr = 0;

	if (record->type == PERCH_RECORD_SAMPLE) {
		ip = record->sample.callchain.ip;
		nr = record->sample.callchain.nr;
	} else if (record->type == PERCH_RECORD_CALLCHAIN_DEFERRED) {
		ip = record->deferred.ip;
		nr = record->deferred.nr;
	}
	*chain = (struct perch_chain){
		.at = ip,
		.end = nr ? ip + nr : ip,
		.swapped = nr && record->parse_info->swapped,
		.cpumode = record->misc & PERCH_MISC_CPUMODE_MASK,
	};
}

bool perch_chain_next(struct perch_chain *chain, struct perch_chain_address *address)
{
	while (chain->at < chain->end) {
		uint64_t word = perch__u64(chain->at++, chain->swapped);

		if (__builtin_expect(word < PERCH_CONTEXT_MAX, 1)) {
			*address = (struct perch_chain_address){ .ip = word,
								 .cpumode = chain->cpumode };
			return true;
		}
		chain->cpumode = cpumode_of(word);
		if (word != PERCH_CONTEXT_USER_DEFERRED || chain->at == chain->end)
			continue;
		/* the kernel writes one cookie; if there are several, the first one counts */
		if (!chain->deferred)
			chain->cookie = perch__u64(chain->at, chain->swapped);
		chain->deferred = true;
		chain->at++;
	}
	return false;
}
