/* SPDX-License-Identifier: MIT */
/* Appends bytes to what is recorded to: a file, a pipe or a function of the program. */
#include <string.h>

#include "internal.h"

int perch__recorder_append(struct recorder_output *output, const struct iovec *pieces, int nr,
			   struct perch_error *err)
{
	struct perch_error why = { 0 };
	int rc;

	if (!output || !nr)
		return 0;
	if (!output->sink)
		return output->writer ? perch_writer_append(output->writer, pieces, nr, err) : 0;
	rc = output->sink(output->context, pieces, nr, &why);
	if (rc < 0 && !why.errnum)
		perch_error_set(&why, -rc, PERCH_ERROR_SYSTEM,
				"the function that receives the records failed: %s", strerror(-rc));
	if (rc < 0 && err)
		*err = why;
	for (int i = 0; rc >= 0 && i < nr; i++)
		output->sunk += pieces[i].iov_len;
	return rc;
}

uint64_t perch__recorder_output_size(const struct recorder_output *output)
{
	if (!output)
		return 0;
	return output->writer ? perch_writer_size(output->writer) : output->sunk;
}

uint64_t perch__recorder_output_records(const struct recorder_output *output)
{
	if (!output)
		return 0;
	return output->writer ? perch_writer_record_bytes(output->writer) : output->sunk;
}
