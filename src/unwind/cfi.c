/* SPDX-License-Identifier: MIT */
/*
 * Reads call frame information: .eh_frame and .debug_frame. The entry of an address is found by the
 * search table of .eh_frame_hdr, or else by an index of all entries. An entry is checked when it is
 * used: it may end too early, but nothing outside of the section is read, and what it needs is
 * limited.
 */
#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/files/elf_section.h"
#include "base/memory.h"
#include "internal.h"

enum {
	MAX_COLUMN = 255,
	MAX_REMEMBERED = 16,
	MAX_COMMON = 1 << 10, /* bytes of a CIE before its program: it is read again for each FDE */
	MAX_PROGRAM = 1 << 20, /* bytes: it runs for each address */
	MAX_EXPRESSION = 1 << 12,
};
#define MOST_BYTES (1ull << 28)

/* ---- entries ---- */

/* A common entry (CIE), or one of a function (FDE). */
struct cfi_entry {
	struct cursor cursor; /* after the numbers that all entries have */
	uint64_t next;	      /* offset of the next one */
	uint64_t common;      /* of an FDE: the offset of its CIE */
	bool is_common;
};

struct common {
	struct cursor program;
	uint64_t code_factor, return_register;
	int64_t data_factor;
	uint8_t address_size, encoding;
	bool has_augmentation, signal_frame;
};

static struct cursor cursor_at(const struct cfi *cfi, uint64_t offset)
{
	return (struct cursor){ .at = cfi->bytes + offset,
				.end = cfi->bytes + cfi->size,
				.swapped = cfi->swapped };
}

static uint64_t offset_of(const struct cfi *cfi, const struct cursor *cursor)
{
	return (uint64_t)(cursor->at - cfi->bytes);
}

/* Entries without bytes separate others. Returns the offset after them. */
static uint64_t skip_empty(const struct cfi *cfi, uint64_t at)
{
	static const uint8_t empty[4];

	while (cfi->size - at >= 4 && !memcmp(cfi->bytes + at, empty, 4))
		at += 4;
	return at;
}

/* Returns false if there is no entry. */
static bool read_entry(const struct cfi *cfi, uint64_t offset, struct cfi_entry *entry)
{
	unsigned size = 4;
	uint64_t length, id, at;

	if (offset >= cfi->size)
		return false;
	entry->cursor = cursor_at(cfi, offset);
	length = perch__read(&entry->cursor, 4);
	if (length == UINT32_MAX) {
		length = perch__read(&entry->cursor, 8);
		size = cfi->eh_frame ? 4 : 8;
	}
	if (length > (size_t)(entry->cursor.end - entry->cursor.at))
		return false;
	entry->cursor.end = entry->cursor.at + length;
	entry->next = (uint64_t)(entry->cursor.end - cfi->bytes);
	at = offset_of(cfi, &entry->cursor);
	id = perch__read(&entry->cursor, size);
	entry->is_common = id == (cfi->eh_frame ? 0 : size == 4 ? UINT32_MAX : UINT64_MAX);
	entry->common = cfi->eh_frame ? at - id : id;
	return !entry->cursor.failed && (entry->is_common || entry->common < cfi->size);
}

static uint64_t read_signed(struct cursor *cursor, unsigned size)
{
	unsigned unused = 64 - 8 * size;

	return (uint64_t)((int64_t)(perch__read(cursor, size) << unused) >> unused);
}

/* Reads a pointer; other kinds than absolute and relative ones are not written by linkers. */
static uint64_t read_pointer(const struct cfi *cfi, const struct common *common,
			     struct cursor *cursor, uint8_t encoding)
{
	uint64_t value, at = cfi->address + offset_of(cfi, cursor);

