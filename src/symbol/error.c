/* SPDX-License-Identifier: MIT */
/* The reasons why a DSO has no symbols. */
#include <stdarg.h>
#include <stdio.h>

#include "internal.h"

void perch__set_symbol_error(struct symbol_error *error, const char *format, ...)
{
	char text[sizeof(error->text)];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	perch_clean_text(text, error->text, sizeof(error->text));
}

void perch__set_symbol_errno(struct symbol_error *error, int errnum)
{
	switch (errnum) {
	case ENOENT:
	case ENOTDIR:
		perch__set_symbol_error(error, "no such file");
		break;
	case EACCES:
	case EPERM:
		perch__set_symbol_error(error, "permission denied");
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
