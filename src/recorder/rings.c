/* SPDX-License-Identifier: MIT */
/*
 * Writes the records of the rings to the file. A round takes the records that all rings have at one
 * moment and writes them directly from the memory of the rings. A FINISHED_ROUND record follows it:
 * readers sort by rounds.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/no_memory.h"
#include "recorder/descendants/descendants.h"
#include "internal.h"

static void find_backward(struct recorder_rings *rings, size_t events)
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

int perch__recorder_rings_init(struct recorder_rings *rings, struct perch_sampler *sampler,
			       size_t backward_events)
{
	size_t nr = perch_sampler_rings(sampler);

	*rings = (struct recorder_rings){
		.sampler = sampler,
		.nr = nr,
		.pieces = calloc(2 * nr, sizeof(*rings->pieces)),
		.bytes = calloc(nr, sizeof(*rings->bytes)),
		.backward = calloc(nr, sizeof(*rings->backward)),
		.ahead = calloc(nr, sizeof(*rings->ahead)),
	};
	if (!rings->pieces || !rings->bytes || !rings->backward || !rings->ahead)
		return -ENOMEM;
	find_backward(rings, backward_events);
	return 0;
}

int perch__recorder_rings_part(struct recorder_rings *rings, const struct recorder_rings *all,
			       const struct perch_cpus *cpus, const int *cpu_of_ring)
{
	*rings = (struct recorder_rings){
		.sampler = all->sampler,
		.index = calloc(all->nr + 1, sizeof(*rings->index)),
		.pieces = calloc(2 * all->nr + 1, sizeof(*rings->pieces)),
		.bytes = calloc(all->nr + 1, sizeof(*rings->bytes)),
	};
	if (!rings->index || !rings->pieces || !rings->bytes)
		return -ENOMEM;
	for (size_t i = 0; i < all->nr; i++)
		if (perch_cpus_contains(cpus, cpu_of_ring[i]))
			rings->index[rings->nr++] = i;
	return 0;
}

static struct perch_ring *get_ring(const struct recorder_rings *rings, size_t i)
{
	return perch_sampler_ring(rings->sampler, rings->index ? rings->index[i] : i);
}

void perch__recorder_rings_clear(struct recorder_rings *rings)
{
	free(rings->index);
	free(rings->pieces);
	free(rings->written);
	free(rings->bytes);
	free(rings->backward);
	free(rings->ahead);
}

/* The file has only the first `written` bytes of the nr pieces of a round. before: number of
 * samples before the round. */
static void count_unwritten(const struct recorder_rings *rings, struct recorder_scan *scan, int nr,
			    uint64_t before, uint64_t written)
{
	uint64_t samples = perch__recorder_scan_count_samples(rings->written, nr, written),
		 bytes = 0;

	if (nr && rings->written[0].iov_base == scan->users.record)
		bytes = rings->written[0].iov_len; /* not of the rings */
	bytes += rings->finished.iov_len;
	for (size_t i = 0; i < 2 * rings->nr; i++)
		bytes += rings->pieces[i].iov_len;
	scan->unwritten_bytes += bytes > written ? bytes - written : 0;
	scan->unwritten_samples += scan->samples - before - samples;
	scan->samples = before + samples;
}

/* Leaves only the records of some processes in the pieces. Returns 0 or -ENOMEM. */
static int select_records(struct recorder_rings *rings, struct recorder_descendants *descendants)
{
	size_t at = 0;

	perch__recorder_descendants_next_round(descendants);
	for (size_t i = 0; i < rings->nr; i++) {
		struct perch_ring *ring = get_ring(rings, i);
		struct iovec pieces[2];
		size_t bytes = ring ? perch_ring_peek(ring, pieces) : 0;

		if (bytes && perch__recorder_descendants_look(descendants, pieces, rings->bytes[i],
							      rings->ahead[i]) < 0)
			return -ENOMEM;
		rings->ahead[i] = bytes - rings->bytes[i];
	}
	if (perch__recorder_descendants_apply(descendants) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < rings->nr; i++) {
		struct iovec *pieces = &rings->pieces[2 * i];
		ssize_t size = perch__recorder_descendants_keep(descendants, pieces);

		if (size < 0)
			return -ENOMEM;
		pieces[0] = (struct iovec){ NULL, (size_t)size };
		pieces[1] = (struct iovec){ 0 };
	}
	for (size_t i = 0; i < rings->nr; at += rings->pieces[2 * i++].iov_len)
		rings->pieces[2 * i].iov_base = descendants->bytes + at;
	return 0;
}