	switch (encoding & 0x0f) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_signed:
		value = perch__read(cursor, common->address_size);
		break;
	case DW_EH_PE_uleb128:
		value = perch__read_uleb(cursor);
		break;
	case DW_EH_PE_sleb128:
		value = (uint64_t)perch__read_sleb(cursor);
		break;
	case DW_EH_PE_udata2:
	case DW_EH_PE_udata4:
	case DW_EH_PE_udata8:
		value = perch__read(cursor, 1u << ((encoding & 0x07) - 1));
		break;
	case DW_EH_PE_sdata2:
	case DW_EH_PE_sdata4:
	case DW_EH_PE_sdata8:
		value = read_signed(cursor, 1u << ((encoding & 0x07) - 1));
		break;
	default:
		return perch__read_failed(cursor);
	}
	if ((encoding & 0x70) == DW_EH_PE_pcrel)
		value += at;
	else if (encoding & 0x70)
		return perch__read_failed(cursor);
	return common->address_size == 4 ? (uint32_t)value : value;
}

/* Reads what the augmentation says. Returns false if it is not understood. */
static bool read_augmentation(const struct cfi *cfi, const char *text, struct common *common)
{
	struct cursor *program = &common->program, data;
	uint8_t encoding;
	uint64_t size;

	common->encoding = DW_EH_PE_absptr;
	if (!*text)
		return true;
	common->has_augmentation = *text == 'z';
	size = perch__read_uleb(program);
	data = *program;
	perch__skip(program, size);
	if (!common->has_augmentation || program->failed)
		return false;
	data.end = program->at;
	while (*++text) {
		switch (*text) {
		case 'R':
			common->encoding = (uint8_t)perch__read(&data, 1);
			break;
		case 'L':
			perch__skip(&data, 1);
			break;
		case 'P': /* the personality function: a pointer of any kind */
			encoding = (uint8_t)perch__read(&data, 1);
			if (encoding != DW_EH_PE_omit)
				read_pointer(cfi, common, &data, encoding & 0x0f);
			break;
		case 'S':
			common->signal_frame = true;
			break;
		case 'B': /* arm64: return addresses are signed with the second key */
		case 'G': /* arm64: the frame has tagged memory (MTE) */
			break;
		default:
			return false;
		}
	}
	return !data.failed;
}

static bool read_common(const struct cfi *cfi, uint64_t offset, struct common *common)
{
	struct cursor *cursor = &common->program;
	struct cfi_entry entry;
	const uint8_t *end;
	const char *text;
	uint64_t version;

	if (!read_entry(cfi, offset, &entry) || !entry.is_common)
		return false;
	*common = (struct common){ .program = entry.cursor, .address_size = cfi->wide ? 8 : 4 };
	end = cursor->end;
	if (end - cursor->at > MAX_COMMON)
		cursor->end = cursor->at + MAX_COMMON;
	version = perch__read(cursor, 1);
	text = perch__read_text(cursor);
	if (!text || !(version == 1 || version == 3 || (version == 4 && !cfi->eh_frame)))
		return false;
	if (version == 4) {
		common->address_size = (uint8_t)perch__read(cursor, 1);
		if (perch__read(cursor, 1) || (common->address_size & ~4u & ~8u) ||
		    !common->address_size || common->address_size == 12)
			return false;
	}
	common->code_factor = perch__read_uleb(cursor);
	common->data_factor = perch__read_sleb(cursor);
	common->return_register = version == 1 ? perch__read(cursor, 1) : perch__read_uleb(cursor);
	if (!read_augmentation(cfi, text, common) || cursor->failed ||
	    common->return_register > MAX_COLUMN)
		return false;
	cursor->end = end;
	return true;
}

/* Reads the addresses of a function; *start is UINT64_MAX if the entry is damaged. */
static void read_addresses(const struct cfi *cfi, const struct common *common,
			   struct cursor *cursor, uint64_t *start, uint64_t *end)
{
	*start = read_pointer(cfi, common, cursor, common->encoding);
	/* the length has the format of the address, but is no address */
	*end = *start + read_pointer(cfi, common, cursor, common->encoding & 0x0f);
	if (cursor->failed)
		*start = *end = UINT64_MAX;
}

/* ---- the index ---- */

static int by_start(const void *left, const void *right)
{
	const struct cfi_function *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return (a->entry > b->entry) - (a->entry < b->entry);
}

/* Lists the functions of all entries whose CIE is understood. Returns false if an entry is damaged,
 * or if out of memory. */
