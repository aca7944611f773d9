/* SPDX-License-Identifier: MIT */
/* Formats the parts of PERF_SAMPLE_DATA_SRC as perf prints them: "L1 or L2 hit". */
#include <string.h>

#include "fields.h"

struct out {
	char *text;
	size_t size, length;
};

static void put_word(struct out *out, const char *word)
{
	for (; *word; word++) {
		if (out->length + 1 < out->size)
			out->text[out->length] = *word;
		out->length++;
	}
}

/* Adds the names of the bits, with " or " between them. */
static void put_names(struct out *out, unsigned int bits, const char *const *names, size_t nr)
{
	bool any = false;

	for (size_t i = 0; i < nr; i++) {
		if (!(bits >> i & 1) || !names[i])
			continue;
		if (any)
			put_word(out, " or ");
		put_word(out, names[i]);
		any = true;
	}
	if (!any)
		put_word(out, "N/A");
}

static void put_operation(struct out *out, union perch_mem_data_src source)
{
	static const char *const names[] = { "N/A", "LOAD", "STORE", "PFETCH", "EXEC" };

	if (source.mem_op)
		put_names(out, source.mem_op, names, PERCH__NR(names));
	else
		put_word(out, "No");
}

/* A number, in newer records, and bits that older kernels had alone. */
static void put_level(struct out *out, union perch_mem_data_src source)
{
	static const char *const levels[] = {
		"N/A",
		NULL,
		NULL,
		"L1",
		"LFB/MAB",
		"L2",
		"L3",
		"Local RAM",
		"Remote RAM (1 hop)",
		"Remote RAM (2 hops)",
		"Remote Cache (1 hop)",
		"Remote Cache (2 hops)",
		"I/O",
		"Uncached",
	};
	static const char *const numbers[16] = {
		NULL,	"L1",	    "L2",  "L3",  "L4",	       "L2 MHB",  "Memory-side Cache",
		"L0",	"Uncached", "CXL", "I/O", "Any cache", "LFB/MAB", "RAM",
		"PMEM", "N/A",
	};
	static const char *const hops[8] = { NULL, "core, same node", "node, same socket",
					     "socket, same board", "board" };
	unsigned int bits = source.mem_lvl & ~(PERCH_MEM_LVL_HIT | PERCH_MEM_LVL_MISS);
	const char *number = numbers[source.mem_lvl_num];
	size_t start = out->length;

	if (source.mem_remote)
		put_word(out, "Remote ");
	if (hops[source.mem_hops]) {
		put_word(out, hops[source.mem_hops]);
		put_word(out, " ");
	} else if (bits) {
		put_names(out, bits, levels, PERCH__NR(levels));
	}
	if (number && bits && !hops[source.mem_hops])
		put_word(out, " or ");
	if (number)
		put_word(out, number);
	if (out->length == start)
		put_word(out, "N/A");
	if (source.mem_lvl & PERCH_MEM_LVL_HIT)
		put_word(out, " hit");
	if (source.mem_lvl & PERCH_MEM_LVL_MISS)
		put_word(out, " miss");
}

static void put_snoop(struct out *out, union perch_mem_data_src source)
{
	static const char *const names[] = { "N/A", "None", "Hit", "Miss", "HitM", "Fwd", "Peer" };

	put_names(out, source.mem_snoop | (unsigned int)source.mem_snoopx << 5, names,
		  PERCH__NR(names));
}

static void put_tlb(struct out *out, union perch_mem_data_src source)
{
	static const char *const names[] = { "N/A", NULL, NULL, "L1", "L2", "Walker", "Fault" };

	put_names(out, source.mem_dtlb, names, PERCH__NR(names));
	if (source.mem_dtlb & PERCH_MEM_TLB_HIT)
		put_word(out, " hit");
	if (source.mem_dtlb & PERCH_MEM_TLB_MISS)
		put_word(out, " miss");
}

static void put_blocked(struct out *out, union perch_mem_data_src source)
{
	if (!source.mem_blk || source.mem_blk & PERCH_MEM_BLK_NA) {
		put_word(out, " N/A");
		return;
	}
	if (source.mem_blk & PERCH_MEM_BLK_DATA)
		put_word(out, " Data");
	if (source.mem_blk & PERCH_MEM_BLK_ADDR)
		put_word(out, " Addr");
}

size_t perch_format_mem_part(uint64_t data_src, enum perch_mem_part part, char *text, size_t size)
{
	union perch_mem_data_src source = { .val = data_src };
	struct out out = { text, size, 0 };

	switch (part) {
	case PERCH_MEM_PART_OPERATION:
		put_operation(&out, source);
		break;
	case PERCH_MEM_PART_LEVEL:
		put_level(&out, source);
		break;
	case PERCH_MEM_PART_SNOOP:
		put_snoop(&out, source);
		break;
	case PERCH_MEM_PART_TLB:
		put_tlb(&out, source);
		break;
	case PERCH_MEM_PART_LOCK:
		put_word(&out, source.mem_lock & PERCH_MEM_LOCK_NA	 ? "N/A"
			       : source.mem_lock & PERCH_MEM_LOCK_LOCKED ? "Yes"
									 : "No");
		break;
	case PERCH_MEM_PART_BLOCKED:
		put_blocked(&out, source);
		break;
	}
	if (size)
		text[out.length < size ? out.length : size - 1] = 0;
	return out.length;
}
