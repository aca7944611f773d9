/* SPDX-License-Identifier: MIT */
/* Compares samples: the fields in sample_type; all others must be empty. */
#include <string.h>
#include <perch/record.h>

#include "compare.h"

static const struct {
	uint64_t context;
	uint8_t cpumode;
} modes[] = {
	{ PERCH_CONTEXT_HV, PERCH_MISC_HYPERVISOR },
	{ PERCH_CONTEXT_KERNEL, PERCH_MISC_KERNEL },
	{ PERCH_CONTEXT_USER, PERCH_MISC_USER },
	{ PERCH_CONTEXT_GUEST_KERNEL, PERCH_MISC_GUEST_KERNEL },
	{ PERCH_CONTEXT_GUEST_USER, PERCH_MISC_GUEST_USER },
};

/*
 * Compares a walk of the call chain with the description. PERCH_CONTEXT_GUEST has no cpumode of its
 * own.
 */
static bool unlike_walk(const struct perch_record *decoded, const struct build_words *described)
{
	struct perch_chain_address address;
	struct perch_chain chain;
	int mode = decoded->misc & PERCH_MISC_CPUMODE_MASK;
	uint64_t i;

	perch_chain_init(&chain, decoded);
	for (i = 0; i < described->nr; i++) {
		uint64_t word = described->word[i];

		if (word == PERCH_CONTEXT_USER_DEFERRED)
			break;
		if (word >= PERCH_CONTEXT_MAX) {
			mode = -1;
			for (size_t k = 0; k < sizeof(modes) / sizeof(*modes); k++)
				if (modes[k].context == word)
					mode = modes[k].cpumode;
			continue;
		}
		if (!perch_chain_next(&chain, &address))
			return build_differs("the chain ends before word %llu",
					     (unsigned long long)i);
		if (UNLIKE("address of the chain", address.ip, word) ||
		    (mode >= 0 && UNLIKE("cpumode of the chain", address.cpumode, mode)))
			return true;
	}
	if (perch_chain_next(&chain, &address))
		return build_differs("the chain has more addresses");
	return UNLIKE("deferred", chain.deferred, i < described->nr) ||
	       (i < described->nr &&
		UNLIKE("cookie of the chain", chain.cookie, described->word[i + 1]));
}

bool build_unlike_chain(const struct perch_record *decoded, const uint64_t *ip, uint64_t nr,
			const struct build_words *described)
{
	if (UNLIKE("length of the chain", nr, described->nr))
		return true;
	for (uint64_t i = 0; i < described->nr; i++)
		if (UNLIKE("word of the chain", perch_word(decoded, ip + i), described->word[i]))
			return true;
	return unlike_walk(decoded, described);
}

static bool unlike_fixed(const struct perch_sample *sample, const struct build_record *record)
{
	const struct build_sample_id *sample_id = &record->sample_id;
	const struct build_sample *wanted = &record->sample;
	const struct {
		const char *name;
		uint64_t bits, decoded, described;
	} field[] = {
		{ "ip", PERCH_SAMPLE_IP, sample->ip, wanted->ip },
		{ "pid", PERCH_SAMPLE_TID, sample->pid, sample_id->pid },
		{ "tid", PERCH_SAMPLE_TID, sample->tid, sample_id->tid },
		{ "time", PERCH_SAMPLE_TIME, sample->time, sample_id->time },
		{ "addr", PERCH_SAMPLE_ADDR, sample->addr, wanted->addr },
		{ "id", PERCH_SAMPLE_ID | PERCH_SAMPLE_IDENTIFIER, sample->id, sample_id->id },
		{ "stream_id", PERCH_SAMPLE_STREAM_ID, sample->stream_id, sample_id->stream_id },
		{ "cpu", PERCH_SAMPLE_CPU, sample->cpu, sample_id->cpu },
		{ "weight", PERCH_SAMPLE_WEIGHT_TYPE, sample->weight, wanted->weight },
		{ "data_src", PERCH_SAMPLE_DATA_SRC, sample->data_src, wanted->data_src },
		{ "transaction", PERCH_SAMPLE_TRANSACTION, sample->transaction,
		  wanted->transaction },
		{ "phys_addr", PERCH_SAMPLE_PHYS_ADDR, sample->phys_addr, wanted->phys_addr },
		{ "cgroup", PERCH_SAMPLE_CGROUP, sample->cgroup, wanted->cgroup },
		{ "data_page_size", PERCH_SAMPLE_DATA_PAGE_SIZE, sample->data_page_size,
		  wanted->data_page_size },
		{ "code_page_size", PERCH_SAMPLE_CODE_PAGE_SIZE, sample->code_page_size,
		  wanted->code_page_size },
	};
	bool own = record->shape.sample_type & PERCH_SAMPLE_PERIOD;

	for (size_t i = 0; i < sizeof(field) / sizeof(*field); i++)
		if (UNLIKE(field[i].name, field[i].decoded,
			   record->shape.sample_type & field[i].bits ? field[i].described : 0))
			return true;
	return UNLIKE("period", sample->period, own ? wanted->period : record->shape.period);
}

/* The bit-fields must have the layout of this machine. */
static bool unlike_branch(const struct perch_branch_entry *entry, const struct build_branch *wanted)
{
	return UNLIKE("from", entry->from, wanted->from) || UNLIKE("to", entry->to, wanted->to) ||
	       UNLIKE("mispred", entry->mispred, wanted->mispred) ||
	       UNLIKE("predicted", entry->predicted, wanted->predicted) ||
	       UNLIKE("in_tx", entry->in_tx, wanted->in_tx) ||
	       UNLIKE("abort", entry->abort, wanted->abort) ||
	       UNLIKE("cycles", entry->cycles, wanted->cycles) ||
	       UNLIKE("branch type", entry->type, wanted->type) ||
	       UNLIKE("spec", entry->spec, wanted->spec) ||
	       UNLIKE("new_type", entry->new_type, wanted->new_type) ||
	       UNLIKE("priv", entry->priv, wanted->priv) ||
	       UNLIKE("reserved", entry->reserved, wanted->reserved);
}