static bool list_functions(struct cfi *cfi)
{
	uint64_t at = 0, common_at = UINT64_MAX, end;
	struct common common;
	struct cfi_entry entry;
	bool sorted = true, understood = false;

	for (; at = skip_empty(cfi, at), read_entry(cfi, at, &entry); at = entry.next) {
		struct cfi_function *function;

		if (entry.is_common)
			continue;
		if (entry.common != common_at)
			understood = read_common(cfi, entry.common, &common);
		common_at = entry.common;
		if (!understood) /* the function has no rules */
			continue;
		if (PERCH__ARRAY_RESERVE(cfi->function, cfi->capacity, cfi->nr + 1))
			return false;
		function = &cfi->function[cfi->nr++];
		function->entry = at;
		read_addresses(cfi, &common, &entry.cursor, &function->start, &end);
		sorted &= cfi->nr < 2 || function[-1].start <= function->start;
	}
	if (!sorted)
		qsort(cfi->function, cfi->nr, sizeof(*cfi->function), by_start);
	/* only zeros may be left */
	for (; at < cfi->size; at++)
		if (cfi->bytes[at])
			return false;
	return true;
}

/* Takes the search table if it is of the usual kind: relative addresses of functions and entries.
 */
static bool take_table(struct cfi *cfi, const struct perch__elf *elf,
		       const struct perch__elf_section *section)
{
	static const uint8_t usual[] = { 1, DW_EH_PE_pcrel | DW_EH_PE_sdata4, DW_EH_PE_udata4,
					 DW_EH_PE_datarel | DW_EH_PE_sdata4 };
	struct cursor cursor;
	size_t size;

	if (perch__elf_load_section(elf, section, MOST_BYTES, &cfi->table, &size))
		return false;
	cfi->table_address = section->address;
	cursor = (struct cursor){ cfi->table, cfi->table + size, cfi->swapped, false };
	perch__skip(&cursor, sizeof(usual) + 4);
	cfi->nr_rows = perch__read(&cursor, 4);
	if (!cursor.failed && !memcmp(cfi->table, usual, sizeof(usual)) &&
	    cfi->nr_rows <= (size_t)(cursor.end - cursor.at) / 8)
		return true;
	free(cfi->table);
	cfi->table = NULL;
	return false;
}

int perch__cfi_open(struct cfi *cfi, const struct perch__elf *elf,
		    const struct perch__elf_section *section,
		    const struct perch__elf_section *table)
{
	int rc;

	*cfi = (struct cfi){ .eh_frame = !strcmp(section->name, ".eh_frame"),
			     .wide = elf->wide,
			     .swapped = elf->swapped,
			     .address = section->address };
	rc = perch__elf_load_section(elf, section, MOST_BYTES, &cfi->bytes, &cfi->size);
	if (rc)
		return rc;
	if ((table && take_table(cfi, elf, table)) || list_functions(cfi))
		return 0;
	perch__cfi_close(cfi);
	return -EBADMSG;
}

/* The segment of .eh_frame_hdr has the address of .eh_frame, which ends where its own segment ends
 * at the latest. */
int perch__cfi_open_segment(struct cfi *cfi, const struct perch__elf *elf)
{
	const struct perch__elf_segment *of_table =
		perch__elf_segment_of_type(elf, PT_GNU_EH_FRAME);
	struct perch__elf_section rules = { .name = ".eh_frame", .type = SHT_PROGBITS },
				  table = rules;
	uint8_t start[8];
	struct cursor cursor = { start + 4, start + 8, elf->swapped, false };

	if (!of_table ||
	    perch__elf_read(elf, start, of_table->offset, sizeof(start)) != sizeof(start) ||
	    start[1] != (DW_EH_PE_pcrel | DW_EH_PE_sdata4))
		return -ENOENT;
	table.address = of_table->address;
	table.offset = of_table->offset;
	table.size = of_table->size;
	rules.address = of_table->address + 4 + read_signed(&cursor, 4);
	for (size_t i = 0; i < elf->nr_segments; i++) {
		const struct perch__elf_segment *segment = &elf->segment[i];
		uint64_t before = rules.address - segment->address;

		if (segment->type != PT_LOAD || before >= segment->size)
			continue;
		rules.offset = segment->offset + before;
		rules.size = segment->size - before;
		return perch__cfi_open(cfi, elf, &rules, &table);
	}
	return -ENOENT;
}

