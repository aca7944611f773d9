/* SPDX-License-Identifier: MIT */
/* What the formats in JSON share. */
#include <errno.h>

#include "base/no_memory.h"
#include "internal.h"

#define NS_PER_MS 1000000u
#define NS_DIGITS 6 /* of a part of a millisecond */

int perch__json_file_open(struct json_file *file, FILE *out)
{
	*file = (struct json_file){ 0 };
	file->json.out = &file->out;
	return perch__output_open(&file->out, out);
}

int perch__json_file_close(struct json_file *file, int rc, struct perch_error *err)
{
	if (!rc) {
		perch__output_char(&file->out, '\n');
		perch__output_flush(&file->out);
	}
	perch__output_close(&file->out);
	if (rc == -ENOMEM)
		return PERCH__NO_MEMORY(err, "to export");
	if (file->out.error)
		return perch__export_cannot_write(file->out.error, err);
	return rc;
}

void perch__json_put_ms(struct json_file *file, const char *name, uint64_t ns)
{
	perch__json_key(&file->json, name);
	perch__output_number(&file->out, ns / NS_PER_MS);
	if (!(ns % NS_PER_MS))
		return;
	perch__output_char(&file->out, '.');
	perch__output_padded(&file->out, ns % NS_PER_MS, NS_DIGITS);
}
