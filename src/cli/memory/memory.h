/* SPDX-License-Identifier: MIT */
/*
 * What perch mem and perch c2c share: which thread accessed which memory.
 *
 *	mem.c		perch mem
 *	c2c.c		perch c2c: the command
 *	c2c_print.c	its tables
 *	c2c_lines.c	accesses added up by line of the cache
 *	mem_record.c	perch record of the accesses that this machine can sample
 */
#ifndef PERCH_CLI_MEMORY_H
#define PERCH_CLI_MEMORY_H

#include "base/hash_table.h"
#include "input/filter_options.h"
#include "input/input.h"
#include "options.h"

/* ---- mem_record.c ---- */

struct mem_events {
	bool loads, stores; /* neither: both */
	uint64_t latency;   /* loads with at least this latency, in cycles; 0: 30 */
};

/* perch record with events of memory accesses, if the arguments have none. argv[0] is "record". own
 * are options of the command, up to NULL. Returns the exit status. */
int mem_record(const char *command, const struct mem_events *events, const char *const *own,
	       int argc, char **argv);

/* ---- c2c_lines.c ---- */

/* Accesses, as perf c2c counts them. HITM: the line was modified in the cache of another core. */
struct c2c_sums {
	uint64_t records, loads, stores;
	uint64_t local_hitm, remote_hitm, local_peer, remote_peer;
	uint64_t stores_l1_hit, stores_l1_miss;
};

/* The accesses of a thread to an offset of a line by an instruction. */
struct c2c_access {
	uint32_t line;	  /* index */
	uint32_t address; /* of the code: for perch_session_address() */
	uint32_t pid, tid;
	uint32_t offset; /* in the line */
	uint64_t cpus;	 /* mask of CPUs modulo 64 */
	struct c2c_sums sums;
	char comm[16]; /* cleaned */
};

struct c2c_line {
	uint32_t pid;	  /* 0: the address is physical, or of the kernel */
	uint64_t address; /* of its first byte */
	uint64_t shown;	  /* its virtual address, as the first access has it */
	struct c2c_sums sums;
	uint32_t first_tid, first_writer; /* UINT32_MAX: none yet */
	bool several, shared; /* several threads access it; shared: and one of them writes it */
	size_t first, nr;     /* range of accesses, after c2c_sort() */
};

struct c2c {
	struct cli_input input;
	struct cli_filter filter;
	const char *display; /* of -d: tot, lcl, rmt or peer */
	bool show_all, only_stats, no_source;
	struct c2c_line *line;
	struct c2c_access *access;
	size_t nr_lines, nr_accesses;
	struct perch__hash_table lines, accesses;
	struct c2c_sums sums;
	uint64_t without_address, line_size;
	bool has_sources; /* samples have a data_src */
};

/* Adds a sample. Returns 0 or -ENOMEM. */
int c2c_add(struct c2c *c2c, const struct perch_session_sample *sample);
/* What lines are sorted by: of -d, or the records if nothing has HITM. */
uint64_t c2c_weight(const struct c2c *c2c, const struct c2c_sums *sums);
/* Sorts the lines, and the accesses of each. */
void c2c_sort(struct c2c *c2c);
void c2c_clear(struct c2c *c2c);

/* ---- c2c_print.c ---- */

void c2c_print(struct c2c *c2c);

#endif
