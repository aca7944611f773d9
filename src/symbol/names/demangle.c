/* SPDX-License-Identifier: MIT */
/* Demangles names of C++, Rust and other languages, with limits on time and memory. */
#include <setjmp.h>

#include <libiberty/demangle.h>

#include "symbol/internal.h"

enum {
	MAX_MANGLED = 1 << 14, /* longer names are not demangled */
	MAX_PLAIN = 1 << 16,   /* a result that would be longer is dropped: a few bytes can expand
				* to gigabytes */
};

struct demangler_output {
	char *text;
	size_t length, capacity;
	jmp_buf stop; /* the demangler has no other way to end early */
};

static void put_text(const char *text, size_t length, void *opaque)
{
	struct demangler_output *output = opaque;

	if (length >= MAX_PLAIN - output->length)
		longjmp(output->stop, 1);
	if (PERCH__ARRAY_RESERVE(output->text, output->capacity, output->length + length + 1))
		longjmp(output->stop, 1);
	memcpy(output->text + output->length, text, length);
	output->length += length;
	output->text[output->length] = 0;
}

typedef int demangler(const char *mangled, int options, demangle_callbackref callback,
		      void *opaque);

static char *demangle_with(demangler *demangle, const char *name, int options)
{
	struct demangler_output *output = perch__calloc(1, sizeof(*output));
	char *text = NULL;

	if (!output)
		return NULL;
	if (!setjmp(output->stop) && demangle(name, options, put_text, output) && output->length) {
		text = output->text;
		output->text = NULL;
	}
	free(output->text);
	free(output);
	return text;
}

/* _Z, __Z, ___Z: C++; _R: Rust; _GLOBAL_: constructors */
static bool may_be_mangled(const char *name)
{
	return name[0] == '_' && strpbrk(name, "ZRG") && strlen(name) <= MAX_MANGLED;
}

/* options: of C++. Names of Rust have no parameters. */
static char *demangle(const char *name, int options)
{
	char *plain;

	plain = perch__demangle_language(name);
	if (plain || !may_be_mangled(name))
		return plain;
	plain = demangle_with(rust_demangle_callback, name, DMGL_AUTO);
	return plain ? plain : demangle_with(cplus_demangle_v3_callback, name, options);
}

char *perch__demangle(const char *name)
{
	/* without parameters and return types, as in perf */
	return demangle(name, DMGL_AUTO);
}

char *perch_demangle(const char *name)
{
	return demangle(name, DMGL_PARAMS | DMGL_ANSI | DMGL_RET_DROP);
}

char *perch__demangle_parameters(const char *name, bool with_result)
{
	if (!may_be_mangled(name))
		return NULL;
	return demangle_with(cplus_demangle_v3_callback, name,
			     DMGL_PARAMS | DMGL_ANSI | (with_result ? 0 : DMGL_RET_DROP));
}

char *perch__demangle_type(const char *name)
{
	if (strlen(name) > MAX_MANGLED)
		return NULL;
	return demangle_with(cplus_demangle_v3_callback, name, DMGL_AUTO | DMGL_TYPES);
}
