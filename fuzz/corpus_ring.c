/* SPDX-License-Identifier: MIT */
/* Inputs of fuzz_ring: its setting, then steps that write records as the kernel does, and read
 * them. */
#include <stdio.h>

#include "corpus.h"

#define RING_BITS 9 /* 8 << 9 bytes */
#define STEPS	  8

enum step {
	STEP_AUX_HEAD = 4,
	STEP_WRITE_BACKWARD = 6,
	STEP_READ = 7,
	STEP_PEEK = 8,
	STEP_NEWEST = 9,
	STEP_OLDEST = 10,
	STEP_RESUME = 11,
	STEP_AUX = 13,
	STEP_WRITE = 14,
	STEP_MERGE = 28,
};

/* First positions of a ring, from which positions and records wrap. An overwrite ring begins at 0.
 */
static const uint64_t starts[] = { 0, (8 << RING_BITS) - 24, (UINT64_C(1) << 32) - 40,
				   UINT64_MAX - 63 };

static void put_setting(struct build_bytes *bytes, uint64_t sample_type, uint64_t start,
			bool overwrite)
{
	for (int i = 0; i < 4; i++) /* head, tail, and those of the AUX area */
		build_put_number(bytes, start, 8);
	build_put_number(bytes, sample_type, 8);
	build_put_number(bytes, RING_BITS, 1);
	build_put_number(bytes, 4, 1);
	build_put_number(bytes, overwrite, 1);
	build_put_zeros(bytes, 5);
}

static void put_step(struct build_bytes *bytes, enum step step, uint64_t argument, unsigned size)
{
	build_put_number(bytes, step, 1);
	if (size)
		build_put_number(bytes, argument, size);
}

static void put_reading(struct build_bytes *bytes, bool overwrite, struct build_rng *rng)
{
	if (overwrite) {
		put_step(bytes, build_percent(rng, 50) ? STEP_NEWEST : STEP_OLDEST, 0, 0);
		put_step(bytes, STEP_RESUME, 0, 0);
	} else if (build_percent(rng, 30)) {
		put_step(bytes, STEP_MERGE, 0, 0);
	} else if (build_percent(rng, 50)) {
		put_step(bytes, STEP_READ, 8, 1);
	} else {
		put_step(bytes, STEP_PEEK, 8, 2);
	}
}

/* Some trace, the AUX record that describes it, and how much of it is consumed. */
static void put_aux(struct build_bytes *bytes, uint64_t start, struct build_rng *rng)
{
	uint64_t size = 1 + build_below(rng, 100);

	put_step(bytes, STEP_AUX_HEAD, size, 2);
	put_step(bytes, STEP_AUX, start, 8);
	build_put_number(bytes, size, 8);
	build_put_number(bytes, build_below(rng, 16), 1);
	build_put_number(bytes, size / 2, 2);
}

void corpus_write_rings(void)
{
	static struct build_record record;
	static struct build_bytes bytes, one;
	char name[64];

	for (unsigned seed = 0; seed < 12; seed++) {
		struct build_rng rng = { .state = seed };
		struct build_shape shape;
		bool overwrite = seed & 1;
		uint64_t start = overwrite ? 0 : starts[seed / 2 % 4];

		build_fill_shape(&shape, &rng);
		shape.sample_type &= ~(uint64_t)(PERCH_SAMPLE_READ | PERCH_SAMPLE_BRANCH_STACK |
						 PERCH_SAMPLE_REGS_USER | PERCH_SAMPLE_REGS_INTR);
		shape.big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
		shape.sample_id_all = true;
		bytes.size = 0;
		put_setting(&bytes, shape.sample_type, start, overwrite);
		for (unsigned i = 0; i < STEPS; i++) {
			record.shape = shape;
			build_fill(&record, build_percent(&rng, 40) ? PERCH_RECORD_SAMPLE : 0,
				   &rng);
			build_write(&one, &record);
			if (one.size / 8 > UINT8_MAX)
				continue;
			put_step(&bytes, overwrite ? STEP_WRITE_BACKWARD : STEP_WRITE, one.size / 8,
				 1);
			build_put(&bytes, one.byte, one.size);
			if (i & 1)
				put_reading(&bytes, overwrite, &rng);
		}
		put_aux(&bytes, start, &rng);
		snprintf(name, sizeof(name), "built-%u", seed);
		corpus_write("ring", name, bytes.byte, bytes.size);
	}
}
