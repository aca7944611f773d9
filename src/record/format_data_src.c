/* SPDX-License-Identifier: MIT */
/* Formats PERF_SAMPLE_DATA_SRC: "LOAD, L3 hit, snoop None, TLB L1 or L2 hit". */
#include <stdio.h>

#include "fields.h"

static const struct perch__flag operations[] = {
	{ PERCH_MEM_OP_NA, "op N/A" },	 { PERCH_MEM_OP_LOAD, "LOAD" },
	{ PERCH_MEM_OP_STORE, "STORE" }, { PERCH_MEM_OP_PFETCH, "PFETCH" },
	{ PERCH_MEM_OP_EXEC, "EXEC" },
};
static const struct perch__flag levels[] = {
	{ PERCH_MEM_LVL_NA, "hierarchy N/A" },
	{ PERCH_MEM_LVL_L1, "L1" },
	{ PERCH_MEM_LVL_LFB, "LFB" },
	{ PERCH_MEM_LVL_L2, "L2" },
	{ PERCH_MEM_LVL_L3, "L3" },
	{ PERCH_MEM_LVL_LOC_RAM, "Local RAM" },
	{ PERCH_MEM_LVL_REM_RAM1, "Remote RAM (1 hop)" },
	{ PERCH_MEM_LVL_REM_RAM2, "Remote RAM (2 hops)" },
	{ PERCH_MEM_LVL_REM_CCE1, "Remote Cache (1 hop)" },
	{ PERCH_MEM_LVL_REM_CCE2, "Remote Cache (2 hops)" },
	{ PERCH_MEM_LVL_IO, "I/O" },
	{ PERCH_MEM_LVL_UNC, "Uncached" },
};
static const struct perch__flag snoops[] = {
	{ PERCH_MEM_SNOOP_NA, "N/A" },
	{ PERCH_MEM_SNOOP_NONE, "None" },
	{ PERCH_MEM_SNOOP_HIT, "Hit" },
	{ PERCH_MEM_SNOOP_MISS, "Miss" },
	{ PERCH_MEM_SNOOP_HITM, "HitM" },
	/* bits of snoopx, appended to those of snoop */
	{ PERCH_MEM_SNOOPX_FWD << 5, "Fwd" },
	{ PERCH_MEM_SNOOPX_PEER << 5, "Peer" },
};
static const struct perch__flag tlbs[] = {
	{ PERCH_MEM_TLB_NA, "N/A" },	{ PERCH_MEM_TLB_L1, "L1" },    { PERCH_MEM_TLB_L2, "L2" },
	{ PERCH_MEM_TLB_WK, "Walker" }, { PERCH_MEM_TLB_OS, "Fault" },
};
static const struct perch__flag locks[] = {
	{ PERCH_MEM_LOCK_NA, "lock N/A" },
	{ PERCH_MEM_LOCK_LOCKED, "locked" },
};
static const struct perch__flag blocks[] = {
	{ PERCH_MEM_BLK_NA, "blocked N/A" },
	{ PERCH_MEM_BLK_DATA, "blocked by data" },
	{ PERCH_MEM_BLK_ADDR, "blocked by address" },
};
/* Numbers that no kernel uses have no name. */
static const char *const level_numbers[16] = {
	NULL,	"L1",	    "L2",  "L3",  "L4",	       "L2 MHB",  "Memory-side Cache",
	"L0",	"Uncached", "CXL", "I/O", "Any cache", "LFB/MAB", "RAM",
	"PMEM", "N/A",
};
static const char *const hops[8] = {
	NULL,
	"other core, same node",
	"other node, same socket",
	"other socket, same board",
	"other board",
};
static const char *const regions[32] = {
	NULL,
	"reserved",
	"local shared cache",
	"local private cache",
	"other agent's I/O",
	"other agent's shared cache",
	"other agent's private cache",
	"MMIO",
	"memory 0",
	"memory 1",
	"memory 2",
	"memory 3",
	"memory 4",
	"memory 5",
	"memory 6",
	"memory 7",
};

