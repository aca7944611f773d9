/* SPDX-License-Identifier: MIT */
/*
 * Arguments of probes in the language of tracefs: "count=%di:s32 name=+0(+8(%si)):string". The
 * kernel reads registers and memory when the probe hits. It adds an offset to one register or
 * pointer, and follows pointers.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <perch/unwind.h>
#include <perch/variables.h>

#include "base/no_memory.h"
#include "internal.h"

enum {
	MAX_ARGUMENTS = 64,
	NAME_BYTES = 32,   /* of an argument: tracefs takes 31 bytes */
	FETCH_BYTES = 256, /* of its site */
	LIST_BYTES = 4000, /* tracefs takes a line of 4095 bytes */
};

struct argument_list {
	const struct function_site *site;
	char name[MAX_ARGUMENTS][NAME_BYTES];
	size_t nr;
	char text[LIST_BYTES];	 /* what is read */
	char unread[LIST_BYTES]; /* what is not, with reasons */
	bool late;
	bool skips; /* what cannot be read is no error */
	struct perch_error *err;
};

/* ---- sites ---- */

/* Appends to a text. Returns false if it does not fit. */
static bool put_text(char *text, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static bool put_text(char *text, size_t size, const char *format, ...)
{
	const size_t used = strlen(text);
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(text + used, size - used, format, arguments);
	va_end(arguments);
	if (length >= 0 && (size_t)length < size - used)
		return true;
	text[used] = '\0';
	return false;
}

/* Writes memory at a register plus an offset. */
static int put_memory(const struct function_site *site, unsigned number, int64_t offset,
		      char fetch[FETCH_BYTES], struct perch_error *err)
{
	const char *name = perch_unwind_register_name(perch_arch_here(), number);

	if (!name)
		return perch_error_set(err, ENOTSUP, PERCH_ERROR_NOT_SUPPORTED,
				       "it is in a register that the kernel has no name for");
	(void)site;
	put_text(fetch, FETCH_BYTES, "%+" PRId64 "(%%%s)", offset, name);
	return 0;
}

/* Writes memory at an address of the file. The kernel takes an offset, and adds it to where the
 * bytes around the probe are mapped. */
static int put_static(const struct function_site *site, uint64_t address, char fetch[FETCH_BYTES],
		      struct perch_error *err)
{
	uint64_t code;
	int64_t offset;

	if (perch_symbols_address(site->symbols, site->dso, site->offset, &code))
		return perch_error_set(err, ENOTSUP, PERCH_ERROR_NOT_SUPPORTED,
				       "the site of the function in memory is not known");
	/* negative where a linker places data before code: the kernel takes a sign after the '+' */
	offset = (int64_t)(address - code + site->offset);
	put_text(fetch, FETCH_BYTES, "@+%s%#" PRIx64, offset < 0 ? "-" : "",
		 offset < 0 ? 0 - (uint64_t)offset : (uint64_t)offset);
	return 0;
}

/* Writes where the first word of a value is. */
static int put_first(const struct function_site *site, const struct perch_variable *variable,
		     char fetch[FETCH_BYTES], struct perch_error *err)
{
	const enum perch_arch arch = perch_arch_here();
	const char *name;
	unsigned number;
	int64_t offset;
	int rc;

	switch (variable->location) {
	case PERCH_LOCATION_REGISTER:
		name = perch_unwind_register_name(arch, variable->number);
		if (!name)
			return perch_error_set(
				err, ENOTSUP, PERCH_ERROR_NOT_SUPPORTED,
				"it is in a register that the kernel has no name for");
		put_text(fetch, FETCH_BYTES, "%%%s", name);
		return 0;
	case PERCH_LOCATION_MEMORY:
		return put_memory(site, variable->number, variable->offset, fetch, err);
	case PERCH_LOCATION_CFA:
		rc = perch_unwind_frame_address(site->symbols, site->dso, site->offset, arch,
						&number, &offset, err);
		return rc ? rc : put_memory(site, number, offset + variable->offset, fetch, err);
	case PERCH_LOCATION_STATIC:
		return put_static(site, variable->word, fetch, err);
	case PERCH_LOCATION_CONSTANT:
		put_text(fetch, FETCH_BYTES, "\\%" PRId64, (int64_t)variable->word);
		return 0;
	}
	return -EINVAL;
}

/* Puts the text of a site into what follows a pointer there. */
static bool dereference_text(char fetch[FETCH_BYTES], int64_t offset)
{
	char inner[FETCH_BYTES];

	memcpy(inner, fetch, FETCH_BYTES);
	*fetch = '\0';
	return put_text(fetch, FETCH_BYTES, "%+" PRId64 "(%s)", offset, inner);
}

static int put_location(const struct function_site *site, const struct perch_variable *variable,
			char fetch[FETCH_BYTES], struct perch_error *err)
{
	int rc;

	*fetch = '\0';
	rc = put_first(site, variable, fetch, err);
	for (size_t i = 0; i < variable->nr_steps && !rc; i++)
		if (!dereference_text(fetch, variable->step[i]))
			rc = perch_error_set(err, ENOTSUP, PERCH_ERROR_NOT_SUPPORTED,
					     "its site is too long for tracefs");
	return rc;
}

/* Appends the type of a value. */
static int put_type(const struct perch_variable *variable, char fetch[FETCH_BYTES],
		    struct perch_error *err)
{
	const unsigned bits = 8 * variable->bytes;
	bool fits = true;

	if (variable->bit_size) {
		fits = put_text(fetch, FETCH_BYTES, ":b%u@%u/%u", variable->bit_size,
				variable->bit_offset, bits);
	} else {
		switch (variable->value) {
		case PERCH_VALUE_SIGNED:
			fits = put_text(fetch, FETCH_BYTES, ":s%u", bits);
			break;
		case PERCH_VALUE_UNSIGNED:
			fits = put_text(fetch, FETCH_BYTES, ":u%u", bits);
			break;
		case PERCH_VALUE_POINTER:
			fits = put_text(fetch, FETCH_BYTES, ":x%u", bits);
			break;
		case PERCH_VALUE_TEXT:
			fits = dereference_text(fetch, 0) &&
			       put_text(fetch, FETCH_BYTES, ":string");
			break;
		case PERCH_VALUE_CHARS:
			fits = put_text(fetch, FETCH_BYTES, ":string");
			break;
		case PERCH_VALUE_FLOAT:
			return perch_error_set(
				err, ENOTSUP, PERCH_ERROR_NOT_SUPPORTED,
				"it is a floating-point number, which tracefs does not read; "
				"':x%u' reads its bits",
				bits);
		}
	}
	return fits ? 0
		    : perch_error_set(err, ENOTSUP, PERCH_ERROR_NOT_SUPPORTED,
				      "its site is too long for tracefs");
}

/* Appends the type that the text names: "x64". A string is what a pointer to char leads to. */
static int put_named_type(const struct perch_variable *variable, const char *type,
			  char fetch[FETCH_BYTES], struct perch_error *err)
{
	const bool is_string = !strcmp(type, "string") || !strcmp(type, "ustring");

	if (!*type || type[strspn(type, "abcdefghijklmnopqrstuvwxyz0123456789@/[]")])
		return perch_error_set(err, EINVAL, PERCH_ERROR_SYNTAX,
				       "'%s' is no type of tracefs, as u8, s32, x64 or string",
				       type);
	if ((is_string && variable->value != PERCH_VALUE_CHARS && !dereference_text(fetch, 0)) ||
	    !put_text(fetch, FETCH_BYTES, ":%s", type))
		return perch_error_set(err, ENOTSUP, PERCH_ERROR_NOT_SUPPORTED,
				       "its site is too long for tracefs");
	return 0;
}

/* A register, which needs no debug information: "%di:s32". */
static int put_register(const char *text, const char *type, char fetch[FETCH_BYTES],
			struct perch_error *err)
{
	const struct perch_variable variable = { .value = PERCH_VALUE_UNSIGNED };

	*fetch = '\0';
	if (!text[1] || text[1 + strspn(text + 1, "abcdefghijklmnopqrstuvwxyz0123456789_")])
		return perch_error_set(err, EINVAL, PERCH_ERROR_SYNTAX,
				       "expected a register after '%%', as in %%di");
	put_text(fetch, FETCH_BYTES, "%s", text);
	return put_named_type(&variable, type ? type : "u64", fetch, err);
}

/* ---- names ---- */

static bool is_used(const struct argument_list *list, const char *name)
{
	for (size_t i = 0; i < list->nr; i++)
		if (!strcmp(list->name[i], name))
			return true;
	return false;
}

/* Makes the name of an argument: "item->list[2]" is item_list_2. */
static void make_name(struct argument_list *list, const char *text, size_t length)
{
	char name[NAME_BYTES - 4];
	size_t used = 0;

	for (size_t i = 0; i < length && used < sizeof(name) - 1; i++) {
		if (isalnum((unsigned char)text[i]) || (text[i] == '_' && used))
			name[used++] = text[i];
		else if (used && name[used - 1] != '_' && i + 1 < length)
			name[used++] = '_';
	}
	while (used && name[used - 1] == '_')
		used--;
	name[used] = '\0';
	snprintf(list->name[list->nr], NAME_BYTES, "%s%s",
		 !used || isdigit((unsigned char)*name) ? "arg_" : "", name);
	for (unsigned i = 2; is_used(list, list->name[list->nr]) && i < 100; i++)
		snprintf(list->name[list->nr], NAME_BYTES, "%s_%u", name, i);
}

/* ---- the list ---- */

/* Finds a value and writes its argument. */
static int put_value(struct argument_list *list, const char *text, const char *type,
		     char fetch[FETCH_BYTES], struct perch_error *err)
{
	const struct function_site *site = list->site;
	struct perch_variable variable;
	int rc;

	if (*text == '%')
		return put_register(text, type, fetch, err);
	if (site->returns != !strncmp(text + strspn(text, "*"), "$retval", 7))
		return perch_error_set(
			err, EINVAL, PERCH_ERROR_CONFLICT,
			site->returns
				? "a function that returns has lost its variables: only $retval is left"
				: "only return probes have $retval");
	rc = perch_symbols_variable(site->symbols, site->dso, site->offset, text, &variable, err);
	if (rc)
		return rc;
	list->late |= variable.in_frame;
	rc = put_location(site, &variable, fetch, err);
	if (rc)
		return rc;
	return type ? put_named_type(&variable, type, fetch, err) : put_type(&variable, fetch, err);
}

/* Cuts blanks at both ends. */
static void cut_blanks(const char **text, size_t *length)
{
	while (*length && isspace((unsigned char)**text)) {
		++*text;
		--*length;
	}
	while (*length && isspace((unsigned char)(*text)[*length - 1]))
		--*length;
}

/* NAME=EXPRESSION:TYPE, of which the first and last part may be missing. */
static int add_argument(struct argument_list *list, const char *text, size_t length)
{
	char copy[FETCH_BYTES], fetch[FETCH_BYTES], *expression = copy, *type;
	struct perch_error err;
	int rc;

	cut_blanks(&text, &length);
	if (!length || length >= sizeof(copy))
		return perch_error_set(list->err, EINVAL, PERCH_ERROR_SYNTAX,
				       length ? "an argument is too long" : "an argument is empty");
	if (list->nr == MAX_ARGUMENTS)
		return perch_error_set(list->err, E2BIG, PERCH_ERROR_USAGE,
				       "a probe may have %d arguments", MAX_ARGUMENTS);
	memcpy(copy, text, length);
	copy[length] = '\0';
	type = strchr(copy, ':');
	if (type)
		*type++ = '\0';
	if (strchr(copy, '=')) {
		expression = strchr(copy, '=') + 1;
		make_name(list, copy, (size_t)(expression - 1 - copy));
	} else {
		make_name(list, copy, strlen(copy));
	}
	rc = put_value(list, expression, type, fetch, &err);
	if (rc && list->skips)
		return put_text(list->unread, LIST_BYTES, "%s%s: %s", *list->unread ? "; " : "",
				expression, err.message)
			       ? 0
			       : -E2BIG;
	if (rc) {
		if (list->err)
			*list->err = err;
		perch_error_prefix(list->err, "argument '%s': ", copy);
		return rc;
	}
	if (!put_text(list->text, LIST_BYTES, "%s%s=%s", list->nr ? " " : "", list->name[list->nr],
		      fetch))
		return perch_error_set(list->err, E2BIG, PERCH_ERROR_USAGE,
				       "the arguments are too long for tracefs");
	list->nr++;
	return 0;
}

static int add_parameter(void *context, const char *name)
{
	struct argument_list *list = context;
	int rc;

	list->skips = true;
	rc = add_argument(list, name, strlen(name));
	list->skips = false;
	return rc;
}

static bool is_all(const char *text, size_t length)
{
	cut_blanks(&text, &length);
	return (length == 1 && *text == '*') || (length == 7 && !memcmp(text, "$params", 7));
}

static int add_arguments(struct argument_list *list, const char *text)
{
	const struct function_site *site = list->site;
	int rc = 0;

	for (const char *end = text; !rc && end; text = end ? end + 1 : NULL) {
		size_t length;

		end = strchr(text, ',');
		length = end ? (size_t)(end - text) : strlen(text);
		if (is_all(text, length) && !site->returns)
			rc = perch_symbols_parameters(site->symbols, site->dso, site->offset,
						      add_parameter, list, list->err);
		else
			rc = add_argument(list, text, length);
	}
	return rc;
}

int perch__probe_arguments(const struct function_site *site, const char *text, char **arguments,
			   char **unread, bool *late, struct perch_error *err)
{
	struct argument_list *list = calloc(1, sizeof(*list));
	int rc;

	*arguments = *unread = NULL;
	if (!list)
		return PERCH__NO_MEMORY(err, "for arguments");
	list->site = site;
	list->err = err;
	rc = add_arguments(list, text);
	*late = list->late;
	if (!rc && *list->text && !(*arguments = strdup(list->text)))
		rc = PERCH__NO_MEMORY(err, "for arguments");
	if (!rc && *list->unread && !(*unread = strdup(list->unread)))
		rc = PERCH__NO_MEMORY(err, "for arguments");
	if (rc) {
		free(*arguments);
		*arguments = NULL;
	}
	free(list);
	return rc;
}
