/* SPDX-License-Identifier: MIT */
/* Names for people: without mangling, and fit for a terminal. */
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>

#include "internal.h"

enum {
	MAX_MANGLED = 1 << 14, /* names longer than this stay as they are */
	MAX_PLAIN =
		1
		<< 16, /* and so do those that would unfold to more: few bytes can mean gigabytes */
};

struct output {
	char *text;
	size_t length, room;
	jmp_buf too_much; /* the only way out of the demangler before its end */
};

static void put(const char *text, size_t length, void *opaque)
{
	struct output *output = opaque;

	if (length >= MAX_PLAIN - output->length)
		longjmp(output->too_much, 1);
	if (output->length + length + 1 > output->room) {
		size_t room = (output->length + length + 1) * 2;
		char *grown = realloc(output->text, room);

		if (!grown)
			longjmp(output->too_much, 1);
		output->text = grown;
		output->room = room;
	}
	memcpy(output->text + output->length, text, length);
	output->length += length;
	output->text[output->length] = 0;
}

typedef int demangler(const char *mangled, int options, demangle_callbackref callback,
		      void *opaque);

static char *demangle_with(demangler *demangle, const char *name)
{
	struct output *output = calloc(1, sizeof(*output));
	char *text = NULL;

	if (!output)
		return NULL;
	/* neither parameters nor return types: perf's style */
	if (!setjmp(output->too_much) && demangle(name, DMGL_AUTO, put, output) && output->length) {
		text = output->text;
		output->text = NULL;
	}
	free(output->text);
	free(output);
	return text;
}

char *perch__demangle(const char *name)
{
	char *plain;

	/* _Z, __Z and ___Z of C++; _R of Rust; _GLOBAL_ of constructors */
	if (name[0] != '_' || !strpbrk(name, "ZRG") || strlen(name) > MAX_MANGLED)
		return NULL;
	plain = demangle_with(rust_demangle_callback, name);
	return plain ? plain : demangle_with(cplus_demangle_v3_callback, name);
}
