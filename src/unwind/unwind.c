/* SPDX-License-Identifier: MIT */
/* The unwinder: finds the row of each address, and follows the callers. */
#include <stdlib.h>
#include <unistd.h>

#include "base/no_memory.h"
#include "internal.h"

/* MAX_OPERATIONS: of expressions, for a sample; a signal frame needs about 50. */
enum { RECENT = 16384, MAX_OPERATIONS = 20000 };

/* A cache in front of the tables: the row of an address of an address space. */
struct recent_rules {
	uint64_t generation, ip; /* generation: plus 1; 0 if empty */
	uint32_t row;
};

struct perch_unwinder {
	const struct architecture *architecture;
	struct perch_processes *processes;
	struct perch_symbols *symbols;
	struct rows rows;
	struct rules **rules;
	size_t nr_rules;
	struct perch__hash_table by_dso; /* -> rules */
	uint64_t ends[PERCH_UNWIND_ENDS];
	/* where the registers of the last mask are in a sample; NO_REGISTER: not in it */
	uint64_t mask;
	const struct architecture *registers_of;
	uint8_t index[MAX_REGISTERS];
	struct recent_rules recent[RECENT];
};

int perch_unwinder_new(struct perch_unwinder **result, enum perch_arch arch,
		       struct perch_processes *processes, struct perch_symbols *symbols,
		       struct perch_error *err)
{
	struct perch_unwinder *unwinder = perch__calloc(1, sizeof(*unwinder));

	*result = unwinder;
	if (!unwinder)
		return PERCH__NO_MEMORY(err, "for an unwinder");
	unwinder->architecture = perch__architecture(arch);
	unwinder->processes = processes;
	unwinder->symbols = symbols;
	unwinder->by_dso.seed = perch__hash_seed(unwinder);
	unwinder->rows.by_block.seed = unwinder->rows.by_rules.seed = unwinder->by_dso.seed;
	return 0;
}

static void clear_rows(struct perch_unwinder *unwinder)
{
	perch__rows_clear(&unwinder->rows);
	memset(unwinder->recent, 0, sizeof(unwinder->recent));
}

void perch_unwinder_free(struct perch_unwinder *unwinder)
{
	if (!unwinder)
		return;
	perch__rows_free(&unwinder->rows);
	for (size_t i = 0; i < unwinder->nr_rules; i++)
		perch__rules_close(unwinder->rules[i]);
	perch__hash_clear(&unwinder->by_dso);
	free(unwinder->rules);
	free(unwinder);
}

/* ---- rules and rows ---- */

static bool same_dso(const void *items, uint32_t index, const void *dso)
{
	return ((struct rules *const *)items)[index]->dso == dso;
}

static struct rules *find_rules(const struct perch_unwinder *unwinder, const struct perch_dso *dso)
{
	uint32_t index = perch__hash_find(
		&unwinder->by_dso, perch__hash_integer(unwinder->by_dso.seed, (uintptr_t)dso),
		same_dso, unwinder->rules, dso);

	return index == PERCH__HASH_NONE ? NULL : unwinder->rules[index];
}

/* Opens the file of the DSO if that has not been done. Returns NULL if out of memory. */
static struct rules *get_rules(struct perch_unwinder *unwinder, const struct perch_dso *dso)
{
	struct rules *rules = find_rules(unwinder, dso);

	if (rules)
		return rules;
	if (PERCH__ARRAY_RESERVE_BY_NR(unwinder->rules, unwinder->nr_rules, 1))
		return NULL;
	rules = perch__rules_open(unwinder->symbols, dso, unwinder->architecture);
	if (!rules)
		return NULL;
	if (perch__hash_add(&unwinder->by_dso,
			    perch__hash_integer(unwinder->by_dso.seed, (uintptr_t)dso),
			    unwinder->nr_rules)) {
		perch__rules_close(rules);
		return NULL;
	}
	unwinder->rules[unwinder->nr_rules++] = rules;
	return rules;
}

/* Returns the index of the row of a location, which is made if it is new; or PERCH__HASH_NONE if
 * out of memory. */
static uint32_t row_of(struct perch_unwinder *unwinder, const struct perch_location *location)
{
	uint32_t index = perch__rows_find(&unwinder->rows, location->dso, location->offset);
	struct rules *rules;

	if (index != PERCH__HASH_NONE)
		return index;
	if (perch__rows_full(&unwinder->rows))
		clear_rows(unwinder);
	rules = get_rules(unwinder, location->dso);
	return rules ? perch__rows_add(&unwinder->rows, rules, location->offset) : PERCH__HASH_NONE;
}

