/* SPDX-License-Identifier: MIT */
/* Perfetto's format: packets. */
#include <errno.h>

#include "base/array.h"
#include "perfetto.h"

int perch__perfetto_put(struct perfetto *perfetto, Perch__Perfetto__TracePacket *packet,
			uint32_t sequence)
{
	Perch__Perfetto__Trace trace = PERCH__PERFETTO__TRACE__INIT;
	size_t size;

	PERFETTO_SET(*packet, trusted_packet_sequence_id, sequence);
	trace.n_packet = 1;
	trace.packet = &packet;
	size = perch__perfetto__trace__get_packed_size(&trace);
	if (size > INT32_MAX)
		return -EFBIG;
	if (PERCH__ARRAY_RESERVE(perfetto->message, perfetto->capacity, size))
		return -ENOMEM;
	perch__perfetto__trace__pack(&trace, perfetto->message);
	perch__gzip_write(perfetto->gzip, perfetto->message, size);
	return 0;
}
