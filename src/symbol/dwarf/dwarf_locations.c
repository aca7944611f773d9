/* SPDX-License-Identifier: MIT */
/*
 * Where a variable is at an address: the location expressions that compilers write for a value that
 * is in one location. A list of locations has an expression for each range of addresses.
 */
#include <dwarf.h>

#include "dwarf.h"

enum {
	MAX_LIST = 1 << 16, /* entries of a list that are read */
};

struct location_finder {
	struct dwarf_unit *unit;
	const struct dwarf_location_lists *locations; /* those of the version of the unit */
	const struct dwarf_entry *function;	      /* has the frame base; NULL: there is none */
	uint64_t start, address;
	bool of_frame; /* the expression is that of a frame base */
};

static int find_expression(const struct location_finder *finder, const struct dwarf_value *value,
			   struct cursor *expression);
static int evaluate(const struct location_finder *finder, struct cursor expression,
		    struct dwarf_location *location);

/* ---- lists of locations ---- */

/* An entry of a list. */
struct list_entry {
	uint64_t start, end;
	struct cursor expression;
	bool any; /* of all addresses that no other entry has */
};

/* DWARF 2 to 4. Returns 1 for an entry, 0 at the end, -ENOTSUP. */
static int next_pair(struct location_finder const *finder, struct cursor *list, uint64_t *base,
		     struct list_entry *entry)
{
	const unsigned size = finder->unit->format.address_size;
	const uint64_t largest = size == 8 ? UINT64_MAX : UINT32_MAX;
	uint64_t bytes;

	for (int i = 0; i < MAX_LIST; i++) {
		entry->start = perch__read(list, size);
		entry->end = perch__read(list, size);
		if (list->failed)
			return -ENOTSUP;
		if (!entry->start && !entry->end)
			return 0;
		if (entry->start != largest)
			break;
		*base = entry->end;
	}
	entry->start += *base;
	entry->end += *base;
	entry->any = false;
	bytes = perch__read(list, 2);
	entry->expression = *list;
	perch__skip(list, bytes);
	entry->expression.end = list->at;
	return list->failed ? -ENOTSUP : 1;
}

static int read_index(const struct location_finder *finder, struct cursor *list, uint64_t *address)
{
	const struct dwarf_value value = { DW_FORM_addrx, { perch__read_uleb(list) } };

	return perch__dwarf_address(finder->unit->dwarf, finder->unit, &value, address);
}

/* Reads what is before the expression. Returns 1 for a range, 2 for another entry, 0 at the end. */
static int read_bounds(const struct location_finder *finder, struct cursor *list, uint64_t *base,
		       struct list_entry *entry)
{
	const unsigned size = finder->unit->format.address_size;
	const uint64_t kind = perch__read(list, 1);

	entry->any = kind == DW_LLE_default_location;
	switch (list->failed ? UINT64_MAX : kind) {
	case DW_LLE_end_of_list:
		return 0;
	case DW_LLE_base_addressx:
		return read_index(finder, list, base) ? -ENOTSUP : 2;
	case DW_LLE_base_address:
		*base = perch__read(list, size);
		return 2;
	case DW_LLE_startx_endx:
		return read_index(finder, list, &entry->start) ||
				       read_index(finder, list, &entry->end)
			       ? -ENOTSUP
			       : 1;
	case DW_LLE_startx_length:
		if (read_index(finder, list, &entry->start))
			return -ENOTSUP;
		entry->end = entry->start + perch__read_uleb(list);
		return 1;
	case DW_LLE_offset_pair:
		entry->start = *base + perch__read_uleb(list);
		entry->end = *base + perch__read_uleb(list);
		return 1;
	case DW_LLE_default_location:
		return 1;
	case DW_LLE_start_end:
		entry->start = perch__read(list, size);
		entry->end = perch__read(list, size);
		return 1;
	case DW_LLE_start_length:
		entry->start = perch__read(list, size);
		entry->end = entry->start + perch__read_uleb(list);
		return 1;
	case DW_LLE_GNU_view_pair:
		perch__read_uleb(list);
		perch__read_uleb(list);
		return 2;
	default:
		return -ENOTSUP;
	}
}

