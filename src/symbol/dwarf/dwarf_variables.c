/* SPDX-License-Identifier: MIT */
/*
 * Variables by name, with members and elements of their types: "item->list[2]". The variable of the
 * innermost block around the address is meant; without one, a variable of the unit.
 */
#include <ctype.h>

#include <dwarf.h>

#include "dwarf_items.h"

enum { MAX_DEPTH = 64 }; /* of blocks, and of types in types */

struct variable_search {
	struct dwarf *dwarf;
	const struct dwarf_location_lists *locations;
	struct symbol_error *error;
	uint64_t address, start; /* start: of the function */
	struct dwarf_item function;
	size_t entries; /* read so far */
	/* the name that is searched */
	const char *name;
	size_t length;
};

/* ---- variables ---- */

struct cover {
	uint64_t address;
	bool covers;
};

static int check_range(void *context, uint64_t start, uint64_t end)
{
	struct cover *cover = context;

	cover->covers |= cover->address >= start && cover->address < end;
	return 0;
}

/* A block, or an inlined function, that has the address. */
static bool is_around(const struct dwarf_item *item, uint64_t address)
{
	struct cover cover = { .address = address };

	return (item->tag == DW_TAG_lexical_block || item->tag == DW_TAG_try_block ||
		item->tag == DW_TAG_catch_block || item->tag == DW_TAG_inlined_subroutine) &&
	       !perch__dwarf_ranges(item->unit->dwarf, item->unit, &item->entry, check_range,
				    &cover) &&
	       cover.covers;
}

static int is_named(const struct variable_search *search, const struct dwarf_item *item,
		    bool *named)
{
	const char *name;
	int rc;

	*named = false;
	if (item->tag != DW_TAG_variable && item->tag != DW_TAG_formal_parameter &&
	    item->tag != DW_TAG_member)
		return 0;
	rc = perch__item_name(item, &name);
	*named = !rc && name && strlen(name) == search->length &&
		 !memcmp(name, search->name, search->length);
	return rc;
}

/* Finds the variable below an entry; that of the innermost block. found->unit: NULL if there is
 * none. */
static int search_scope(struct variable_search *search, const struct dwarf_item *scope,
			unsigned depth, struct dwarf_item *found)
{
	struct dwarf_children children;
	struct dwarf_item child;
	int rc = perch__item_begin(&children, scope->unit, scope->at, &search->entries), more = rc;

	while (!rc && (more = perch__item_next(&children, &child)) > 0) {
		bool named;

		if (is_around(&child, search->address)) {
			struct dwarf_item inside = { 0 };

			rc = depth < MAX_DEPTH ? search_scope(search, &child, depth + 1, &inside)
					       : -ENOTSUP;
			if (inside.unit) {
				*found = inside;
				return rc;
			}
			continue;
		}
		rc = is_named(search, &child, &named);
		if (!rc && named)
			*found = child;
	}
	return rc ? rc : more < 0 ? more : 0;
}

/* Finds a variable of the unit that has a location. */
static int search_unit(struct variable_search *search, struct dwarf_unit *unit,
		       struct dwarf_item *found)
{
	const struct dwarf_item first = { .unit = unit, .at = unit->offset + unit->header_size };
	struct dwarf_children children;
	struct dwarf_item child;
	int rc = perch__item_begin(&children, unit, first.at, &search->entries), more = rc;

	while (!rc && (more = perch__item_next(&children, &child)) > 0) {
		bool named = false;

		if (perch__item_has(&child, ATTRIBUTE_LOCATION) ||
		    perch__item_has(&child, ATTRIBUTE_CONST_VALUE))
			rc = is_named(search, &child, &named);
		if (!rc && named) {
			*found = child;
			return 0;
		}
	}
	return rc ? rc : more < 0 ? more : 0;
}

/* A member of a type. */
struct member {
	struct dwarf_item item;
	uint64_t offset; /* of the type around it */
};

