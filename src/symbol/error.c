/* SPDX-License-Identifier: MIT */
/* The reasons why a DSO has no symbols, and how certain those of the kernel are. */
#include <stdarg.h>
#include <stdio.h>

#include "internal.h"

static void set_text(struct symbol_error *error, const char *format, va_list arguments)
	__attribute__((format(printf, 2, 0)));

static void set_text(struct symbol_error *error, const char *format, va_list arguments)
{
	char text[sizeof(error->text)];

	vsnprintf(text, sizeof(text), format, arguments);
	perch_clean_text(text, error->text, sizeof(error->text));
}

void perch__set_symbol_error(struct symbol_error *error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	set_text(error, format, arguments);
	va_end(arguments);
	error->reason = PERCH_SYMBOLS_OTHER_REASON;
}

void perch__set_symbol_reason(struct symbol_error *error, enum perch_symbols_reason reason,
			      const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	set_text(error, format, arguments);
	va_end(arguments);
	error->reason = reason;
}

void perch__set_symbol_errno(struct symbol_error *error, int errnum)
{
	switch (errnum) {
	case ENOENT:
	case ENOTDIR:
		perch__set_symbol_reason(error, PERCH_SYMBOLS_NO_FILE, "no such file");
		break;
	case EACCES:
	case EPERM:
		perch__set_symbol_reason(error, PERCH_SYMBOLS_NO_PERMISSION, "permission denied");
		break;
	case ENXIO:
	case EISDIR:
		perch__set_symbol_error(error, "not a regular file");
		break;
	case EXDEV:
		perch__set_symbol_error(error, "the path leaves the root directory");
		break;
	case ENOEXEC:
		perch__set_symbol_error(error, "not an ELF file");
		break;
	default:
		perch__set_symbol_error(error, "%s", strerror(errnum));
	}
}

struct proof perch__kernel_proof(bool named, bool proven)
{
	if (proven)
		return (struct proof){ .state = PERCH_SYMBOLS_VERIFIED };
	if (named)
		return (struct proof){ PERCH_SYMBOLS_UNVERIFIED, PERCH_SYMBOLS_NAMED,
				       "it is the file that the user named" };
	return (struct proof){ PERCH_SYMBOLS_UNVERIFIED, PERCH_SYMBOLS_NO_INODE,
			       "only its release is known to be the recorded one" };
}