/* Mappings that are not executable, and heaps and stacks that no process may execute. */
static bool is_data(const struct perch_location *location)
{
	const struct perch_dso *dso = location->dso;

	if (location->not_executable)
		return true;
	return perch_dso_is(dso, PERCH_DSO_IS_MEMORY) && !dso->code_size &&
	       (!strcmp(dso->path, "[heap]") || !strncmp(dso->path, "[stack", 6));
}

/* Finds the row of an address. generation: of the thread, plus 1. Returns NULL if out of memory, or
 * if nothing is mapped there. */
static inline const struct row *find_row(struct perch_unwinder *unwinder,
					 struct perch_thread *thread, uint64_t generation,
					 uint64_t ip, bool *mapped)
{
	struct recent_rules *recent = &unwinder->recent[(ip ^ ip >> 13 ^ generation << 6) % RECENT];
	struct perch_location location;
	uint32_t index;

	*mapped = true;
	if (recent->ip == ip && recent->generation == generation)
		return &unwinder->rows.row[recent->row];
	perch_processes_resolve(unwinder->processes, thread, PERCH_MISC_USER, ip, &location);
	if (!perch_dso_is(location.dso, PERCH_DSO_IS_MAPPED) || is_data(&location)) {
		*mapped = false;
		return NULL;
	}
	index = row_of(unwinder, &location);
	if (index == PERCH__HASH_NONE)
		return NULL;
	*recent = (struct recent_rules){ .generation = generation, .ip = ip, .row = index };
	return &unwinder->rows.row[index];
}

/* ---- the sample ---- */

static void find_registers(struct perch_unwinder *unwinder, const struct architecture *architecture,
			   uint64_t mask)
{
	for (unsigned number = 0; number < architecture->nr; number++) {
		uint64_t bit = 1ull << architecture->bit[number];

		unwinder->index[number] =
			mask & bit ? (uint8_t)__builtin_popcountll(mask & (bit - 1)) : NO_REGISTER;
	}
	unwinder->mask = mask;
	unwinder->registers_of = architecture;
}

/* Returns false if a register that unwinding needs is missing. */
static bool take_registers(struct perch_unwinder *unwinder, const struct architecture *architecture,
			   const struct perch_record *record, struct registers *registers)
{
	const struct perch_registers *sampled = &record->sample.regs_user;
	uint64_t needed = 1ull << architecture->sp | 1ull << architecture->pc;

	/* no mask is 0: the sample has registers */
	if (sampled->mask != unwinder->mask || architecture != unwinder->registers_of)
		find_registers(unwinder, architecture, sampled->mask);
	registers->valid = 0;
	for (unsigned number = 0; number < architecture->nr; number++) {
		unsigned index = unwinder->index[number];

		if (index >= sampled->nr)
			continue;
		registers->value[number] = perch_word(record, &sampled->value[index]);
		if (architecture->word == sizeof(uint32_t))
			registers->value[number] = (uint32_t)registers->value[number];
		registers->valid |= 1ull << number;
	}
	return (registers->valid & needed) == needed;
}

static enum perch_unwind_end end_of(enum outcome outcome, const struct row *row)
{
	if (row->kind == ROW_OTHER_STACK)
		return PERCH_UNWIND_OTHER_STACK;
	switch (outcome) {
	case OUTERMOST:
		return PERCH_UNWIND_OUTERMOST;
	case ABOVE_STACK:
		return PERCH_UNWIND_TRUNCATED;
	case LOOP:
		return PERCH_UNWIND_LOOP;
	case NO_FRAME_POINTER:
		return row->kind == ROW_NO_FILE ? PERCH_UNWIND_NO_FILE : PERCH_UNWIND_NO_RULE;
	default:
		return PERCH_UNWIND_BAD_RULE;
	}
}

/* What is needed from one frame to the next. */
struct walk {
	struct perch_thread *thread;
	uint64_t generation; /* of the thread, plus 1 */
	const struct architecture *architecture;
	struct registers registers;
	struct copied_stack stack;
	bool innermost;
	bool uncalled; /* the function of the frame begins at the return address */
};

/*
 * Finds the row of a frame. A return address is looked up at the call before it, but there is none
 * if the kernel returns to the address (signals), or makecontext(3) has put it on the stack: then
 * the function begins at the address.
 */
static const struct row *find_frame(struct perch_unwinder *unwinder, struct walk *walk,
				    uint64_t *ip, bool *mapped)
{
	struct perch_thread *thread = walk->thread;
	const struct row *row = find_row(unwinder, thread, walk->generation, *ip, mapped);

	if (!row || walk->innermost)
		return row;
	if (row->no_call) {
		row = find_row(unwinder, thread, walk->generation, *ip + 1, mapped);
		if (!row || row->kind > ROW_OUTERMOST)
			return find_row(unwinder, thread, walk->generation, *ip, mapped);
		++*ip;
		walk->uncalled = true;
	} else if (row->signal_frame) {
		++*ip;
	}
	return row;
}