/* DWARF 5. Returns the same as next_pair(). */
static int next_entry(struct location_finder const *finder, struct cursor *list, uint64_t *base,
		      struct list_entry *entry)
{
	uint64_t bytes;
	int kind = 2;

	for (int i = 0; i < MAX_LIST && kind == 2; i++)
		kind = read_bounds(finder, list, base, entry);
	if (kind != 1)
		return kind == 2 ? -ENOTSUP : kind;
	bytes = perch__read_uleb(list);
	entry->expression = *list;
	perch__skip(list, bytes);
	entry->expression.end = list->at;
	return list->failed ? -ENOTSUP : 1;
}

static int search_list(const struct location_finder *finder, struct cursor list, bool pairs,
		       struct cursor *expression)
{
	uint64_t base = finder->unit->low_pc;
	struct list_entry entry;
	int rc = -ENODATA, kind;

	for (int i = 0; i < MAX_LIST; i++) {
		kind = pairs ? next_pair(finder, &list, &base, &entry)
			     : next_entry(finder, &list, &base, &entry);
		if (kind <= 0)
			return kind ? kind : rc;
		if (!entry.any && (finder->address < entry.start || finder->address >= entry.end))
			continue;
		*expression = entry.expression;
		rc = 0;
		if (!entry.any)
			return 0;
	}
	return -ENOTSUP;
}

/* Finds the offset of a list. */
static bool find_list(const struct location_finder *finder, const struct dwarf_value *value,
		      uint64_t *offset)
{
	const struct dwarf_location_lists *locations = finder->locations;
	const struct dwarf_unit *unit = finder->unit;
	struct cursor cursor = { .swapped = unit->dwarf->swapped };
	uint64_t at;

	switch (value->form) {
	case DW_FORM_sec_offset:
	case DW_FORM_data4:
	case DW_FORM_data8:
		*offset = value->number;
		break;
	case DW_FORM_loclistx:
		at = unit->loclists_base + value->number * unit->format.offset_size;
		if (value->number > UINT32_MAX || unit->loclists_base > locations->size ||
		    at > locations->size)
			return false;
		cursor.at = locations->bytes + at;
		cursor.end = locations->bytes + locations->size;
		*offset = perch__read(&cursor, unit->format.offset_size) + unit->loclists_base;
		break;
	default:
		return false;
	}
	return !cursor.failed && *offset < locations->size;
}

static int find_expression(const struct location_finder *finder, const struct dwarf_value *value,
			   struct cursor *expression)
{
	const struct dwarf_location_lists *locations = finder->locations;
	struct cursor list = { .swapped = finder->unit->dwarf->swapped };
	uint64_t offset;

	*expression = perch__dwarf_block(finder->unit, value);
	if (expression->at)
		return expression->at < expression->end ? 0 : -ENODATA;
	/* those of a split unit are in its file */
	if (finder->unit->skeleton || !find_list(finder, value, &offset))
		return -ENOTSUP;
	list.at = locations->bytes + offset;
	list.end = locations->bytes + locations->size;
	return search_list(finder, list, finder->unit->format.version < 5, expression);
}

/* ---- expressions ---- */

/* The frame base of the function, plus an offset. */
static int add_frame_base(const struct location_finder *finder, int64_t offset,
			  struct dwarf_location *location)
{
	struct location_finder frame = *finder;
	struct cursor expression;
	int rc;

