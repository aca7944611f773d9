/* SPDX-License-Identifier: MIT */
/*
 * Writes the records of the rings to the file. A round takes the records that all rings have at one
 * moment and writes them directly from the memory of the rings. A FINISHED_ROUND record follows it:
 * readers sort by rounds.
 */
#include <errno.h>
#include <stdlib.h>

#include "record_rings.h"

static void find_backward(struct record_rings *rings, size_t events)
{
	for (size_t event = 0; event < events; event++) {
		size_t ring;
		pid_t pid;
		int cpu;

		for (size_t id = 0;
		     !perch_sampler_id_info(rings->sampler, event, id, &cpu, &pid, &ring); id++)
			rings->backward[ring] = true;
	}
}

int record_rings_init(struct record_rings *rings, struct perch_sampler *sampler,
		      size_t backward_events)
{
	size_t nr = perch_sampler_rings(sampler);

	*rings = (struct record_rings){
		.sampler = sampler,
		.nr = nr,
		.pieces = calloc(2 * nr + 1, sizeof(*rings->pieces)),
		.bytes = calloc(nr, sizeof(*rings->bytes)),
		.backward = calloc(nr, sizeof(*rings->backward)),
	};
	if (!rings->pieces || !rings->bytes || !rings->backward)
		return -ENOMEM;
	find_backward(rings, backward_events);
	return 0;
}

void record_rings_clear(struct record_rings *rings)
{
	free(rings->pieces);
	free(rings->bytes);
	free(rings->backward);
}

/* The file has only the first `written` bytes of the pieces of a round. before: number of samples
 * before the round. */
static void count_unwritten(const struct record_rings *rings, struct record_scan *scan, int nr,
			    uint64_t before, uint64_t written)
{
	uint64_t samples = record_scan_count_samples(rings->pieces, nr, written), bytes = 0;

	for (size_t i = 0; i < rings->nr; i++)
		bytes += rings->bytes[i];
	scan->unwritten_bytes += bytes > written ? bytes - written : 0;
	scan->unwritten_samples += scan->samples - before - samples;
	scan->samples = before + samples;
}

ssize_t record_write_round(struct record_rings *rings, struct record_scan *scan,
			   struct perch_writer *writer, struct perch_error *err)
{
	static const struct perch_record_header round_end = { PERCH_RECORD_FINISHED_ROUND, 0, 8 };
	uint64_t samples = scan->samples, size = writer ? perch_writer_size(writer) : 0;
	ssize_t taken = 0;
	int nr = 0;
	int rc;

	for (size_t i = 0; i < rings->nr; i++) {
		struct iovec *pieces = &rings->pieces[nr];

		rings->bytes[i] = perch_ring_peek(perch_sampler_ring(rings->sampler, i), pieces);
		if (!rings->bytes[i])
			continue;
		record_scan_ring(scan, i, pieces);
		taken += rings->bytes[i];
		nr += pieces[1].iov_len ? 2 : 1;
	}
	if (!taken)
		return 0;
	rings->pieces[nr++] = (struct iovec){ (void *)&round_end, sizeof(round_end) };
	rc = writer ? perch_writer_append(writer, rings->pieces, nr, err) : 0;
	if (rc < 0)
		count_unwritten(rings, scan, nr, samples, perch_writer_size(writer) - size);
	for (size_t i = 0; i < rings->nr; i++)
		perch_ring_consume(perch_sampler_ring(rings->sampler, i), rings->bytes[i]);
	return rc < 0 ? rc : taken;
}

void record_discard_round(struct record_rings *rings, struct record_scan *scan)
{
	uint64_t samples = scan->samples;
	ssize_t taken = record_write_round(rings, scan, NULL, NULL);

	scan->unwritten_bytes += taken > 0 ? (uint64_t)taken : 0;
	scan->unwritten_samples += scan->samples - samples;
	scan->samples = samples;
}

struct record_ring_source record_ring_source(const struct record_rings *rings, size_t nr_events,
					     size_t ring)
{
	struct record_ring_source source;
	size_t found;

	for (size_t event = 0; event < nr_events; event++)
		for (size_t id = 0; !perch_sampler_id_info(rings->sampler, event, id, &source.cpu,
							   &source.tid, &found);
		     id++)
			if (found == ring)
				return source;
	return (struct record_ring_source){ -1, -1 };
}

uint64_t record_rings_overwritten(const struct record_rings *rings)
{
	uint64_t all = 0;

	for (size_t i = 0; i < rings->nr; i++) {
		struct perch_ring_stats stats;

		if (!rings->backward[i])
			continue;
		perch_ring_get_stats(perch_sampler_ring(rings->sampler, i), &stats);
		all += stats.overwritten;
	}
	return all;
}
