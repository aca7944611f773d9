/* SPDX-License-Identifier: MIT */
/* Prints the features that describe CPUs, caches and memory, in the lines of `perf report -I`. */
#include <inttypes.h>

#include "print.h"

#define MAX_CPUS 65536

/* ---- CPUs ---- */

/* Prints a list of texts: "# sibling sockets : 0-1". Returns false at the end of the feature. */
static bool print_list(FILE *stream, struct perch__view *view, const char *label)
{
	uint32_t nr;

	if (!perch__take_u32(view, &nr))
		return false;
	while (nr--) {
		struct perch__view next = *view;
		const char *text;
		size_t length;

		if (!perch__take_text(&next, &text, &length))
			return false;
		fprintf(stream, "# %s : ", label);
		print_string(stream, view);
		fputc('\n', stream);
	}
	return true;
}

/* Skips a list of texts. */
static bool skip_list(struct perch__view *view)
{
	const char *text;
	uint32_t nr;
	size_t length;

	if (!perch__take_u32(view, &nr))
		return false;
	while (nr--)
		if (!perch__take_text(view, &text, &length))
			return false;
	return true;
}

/*
 * Lists of the CPUs of each socket and of each core; core and socket of each CPU; since perf 5.3
 * lists of the CPUs of each die, and the die of each CPU.
 */
void perch__print_cpu_topology(struct perch_reader *reader, FILE *stream, struct perch__view view)
{
	struct perch__view cpus, dies, threads, nr_view = reader->feature[PERCH_FEATURE_NRCPUS];
	uint32_t nr = 0, core, socket, die;
	bool has_dies;

	perch__take_u32(&nr_view, &nr);
	if (!print_list(stream, &view, "sibling sockets"))
		return;
	threads = cpus = view;
	if (nr > MAX_CPUS || !skip_list(&cpus))
		nr = 0;
	dies = cpus;
	for (uint32_t i = 0; i < 2 * nr; i++)
		perch__take_u32(&dies, &core);
	has_dies = print_list(stream, &dies, "sibling dies   ");
	print_list(stream, &threads, "sibling threads");
	for (uint32_t i = 0; i < nr; i++) {
		if (!perch__take_u32(&cpus, &core) || !perch__take_u32(&cpus, &socket))
			return;
		fprintf(stream, "# CPU %u: Core ID %d", i, (int32_t)core);
		if (has_dies && perch__take_u32(&dies, &die))
			fprintf(stream, ", Die ID %d", (int32_t)die);
		fprintf(stream, ", Socket ID %d\n", (int32_t)socket);
	}
}

/* The PMUs of a machine with several kinds of cores. */
void perch__print_core_pmus(struct perch_reader *reader, FILE *stream, struct perch__view view)
{
	uint32_t nr;

	(void)reader;
	if (!perch__take_u32(&view, &nr))
		return;
	fputs("# hybrid cpu system:\n", stream);
	while (nr--) {
		struct perch__view next = view;
		const char *text;
		size_t length;

		if (!perch__take_text(&next, &text, &length) ||
		    !perch__take_text(&next, &text, &length))
			return;
		fputs("# ", stream);
		print_string(stream, &view);
		fputs(" cpu list : ", stream);
		print_string(stream, &view);
		fputc('\n', stream);
	}
}

/* ---- caches ---- */