/* Takes and scans the new records of all rings. Returns the number of bytes, or -ENOMEM. */
static ssize_t take_round(struct recorder_rings *rings, struct recorder_scan *scan)
{
	ssize_t taken = 0;

	scan->edits.nr = scan->edits.used = 0;
	perch__recorder_ids_next_round(&scan->ids);
	scan->users.round++;
	for (size_t i = 0; i < rings->nr; i++) {
		struct iovec *pieces = &rings->pieces[2 * i];
		struct perch_ring *ring = get_ring(rings, i);

		/* that of a removed thread is gone */
		rings->bytes[i] = ring ? perch_ring_peek(ring, pieces) : 0;
		if (!rings->bytes[i])
			pieces[0].iov_len = pieces[1].iov_len = 0;
	}
	if (rings->descendants && select_records(rings, rings->descendants) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < rings->nr; i++) {
		const struct iovec *pieces = &rings->pieces[2 * i];
		const size_t bytes = pieces[0].iov_len + pieces[1].iov_len;

		if (bytes)
			perch__recorder_scan_ring(scan, i, pieces);
		taken += (ssize_t)bytes;
	}
	return taken;
}

/* Makes the pieces that are written. Returns their number, or -ENOMEM. */
static int splice_round(struct recorder_rings *rings, struct recorder_scan *scan)
{
	const struct recorder_edits *edits = &scan->edits;
	static const struct perch_record_header round_end = { PERCH_RECORD_FINISHED_ROUND, 0, 8 };
	size_t next = 0, nr = 0;

	if (PERCH__ARRAY_RESERVE(rings->written, rings->written_capacity,
				 2 * rings->nr + 2 * edits->nr + 3))
		return -ENOMEM;
	rings->written[nr] = perch__recorder_users_take(&scan->users);
	nr += rings->written[nr].iov_len > 0;
	for (size_t i = 0; i < rings->nr; i++)
		nr += perch__recorder_edits_splice(edits, &next, i, &rings->pieces[2 * i],
						   rings->written + nr);
	if (rings->finished.iov_len)
		rings->written[nr++] = rings->finished;
	/* records of other threads may be older */
	if (!rings->index)
		rings->written[nr++] = (struct iovec){ (void *)&round_end, sizeof(round_end) };
	return (int)nr;
}

/*
 * Samples of off-CPU time are of the round before. Their rings are read after those of the events,
 * so no record of a round that a reader has finished is later than they are.
 */
static ssize_t take_off_cpu(struct recorder_rings *rings, struct recorder_scan *scan)
{
	uint64_t samples = 0;

	rings->finished = (struct iovec){ 0 };
	if (rings->off_cpu)
		rings->finished = perch__off_cpu_read(rings->off_cpu, &samples);
	scan->samples += samples;
	return (ssize_t)rings->finished.iov_len;
}

static void consume_round(const struct recorder_rings *rings)
{
	for (size_t i = 0; i < rings->nr; i++)
		if (rings->bytes[i])
			perch_ring_consume(get_ring(rings, i), rings->bytes[i]);
}

ssize_t perch__recorder_write_round(struct recorder_rings *rings, struct recorder_scan *scan,
				    struct recorder_output *output, struct perch_error *err)
{
	uint64_t samples = scan->samples, size = perch__recorder_output_records(output);
	ssize_t taken = take_round(rings, scan);
	int nr, rc;

	/* the rings keep what they have: nobody knows what of it is to be written */
	if (taken < 0)
		return PERCH__NO_MEMORY(err, "to record with");
	taken += take_off_cpu(rings, scan);
	if (!taken) {
		consume_round(rings);
		return 0;
	}
	nr = splice_round(rings, scan);
	if (nr < 0)
		rc = PERCH__NO_MEMORY(err, "to record with");
	else
		rc = perch__recorder_append(output, rings->written, nr, err);
	if (rc < 0)
		count_unwritten(rings, scan, nr < 0 ? 0 : nr, samples,
				perch__recorder_output_records(output) - size);
	consume_round(rings);
	return rc < 0 ? rc : taken;
}

void perch__recorder_discard_round(struct recorder_rings *rings, struct recorder_scan *scan)
{
	uint64_t samples = scan->samples;
	ssize_t taken = perch__recorder_write_round(rings, scan, NULL, NULL);

	scan->unwritten_bytes += taken > 0 ? (uint64_t)taken : 0;
	scan->unwritten_samples += scan->samples - samples;
	scan->samples = samples;
}

uint64_t perch__recorder_rings_overwritten(const struct recorder_rings *rings)
{
	uint64_t all = 0;

	for (size_t i = 0; i < rings->nr; i++) {
		struct perch_ring_stats stats;

		struct perch_ring *ring = perch_sampler_ring(rings->sampler, i);

		if (!rings->backward[i] || !ring)
			continue;
		perch_ring_get_stats(ring, &stats);
		all += stats.overwritten;
	}
	return all;
}
