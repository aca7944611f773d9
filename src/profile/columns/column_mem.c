/* SPDX-License-Identifier: MIT */
/* Columns of accesses to memory: where the data was, and its address. */
#include <inttypes.h>

#include <perch/fields.h>
#include "profile/internal.h"

static int store_value(uint64_t *value, uint64_t number)
{
	*value = number;
	return 0;
}

/* ---- parts of data_src: the value has only their bits ---- */

static union perch_mem_data_src source_of(const struct sample *sample)
{
	static const union perch_mem_data_src none = {
		.mem_op = PERCH_MEM_OP_NA,
		.mem_lvl = PERCH_MEM_LVL_NA,
		.mem_snoop = PERCH_MEM_SNOOP_NA,
		.mem_lock = PERCH_MEM_LOCK_NA,
		.mem_dtlb = PERCH_MEM_TLB_NA,
	};

	if (!(sample->record->parse_info->sample_type & PERCH_SAMPLE_DATA_SRC))
		return none;
	return (union perch_mem_data_src){ .val = sample->record->sample.data_src };
}

static int level_value(const struct sample *sample, uint64_t *value)
{
	union perch_mem_data_src all = source_of(sample), part = { .val = 0 };

	part.mem_lvl = all.mem_lvl;
	part.mem_lvl_num = all.mem_lvl_num;
	part.mem_remote = all.mem_remote;
	part.mem_hops = all.mem_hops;
	return store_value(value, part.val);
}

static int snoop_value(const struct sample *sample, uint64_t *value)
{
	union perch_mem_data_src all = source_of(sample), part = { .val = 0 };

	part.mem_snoop = all.mem_snoop;
	part.mem_snoopx = all.mem_snoopx;
	return store_value(value, part.val);
}

static int tlb_value(const struct sample *sample, uint64_t *value)
{
	union perch_mem_data_src part = { .val = 0 };

	part.mem_dtlb = source_of(sample).mem_dtlb;
	return store_value(value, part.val);
}

static int lock_value(const struct sample *sample, uint64_t *value)
{
	union perch_mem_data_src part = { .val = 0 };

	part.mem_lock = source_of(sample).mem_lock;
	return store_value(value, part.val);
}

static int blocked_value(const struct sample *sample, uint64_t *value)
{
	union perch_mem_data_src part = { .val = 0 };

	part.mem_blk = source_of(sample).mem_blk;
	return store_value(value, part.val);
}

