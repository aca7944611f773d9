/* SPDX-License-Identifier: MIT */
/* The file of a profile. */
#include <errno.h>

#include "encoder.h"

#if PERCH_HAVE_PPROF
static int (*const formats[])(struct perch_encoder *encoder, struct encoder_output *output) = {
	[PERCH_ENCODER_PPROF] = perch__encoder_pprof,
	[PERCH_ENCODER_OTLP] = perch__encoder_otlp,
};

int perch_encoder_write(struct perch_encoder *encoder, enum perch_encoder_format format,
			unsigned flags, FILE *out, struct perch_error *err)
{
	struct encoder_output output = { .out = out };
	int rc;

	if ((size_t)format >= sizeof(formats) / sizeof(formats[0]) ||
	    flags & ~(unsigned)(PERCH_ENCODER_GZIP | PERCH_ENCODER_THREADS))
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "a profile has no format %d with flags %#x", (int)format,
				       flags);
	if (flags & PERCH_ENCODER_GZIP) {
		output.gzip = perch__gzip_open(out, flags & PERCH_ENCODER_THREADS);
		if (!output.gzip)
			return PERCH__NO_MEMORY(err, "for a profile");
	}
	rc = formats[format](encoder, &output);
	if (output.gzip)
		output.error = perch__gzip_close(output.gzip);
	rc = perch__export_protobuf_result(rc, output.error, "profile", err);
	return rc ? rc : perch__export_flush(out, err);
}
#else
int perch_encoder_write(struct perch_encoder *encoder, enum perch_encoder_format format,
			unsigned flags, FILE *out, struct perch_error *err)
{
	(void)encoder, (void)format, (void)flags, (void)out;
	return perch__export_not_built(format == PERCH_ENCODER_OTLP ? "otlp" : "pprof", err);
}
#endif
