/* SPDX-License-Identifier: MIT */
/* What the files of perch kmem share. */
#ifndef PERCH_CLI_TABLES_KMEM_H
#define PERCH_CLI_TABLES_KMEM_H

#include "tables.h"

enum { KMEM_BY_CALLER, KMEM_BY_ALLOCATION, KMEM_TABLES }; /* tables */

/* Sums of all allocations. */
struct kmem_sums {
	uint64_t allocations, requested, allocated; /* slab: bytes */
	uint64_t frees, freed, remote;		    /* of matched objects; by another CPU */
	uint64_t failed, other_frees, matched; /* pages: frees of others; bytes of matched ones */
};

struct kmem {
	struct tables tables;
	bool slab, page, by_caller, by_allocation, live, raw_ip;
	struct tables_table *chosen; /* by the last of --caller and --alloc; NULL: none */
	struct kmem_sums sums;
};

static inline struct kmem *kmem_of(struct tables *tables)
{
	return (struct kmem *)tables;
}

static inline const struct kmem *const_kmem_of(const struct tables *tables)
{
	return (const struct kmem *)tables;
}

/* Names a row by an address of the kernel. Returns 0 or -ENOMEM. */
int kmem_name_row(struct kmem *kmem, struct tables_row *row, uint64_t address);

/* ---- kmem_pages.c ---- */

extern const struct tables_event kmem_page_events[];
extern const struct tables_view kmem_page_views[KMEM_TABLES];
void kmem_print_pages(const struct tables *tables);

#endif