/* Finds a member, also one of a base class or of a member without a name. */
static int find_member(struct variable_search *search, const struct dwarf_item *type,
		       unsigned depth, struct member *member)
{
	struct dwarf_children children;
	struct dwarf_item child;
	int rc = perch__item_begin(&children, type->unit, type->at, &search->entries), more = rc;

	member->item.unit = NULL;
	while (!rc && (more = perch__item_next(&children, &child)) > 0) {
		uint64_t offset = 0;
		bool named;

		if (child.tag != DW_TAG_member && child.tag != DW_TAG_inheritance)
			continue;
		if (!perch__dwarf_number(&child.entry, ATTRIBUTE_MEMBER_OFFSET, &offset) &&
		    perch__item_has(&child, ATTRIBUTE_MEMBER_OFFSET))
			continue; /* an expression, as of a virtual base class */
		rc = is_named(search, &child, &named);
		if (rc)
			return rc;
		if (named) {
			*member = (struct member){ child, offset };
			return 0;
		}
		if (perch__item_has(&child, ATTRIBUTE_NAME) || depth == MAX_DEPTH)
			continue;
		rc = perch__item_type(&child);
		if (!rc && perch__item_is_record(&child))
			rc = find_member(search, &child, depth + 1, member);
		if (!rc && member->item.unit) {
			member->offset += offset;
			return 0;
		}
	}
	return rc ? rc : more < 0 ? more : 0;
}

/* ---- expressions ---- */

/* The part of an expression so far. */
struct partial {
	struct perch_variable *variable;
	struct dwarf_item type;
};

