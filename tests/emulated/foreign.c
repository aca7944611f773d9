/* SPDX-License-Identifier: MIT */
/* foreign FILE MARK: decodes the records of a big-endian machine in the lines of FILE that start
 * with MARK, and compares them with what that machine decoded. */
#include <inttypes.h>
#include <stdio.h>

#include "../data/recording.h"

int main(int argc, char **argv)
{
	struct recording_count count;
	struct perch_error err = { 0 };
	FILE *file = argc == 3 ? fopen(argv[1], "re") : NULL;
	int rc;

	if (!file) {
		fprintf(stderr, "usage: foreign FILE MARK\n");
		return 2;
	}
	rc = recording_check(file, argv[2], PERCH_BYTES_BIG, &count, &err);
	fclose(file);
	if (rc < 0 || !count.records)
		printf("not ok - the same records, decoded here: after %zu: %s\n", count.records,
		       err.message);
	else
		printf("# %zu records, types %#" PRIx32 "\nok - the same records, decoded here\n",
		       count.records, count.types);
	return rc < 0 || !count.records;
}
