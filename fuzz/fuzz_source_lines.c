/* SPDX-License-Identifier: MIT */
/*
 * The input is an ELF file with debug information, whose inlined functions, lines and variables are
 * looked up.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <perch/variables.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void look_up_all(struct perch_symbols *symbols, const struct perch_dso *dso)
{
	for (uint64_t offset = 0; offset < 1 << 14; offset += 37) {
		const struct perch_symbol_frame *frame;
		int nr = perch_symbols_frames(symbols, dso, offset, &frame);

		if (nr < 1)
			abort();
		for (int i = 0; i < nr; i++) {
			if (frame[i].symbol && frame[i].symbol->inlined != (i + 1 < nr))
				abort();
			if (frame[i].symbol)
				perch_symbols_name(symbols, frame[i].symbol);
			if (frame[i].line && !frame[i].file)
				abort();
		}
	}
}

static int ignore_name(void *context, const char *name)
{
	(void)context;
	return name ? 0 : -1;
}

static int ignore_copy(void *context, const char *name, uint64_t offset)
{
	(void)context;
	(void)offset;
	return name ? 0 : -1;
}

static int ignore_offset(void *context, uint64_t offset)
{
	(void)context;
	(void)offset;
	return 0;
}

static int ignore_symbol(void *context, const struct perch_symbol *symbol)
{
	(void)context;
	return symbol->start > symbol->end ? -1 : 0;
}

/* The names are those of the corpus, see scripts/fuzz. */
static void find_variables(struct perch_symbols *symbols, const struct perch_dso *dso)
{
	static const char *const texts[] = { "x",	"p->next->n", "*p", "p->list[1]", "p->bits",
					     "p->text", "size",	      "i",  "$retval" };
	struct perch_variable variable;
	struct perch_error err;
	uint32_t next;
	uint64_t after;

	for (uint64_t offset = 0; offset < 1 << 14; offset += 113) {
		for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
			if (!perch_symbols_variable(symbols, dso, offset, texts[i], &variable,
						    &err) &&
			    variable.nr_steps > PERCH_VARIABLE_STEPS_MAX)
				abort();
		perch_symbols_parameters(symbols, dso, offset, ignore_name, NULL, &err);
		perch_symbols_after_prologue(symbols, dso, offset, &after, &err);
	}
	if (perch_symbols_inlined(symbols, dso, ignore_copy, NULL, &err) == -1 ||
	    perch_symbols_list(symbols, dso, ignore_symbol, NULL, &err) == -1)
		abort();
	perch_symbols_line(symbols, dso, "inlined.c", 3, ignore_offset, NULL, &next, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char path[64];
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct perch_dso file = { .kind = PERCH_DSO_FILE, .path = path };
	struct perch_symbols *symbols;

	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!perch_symbols_new(&symbols, NULL, NULL)) {
		if (size % 2) /* by a thread */
			perch_symbols_start_debug_info(symbols, &file);
		look_up_all(symbols, &file);
		find_variables(symbols, &file);
		perch_symbols_free(symbols);
	}
	close(fd);
	return 0;
}