static bool unlike_branches(const struct perch_record *decoded, const struct build_record *record)
{
	const struct perch_sample *sample = &decoded->sample;
	const struct build_sample *wanted = &record->sample;
	uint64_t kinds = record->shape.branch_sample_type;
	struct perch_branch_entry entry;
	static const struct build_branch none;

	if (UNLIKE("number of branches", sample->branches.nr, wanted->nr_branches) ||
	    UNLIKE("hw_index", sample->branches.hw_index,
		   kinds & PERCH_SAMPLE_BRANCH_HW_INDEX ? wanted->hw_index : 0))
		return true;
	for (uint64_t i = 0; i < wanted->nr_branches; i++) {
		perch_branch_at(decoded, i, &entry);
		if (unlike_branch(&entry, &wanted->branch[i]) ||
		    (kinds & PERCH_SAMPLE_BRANCH_COUNTERS &&
		     UNLIKE("counters", perch_word(decoded, sample->branches.counters + i),
			    wanted->branch[i].counters)))
			return true;
	}
	memset(&entry, 0xee, sizeof(entry));
	perch_branch_at(decoded, wanted->nr_branches, &entry);
	return unlike_branch(&entry, &none);
}

static bool unlike_registers(const struct perch_record *decoded,
			     const struct perch_registers *registers,
			     const struct build_registers *wanted, uint64_t mask)
{
	uint64_t nr = wanted->abi == PERCH_SAMPLE_REGS_ABI_NONE ? 0 : wanted->value.nr;

	if (UNLIKE("abi", registers->abi, wanted->abi) ||
	    UNLIKE("number of registers", registers->nr, nr) ||
	    (nr && UNLIKE("mask", registers->mask, mask)))
		return true;
	for (uint64_t i = 0; i < nr; i++)
		if (UNLIKE("register", perch_word(decoded, registers->value + i),
			   wanted->value.word[i]))
			return true;
	return false;
}

static bool unlike_blob(const char *what, const void *data, uint64_t size,
			const struct build_blob *wanted)
{
	return UNLIKE(what, size, wanted->size) ||
	       (size && memcmp(data, wanted->byte, size) && build_differs("%s: other bytes", what));
}

static bool unlike_blobs(const struct perch_sample *sample, const struct build_record *record)
{
	const struct build_sample *wanted = &record->sample;
	uint64_t type = record->shape.sample_type;

	if (type & PERCH_SAMPLE_RAW &&
	    unlike_blob("raw size", sample->raw.data, sample->raw.size, &wanted->raw))
		return true;
	if (type & PERCH_SAMPLE_AUX &&
	    unlike_blob("aux size", sample->aux.data, sample->aux.size, &wanted->aux))
		return true;
	return type & PERCH_SAMPLE_STACK_USER &&
	       (unlike_blob("stack size", sample->stack_user.data, sample->stack_user.size,
			    &wanted->stack) ||
		UNLIKE("dynamic size", sample->stack_user.dynamic_size, wanted->stack_dynamic));
}

/* Fields that are not in sample_type are empty. */
static bool unlike_nothing(const struct perch_sample *sample, uint64_t type)
{
	const struct {
		const char *name;
		uint64_t bit, value;
	} field[] = {
		{ "values unasked", PERCH_SAMPLE_READ, sample->read.nr },
		{ "callchain unasked", PERCH_SAMPLE_CALLCHAIN, sample->callchain.nr },
		{ "raw unasked", PERCH_SAMPLE_RAW, sample->raw.size },
		{ "branches unasked", PERCH_SAMPLE_BRANCH_STACK, sample->branches.nr },
		{ "user registers unasked", PERCH_SAMPLE_REGS_USER, sample->regs_user.nr },
		{ "stack unasked", PERCH_SAMPLE_STACK_USER, sample->stack_user.size },
		{ "registers unasked", PERCH_SAMPLE_REGS_INTR, sample->regs_intr.nr },
		{ "aux unasked", PERCH_SAMPLE_AUX, sample->aux.size },
	};

	for (size_t i = 0; i < sizeof(field) / sizeof(*field); i++)
		if (!(type & field[i].bit) && UNLIKE(field[i].name, field[i].value, 0))
			return true;
	return false;
}

bool build_unlike_sample(const struct perch_record *decoded, const struct build_record *record)
{
	const struct perch_sample *sample = &decoded->sample;
	const struct build_sample *wanted = &record->sample;
	uint64_t type = record->shape.sample_type;

	if (unlike_fixed(sample, record) || unlike_nothing(sample, type))
		return true;
	if (type & PERCH_SAMPLE_READ &&
	    build_unlike_values(&sample->read, &wanted->read, record->shape.read_format))
		return true;
	if (type & PERCH_SAMPLE_CALLCHAIN &&
	    build_unlike_chain(decoded, sample->callchain.ip, sample->callchain.nr,
			       &wanted->callchain))
		return true;
	if (type & PERCH_SAMPLE_BRANCH_STACK && unlike_branches(decoded, record))
		return true;
	if (type & PERCH_SAMPLE_REGS_USER &&
	    unlike_registers(decoded, &sample->regs_user, &wanted->user, record->shape.regs_user))
		return true;
	if (type & PERCH_SAMPLE_REGS_INTR &&
	    unlike_registers(decoded, &sample->regs_intr, &wanted->intr, record->shape.regs_intr))
		return true;
	return unlike_blobs(sample, record);
}
