/* SPDX-License-Identifier: MIT */
/* perch c2c: the sums, the lines, and the accesses to each line. */
#include <inttypes.h>
#include <string.h>

#include "memory.h"

static void print_sum(const char *name, uint64_t value)
{
	printf("  %-35s: %10" PRIu64 "\n", name, value);
}

/* The names are those of perf c2c. */
static void print_sums(const struct c2c *c2c)
{
	const struct c2c_sums *sums = &c2c->sums;
	size_t shared = 0;

	for (size_t i = 0; i < c2c->nr_lines; i++)
		shared += c2c->line[i].shared;
	print_sum("Total records", sums->records);
	print_sum("Load Operations", sums->loads);
	print_sum("Load Local HITM", sums->local_hitm);
	print_sum("Load Remote HITM", sums->remote_hitm);
	print_sum("Load Local Peer", sums->local_peer);
	print_sum("Load Remote Peer", sums->remote_peer);
	print_sum("Store Operations", sums->stores);
	print_sum("Store L1D Hit", sums->stores_l1_hit);
	print_sum("Store L1D Miss", sums->stores_l1_miss);
	print_sum("Records without an address", c2c->without_address);
	print_sum("Cache lines", c2c->nr_lines);
	print_sum("Cache lines that threads share", shared);
}

static void print_numbers(const struct c2c_sums *sums)
{
	printf(" %8" PRIu64 " %6" PRIu64 " %6" PRIu64 " %6" PRIu64 " %7" PRIu64 " %7" PRIu64
	       " %7" PRIu64 " %7" PRIu64,
	       sums->records, sums->local_hitm + sums->remote_hitm, sums->local_hitm,
	       sums->remote_hitm, sums->loads, sums->stores, sums->stores_l1_hit,
	       sums->stores_l1_miss);
}

static void print_source(const struct c2c *c2c, const struct perch_address *address)
{
	struct perch_symbols *symbols = perch_session_symbols(c2c->input.session);
	const struct perch_symbol_frame *frames;
	const char *slash;
	int nr;

	if (c2c->no_source || !perch_symbols_has_debug_info(symbols, address->dso))
		return;
	nr = perch_symbols_frames(symbols, address->dso, address->offset, &frames);
	if (nr <= 0 || !frames[0].file || !frames[0].line)
		return;
	slash = strrchr(frames[0].file, '/');
	printf("  %s:%" PRIu32, slash ? slash + 1 : frames[0].file, frames[0].line);
}

static void print_access(const struct c2c *c2c, const struct c2c_access *access)
{
	struct perch_symbols *symbols = perch_session_symbols(c2c->input.session);
	const struct perch_address *address =
		perch_session_address(c2c->input.session, access->address);
	char thread[40];

	printf("    0x%-14" PRIx32, access->offset);
	print_numbers(&access->sums);
	snprintf(thread, sizeof(thread), "%s-%" PRIu32, access->comm, access->tid);
	printf(" %4d  %-22s ", __builtin_popcountll(access->cpus), thread);
	if (address->symbol)
		fputs(perch_symbols_name(symbols, address->symbol), stdout);
	else
		printf("%#" PRIx64, address->offset);
	printf("  %s", perch_symbols_dso_name(symbols, address->dso));
	print_source(c2c, address);
	putchar('\n');
}

static void print_line(const struct c2c *c2c, const struct c2c_line *line)
{
	printf("0x%-18" PRIx64, line->shown);
	print_numbers(&line->sums);
	putchar('\n');
	for (size_t i = 0; i < line->nr; i++)
		print_access(c2c, &c2c->access[line->first + i]);
	putchar('\n');
}

void c2c_print(struct c2c *c2c)
{
	size_t shown = 0;

	print_sums(c2c);
	if (c2c->only_stats)
		return;
	if (!c2c->has_sources)
		puts("\n# Samples have no data sources: which accesses read is unknown, and HITM.");
	puts("\n# Lines of the cache that several threads access and one of them writes, and the accesses to each");
	printf("# %-18s %8s %6s %6s %6s %7s %7s %7s %7s %4s  %-22s %s\n", "Address, offset",
	       "Records", "HITM", "local", "remote", "Loads", "Stores", "L1 hit", "L1 miss", "CPUs",
	       "Thread", "Function, file, source");
	for (size_t i = 0; i < c2c->nr_lines; i++)
		if (c2c->show_all || c2c->line[i].shared || c2c_weight(c2c, &c2c->line[i].sums)) {
			print_line(c2c, &c2c->line[i]);
			shown++;
		}
	if (!shown)
		puts("# none");
}