	if (finder->of_frame || !finder->function ||
	    !(finder->function->has >> ATTRIBUTE_FRAME_BASE & 1))
		return -ENOTSUP;
	frame.of_frame = true;
	rc = find_expression(&frame, &finder->function->value[ATTRIBUTE_FRAME_BASE], &expression);
	if (!rc)
		rc = evaluate(&frame, expression, location);
	if (rc)
		return rc;
	/* a register has the base itself */
	if (location->kind == PERCH_LOCATION_REGISTER)
		location->kind = PERCH_LOCATION_MEMORY;
	else if (location->kind != PERCH_LOCATION_CFA)
		return -ENOTSUP;
	location->in_frame = location->kind == PERCH_LOCATION_MEMORY || offset < 0;
	return __builtin_add_overflow(location->offset, offset, &location->offset) ? -ENOTSUP : 0;
}

/* The value that a register had when the function was entered: it still has it at its start. */
static int read_entry_value(const struct location_finder *finder, struct cursor *expression,
			    struct dwarf_location *location)
{
	const uint64_t size = perch__read_uleb(expression);
	struct cursor inner = *expression;
	int rc;

	perch__skip(expression, size);
	inner.end = expression->at;
	if (expression->failed)
		return -ENOTSUP;
	/* one in another is no register, and could be deep */
	if (inner.at < inner.end &&
	    (*inner.at == DW_OP_entry_value || *inner.at == DW_OP_GNU_entry_value))
		return -ENOTSUP;
	if (finder->address != finder->start)
		return -ENODATA;
	rc = evaluate(finder, inner, location);
	if (rc || location->kind != PERCH_LOCATION_REGISTER)
		return rc ? rc : -ENOTSUP;
	/* DW_OP_stack_value follows */
	return perch__read(expression, 1) == DW_OP_stack_value ? 0 : -ENOTSUP;
}

/* A number on the stack of the expression. */
static void set_constant(struct dwarf_location *location, uint64_t word)
{
	*location = (struct dwarf_location){ .kind = PERCH_LOCATION_CONSTANT, .word = word };
}

static bool read_constant(struct cursor *expression, unsigned op, uint64_t *word)
{
	unsigned size;

	if (op >= DW_OP_lit0 && op <= DW_OP_lit31) {
		*word = op - DW_OP_lit0;
	} else if (op >= DW_OP_const1u && op <= DW_OP_const8s) {
		size = 1u << (op - DW_OP_const1u) / 2;
		*word = perch__read(expression, size);
		if ((op - DW_OP_const1u) % 2 && size < 8 && *word >> (8 * size - 1))
			*word |= UINT64_MAX << 8 * size;
	} else if (op == DW_OP_constu) {
		*word = perch__read_uleb(expression);
	} else if (op == DW_OP_consts) {
		*word = (uint64_t)perch__read_sleb(expression);
	} else {
		return false;
	}
	return true;
}

static int read_implicit(const struct location_finder *finder, struct cursor *expression,
			 struct dwarf_location *location)
{
	const uint64_t size = perch__read_uleb(expression);

	(void)finder;
	if (!size || size > 8)
		return -ENOTSUP;
	set_constant(location, perch__read(expression, (unsigned)size));
	return 0;
}

static void set_register(struct dwarf_location *location, enum perch_value_location kind,
			 uint64_t number, int64_t offset)
{
	*location = (struct dwarf_location){
		.kind = kind,
		.number = number < UINT16_MAX ? (unsigned)number : UINT16_MAX,
		.offset = offset,
	};
}

/* Reads an operation that begins an expression. *word: a number is on the stack, which is no value
 * yet. */
static int read_first(const struct location_finder *finder, struct cursor *expression,
		      struct dwarf_location *location, bool *word)
{
	const unsigned op = (unsigned)perch__read(expression, 1);
	struct dwarf_value value = { DW_FORM_addrx, { 0 } };
	uint64_t number;