/* The reason of the end at an address outside of all code. before: kind of the frame's row */
static enum perch_unwind_end end_outside(enum row_kind before, bool uncalled)
{
	if (before == ROW_NO_FILE)
		return PERCH_UNWIND_NO_FILE;
	if (before >= ROW_NO_RULE)
		return PERCH_UNWIND_NO_RULE;
	/* a function that makecontext(3) has put on the stack has an argument in place of it */
	return uncalled ? PERCH_UNWIND_OUTERMOST : PERCH_UNWIND_NO_MAPPING;
}

/* Stores the addresses. Returns the reason of the end, or -ENOMEM. */
static int walk_frames(struct perch_unwinder *unwinder, struct walk *walk, uint64_t *ips,
		       size_t max, struct perch_unwind_result *result)
{
	const struct architecture *architecture = walk->architecture;
	uint64_t ip = walk->registers.value[architecture->pc];
	enum row_kind before = ROW_FAST;

	while (result->nr < max) {
		bool mapped, uncalled = walk->uncalled;
		const struct row *row;
		uint64_t sp = walk->registers.value[architecture->sp];
		enum outcome outcome;

		walk->uncalled = false;
		row = find_frame(unwinder, walk, &ip, &mapped);
		if (!row && mapped)
			return -ENOMEM;
		/* an address outside of all code is not a caller, except that of the sample */
		if (row || !result->nr)
			ips[result->nr++] = ip;
		if (!row)
			return end_outside(before, uncalled);
		result->dso = row->dso;
		/* a 64-bit file in a 32-bit program, or the reverse */
		if (row->kind < ROW_NO_RULE && row->narrow != walk->stack.narrow)
			return PERCH_UNWIND_NO_RULE;
		if (__builtin_expect(perch__plain_step(row, architecture, &walk->stack,
						       walk->innermost, &walk->registers),
				     1))
			outcome = FOUND;
		else
			outcome = perch__frame_step(row, architecture, &walk->stack,
						    walk->innermost, &walk->registers);
		/* a signal handler with a stack of its own: that of its callers was not copied */
		if (outcome == BELOW_STACK && sp < walk->stack.start)
			return PERCH_UNWIND_TRUNCATED;
		if (outcome != FOUND)
			return end_of(outcome, row);
		before = row->kind;
		ip = walk->registers.value[architecture->pc];
		if (!ip)
			return PERCH_UNWIND_OUTERMOST;
		/* a return address may be the first one of the next function */
		walk->innermost = row->signal_frame;
		ip -= !walk->innermost;
	}
	return PERCH_UNWIND_MAX_FRAMES;
}

/* ---- the instruction of the sample ---- */

/* Returns the rules of the file with an address, whose offset is *offset; NULL: not in a file. */
static const struct rules *rules_at(struct perch_unwinder *unwinder, const struct walk *walk,
				    uint64_t ip, uint64_t *offset)
{
	struct perch_location location;
	const struct rules *rules;

	perch_processes_resolve(unwinder->processes, walk->thread, PERCH_MISC_USER, ip, &location);
	rules = perch_dso_is(location.dso, PERCH_DSO_IS_FILE) ? get_rules(unwinder, location.dso)
							      : NULL;
	*offset = location.offset;
	return rules && rules->fd >= 0 ? rules : NULL;
}

/* Reads at most MAX_INSTRUCTION bytes. Returns their number. */
static size_t read_code(const struct rules *rules, uint64_t offset, uint8_t *code)
{
	ssize_t size = pread(rules->fd, code, MAX_INSTRUCTION, (off_t)offset);

	return size < 0 ? 0 : (size_t)size;
}

/* The CPU (PEBS) took the registers after the instruction, which may have moved the stack pointer.
 */
static bool may_be_after(const struct walk *walk, const struct perch_record *record)
{
	return record->misc & PERCH_MISC_EXACT_IP && walk->architecture->machine == EM_X86_64;
}

/* After a call, its return address is on the stack: the registers become those before it. */
static void undo_call(struct perch_unwinder *unwinder, struct walk *walk)
{
	const struct architecture *architecture = walk->architecture;
	uint64_t *sp = &walk->registers.value[architecture->sp], address, offset;
	uint64_t ip = walk->registers.value[architecture->pc];
	uint8_t code[MAX_INSTRUCTION];
	const struct rules *rules;

	if (perch__stack_read(&walk->stack, *sp, &address) != FOUND || address <= ip ||
	    address - ip > MAX_INSTRUCTION)
		return;
	rules = rules_at(unwinder, walk, ip, &offset);
	if (rules && perch__call_size(code, read_code(rules, offset, code)) == address - ip)
		*sp += architecture->word;
}

