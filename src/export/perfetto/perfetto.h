/* SPDX-License-Identifier: MIT */
/*
 * Perfetto's format: a Trace message (perfetto_trace.proto), compressed by gzip. Messages that
 * follow each other are one message with the packets of all of them, so each packet is written as a
 * Trace of its own.
 *
 *	perfetto.c		the file: the machine, processes and threads
 *	perfetto_schedule.c	switches and wakeups of each CPU, as ftrace has them
 *	perfetto_samples.c	samples with call stacks, and counts
 *	perfetto_packet.c	packets
 */
#ifndef PERCH_EXPORT_PERFETTO_H
#define PERCH_EXPORT_PERFETTO_H

#include "export/schedule.h"
#include "perfetto_trace.pb-c.h"

/* Packets refer to interned data of the same sequence. Events have a sequence each, from
 * SEQUENCE_EVENTS on. */
enum { SEQUENCE_MAIN = 1, SEQUENCE_EVENTS };

struct perfetto {
	struct perch_export *export;
	struct gzip *gzip;
	uint8_t *message; /* one packed message */
	size_t capacity;
};

/* Sets an optional number of a message. */
#define PERFETTO_SET(message_, member_, value_) \
	((message_).has_##member_ = 1, (message_).member_ = (value_))

/* perfetto_packet.c: writes a packet of a sequence. Returns 0 or a negative errno. */
int perch__perfetto_put(struct perfetto *perfetto, Perch__Perfetto__TracePacket *packet,
			uint32_t sequence);

int perch__perfetto_schedule(struct perfetto *perfetto);
int perch__perfetto_samples(struct perfetto *perfetto);

#endif
