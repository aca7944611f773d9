/* SPDX-License-Identifier: MIT */
/* Messages, one after the other. */
#include <errno.h>
#include <stdlib.h>
#include <protobuf-c/protobuf-c.h>

#include "base/array.h"
#include "encoder.h"

int perch__encoder_put(struct encoder_bytes *bytes, const struct ProtobufCMessage *message)
{
	size_t size = protobuf_c_message_get_packed_size(message);

	if (size > INT32_MAX || bytes->nr + size > INT32_MAX)
		return -EFBIG;
	if (PERCH__ARRAY_RESERVE_BY_NR(bytes->byte, bytes->nr, size))
		return -ENOMEM;
	bytes->nr += protobuf_c_message_pack(message, bytes->byte + bytes->nr);
	return 0;
}

int perch__encoder_flush(struct encoder_output *output, struct encoder_bytes *bytes)
{
	output->size += bytes->nr;
	if (output->size > INT32_MAX)
		return -EFBIG;
	errno = 0;
	if (output->gzip)
		perch__gzip_write(output->gzip, bytes->byte, bytes->nr);
	else if (fwrite(bytes->byte, 1, bytes->nr, output->out) < bytes->nr && !output->error)
		output->error = errno ? errno : EIO;
	free(bytes->byte);
	*bytes = (struct encoder_bytes){ 0 };
	return 0;
}
