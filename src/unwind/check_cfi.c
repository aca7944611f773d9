/* SPDX-License-Identifier: MIT */
/*
 * Checks call frame information before libdw uses it. libdw allocates memory for the largest
 * register number of an entry, and a copy of it for each remembered state. The search table of
 * .eh_frame_hdr must lead to entries that were checked.
 */
#include <dwarf.h>

#include "internal.h"

enum { MAX_COLUMN = 255, MAX_REMEMBERED = 64 };

/* Bytes that are read from start to end. failed: they ended too early. */
struct bytes {
	const uint8_t *at, *end;
	bool failed;
};

static inline uint8_t next_byte(struct bytes *bytes)
{
	if (bytes->at >= bytes->end) {
		bytes->failed = true;
		return 0;
	}
	return *bytes->at++;
}

static void skip(struct bytes *bytes, uint64_t size)
{
	if (size > (uint64_t)(bytes->end - bytes->at)) {
		bytes->failed = true;
		return;
	}
	bytes->at += size;
}

static uint64_t next_long_number(struct bytes *bytes)
{
	uint64_t number = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = next_byte(bytes);
		if (shift < 64)
			number |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80 && !bytes->failed);
	return number;
}

/* Reads a LEB128 number; bits of a sign are not extended. */
static inline uint64_t next_number(struct bytes *bytes)
{
	/* nearly all have one byte */
	if (bytes->at < bytes->end && *bytes->at < 0x80)
		return *bytes->at++;
	return next_long_number(bytes);
}

static void skip_column(struct bytes *bytes)
{
	bytes->failed |= next_number(bytes) > MAX_COLUMN;
}

/* Skips an encoded pointer. */
static void skip_pointer(struct bytes *bytes, uint8_t encoding, bool wide)
{
	if (encoding == DW_EH_PE_omit)
		return;
	switch (encoding & 0x07) {
	case DW_EH_PE_absptr:
		skip(bytes, wide ? 8 : 4);
		break;
	case DW_EH_PE_uleb128:
		next_number(bytes);
		break;
	case DW_EH_PE_udata2:
		skip(bytes, 2);
		break;
	case DW_EH_PE_udata4:
		skip(bytes, 4);
		break;
	case DW_EH_PE_udata8:
		skip(bytes, 8);
		break;
	default:
		bytes->failed = true;
	}
}

/* Skips the operands of an instruction whose opcode has no operand in it. */
static void skip_operands(struct bytes *bytes, uint8_t opcode, uint8_t encoding, bool wide)
{
	switch (opcode) {
	case DW_CFA_nop:
	case DW_CFA_remember_state:
	case DW_CFA_restore_state:
	case DW_CFA_GNU_window_save: /* on arm64 DW_CFA_AARCH64_negate_ra_state */
		break;
	case DW_CFA_set_loc:
		skip_pointer(bytes, encoding, wide);
		break;
	case DW_CFA_advance_loc1:
		skip(bytes, 1);
		break;
	case DW_CFA_advance_loc2:
		skip(bytes, 2);
		break;
	case DW_CFA_advance_loc4:
		skip(bytes, 4);
		break;
	case DW_CFA_MIPS_advance_loc8:
		skip(bytes, 8);
		break;
	case DW_CFA_restore_extended:
	case DW_CFA_undefined:
	case DW_CFA_same_value:
	case DW_CFA_def_cfa_register:
		skip_column(bytes);
		break;
	case DW_CFA_def_cfa_offset:
	case DW_CFA_def_cfa_offset_sf:
	case DW_CFA_GNU_args_size:
		next_number(bytes);
		break;
	case DW_CFA_offset_extended:
	case DW_CFA_offset_extended_sf:
	case DW_CFA_GNU_negative_offset_extended:
	case DW_CFA_val_offset:
	case DW_CFA_val_offset_sf:
	case DW_CFA_def_cfa:
	case DW_CFA_def_cfa_sf:
		skip_column(bytes);
		next_number(bytes);
		break;
	case DW_CFA_register:
		skip_column(bytes);
		skip_column(bytes);
		break;
	case DW_CFA_def_cfa_expression:
		skip(bytes, next_number(bytes));
		break;
	case DW_CFA_expression:
	case DW_CFA_val_expression:
		skip_column(bytes);
		skip(bytes, next_number(bytes));
		break;
	default:
		bytes->failed = true;
	}
}

static bool check_instructions(struct bytes *bytes, uint8_t encoding, bool wide)
{
	unsigned remembered = 0;

	while (bytes->at < bytes->end && !bytes->failed) {
		uint8_t opcode = next_byte(bytes);

		if ((opcode & 0xc0) == DW_CFA_offset)
			next_number(bytes);
		else if (!(opcode & 0xc0))
			skip_operands(bytes, opcode, encoding, wide);
		if (opcode == DW_CFA_remember_state && ++remembered > MAX_REMEMBERED)
			return false;
		if (opcode == DW_CFA_restore_state)
			remembered -= !!remembered;
	}
	return !bytes->failed;
}

struct checked {
	const char *ident;
	Elf_Data *data;
	bool eh_frame, wide;
	uint64_t *entry; /* offsets, ascending */
	size_t nr, capacity;
	/* the CIE that was used last */
	uint64_t cie;
	uint8_t encoding;
	bool has_augmentation, has_cie;
};

