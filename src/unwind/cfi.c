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
#include "base/search.h"
#include "cfi.h"

enum {
	MAX_COMMON = 1 << 10, /* bytes of a CIE before its program: it is read again for each FDE */
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

uint64_t perch__cfi_read_pointer(const struct cfi *cfi, const struct cfi_common *common,
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
static bool read_augmentation(const struct cfi *cfi, const char *text, struct cfi_common *common)
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
				perch__cfi_read_pointer(cfi, common, &data, encoding & 0x0f);
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

static bool read_common(const struct cfi *cfi, uint64_t offset, struct cfi_common *common)
{
	struct cursor *cursor = &common->program;
	struct cfi_entry entry;
	const uint8_t *end;
	const char *text;
	uint64_t version;

	if (!read_entry(cfi, offset, &entry) || !entry.is_common)
		return false;
	*common = (struct cfi_common){ .program = entry.cursor, .address_size = cfi->wide ? 8 : 4 };
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
	    common->return_register > CFI_MAX_COLUMN)
		return false;
	cursor->end = end;
	return true;
}

/* Reads the addresses of a function; *start is UINT64_MAX if the entry is damaged. */
static void read_addresses(const struct cfi *cfi, const struct cfi_common *common,
			   struct cursor *cursor, uint64_t *start, uint64_t *end)
{
	*start = perch__cfi_read_pointer(cfi, common, cursor, common->encoding);
	/* the length has the format of the address, but is no address */
	*end = *start + perch__cfi_read_pointer(cfi, common, cursor, common->encoding & 0x0f);
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
	struct cfi_common common;
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
	size_t low =
		PERCH__SEARCH(cfi->table ? cfi->nr_rows : cfi->nr, i, start_of(cfi, i) <= address);

	return low-- && read_entry(cfi,
				   cfi->table ? word_of(cfi, low, 1) - cfi->address
					      : cfi->function[low].entry,
				   entry);
}

int perch__cfi_find_function(const struct cfi *cfi, uint64_t address, struct cfi_program *program)
{
	struct cursor *cursor = &program->entry;
	struct cfi_entry entry;

	if (!cfi->bytes || !find_entry(cfi, address, &entry))
		return 0;
	if (entry.is_common || !read_common(cfi, entry.common, &program->common))
		return -EBADMSG;
	*cursor = entry.cursor;
	read_addresses(cfi, &program->common, cursor, &program->start, &program->end);
	if (address < program->start || address >= program->end)
		return cursor->failed ? -EBADMSG : 0;
	if (program->common.has_augmentation)
		perch__skip(cursor, perch__read_uleb(cursor));
	return cursor->failed ? -EBADMSG : 1;
}
