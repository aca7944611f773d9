/* SPDX-License-Identifier: MIT */
/* The bits of attr fields as data: in perf's order, with the first kernel release of each. */
#include <perch/abi.h>

/* clang-format off */
#define SAMPLE(name, release) { "sample_type", PERCH_SAMPLE_##name, #name, release }
#define READ(name, release) { "read_format", PERCH_FORMAT_##name, #name, release }
#define BRANCH(name, release) { "branch_sample_type", PERCH_SAMPLE_BRANCH_##name, #name, release }
/* clang-format on */

static const struct perch_attr_bit bits[] = {
	SAMPLE(IP, ""),
	SAMPLE(TID, ""),
	SAMPLE(TIME, ""),
	SAMPLE(ADDR, ""),
	SAMPLE(READ, ""),
	SAMPLE(CALLCHAIN, ""),
	SAMPLE(ID, ""),
	SAMPLE(CPU, ""),
	SAMPLE(PERIOD, ""),
	SAMPLE(STREAM_ID, ""),
	SAMPLE(RAW, ""),
	SAMPLE(BRANCH_STACK, "3.4"),
	SAMPLE(REGS_USER, "3.7"),
	SAMPLE(STACK_USER, "3.7"),
	SAMPLE(IDENTIFIER, "3.12"),
	SAMPLE(REGS_INTR, "3.19"),
	SAMPLE(DATA_SRC, "3.10"),
	SAMPLE(WEIGHT, "3.10"),
	SAMPLE(PHYS_ADDR, "4.14"),
	SAMPLE(AUX, "5.5"),
	SAMPLE(CGROUP, "5.7"),
	SAMPLE(DATA_PAGE_SIZE, "5.11"),
	SAMPLE(CODE_PAGE_SIZE, "5.11"),
	SAMPLE(WEIGHT_STRUCT, "5.12"),
	SAMPLE(TRANSACTION, "3.13"),
	READ(TOTAL_TIME_ENABLED, ""),
	READ(TOTAL_TIME_RUNNING, ""),
	READ(ID, ""),
	READ(GROUP, ""),
	READ(LOST, "6.0"),
	BRANCH(USER, ""),
	BRANCH(KERNEL, ""),
	BRANCH(HV, ""),
	BRANCH(ANY, ""),
	BRANCH(ANY_CALL, ""),
	BRANCH(ANY_RETURN, ""),
	BRANCH(IND_CALL, ""),
	BRANCH(ABORT_TX, "3.11"),
	BRANCH(IN_TX, "3.11"),
	BRANCH(NO_TX, "3.11"),
	BRANCH(COND, "3.16"),
	BRANCH(CALL_STACK, "4.1"),
	BRANCH(IND_JUMP, "4.2"),
	BRANCH(CALL, "4.4"),
	BRANCH(NO_FLAGS, "4.5"),
	BRANCH(NO_CYCLES, "4.5"),
	BRANCH(TYPE_SAVE, "4.14"),
	BRANCH(HW_INDEX, "5.7"),
	BRANCH(PRIV_SAVE, "6.1"),
	BRANCH(COUNTERS, "6.8"),
};

const struct perch_attr_bit *perch_attr_bits(size_t *nr)
{
	*nr = sizeof(bits) / sizeof(*bits);
	return bits;
}