/* Finds the encoding of pointers in the augmentation of a CIE. */
static bool read_cie(struct checked *checked, const Dwarf_CIE *cie)
{
	struct bytes bytes = { .at = cie->augmentation_data, .end = cie->initial_instructions_end };
	const char *at = cie->augmentation;

	checked->encoding = DW_EH_PE_absptr;
	checked->has_augmentation = *at == 'z';
	if (cie->return_address_register > MAX_COLUMN)
		return false;
	/* libdw understands no other augmentation without a size */
	if (!checked->has_augmentation)
		return !*at;
	while (*++at) {
		switch (*at) {
		case 'R':
			checked->encoding = next_byte(&bytes);
			break;
		case 'L':
			next_byte(&bytes);
			break;
		case 'P':
			skip_pointer(&bytes, next_byte(&bytes), checked->wide);
			break;
		case 'S':
		case 'B': /* arm64: return addresses are signed with the second key */
			break;
		default:
			return false;
		}
	}
	return !bytes.failed;
}

static bool check_cie(struct checked *checked, const Dwarf_CIE *cie)
{
	struct bytes program = { .at = cie->initial_instructions,
				 .end = cie->initial_instructions_end };

	return read_cie(checked, cie) &&
	       check_instructions(&program, checked->encoding, checked->wide);
}

static bool find_cie(struct checked *checked, uint64_t offset)
{
	Dwarf_CFI_Entry entry;
	Dwarf_Off next;

	if (checked->has_cie && checked->cie == offset)
		return true;
	if (dwarf_next_cfi((const unsigned char *)checked->ident, checked->data, checked->eh_frame,
			   offset, &next, &entry) ||
	    !dwarf_cfi_cie_p(&entry) || !check_cie(checked, &entry.cie))
		return false;
	checked->cie = offset;
	checked->has_cie = true;
	return true;
}

static bool check_fde(struct checked *checked, const Dwarf_FDE *fde)
{
	struct bytes bytes = { .at = fde->start, .end = fde->end };

	if (!find_cie(checked, fde->CIE_pointer))
		return false;
	skip_pointer(&bytes, checked->encoding, checked->wide);
	/* the length has the format of the address, but is no address */
	skip_pointer(&bytes, checked->encoding & 0x0f, checked->wide);
	if (checked->has_augmentation)
		skip(&bytes, next_number(&bytes));
	return !bytes.failed && check_instructions(&bytes, checked->encoding, checked->wide);
}

static bool check_entries(struct checked *checked)
{
	Dwarf_Off at = 0, next;
	Dwarf_CFI_Entry entry;
	int rc;

	while (!(rc = dwarf_next_cfi((const unsigned char *)checked->ident, checked->data,
				     checked->eh_frame, at, &next, &entry))) {
		if (dwarf_cfi_cie_p(&entry) ? !check_cie(checked, &entry.cie)
					    : !check_fde(checked, &entry.fde))
			return false;
		/* the state in `checked` is that of the entry, not of its offset */
		checked->has_cie &= !dwarf_cfi_cie_p(&entry);
		if (PERCH__ARRAY_RESERVE(checked->entry, checked->capacity, checked->nr + 1))
			return false;
		checked->entry[checked->nr++] = at;
		if (next <= at)
			return false;
		at = next;
	}
	return rc > 0;
}

static bool is_entry(const struct checked *checked, uint64_t offset)
{
	size_t low = 0, high = checked->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (checked->entry[middle] == offset)
			return true;
		if (checked->entry[middle] < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

static uint32_t word_at(const uint8_t *at, bool swapped)
{
	uint32_t word;

	memcpy(&word, at, sizeof(word));
	return swapped ? __builtin_bswap32(word) : word;
}

/* Each row of the table has the relative addresses of a function and of its entry. */
static bool check_table(const struct checked *checked, const struct cfi_table *table, bool swapped)
{
	static const uint8_t usual[] = { 1, DW_EH_PE_pcrel | DW_EH_PE_sdata4, DW_EH_PE_udata4,
					 DW_EH_PE_datarel | DW_EH_PE_sdata4 };
	const uint8_t *bytes = table->data->d_buf;
	uint64_t nr;

	if (table->data->d_size < 12 || memcmp(bytes, usual, sizeof(usual)))
		return false;
	nr = word_at(bytes + 8, swapped);
	if (nr > (table->data->d_size - 12) / 8)
		return false;
	for (uint64_t i = 0; i < nr; i++) {
		int32_t relative = (int32_t)word_at(bytes + 12 + 8 * i + 4, swapped);

		if (!is_entry(checked, table->address + (uint64_t)(int64_t)relative -
					       table->eh_frame_address))
			return false;
	}
	return true;
}

bool perch__check_cfi(Elf *elf, Elf_Data *data, bool wide, bool swapped,
		      const struct cfi_table *table, bool eh_frame)
{
	struct checked checked = {
		.ident = elf_getident(elf, NULL), .data = data, .eh_frame = eh_frame, .wide = wide
	};
	bool valid = checked.ident && data && data->d_buf && check_entries(&checked);

	if (valid && table)
		valid = check_table(&checked, table, swapped);
	free(checked.entry);
	return valid;
}
