/* SPDX-License-Identifier: MIT */
/*
 * A writer that simulates the kernel, in a thread of the test. It reserves space as the kernel does
 * (one byte always stays free), counts records without space, and writes a LOST record before the
 * next one with space. It loads data_tail with acquire order before it writes, and stores data_head
 * with release order after the bytes. With `backward` it writes downwards and overwrites the oldest
 * records. It fills the AUX area as hardware does: bytes first, then the AUX record, then aux_head.
 * Every record, also a lost one, has a serial number, which determines its bytes.
 */
#ifndef RING_KERNEL_H
#define RING_KERNEL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <perch/ring.h>

#define RING_KERNEL_MIN 24 /* header, serial, sum */
#define RING_KERNEL_MAX 512

struct ring_kernel {
	struct perch_mmap_page *control;
	char *data;
	uint64_t size;
	bool backward;
	bool paused;  /* atomic: set by the reader */
	bool stopped; /* atomic: the writer has seen it */
	uint64_t head, lost;
	uint64_t serial; /* of the next record */
	uint64_t newest; /* serial number of the last written sample */
	uint64_t written, lost_ever, bytes;
	char *aux;
	uint64_t aux_size, aux_head, aux_refused;
	uint32_t random;
};

static inline uint32_t ring_kernel_random(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

/* Word number i of a record. */
static inline uint64_t ring_kernel_word(uint64_t serial, size_t i)
{
	return (serial + 1) * 0x9e3779b97f4a7c15ull ^ ((uint64_t)i << 32 | i);
}

/* Byte number position of the trace. */
static inline uint8_t ring_kernel_trace(uint64_t position)
{
	return position * 0x9e3779b97f4a7c15ull >> 56;
}

static inline struct ring_kernel *ring_kernel_new(size_t size, size_t aux_size, bool backward,
						  uint64_t start, uint32_t seed)
{
	struct ring_kernel *k = calloc(1, sizeof(*k));

	k->control = calloc(1, sizeof(*k->control));
	k->data = calloc(1, size);
	k->size = size;
	k->backward = backward;
	k->random = seed;
	k->head = k->control->data_head = k->control->data_tail = start;
	if (aux_size) {
		k->aux = calloc(1, aux_size);
		k->aux_size = aux_size;
		k->aux_head = k->control->aux_head = k->control->aux_tail = start;
	}
	return k;
}

static inline void ring_kernel_free(struct ring_kernel *k)
{
	free(k->control);
	free(k->data);
	free(k->aux);
	free(k);
}

static inline void ring_kernel_copy(struct ring_kernel *k, uint64_t position, const void *bytes,
				    size_t size)
{
	uint64_t offset = position & (k->size - 1), first = k->size - offset;

	if (first > size)
		first = size;
	memcpy(k->data + offset, bytes, first);
	memcpy(k->data, (const char *)bytes + first, size - first);
}

/* Writes one record, or counts it as lost if there is no space. */
static inline bool ring_kernel_put(struct ring_kernel *k, const void *bytes, size_t size)
{
	struct {
		struct perch_record_header header;
		uint64_t id, lost;
	} lost = { { PERCH_RECORD_LOST, 0, 24 }, 7, k->lost };
	uint64_t extra = k->lost ? sizeof(lost) : 0, tail, at;

	if (!k->backward) {
		tail = __atomic_load_n(&k->control->data_tail, __ATOMIC_ACQUIRE);
		if (((tail - k->head - 1) & (k->size - 1)) < size + extra) {
			k->lost++;
			k->lost_ever++;
			return false;
		}
	}
	at = k->backward ? k->head - size - extra : k->head;
	if (extra)
		ring_kernel_copy(k, at, &lost, sizeof(lost));
	ring_kernel_copy(k, at + extra, bytes, size);
	k->head = k->backward ? at : at + extra + size;
	k->lost = 0;
	k->bytes += size + extra;
	k->written++;
	__atomic_store_n(&k->control->data_head, k->head, __ATOMIC_RELEASE);
	return true;
}

/* A sample: its serial number, a sum of the other words, then words that the number determines. */
static inline bool ring_kernel_sample(struct ring_kernel *k, size_t size)
{
	uint64_t words[RING_KERNEL_MAX / 8];
	struct perch_record_header header = { PERCH_RECORD_SAMPLE, 0, (uint16_t)size };

	memcpy(words, &header, sizeof(header));
	words[1] = k->serial++;
	words[2] = 0;
	for (size_t i = 3; i < size / 8; i++)
		words[2] += words[i] = ring_kernel_word(words[1], i);
	if (!ring_kernel_put(k, words, size))
		return false;
	k->newest = words[1];
	return true;
}

static inline bool ring_kernel_sound(const struct perch_record_header *record)
{
	const uint64_t *words = (const uint64_t *)record;
	uint64_t sum = 0;

	if (record->type != PERCH_RECORD_SAMPLE || record->size < RING_KERNEL_MIN ||
	    record->size > RING_KERNEL_MAX)
		return false;
	for (size_t i = 3; i < record->size / 8; i++) {
		if (words[i] != ring_kernel_word(words[1], i))
			return false;
		sum += words[i];
	}
	return words[2] == sum;
}

/* Writes trace data: as much as there is space for, flagged as truncated if that is not all. */
static inline void ring_kernel_aux(struct ring_kernel *k, uint64_t wanted)
{
	struct {
		struct perch_record_header header;
		uint64_t offset, size, flags, serial;
	} record = {
		{ PERCH_RECORD_AUX, 0, 40 }, k->aux_head, wanted, 0, k->serial,
	};
	uint64_t tail = __atomic_load_n(&k->control->aux_tail, __ATOMIC_ACQUIRE);
	uint64_t space =
		k->aux_head - tail < k->aux_size ? (tail - k->aux_head - 1) & (k->aux_size - 1) : 0;

	if (!space) {
		k->aux_refused++;
		return;
	}
	if (wanted > space) {
		record.size = space;
		record.flags = PERCH_AUX_FLAG_TRUNCATED;
	}
	for (uint64_t i = 0; i < record.size; i++)
		k->aux[(k->aux_head + i) & (k->aux_size - 1)] =
			(char)ring_kernel_trace(k->aux_head + i);
	k->aux_head += record.size;
	k->serial++;
	ring_kernel_put(k, &record, sizeof(record));
	__atomic_store_n(&k->control->aux_head, k->aux_head, __ATOMIC_RELEASE);
}

#endif
