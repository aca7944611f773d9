/* SPDX-License-Identifier: MIT */
/* The table of columns. */
#include "base/edit_distance.h"
#include "internal.h"

#define COLUMN(id, scope_, type_, header_, summary_, ...)                     \
	{                                                                     \
		.name = #id, .header = (header_), .summary = (summary_),      \
		.scope = PERCH_COLUMN_##scope_, .type = PERCH_COLUMN_##type_, \
		.methods = &perch__column_##id, __VA_ARGS__                   \
	}
#define BRANCH_COLUMN(id, type_, header_, summary_) \
	COLUMN(id, SAMPLE, type_, header_, summary_, .of_branches = true)

static const struct perch_column columns[] = {
	COLUMN(overhead, PERIOD, PERCENT, "Overhead", "share of the total period",
	       .alias = "overhead_self", .right = true),
	COLUMN(overhead_children, PERIOD, PERCENT, "Children",
	       "share of the total period, with called functions", .right = true),
	COLUMN(latency, PERIOD, PERCENT, "Latency",
	       "share of the time: each period divided by the number of threads that ran",
	       .right = true),
	COLUMN(latency_children, PERIOD, PERCENT, "Latency",
	       "share of the time, with called functions", .right = true),
	COLUMN(overhead_sys, PERIOD, PERCENT, "sys", "share in the kernel", .width = 8,
	       .right = true),
	COLUMN(overhead_us, PERIOD, PERCENT, "usr", "share in user space", .width = 8,
	       .right = true),
	COLUMN(overhead_guest_sys, PERIOD, PERCENT, "guest sys", "share in the kernel of a guest",
	       .right = true),
	COLUMN(overhead_guest_us, PERIOD, PERCENT, "guest usr", "share in user space of a guest",
	       .right = true),
	COLUMN(sample, PERIOD, NUMBER, "Samples", "number of samples", .width = 12, .right = true),
	COLUMN(period, PERIOD, NUMBER, "Period", "sum of the periods", .width = 12, .right = true),
	COLUMN(comm, SAMPLE, TEXT, "Command", "name of the thread"),
	COLUMN(comm_nodigit, SAMPLE, TEXT, "CommandNoDigit",
	       "name of the thread, with <N> for each number in it"),
	COLUMN(pid, SAMPLE, NUMBER, "    Pid:Command",
	       "process id, and last name of its first thread"),
	COLUMN(tgid, SAMPLE, NUMBER, "   Tgid:Command", "the same as pid"),
	COLUMN(tid, SAMPLE, NUMBER, "    Tid:Command", "thread id, and last name of the thread"),
	COLUMN(cpu, SAMPLE, NUMBER, "CPU", "CPU", .right = true),
	COLUMN(socket, SAMPLE, NUMBER, "Socket", "socket of the CPU", .right = true),
	COLUMN(parallelism, SAMPLE, NUMBER, "Parallelism", "number of threads that ran",
	       .right = true),
	COLUMN(time, SAMPLE, NUMBER, "Time", "time, in steps of the time quantum", .width = 12),
	COLUMN(cgroup, SAMPLE, TEXT, "Cgroup", "cgroup"),
	COLUMN(cgroup_id, SAMPLE, TEXT, "cgroup id (dev/inode)",
	       "cgroup namespace: its device and inode"),
	COLUMN(weight, SAMPLE, NUMBER, "Weight", "weight of the sample, for all samples of the row",
	       .width = 12),
	COLUMN(local_weight, SAMPLE, NUMBER, "Local Weight", "weight of the sample"),
	COLUMN(ins_lat, SAMPLE, NUMBER, "INSTR Latency",
	       "latency of the instruction, for all samples of the row"),
	COLUMN(local_ins_lat, SAMPLE, NUMBER, "Local INSTR Latency",
	       "latency of the instruction, in cycles"),
	COLUMN(p_stage_cyc, SAMPLE, NUMBER, "Pipeline Stage Cycle",
	       "cycles in a pipeline stage, for all samples of the row", .alias = "retire_lat"),
	COLUMN(local_p_stage_cyc, SAMPLE, NUMBER, "Local Pipeline Stage Cycle",
	       "cycles in a pipeline stage", .alias = "local_retire_lat"),
	COLUMN(transaction, SAMPLE, NUMBER, "Transaction", "flags of the transaction", .width = 27),
	COLUMN(addr, SAMPLE, ADDRESS, "Address", "address of the sampled instruction", .width = 18),
	COLUMN(code_page_size, SAMPLE, NUMBER, "Code Page Size", "page size of the instruction"),
	COLUMN(phys_daddr, SAMPLE, ADDRESS, "Data Physical Address",
	       "physical address of the accessed data", .width = 22),
	COLUMN(data_page_size, SAMPLE, NUMBER, "Data Page Size", "page size of the accessed data",
	       .width = 22),
	COLUMN(parent, SAMPLE, TEXT, "Parent symbol",
	       "function of the call chain that matches the expression for parents"),
	BRANCH_COLUMN(dso_from, TEXT, "Source Shared Object", "DSO that the branch leaves"),
	BRANCH_COLUMN(dso_to, TEXT, "Target Shared Object", "DSO that the branch enters"),
	BRANCH_COLUMN(symbol_from, TEXT, "Source Symbol", "function that the branch leaves"),
	BRANCH_COLUMN(symbol_to, TEXT, "Target Symbol", "function that the branch enters"),
	BRANCH_COLUMN(addr_from, TEXT, "Source Address", "address of the branch"),
	BRANCH_COLUMN(addr_to, TEXT, "Target Address", "address of the branch's target"),
	BRANCH_COLUMN(srcline_from, TEXT, "From Source:Line", "source line of the branch"),
	BRANCH_COLUMN(srcline_to, TEXT, "To Source:Line", "source line of the branch's target"),
	BRANCH_COLUMN(mispredict, TEXT, "Branch Mispredicted",
		      "Y if the CPU predicted the branch wrongly, else N"),
	BRANCH_COLUMN(cycles, NUMBER, "Basic Block Cycles", "cycles since the branch before"),
	BRANCH_COLUMN(in_tx, TEXT, "Branch in transaction", "T in a transaction"),
	BRANCH_COLUMN(abort, TEXT, "Transaction abort",
		      "A if the branch is the abort of a transaction"),
	COLUMN(mem, SAMPLE, TEXT, "Memory access", "where the data was: L1 hit, Local RAM hit...",
	       .width = 39),
	COLUMN(symbol_daddr, SAMPLE, TEXT, "Data Symbol",
	       "variable that was accessed, or its address"),
	COLUMN(symbol_iaddr, SAMPLE, TEXT, "Code Symbol",
	       "function of the access, with a row for each address of it"),
	COLUMN(dso_daddr, SAMPLE, TEXT, "Data Object", "DSO or memory that was accessed"),
	COLUMN(dcacheline, SAMPLE, TEXT, "Data Cacheline", "line of 64 bytes that was accessed"),
	COLUMN(snoop, SAMPLE, TEXT, "Snoop", "what other caches answered", .width = 12),
	COLUMN(tlb, SAMPLE, TEXT, "TLB access", "where the page table entry was", .width = 22),
	COLUMN(locked, SAMPLE, TEXT, "Locked", "Yes if the instruction locked memory"),
	COLUMN(blocked, SAMPLE, TEXT, "Blocked", "what blocked the access: Data, Addr",
	       .width = 10),
	COLUMN(dso, FRAME, TEXT, "Shared Object", "library, program or module"),
	COLUMN(sym, FRAME, TEXT, "Symbol", "function, or an address without one",
	       .alias = "symbol"),
	COLUMN(symoff, FRAME, TEXT, "Symbol Offset",
	       "function and the offset in it, or an address without one"),
	COLUMN(srcline, FRAME, TEXT, "Source:Line", "source file and line"),
	COLUMN(srcfile, FRAME, TEXT, "Source File", "source file"),
	COLUMN(dso_size, FRAME, NUMBER, "DSO size", "bytes of the DSO that are mapped",
	       .right = true),
	COLUMN(symbol_size, FRAME, NUMBER, "Symbol size", "bytes of the function", .right = true),
	COLUMN(level, FRAME, TEXT, "Level", "user, kernel, guest or hypervisor"),
	COLUMN(kind, FRAME, TEXT, "Kind", "inlined, jit, file, kernel, module, vdso..."),
};

const struct perch_column *perch_columns(size_t *nr)
{
	*nr = sizeof(columns) / sizeof(columns[0]);
	return columns;
}

static bool is_name(const char *name, const char *wanted, size_t length)
{
	return name && !strncmp(name, wanted, length) && !name[length];
}

const struct perch_column *perch_column_find(const char *name, size_t length)
{
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		if (is_name(columns[i].name, name, length) ||
		    is_name(columns[i].alias, name, length))
			return &columns[i];
	return NULL;
}

const struct perch_column *perch_column_similar(const char *name, size_t length)
{
	const struct perch_column *similar = NULL;
	char word[PERCH__EDIT_MAX_LENGTH + 1];
	unsigned least;

	if (length >= sizeof(word))
		return NULL;
	memcpy(word, name, length);
	word[length] = 0;
	least = length < 3 ? 2 : length / 3 + 1; /* of a word that is not similar */
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		const char *const names[] = { columns[i].name, columns[i].alias };

		for (size_t j = 0; j < 2 && names[j]; j++) {
			unsigned distance = perch__edit_distance(word, names[j]);

			if (distance < least) {
				least = distance;
				similar = &columns[i];
			}
		}
	}
	return similar;
}
