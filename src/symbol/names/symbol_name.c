/* SPDX-License-Identifier: MIT */
/* The displayed names of functions. */
#define _GNU_SOURCE /* asprintf */
#include <stdio.h>
#include <stdlib.h>

#include "base/inlined_names.h"
#include "base/function_name.h"
#include "symbol/symbols.h"

/* The name of a PLT stub contains the mangled name of the function that it calls. */
static char *demangle_stub(const char *name)
{
	size_t length = strlen(name), suffix = sizeof(STUB_SUFFIX) - 1;
	char *mangled, *plain, *whole = NULL;

	if (length <= suffix || strcmp(name + length - suffix, STUB_SUFFIX))
		return NULL;
	mangled = perch__strndup(name, length - suffix);
	plain = mangled ? perch__demangle(mangled) : NULL;
	if (plain && perch__asprintf(&whole, "%s%s", plain, STUB_SUFFIX) < 0)
		whole = NULL;
	free(mangled);
	free(plain);
	return whole;
}

/* As in perf, names of the kernel have an option of their own. */
static bool is_demangled(const struct perch_symbols *symbols, const struct perch_symbol *symbol)
{
	return perch_dso_is(symbol->dso, PERCH_DSO_IS_IN_KERNEL) ? symbols->demangle_kernel
								 : !symbols->no_demangle;
}

static char *demangle_symbol(const struct perch_symbol *symbol)
{
	char *plain;

	plain = demangle_stub(symbol->name);
	return plain ? plain : perch__demangle(symbol->name);
}

/* The first function of a name in a perf map; the others are inlined in it, see
 * perch_symbols_frames(). NULL if the name is that of one function. */
static char *outer_name(const struct perch_symbol *symbol)
{
	struct perch__inlined_name part[PERCH__MOST_INLINED_NAMES];
	unsigned pid;

	return perch__perf_map_pid(symbol->dso, &pid) && perch__inlined_names(symbol->name, part)
		       ? perch__strndup(symbol->name, part[0].length)
		       : NULL;
}

const char *perch_symbols_name(struct perch_symbols *symbols, const struct perch_symbol *symbol)
{
	struct cached_symbol *found = (struct cached_symbol *)(uintptr_t)symbol;
	char *plain;

	if (found->name)
		return found->name;
	plain = outer_name(symbol);
	if (!plain && is_demangled(symbols, symbol))
		plain = demangle_symbol(symbol);
	found->name = plain ? perch__symbols_clean(symbols, plain, false)
			    : perch__symbols_clean(symbols, symbol->name, true);
	free(plain);
	return found->name;
}

/* True if the name has parameters, and those of a function with this plain name may be the same. */
static bool may_have_parameters(const char *name, const char *plain)
{
	if (!strchr(name, '('))
		return false;
	for (const char *at = strchr(name, *plain); at && *at; at = strchr(at + 1, *plain))
		if (perch__after_name(at, plain))
			return true;
	return false;
}

/* Other names than demangled ones may differ in spaces: those of code of a JIT compiler. */
bool perch_symbols_is_named(struct perch_symbols *symbols, const struct perch_symbol *symbol,
			    const char *name)
{
	const char *plain = perch_symbols_name(symbols, symbol);
	bool same = !strcmp(name, plain) || !strcmp(name, symbol->name);

	if (same || !strcmp(plain, symbol->name) || strchr(symbol->name, ' '))
		return same;
	same = perch__same_name(plain, name);
	for (int with_result = 0; with_result < 2 && !same; with_result++) {
		char *text = may_have_parameters(name, plain)
				     ? perch__demangle_parameters(symbol->name, with_result)
				     : NULL;

		same = text && perch__same_name(text, name);
		free(text);
	}
	return same;
}
