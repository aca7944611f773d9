/* SPDX-License-Identifier: MIT */
/*
 * The input is a text of which a flame-graph page and a picture are made, and two of them are
 * compared.
 */
#include <stdlib.h>
#include <string.h>

#include <perch/export.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static struct perch_export *read_text(enum perch_export_format format, const uint8_t *bytes,
				      size_t size, struct perch_export *old)
{
	const struct perch_export_options options = { .title = "<title>", .old = old };
	FILE *in = size ? fmemopen((void *)bytes, size, "r") : fopen("/dev/null", "r");
	struct perch_export *export;

	if (!in || perch_export_new(&export, NULL, format, &options, NULL))
		abort();
	perch_export_add_text(export, in, NULL);
	fclose(in);
	return export;
}

/* Writes the export. Names must not become markup. */
static void write_export(struct perch_export *export, bool svg)
{
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);

	if (!out || perch_export_write(export, out, NULL) || fclose(out))
		abort();
	if (svg ? strstr(text, "<script") != NULL
		: strstr(strstr(text, "id=\"data\""), "<scripts") != NULL)
		abort();
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	size_t half = size / 2;

	for (int svg = 0; svg < 2; svg++) {
		enum perch_export_format format = svg ? PERCH_EXPORT_SVG : PERCH_EXPORT_PAGE;
		struct perch_export *old = read_text(format, bytes, half, NULL);
		struct perch_export *new = read_text(format, bytes + half, size - half, old);

		write_export(new, svg);
		perch_export_free(new);
		new = read_text(format, bytes, size, NULL);
		write_export(new, svg);
		perch_export_free(new);
		perch_export_free(old);
	}
	return 0;
}