	if (expression->failed)
		return -ENOTSUP;
	if (op >= DW_OP_reg0 && op <= DW_OP_reg31) {
		set_register(location, PERCH_LOCATION_REGISTER, op - DW_OP_reg0, 0);
		return 0;
	}
	if (op >= DW_OP_breg0 && op <= DW_OP_breg31) {
		set_register(location, PERCH_LOCATION_MEMORY, op - DW_OP_breg0,
			     perch__read_sleb(expression));
		return 0;
	}
	if (read_constant(expression, op, &number)) {
		set_constant(location, number);
		*word = true;
		return 0;
	}
	switch (op) {
	case DW_OP_regx:
		set_register(location, PERCH_LOCATION_REGISTER, perch__read_uleb(expression), 0);
		return 0;
	case DW_OP_bregx:
		number = perch__read_uleb(expression);
		set_register(location, PERCH_LOCATION_MEMORY, number, perch__read_sleb(expression));
		return 0;
	case DW_OP_fbreg:
		return add_frame_base(finder, perch__read_sleb(expression), location);
	case DW_OP_call_frame_cfa:
		*location = (struct dwarf_location){ .kind = PERCH_LOCATION_CFA };
		return 0;
	case DW_OP_addr:
		*location = (struct dwarf_location){
			.kind = PERCH_LOCATION_STATIC,
			.word = perch__read(expression, finder->unit->format.address_size),
		};
		return 0;
	case DW_OP_addrx:
	case DW_OP_GNU_addr_index:
		*location = (struct dwarf_location){ .kind = PERCH_LOCATION_STATIC };
		value.number = perch__read_uleb(expression);
		return perch__dwarf_address(finder->unit->dwarf, finder->unit, &value,
					    &location->word);
	case DW_OP_entry_value:
	case DW_OP_GNU_entry_value:
		return read_entry_value(finder, expression, location);
	case DW_OP_implicit_value:
		return read_implicit(finder, expression, location);
	default:
		return -ENOTSUP;
	}
}

/* Reads what follows the first operation. */
static int read_rest(struct cursor *expression, struct dwarf_location *location, bool *word)
{
	const unsigned op = (unsigned)perch__read(expression, 1);
	uint64_t number;

	switch (op) {
	case DW_OP_plus_uconst:
		number = perch__read_uleb(expression);
		if ((location->kind != PERCH_LOCATION_MEMORY &&
		     location->kind != PERCH_LOCATION_CFA) ||
		    number > INT32_MAX ||
		    __builtin_add_overflow(location->offset, (int64_t)number, &location->offset))
			return -ENOTSUP;
		return 0;
	case DW_OP_stack_value:
		/* the sum of a register and 0 is its value */
		if (location->kind == PERCH_LOCATION_MEMORY && !location->offset)
			location->kind = PERCH_LOCATION_REGISTER;
		else if (location->kind != PERCH_LOCATION_CONSTANT)
			return -ENOTSUP;
		*word = false;
		return 0;
	case DW_OP_nop:
		return 0;
	default:
		return -ENOTSUP; /* also DW_OP_piece */
	}
}

static int evaluate(const struct location_finder *finder, struct cursor expression,
		    struct dwarf_location *location)
{
	bool word = false;
	int rc = read_first(finder, &expression, location, &word);

	while (!rc && !expression.failed && expression.at < expression.end)
		rc = read_rest(&expression, location, &word);
	return rc ? rc : expression.failed || word ? -ENOTSUP : 0;
}

int perch__dwarf_location(struct dwarf_unit *unit, const struct dwarf_location_lists *locations,
			  const struct dwarf_entry *variable, const struct dwarf_entry *function,
			  uint64_t start, uint64_t address, struct dwarf_location *location)
{
	const struct location_finder finder = {
		unit, &locations[unit->format.version < 5], function, start, address, false,
	};
	struct cursor expression;
	uint64_t number;
	int rc;

	if (perch__dwarf_number(variable, ATTRIBUTE_CONST_VALUE, &number)) {
		set_constant(location, number);
		return 0;
	}
	if (!(variable->has >> ATTRIBUTE_LOCATION & 1))
		return -ENODATA;
	rc = find_expression(&finder, &variable->value[ATTRIBUTE_LOCATION], &expression);
	return rc ? rc : evaluate(&finder, expression, location);
}