static int refuse_text(struct variable_search *search, int errnum, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static int refuse_text(struct variable_search *search, int errnum, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(search->error->text, sizeof(search->error->text), format, arguments);
	va_end(arguments);
	return -errnum;
}

/* Moves what is read by bytes. */
static int move(struct variable_search *search, struct perch_variable *variable, int64_t bytes)
{
	int64_t *offset = variable->nr_steps ? &variable->step[variable->nr_steps - 1]
					     : &variable->offset;

	if (!variable->nr_steps && variable->location == PERCH_LOCATION_STATIC) {
		variable->word += (uint64_t)bytes;
		return 0;
	}
	if (!variable->nr_steps &&
	    (variable->location == PERCH_LOCATION_REGISTER ||
	     variable->location == PERCH_LOCATION_CONSTANT) &&
	    bytes)
		return refuse_text(search, ENOTSUP, "a part of a register is not read");
	if (__builtin_add_overflow(*offset, bytes, offset) || *offset != (int32_t)*offset)
		return refuse_text(search, ENOTSUP, "its offset is too large");
	return 0;
}

/* Follows a pointer. */
static int take_pointer(struct variable_search *search, struct partial *partial)
{
	struct perch_variable *variable = partial->variable;

	if (!perch__item_is_pointer(&partial->type))
		return refuse_text(search, EINVAL, "'*', '->' and '[' need a pointer before them");
	if (variable->location == PERCH_LOCATION_CONSTANT)
		return refuse_text(search, ENOTSUP, "the pointer is a constant");
	if (variable->nr_steps == PERCH_VARIABLE_STEPS_MAX)
		return refuse_text(search, EINVAL, "an expression may follow %d pointers",
				   PERCH_VARIABLE_STEPS_MAX);
	variable->step[variable->nr_steps++] = 0;
	return perch__item_type(&partial->type);
}

static int set_bits(struct variable_search *search, struct partial *partial,
		    const struct member *member)
{
	struct perch_variable *variable = partial->variable;
	const uint64_t bytes = perch__item_size(&partial->type);
	uint64_t size, offset, unit;

	if (!perch__dwarf_number(&member->item.entry, ATTRIBUTE_BIT_SIZE, &size))
		return 0;
	if (!perch__dwarf_number(&member->item.entry, ATTRIBUTE_BIT_OFFSET, &offset) || !bytes ||
	    bytes > 8 || size > 8 * bytes || offset > INT32_MAX)
		return refuse_text(search, ENOTSUP, "its bits are described as before DWARF 4");
	unit = offset / (8 * bytes) * bytes;
	if (offset - 8 * unit + size > 8 * bytes)
		return refuse_text(search, ENOTSUP, "its bits are in two words");
	variable->bit_size = (uint32_t)size;
	variable->bit_offset = (uint32_t)(offset - 8 * unit);
	return move(search, variable, (int64_t)unit);
}

/* Goes to a member, through pointers and references. */
static int take_member(struct variable_search *search, struct partial *partial)
{
	struct member member;
	int rc = 0;

	while (!rc && perch__item_is_pointer(&partial->type))
		rc = take_pointer(search, partial);
	if (rc)
		return rc;
	if (!perch__item_is_record(&partial->type))
		return refuse_text(search, EINVAL, "'%.*s' is a member of no struct",
				   (int)search->length, search->name);
	rc = find_member(search, &partial->type, 0, &member);
	if (rc)
		return rc;
	if (!member.item.unit)
		return perch__item_has(&partial->type, ATTRIBUTE_DECLARATION)
			       ? refuse_text(
					 search, ENOENT,
					 "the struct is defined in another file than the function")
			       : refuse_text(search, ENOENT, "the struct has no member '%.*s'",
					     (int)search->length, search->name);
	rc = move(search, partial->variable, (int64_t)member.offset);
	partial->type = member.item;
	if (!rc)
		rc = perch__item_type(&partial->type);
	return rc ? rc : set_bits(search, partial, &member);
}

/* Goes to the type of the elements. An array of arrays is one type with several ranges. */
static int enter_array(struct variable_search *search, struct dwarf_item *array)
{
	struct dwarf_children children;
	struct dwarf_item child;
	int rc = perch__item_begin(&children, array->unit, array->at, &search->entries), more = rc;
	unsigned ranges = 0;

	while (!rc && (more = perch__item_next(&children, &child)) > 0)
		ranges += child.tag == DW_TAG_subrange_type;
	if (rc || more < 0)
		return rc ? rc : more;
	return ranges > 1 ? refuse_text(search, ENOTSUP, "arrays of arrays are not read")
			  : perch__item_type(array);
}

static int take_element(struct variable_search *search, struct partial *partial, long index)
{
	uint64_t size;
	int rc;

	if (partial->type.unit && partial->type.tag == DW_TAG_array_type)
		rc = enter_array(search, &partial->type);
	else
		rc = take_pointer(search, partial);
	size = rc ? 0 : perch__item_size(&partial->type);
	if (rc)
		return rc;
	if (!size || size > INT32_MAX || index < -INT32_MAX || index > INT32_MAX)
		return refuse_text(search, EINVAL, "the element has no known size");
	return move(search, partial->variable, (int64_t)size * index);
}

/* Takes a name at *text. Returns false if there is none. */
static bool take_name(struct variable_search *search, const char **text)
{
	size_t length = 0;

	while (isalnum((unsigned char)(*text)[length]) || (*text)[length] == '_' ||
	       (*text)[length] == '$' || (unsigned char)(*text)[length] >= 0x80)
		length++;
	search->name = *text;
	search->length = length;
	*text += length;
	return length && !isdigit((unsigned char)*search->name);
}

static int take_parts(struct variable_search *search, struct partial *partial, const char *text)
{
	int rc = 0;

	while (*text && !rc) {
		if (*text == '.' || !strncmp(text, "->", 2)) {
			text += *text == '.' ? 1 : 2;
			if (!take_name(search, &text))
				return refuse_text(search, EINVAL, "a member is missing at '%.20s'",
						   text);
			rc = take_member(search, partial);
		} else if (*text == '[') {
			char *end;
			const long index = strtol(text + 1, &end, 0);

			if (end == text + 1 || *end != ']')
				return refuse_text(search, EINVAL,
						   "expected a number and ']' at '%.20s'",
						   text + 1);
			text = end + 1;
			rc = take_element(search, partial, index);
		} else {
			return refuse_text(search, EINVAL, "expected '->', '.' or '[' at '%.20s'",
					   text);
		}
	}
	return rc;
}

static int classify(struct variable_search *search, struct partial *partial)
{
	struct perch_variable *variable = partial->variable;
	struct dwarf_item *type = &partial->type, pointee;
	uint64_t encoding = 0, size;

	if (!type->unit)
		return refuse_text(search, EINVAL, "it has no type: it is void");
	size = perch__item_size(type);
	variable->bytes = size <= UINT32_MAX ? (uint32_t)size : 0;
	pointee = *type;
	switch (type->tag) {
	case DW_TAG_base_type:
	case DW_TAG_enumeration_type:
		if (type->tag == DW_TAG_enumeration_type && perch__item_has(type, ATTRIBUTE_TYPE) &&
		    perch__item_type(&pointee))
			return -ENOTSUP;
		if (pointee.unit)
			perch__dwarf_number(&pointee.entry, ATTRIBUTE_ENCODING, &encoding);
		variable->value = encoding == DW_ATE_float || encoding == DW_ATE_complex_float ||
						  encoding == DW_ATE_decimal_float
					  ? PERCH_VALUE_FLOAT
				  : encoding == DW_ATE_signed || encoding == DW_ATE_signed_char
					  ? PERCH_VALUE_SIGNED
					  : PERCH_VALUE_UNSIGNED;
		break;
	case DW_TAG_pointer_type:
	case DW_TAG_ptr_to_member_type:
		variable->value = !perch__item_type(&pointee) && perch__item_is_char(&pointee)
					  ? PERCH_VALUE_TEXT
					  : PERCH_VALUE_POINTER;
		break;
	case DW_TAG_array_type:
		if (perch__item_type(&pointee) || !perch__item_is_char(&pointee))
			return refuse_text(search, EINVAL,
					   "it is an array: name an element, as [0]");
		variable->value = PERCH_VALUE_CHARS;
		return 0;
	default:
		return perch__item_is_record(type)
			       ? refuse_text(search, EINVAL, "it is a struct: name a member")
			       : refuse_text(search, EINVAL, "its type is no number or pointer");
	}
	return variable->bytes == 1 || variable->bytes == 2 || variable->bytes == 4 ||
			       variable->bytes == 8
		       ? 0
		       : refuse_text(search, EINVAL, "it has %u bytes", variable->bytes);
}

/* ---- functions ---- */

static int find_function(struct variable_search *search, struct dwarf_unit **unit)
{
	struct dwarf_function *function;
	int rc = perch__dwarf_function(search->dwarf, search->address, unit, &function);

	if (rc)
		return rc;
	if (!*unit || !function)
		return refuse_text(search, ENOENT, "the debug information has no function there");
	search->start = function->start;
	return perch__item_read((struct scope_key){ *unit, function->entry }, &search->function);
}

/* Finds the variable that an expression begins with, and its location. */
static int find_variable(struct variable_search *search, struct dwarf_unit *unit,
			 struct partial *partial)
{
	struct perch_variable *variable = partial->variable;
	struct dwarf_location location;
	struct dwarf_item found = { 0 };
	int rc = search_scope(search, &search->function, 0, &found);

	if (!rc && !found.unit)
		rc = search_unit(search, unit, &found);
	if (rc)
		return rc;
	if (!found.unit)
		return refuse_text(search, ENOENT, "the function has no variable '%.*s'",
				   (int)search->length, search->name);
	rc = perch__dwarf_location(found.unit, search->locations, &found.entry,
				   &search->function.entry, search->start, search->address,
				   &location);
	if (rc == -ENODATA)
		return refuse_text(
			search, ENODATA,
			"'%.*s' has no value there: the compiler keeps it elsewhere or not at all",
			(int)search->length, search->name);
	if (rc == -ENOTSUP)
		return refuse_text(search, ENOTSUP, "'%.*s' is in several places, or computed",
				   (int)search->length, search->name);
	variable->location = location.kind;
	variable->number = location.number;
	variable->offset = location.offset;
	variable->word = location.word;
	variable->in_frame = location.in_frame;
	partial->type = found;
	return rc ? rc : perch__item_type(&partial->type);
}

#define RETURN_VALUE "$retval"

/* The number or pointer that a function returns is in the first register, of x86-64 and arm64. */
static int take_return_value(struct variable_search *search, struct partial *partial)
{
	int rc;

	partial->variable->location = PERCH_LOCATION_REGISTER;
	partial->type = search->function;
	rc = perch__item_type(&partial->type);
	return !rc && perch__item_is_record(&partial->type)
		       ? refuse_text(search, ENOTSUP, "a struct is not returned in one register")
		       : rc;
}

int perch__dwarf_variable(struct dwarf *dwarf, const struct dwarf_location_lists *locations,
			  uint64_t address, const char *text, struct perch_variable *variable,
			  struct symbol_error *error)
{
	struct variable_search search = {
		.dwarf = dwarf, .locations = locations, .error = error, .address = address
	};
	struct partial partial = { .variable = variable };
	const size_t stars = strspn(text, "*");
	struct dwarf_unit *unit;
	int rc = find_function(&search, &unit);

	*variable = (struct perch_variable){ 0 };
	text += stars;
	if (!rc && !take_name(&search, &text))
		rc = refuse_text(&search, EINVAL, "expected the name of a variable at '%.20s'",
				 search.name);
	if (!rc && search.length == strlen(RETURN_VALUE) &&
	    !memcmp(search.name, RETURN_VALUE, search.length))
		rc = take_return_value(&search, &partial);
	else if (!rc)
		rc = find_variable(&search, unit, &partial);
	if (!rc)
		rc = take_parts(&search, &partial, text);
	for (size_t i = 0; i < stars && !rc; i++)
		rc = take_pointer(&search, &partial);
	/* a reference stands for what it refers to */
	while (!rc && perch__item_is_pointer(&partial.type) &&
	       partial.type.tag != DW_TAG_pointer_type)
		rc = take_pointer(&search, &partial);
	if (!rc)
		rc = classify(&search, &partial);
	if (rc && !error->text[0])
		refuse_text(&search, -rc, "%s",
			    rc == -ENOMEM ? "out of memory"
					  : "the debug information is not understood");
	return rc;
}

int perch__dwarf_parameters(struct dwarf *dwarf, uint64_t address,
			    int (*visit)(void *context, const char *name), void *context)
{
	struct symbol_error error;
	struct variable_search search = { .dwarf = dwarf, .error = &error, .address = address };
	struct dwarf_children children;
	struct dwarf_unit *unit;
	struct dwarf_item child;
	int rc = find_function(&search, &unit), more = rc;

	if (!rc)
		rc = perch__item_begin(&children, search.function.unit, search.function.at,
				       &search.entries);
	while (!rc && (more = perch__item_next(&children, &child)) > 0) {
		const char *name;

		if (child.tag != DW_TAG_formal_parameter)
			continue;
		rc = perch__item_name(&child, &name);
		if (!rc && name && *name != '~') /* Go has results among them, as "~r0" */
			rc = visit(context, name);
	}
	return rc ? rc : more < 0 ? more : 0;
}

int perch__dwarf_after_prologue(struct dwarf *dwarf, uint64_t address, uint64_t *after)
{
	struct dwarf_function *function;
	struct dwarf_unit *unit;
	int rc = perch__dwarf_function(dwarf, address, &unit, &function);

	if (rc)
		return rc;
	if (!unit || !function)
		return -ENOENT;
	rc = perch__dwarf_next_row(unit, address, function->end, after);
	return rc ? rc : *after < function->end ? 0 : -ENOENT;
}