#define RESERVED_SHIFT 51

static unsigned int part(uint64_t data_src, unsigned int shift, unsigned int bits)
{
	return (unsigned int)(data_src >> shift & ((1u << bits) - 1));
}

/* Adds "L1 or L2 hit". */
static void add_hit(struct perch__text *out, const char *of, const struct perch__flag *bits,
		    size_t nr, unsigned int value, unsigned int hit, unsigned int miss)
{
	char text[PERCH__FORMAT_BYTES];
	struct perch__text where;

	if (!value)
		return;
	perch__text_init(&where, text, sizeof(text), " or ");
	perch__text_add_flags(&where, bits, nr, value & ~(hit | miss));
	where.separator = " ";
	if (value & hit)
		perch__text_add(&where, "hit");
	if (value & miss)
		perch__text_add(&where, "miss");
	perch__text_add(out, "%s%s", of, text);
}

/* Adds the memory level as newer kernels encode it: a number, remote, and hops. */
static void add_level(struct perch__text *out, uint64_t data_src)
{
	const char *level = level_numbers[part(data_src, PERCH_MEM_LVLNUM_SHIFT, 4)];
	const char *remote = part(data_src, PERCH_MEM_REMOTE_SHIFT, 1) ? "remote" : "";
	unsigned int hop = part(data_src, PERCH_MEM_HOPS_SHIFT, 3);

	if (level || remote[0])
		perch__text_add(out, "%s%s%s%s", level ? "level " : "", remote,
				level && remote[0] ? " " : "", level ? level : "");
	if (hop && hops[hop])
		perch__text_add(out, "%s", hops[hop]);
	else if (hop)
		perch__text_add(out, "hops %u", hop);
}

static void add_of(struct perch__text *out, const char *of, const struct perch__flag *bits,
		   size_t nr, unsigned int value)
{
	char text[PERCH__FORMAT_BYTES];
	struct perch__text inside;

	if (!value)
		return;
	perch__text_init(&inside, text, sizeof(text), "|");
	perch__text_add_flags(&inside, bits, nr, value);
	perch__text_add(out, "%s%s", of, text);
}

size_t perch_format_data_src(uint64_t data_src, char *text, size_t size)
{
	unsigned int region = part(data_src, PERCH_MEM_REGION_SHIFT, 5);
	struct perch__text out;

	perch__text_init(&out, text, size, ", ");
	add_of(&out, "", operations, PERCH__NR(operations), part(data_src, PERCH_MEM_OP_SHIFT, 5));
	add_hit(&out, "", levels, PERCH__NR(levels), part(data_src, PERCH_MEM_LVL_SHIFT, 14),
		PERCH_MEM_LVL_HIT, PERCH_MEM_LVL_MISS);
	add_level(&out, data_src);
	add_of(&out, "snoop ", snoops, PERCH__NR(snoops),
	       part(data_src, PERCH_MEM_SNOOP_SHIFT, 5) | part(data_src, PERCH_MEM_SNOOPX_SHIFT, 2)
								  << 5);
	add_hit(&out, "TLB ", tlbs, PERCH__NR(tlbs), part(data_src, PERCH_MEM_TLB_SHIFT, 7),
		PERCH_MEM_TLB_HIT, PERCH_MEM_TLB_MISS);
	add_of(&out, "", locks, PERCH__NR(locks), part(data_src, PERCH_MEM_LOCK_SHIFT, 2));
	add_of(&out, "", blocks, PERCH__NR(blocks), part(data_src, PERCH_MEM_BLK_SHIFT, 3));
	if (region && regions[region])
		perch__text_add(&out, "%s", regions[region]);
	else if (region)
		perch__text_add(&out, "region %u", region);
	perch__text_add_flags(&out, NULL, 0, data_src >> RESERVED_SHIFT << RESERVED_SHIFT);
	return out.length;
}

size_t perch__format_data_src(enum perch_arch arch, uint64_t value, char *text, size_t size)
{
	(void)arch;
	return perch_format_data_src(value, text, size);
}
