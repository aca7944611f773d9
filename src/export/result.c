/* SPDX-License-Identifier: MIT */
/* Errors of writing. */
#include <errno.h>
#include <string.h>

#include "internal.h"

int perch__export_cannot_write(int error, struct perch_error *err)
{
	return perch_error_set(err, error, PERCH_ERROR_FILE, "cannot write: %s", strerror(error));
}

int perch__export_protobuf_result(int rc, int error, const char *what, struct perch_error *err)
{
	if (rc == -ENOMEM)
		return PERCH__NO_MEMORY(err, "to export");
	if (!rc && error)
		return perch__export_cannot_write(error, err);
	return rc ? perch_error_set(err, -rc, PERCH_ERROR_FILE, "a message of the %s exceeds 2 GiB",
				    what)
		  : 0;
}

int perch__export_flush(FILE *out, struct perch_error *err)
{
	int error;

	errno = 0;
	if (!fflush(out) && !ferror(out))
		return 0;
	error = errno ? errno : EIO;
	return perch__export_cannot_write(error, err);
}

int perch__export_not_built(const char *format, struct perch_error *err)
{
	perch_error_set(err, ENOTSUP, PERCH_ERROR_NOT_SUPPORTED,
			"this build of perch has no %s format", format);
	perch_error_remedy(err, "build it with libprotobuf-c and protoc-c");
	return -ENOTSUP;
}