bool perch__cfi_take(struct cfi *cfi, void *eh_frame, size_t size, uint64_t address, bool swapped)
{
	*cfi = (struct cfi){ .bytes = eh_frame,
			     .size = size,
			     .address = address,
			     .eh_frame = true,
			     .wide = true,
			     .swapped = swapped };
	return list_functions(cfi);
}

void perch__cfi_close(struct cfi *cfi)
{
	free(cfi->bytes);
	free(cfi->table);
	free(cfi->function);
	*cfi = (struct cfi){ 0 };
}

/* ---- the entry of an address ---- */

static uint64_t word_of(const struct cfi *cfi, size_t row, unsigned word)
{
	struct cursor cursor = { .at = cfi->table + 12 + 8 * row + 4 * word,
				 .end = cfi->table + 12 + 8 * row + 8,
				 .swapped = cfi->swapped };

	return cfi->table_address + read_signed(&cursor, 4);
}

static uint64_t start_of(const struct cfi *cfi, size_t index)
{
	return cfi->table ? word_of(cfi, index, 0) : cfi->function[index].start;
}

/* Finds the last entry that begins at an address or before it. */
static bool find_entry(const struct cfi *cfi, uint64_t address, struct cfi_entry *entry)
{
	size_t low = 0, high = cfi->table ? cfi->nr_rows : cfi->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (start_of(cfi, middle) <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low-- && read_entry(cfi,
				   cfi->table ? word_of(cfi, low, 1) - cfi->address
					      : cfi->function[low].entry,
				   entry);
}

/* ---- programs ---- */

struct cfi_machine {
	const struct cfi *cfi;
	const struct common *common;
	struct cursor cursor;
	uint64_t address, at; /* that is searched, and that the rules hold from */
	struct cfi_rules *rules;
	struct cfi_rules initial, remembered[MAX_REMEMBERED];
	unsigned nr_remembered;
};

static uint8_t read_column(struct cfi_machine *machine)
{
	uint64_t number = perch__read_uleb(&machine->cursor);

	return (uint8_t)(number <= MAX_COLUMN ? number : perch__read_failed(&machine->cursor));
}

/* The rule of a register that an instruction names. Other registers are not needed. */
static struct cfi_rule *rule_of(struct cfi_rules *rules, unsigned number, struct cfi_rule *unused)
{
	return number < MAX_REGISTERS ? &rules->of[number] : unused;
}

static struct cfi_rule expression(struct cfi_machine *machine, enum cfi_rule_kind kind)
{
	uint64_t size = perch__read_uleb(&machine->cursor);
	struct cfi_rule rule = { .kind = (uint8_t)kind, .expression = machine->cursor.at };

	perch__skip(&machine->cursor, size <= MAX_EXPRESSION ? size : UINT64_MAX);
	rule.size = machine->cursor.failed ? 0 : (uint32_t)size;
	return rule;
}

/* An offset in units. */
static int64_t read_offset(struct cfi_machine *machine, bool is_signed)
{
	uint64_t number = is_signed ? (uint64_t)perch__read_sleb(&machine->cursor)
				    : perch__read_uleb(&machine->cursor);

	return (int64_t)(number * (uint64_t)machine->common->data_factor);
}

/* Only a signed offset of the CFA has units. */
static int64_t read_cfa_offset(struct cfi_machine *machine, bool is_signed)
{
	return is_signed ? read_offset(machine, true) : (int64_t)perch__read_uleb(&machine->cursor);
}

/* The instructions that set the rule of a register. */
static void set_rule(struct cfi_machine *machine, uint8_t opcode)
{
	uint8_t number = read_column(machine);
	struct cfi_rule unused = { 0 }, *rule = rule_of(machine->rules, number, &unused);

	switch (opcode) {
	case DW_CFA_restore_extended:
		*rule = *rule_of(&machine->initial, number, &unused);
		break;
	case DW_CFA_undefined:
		*rule = (struct cfi_rule){ .kind = CFI_UNDEFINED };
		break;
	case DW_CFA_same_value:
		*rule = (struct cfi_rule){ .kind = CFI_SAME };
		break;
	case DW_CFA_offset_extended:
	case DW_CFA_offset_extended_sf:
		*rule = (struct cfi_rule){ .kind = CFI_IN_STACK,
					   .offset = read_offset(
						   machine, opcode == DW_CFA_offset_extended_sf) };
		break;
	case DW_CFA_GNU_negative_offset_extended:
		*rule = (struct cfi_rule){ .kind = CFI_IN_STACK,
					   .offset = (int64_t)(0 - (uint64_t)read_offset(machine,
											 false)) };
		break;
	case DW_CFA_val_offset:
	case DW_CFA_val_offset_sf:
		*rule = (struct cfi_rule){ .kind = CFI_SUM,
					   .offset = read_offset(machine,
								 opcode == DW_CFA_val_offset_sf) };
		break;
	case DW_CFA_register:
		*rule = (struct cfi_rule){ .kind = CFI_REGISTER, .number = read_column(machine) };
		break;
	case DW_CFA_expression:
		*rule = expression(machine, CFI_EXPRESSION);
		break;
	case DW_CFA_val_expression:
		*rule = expression(machine, CFI_VALUE);
		break;
	default:
		perch__read_failed(&machine->cursor);
	}
}

static void remember(struct cfi_machine *machine, bool restore)
{
	if (restore && machine->nr_remembered)
		*machine->rules = machine->remembered[--machine->nr_remembered];
	else if (!restore && machine->nr_remembered < MAX_REMEMBERED)
		machine->remembered[machine->nr_remembered++] = *machine->rules;
	else
		perch__read_failed(&machine->cursor);
}

/* The instructions without a number in their opcode, but for those of addresses. */
static void run_extended(struct cfi_machine *machine, uint8_t opcode)
{
	struct cursor *cursor = &machine->cursor;
	struct cfi_rule *cfa = &machine->rules->cfa, rule;

	switch (opcode) {
	case DW_CFA_nop:
	case DW_CFA_GNU_window_save: /* on arm64 DW_CFA_AARCH64_negate_ra_state */
	case 0x2c:		     /* DW_CFA_AARCH64_negate_ra_state_with_pc */
		break;
	case DW_CFA_GNU_args_size:
		perch__read_uleb(cursor);
		break;
	case DW_CFA_remember_state:
	case DW_CFA_restore_state:
		remember(machine, opcode == DW_CFA_restore_state);
		break;
	case DW_CFA_def_cfa:
	case DW_CFA_def_cfa_sf:
		cfa->number = read_column(machine);
		cfa->offset = read_cfa_offset(machine, opcode == DW_CFA_def_cfa_sf);
		cfa->kind = CFI_SUM;
		break;
	/* after an expression, the other one of register and offset is that before it */
	case DW_CFA_def_cfa_register:
		cfa->number = read_column(machine);
		cfa->kind = CFI_SUM;
		break;
	case DW_CFA_def_cfa_offset:
	case DW_CFA_def_cfa_offset_sf:
		cfa->offset = read_cfa_offset(machine, opcode == DW_CFA_def_cfa_offset_sf);
		cfa->kind = CFI_SUM;
		break;
	case DW_CFA_def_cfa_expression:
		rule = expression(machine, CFI_VALUE);
		cfa->kind = rule.kind;
		cfa->size = rule.size;
		cfa->expression = rule.expression;
		break;
	default:
		set_rule(machine, opcode);
	}
}

/* Returns the address that an instruction moves to; if it is none, the address does not change. */
static uint64_t next_address(struct cfi_machine *machine, uint8_t opcode)
{
	struct cursor *cursor = &machine->cursor;
	uint64_t steps;

	switch (opcode) {
	case DW_CFA_set_loc:
		return read_pointer(machine->cfi, machine->common, cursor,
				    machine->common->encoding);
	case DW_CFA_advance_loc1:
	case DW_CFA_advance_loc2:
	case DW_CFA_advance_loc4:
		steps = perch__read(cursor, 1u << (opcode - DW_CFA_advance_loc1));
		break;
	case DW_CFA_MIPS_advance_loc8:
		steps = perch__read(cursor, 8);
		break;
	default:
		steps = (opcode & 0xc0) == DW_CFA_advance_loc ? opcode & 0x3f : 0;
	}
	return machine->at + steps * machine->common->code_factor;
}

/* True if an instruction is one of next_address(). */
static bool moves(uint8_t opcode)
{
	return (opcode & 0xc0) == DW_CFA_advance_loc || opcode == DW_CFA_MIPS_advance_loc8 ||
	       (opcode >= DW_CFA_set_loc && opcode <= DW_CFA_advance_loc4);
}

/* Runs a program up to the address. Returns false if it is damaged. */
static bool run_program(struct cfi_machine *machine, const struct cursor *program)
{
	struct cursor *cursor = &machine->cursor;
	struct cfi_rule unused = { 0 };

	*cursor = *program;
	if (cursor->end - cursor->at > MAX_PROGRAM)
		return false;
	while (cursor->at < cursor->end) {
		uint8_t opcode = (uint8_t)perch__read(cursor, 1);
		unsigned number = opcode & 0x3f;

		if (moves(opcode)) {
			uint64_t next = next_address(machine, opcode);

			if (next > machine->address && !cursor->failed) {
				machine->rules->end = next;
				return true;
			}
			machine->at = next;
		} else if ((opcode & 0xc0) == DW_CFA_offset) {
			*rule_of(machine->rules, number, &unused) =
				(struct cfi_rule){ .kind = CFI_IN_STACK,
						   .offset = read_offset(machine, false) };
		} else if ((opcode & 0xc0) == DW_CFA_restore) {
			*rule_of(machine->rules, number, &unused) =
				*rule_of(&machine->initial, number, &unused);
		} else {
			run_extended(machine, opcode);
		}
	}
	return !cursor->failed;
}

/* What holds for registers that no instruction names. */
static void set_default(struct cfi_rules *rules, const struct architecture *architecture)
{
	*rules = (struct cfi_rules){ .cfa.kind = CFI_UNDEFINED };
	for (unsigned number = 0; number < MAX_REGISTERS; number++)
		rules->of[number].kind = number == architecture->sp		 ? CFI_SUM
					 : architecture->preserved >> number & 1 ? CFI_SAME
										 : CFI_UNDEFINED;
}

int perch__cfi_find(const struct cfi *cfi, const struct architecture *architecture,
		    uint64_t address, struct cfi_rules *rules)
{
	struct cfi_machine machine; /* too large to be cleared for each address */
	struct common common;
	struct cfi_entry entry;
	uint64_t start, end;

	if (!cfi->bytes || !find_entry(cfi, address, &entry))
		return 0;
	if (entry.is_common || !read_common(cfi, entry.common, &common))
		return -EBADMSG;
	read_addresses(cfi, &common, &entry.cursor, &start, &end);
	if (address < start || address >= end)
		return entry.cursor.failed ? -EBADMSG : 0;
	if (common.has_augmentation)
		perch__skip(&entry.cursor, perch__read_uleb(&entry.cursor));
	set_default(rules, architecture);
	machine.cfi = cfi;
	machine.common = &common;
	machine.rules = rules;
	machine.initial = *rules;
	machine.nr_remembered = 0;
	machine.at = start;
	machine.address = UINT64_MAX;
	if (!run_program(&machine, &common.program))
		return -EBADMSG;
	machine.initial = *rules;
	machine.nr_remembered = 0;
	machine.at = start;
	machine.address = address;
	rules->end = end;
	if (entry.cursor.failed || !run_program(&machine, &entry.cursor))
		return -EBADMSG;
	rules->end = rules->end < end ? rules->end : end;
	rules->return_register = (uint8_t)common.return_register;
	rules->signal_frame = common.signal_frame;
	rules->swapped = cfi->swapped;
	return 1;
}