#define PART(column, part, function)                                                               \
	static const char *function##_text(struct perch_profile *profile, const struct cell *cell, \
					   char *buffer, size_t size)                              \
	{                                                                                          \
		(void)profile;                                                                     \
		perch_format_mem_part(cell->value, PERCH_MEM_PART_##part, buffer, size);           \
		return buffer;                                                                     \
	}                                                                                          \
	const struct perch_column_methods perch__column_##column = { .value = function##_value,    \
								     .text = function##_text }

PART(mem, LEVEL, level);
PART(snoop, SNOOP, snoop);
PART(tlb, TLB, tlb);
PART(locked, LOCK, lock);
PART(blocked, BLOCKED, blocked);

/* ---- addresses of data: the value is a number in data_addresses ---- */

/* The words of an address. */
enum { ADDRESS, DSO_AND_MODE, OFFSET, PROCESS, WORDS };

/* As in perf, lines of 64 bytes. */
#define LINE 64

static unsigned mode_of(const uint64_t *words)
{
	return words[DSO_AND_MODE] & PERCH_MISC_CPUMODE_MASK;
}

static const struct perch_dso *dso_of(const struct perch_profile *profile, const uint64_t *words)
{
	const struct perch_dso *const *dsos;

	perch_processes_dsos(profile->processes, &dsos);
	return dsos[words[DSO_AND_MODE] >> 3];
}

static const uint64_t *words_of(const struct perch_profile *profile, const struct cell *cell)
{
	return perch__tuples_at(&profile->data_addresses, (uint32_t)cell->value);
}

/* Stores the number of an address. Returns 0 or -ENOMEM. */
static int add_address(struct perch_profile *profile, const uint64_t *words, uint64_t *value)
{
	uint32_t number;

	profile->data_addresses.width = WORDS;
	number = perch__tuples_add(&profile->data_addresses, words);
	*value = number;
	return number == NO_NUMBER ? -ENOMEM : 0;
}

/* Finds the mapping of an address of data. */
static void find_address(const struct sample *sample, uint64_t address, uint64_t *words)
{
	struct perch_processes *processes = sample->profile->processes;
	unsigned sampled = sample->record->misc & PERCH_MISC_CPUMODE_MASK;
	unsigned mode = perch__mode_of_address(sample->record, address);
	struct perch_location location;

	perch_processes_resolve(processes, sample->thread, mode, address, &location);
	if (mode != sampled && sampled == PERCH_MISC_KERNEL && !(address >> 32) &&
	    !perch_dso_is(location.dso, PERCH_DSO_IS_MAPPED)) {
		mode = PERCH_MISC_KERNEL; /* of 32 bits */
		perch_processes_resolve(processes, sample->thread, mode, address, &location);
	}
	words[ADDRESS] = address;
	words[DSO_AND_MODE] = (uint64_t)location.dso->index << 3 | mode;
	words[OFFSET] = location.offset;
	words[PROCESS] = 0;
}

static int data_value(const struct sample *sample, uint64_t *value)
{
	uint64_t words[WORDS];

	find_address(sample, sample->record->sample.addr, words);
	return add_address(sample->profile, words, value);
}

static int code_value(const struct sample *sample, uint64_t *value)
{
	const struct perch_record *record = sample->record;
	unsigned mode = record->misc & PERCH_MISC_CPUMODE_MASK;
	struct perch_location location;

	perch_processes_resolve(sample->profile->processes, sample->thread, mode, record->sample.ip,
				&location);
	return add_address(sample->profile,
			   (uint64_t[WORDS]){ [ADDRESS] = record->sample.ip,
					      [DSO_AND_MODE] = (uint64_t)location.dso->index << 3 |
							       mode,
					      [OFFSET] = location.offset },
			   value);
}

/* The start of the line. Memory that processes do not share has a line for each of them. */
static int line_value(const struct sample *sample, uint64_t *value)
{
	uint64_t words[WORDS];
	const struct perch_dso *dso;

	find_address(sample, sample->record->sample.addr, words);
	dso = dso_of(sample->profile, words);
	words[OFFSET] &= ~(uint64_t)(LINE - 1);
	words[ADDRESS] = words[OFFSET];
	if (perch_dso_is(dso, PERCH_DSO_IS_MEMORY) || !perch_dso_is(dso, PERCH_DSO_IS_MAPPED))
		words[PROCESS] =
			mode_of(words) == PERCH_MISC_KERNEL ? 0 : perch_thread_pid(sample->thread);
	return add_address(sample->profile, words, value);
}

static int address_compare(struct perch_profile *profile, const struct cell *a,
			   const struct cell *b)
{
	const uint64_t *left = words_of(profile, a), *right = words_of(profile, b);

	for (size_t i = 0; i < WORDS; i++)
		if (left[i] != right[i])
			return left[i] < right[i] ? -1 : 1;
	return 0;
}

/* Writes the characters of a mode. Returns their number. */
static size_t put_mode(char mode, char *buffer, size_t size)
{
	int length = snprintf(buffer, size, "[%c] ", mode);

	return length > 0 && (size_t)length < size ? (size_t)length : size - 1;
}

static void put_address(const uint64_t *words, char *buffer, size_t size)
{
	snprintf(buffer, size, "%-#.16" PRIx64, words[ADDRESS]);
}

/* The variable, and the offset in it. */
static const char *variable_text(struct perch_profile *profile, const uint64_t *words, char mode,
				 char *buffer, size_t size)
{
	const struct perch_symbol *symbol =
		perch_symbols_find_data(profile->symbols, dso_of(profile, words), words[OFFSET]);
	size_t used = put_mode(mode, buffer, size);

	if (symbol)
		snprintf(buffer + used, size - used, "%s+0x%" PRIx64,
			 perch_symbols_name(profile->symbols, symbol),
			 words[OFFSET] - symbol->start);
	else
		put_address(words, buffer + used, size - used);
	return buffer;
}

static const char *data_text(struct perch_profile *profile, const struct cell *cell, char *buffer,
			     size_t size)
{
	const uint64_t *words = words_of(profile, cell);

	return variable_text(profile, words, perch__cpumode_char(mode_of(words)), buffer, size);
}

/* As in perf, lines in no mapping have a mode of their own. */
static const char *line_text(struct perch_profile *profile, const struct cell *cell, char *buffer,
			     size_t size)
{
	const uint64_t *words = words_of(profile, cell);
	bool unknown = !perch_dso_is(dso_of(profile, words), PERCH_DSO_IS_MAPPED);

	return variable_text(profile, words, unknown ? 'X' : perch__cpumode_char(mode_of(words)),
			     buffer, size);
}

static const char *code_text(struct perch_profile *profile, const struct cell *cell, char *buffer,
			     size_t size)
{
	const uint64_t *words = words_of(profile, cell);
	const struct perch_symbol *symbol =
		perch_symbols_find(profile->symbols, dso_of(profile, words), words[OFFSET]);
	size_t used = put_mode(perch__cpumode_char(mode_of(words)), buffer, size);

	if (symbol)
		snprintf(buffer + used, size - used, "%s",
			 perch_symbols_name(profile->symbols, symbol));
	else
		put_address(words, buffer + used, size - used);
	return buffer;
}

const struct perch_column_methods perch__column_symbol_daddr = { .value = data_value,
								 .compare = address_compare,
								 .text = data_text };
const struct perch_column_methods perch__column_symbol_iaddr = { .value = code_value,
								 .compare = address_compare,
								 .text = code_text };
const struct perch_column_methods perch__column_dcacheline = { .value = line_value,
							       .compare = address_compare,
							       .text = line_text };

/* ---- addr_from, addr_to: the ends of a branch ---- */

/* An address of a file is the same in every process. */
static int branch_value(const struct sample *sample, uint64_t address, uint64_t *value)
{
	uint64_t words[WORDS];

	find_address(sample, address, words);
	words[ADDRESS] = words[OFFSET];
	return add_address(sample->profile, words, value);
}

static int from_value(const struct sample *sample, uint64_t *value)
{
	return branch_value(sample, sample->branch->from, value);
}

static int to_value(const struct sample *sample, uint64_t *value)
{
	return branch_value(sample, sample->branch->to, value);
}

/* The function, and the offset in it. */
static const char *branch_text(struct perch_profile *profile, const struct cell *cell, char *buffer,
			       size_t size)
{
	const uint64_t *words = words_of(profile, cell);
	const struct perch_symbol *symbol =
		perch_symbols_find(profile->symbols, dso_of(profile, words), words[OFFSET]);
	const char *name = symbol ? perch_symbols_name(profile->symbols, symbol) : NULL;
	size_t used = put_mode(perch__cpumode_char(mode_of(words)), buffer, size);

	if (!symbol)
		put_address(words, buffer + used, size - used);
	else if (words[OFFSET] == symbol->start)
		snprintf(buffer + used, size - used, "%s", name);
	else
		snprintf(buffer + used, size - used, "%s+0x%" PRIx64, name,
			 words[OFFSET] - symbol->start);
	return buffer;
}

const struct perch_column_methods perch__column_addr_from = { .value = from_value,
							      .compare = address_compare,
							      .text = branch_text };
const struct perch_column_methods perch__column_addr_to = { .value = to_value,
							    .compare = address_compare,
							    .text = branch_text };

/* ---- dso_daddr: the number of the name ---- */

static int dso_value(const struct sample *sample, uint64_t *value)
{
	struct perch_profile *profile = sample->profile;
	uint64_t words[WORDS];
	uint32_t number;

	find_address(sample, sample->record->sample.addr, words);
	number = perch__texts_add(&profile->dso_names,
				  perch_symbols_dso_name(profile->symbols, dso_of(profile, words)));
	*value = number;
	return number == NO_NUMBER ? -ENOMEM : 0;
}

static int dso_compare(struct perch_profile *profile, const struct cell *a, const struct cell *b)
{
	return strcmp(profile->dso_names.text[a->value], profile->dso_names.text[b->value]);
}

static const char *dso_text(struct perch_profile *profile, const struct cell *cell, char *buffer,
			    size_t size)
{
	(void)buffer;
	(void)size;
	return profile->dso_names.text[cell->value];
}

const struct perch_column_methods perch__column_dso_daddr = { .value = dso_value,
							      .compare = dso_compare,
							      .text = dso_text };