void perch__print_caches(struct perch_reader *reader, FILE *stream, struct perch__view view)
{
	uint32_t version, nr, level, skipped;

	(void)reader;
	if (!perch__take_u32(&view, &version))
		return;
	if (version != 1) {
		fprintf(stream, "# CPU cache info: version %u is not supported\n", version);
		return;
	}
	if (!perch__take_u32(&view, &nr))
		return;
	fputs("# CPU cache info:\n", stream);
	while (nr--) {
		const char *type, *bytes;
		size_t type_length, bytes_length;
		char name[64], size[64];

		/* the size of a line, sets and ways are not printed */
		if (!perch__take_u32(&view, &level) || !perch__take_u32(&view, &skipped) ||
		    !perch__take_u32(&view, &skipped) || !perch__take_u32(&view, &skipped) ||
		    !perch__take_text(&view, &type, &type_length) ||
		    !perch__take_text(&view, &bytes, &bytes_length))
			return;
		copy_clean(type, type_length, name, sizeof(name));
		copy_clean(bytes, bytes_length, size, sizeof(size));
		fprintf(stream, "#  L%u %-15s %8s [", level, name, size);
		print_string(stream, &view);
		fputs("]\n", stream);
	}
}

/* ---- memory ---- */

void perch__print_numa_nodes(struct perch_reader *reader, FILE *stream, struct perch__view view)
{
	uint32_t nr, node;
	uint64_t total, available;

	(void)reader;
	if (!perch__take_u32(&view, &nr))
		return;
	while (nr-- && perch__take_u32(&view, &node) && perch__take_u64(&view, &total) &&
	       perch__take_u64(&view, &available)) {
		fprintf(stream,
			"# node%u meminfo  : total = %" PRIu64 " kB, free = %" PRIu64 " kB\n", node,
			total, available);
		fprintf(stream, "# node%u cpu list : ", node);
		print_string(stream, &view);
		fputc('\n', stream);
	}
}

/* Prints a size as perf does: the number of the largest unit of which there are at least 2. */
static void print_size(FILE *stream, uint64_t bytes)
{
	static const char units[] = "BKMG";
	size_t unit = 0;

	while (bytes / 1024 > 1 && units[unit + 1]) {
		bytes /= 1024;
		unit++;
	}
	fprintf(stream, "%" PRIu64 "%c", bytes, units[unit]);
}

/* Prints the bits that are set as ranges: "0-23,32-199". */
static void print_bits(FILE *stream, struct perch__view words, size_t nr)
{
	const char *separator = "";
	uint64_t word = 0, first = 0;
	bool before = false;

	for (uint64_t bit = 0; bit <= 64ull * nr; bit++) {
		bool set;

		if (bit % 64 == 0 && !perch__take_u64(&words, &word))
			word = 0;
		set = bit < 64ull * nr && word >> bit % 64 & 1;
		if (set && !before)
			first = bit;
		if (!set && before) {
			fprintf(stream, "%s%" PRIu64, separator, first);
			if (first < bit - 1)
				fprintf(stream, "-%" PRIu64, bit - 1);
			separator = ",";
		}
		before = set;
	}
}

/* The blocks of memory of each NUMA node, as bits. */
void perch__print_memory_nodes(struct perch_reader *reader, FILE *stream, struct perch__view view)
{
	uint64_t version, block_size, nr, node, skipped, bits;

	(void)reader;
	if (!perch__take_u64(&view, &version))
		return;
	if (version != 1) {
		fprintf(stream, "# memory nodes: version %" PRIu64 " is not supported\n", version);
		return;
	}
	if (!perch__take_u64(&view, &block_size) || !perch__take_u64(&view, &nr))
		return;
	fprintf(stream, "# memory nodes (nr %" PRIu64 ", block size 0x%" PRIx64 "):\n", nr,
		block_size);
	while (nr-- && perch__take_u64(&view, &node) && perch__take_u64(&view, &skipped) &&
	       perch__take_u64(&view, &bits)) {
		struct perch__view words = view;
		size_t nr_words = 0;
		uint64_t word, blocks = 0;

		while (nr_words < bits / 64 + (bits % 64 > 0) && perch__take_u64(&view, &word)) {
			blocks += (uint64_t)__builtin_popcountll(word);
			nr_words++;
		}
		fprintf(stream, "#  %3" PRIu64 " [", node);
		print_size(stream, block_size * blocks);
		fputs("]: ", stream);
		print_bits(stream, words, nr_words);
		fputc('\n', stream);
	}
}