/* The reason of the end where the stack has no return address for the function of the sample. */
static enum perch_unwind_end end_at_sample(struct perch_unwinder *unwinder, const struct walk *walk,
					   uint64_t ip, bool after)
{
	uint64_t offset, address;
	const struct rules *rules = rules_at(unwinder, walk, ip, &offset);
	uint8_t code[MAX_INSTRUCTION];

	if (!rules)
		return PERCH_UNWIND_NO_MAPPING;
	/* the rules of _start say from its second instruction on that there is none */
	if (rules->elf.entry && perch__rules_address(rules, offset, &address) &&
	    address == rules->elf.entry)
		return PERCH_UNWIND_OUTERMOST;
	/* it is below the copy of the stack then */
	return after && perch__is_return(code, read_code(rules, offset, code))
		       ? PERCH_UNWIND_RETURNED
		       : PERCH_UNWIND_NO_MAPPING;
}

static int unwind(struct perch_unwinder *unwinder, struct perch_thread *thread,
		  const struct perch_record *record, uint64_t *ips, size_t max,
		  struct perch_unwind_result *result)
{
	const struct perch_sample *sample = &record->sample;
	const struct architecture *architecture = unwinder->architecture;
	unsigned operations = MAX_OPERATIONS;
	struct walk walk;
	bool after;
	int end;

	if (sample->regs_user.abi == PERCH_SAMPLE_REGS_ABI_NONE)
		return PERCH_UNWIND_NO_REGISTERS;
	if (architecture && sample->regs_user.abi == PERCH_SAMPLE_REGS_ABI_32)
		architecture = architecture->narrow;
	else if (sample->regs_user.abi != PERCH_SAMPLE_REGS_ABI_64)
		architecture = NULL;
	if (!architecture || !take_registers(unwinder, architecture, record, &walk.registers))
		return PERCH_UNWIND_UNSUPPORTED;
	walk.thread = thread;
	walk.generation = perch_thread_generation(thread) + 1;
	walk.architecture = architecture;
	walk.innermost = true;
	walk.uncalled = false;
	walk.stack.bytes = sample->stack_user.data;
	walk.stack.start = walk.registers.value[architecture->sp];
	walk.stack.size = walk.stack.bytes ? sample->stack_user.dynamic_size : 0;
	walk.stack.swapped = record->parse_info->swapped;
	walk.stack.narrow = architecture->word == sizeof(uint32_t);
	walk.stack.operations = &operations;
	after = may_be_after(&walk, record);
	if (after)
		undo_call(unwinder, &walk);
	end = walk_frames(unwinder, &walk, ips, max, result);
	if (end == PERCH_UNWIND_NO_MAPPING && result->nr == 1)
		return end_at_sample(unwinder, &walk, ips[0], after);
	return end;
}

int perch_unwind(struct perch_unwinder *unwinder, struct perch_thread *thread,
		 const struct perch_record *record, uint64_t *ips, size_t max,
		 struct perch_unwind_result *result)
{
	struct rules *rules;
	int end;

	*result = (struct perch_unwind_result){ 0 };
	end = unwind(unwinder, thread, record, ips, max, result);
	if (end < 0) {
		*result = (struct perch_unwind_result){ 0 };
		return end;
	}
	rules = result->dso ? find_rules(unwinder, result->dso) : NULL;
	if (end == PERCH_UNWIND_NO_RULE && rules && rules->of_go)
		end = PERCH_UNWIND_NO_RULE_OF_GO;
	result->end = (enum perch_unwind_end)end;
	unwinder->ends[end]++;
	if (rules)
		rules->ends[end]++;
	return 0;
}

/* ---- reports ---- */

uint64_t perch_unwinder_count(const struct perch_unwinder *unwinder, const struct perch_dso *dso,
			      enum perch_unwind_end end)
{
	const struct rules *rules = dso ? find_rules(unwinder, dso) : NULL;

	if ((unsigned)end >= PERCH_UNWIND_ENDS)
		return 0;
	if (dso)
		return rules ? rules->ends[end] : 0;
	return unwinder->ends[end];
}

const char *perch_unwinder_error(const struct perch_unwinder *unwinder, const struct perch_dso *dso)
{
	const struct rules *rules = find_rules(unwinder, dso);

	return rules && rules->has_error ? rules->error : NULL;
}
