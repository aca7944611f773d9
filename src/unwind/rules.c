/* SPDX-License-Identifier: MIT */
/* Opens the file of a DSO, and finds the sections with its unwinding rules. */
#include <stdlib.h>
#include <unistd.h>

#include "base/memory.h"
#include "internal.h"

/* The sections for which linkers write no rules, or one expression. */
static void find_stubs(struct rules *rules)
{
	static const char *const names[MAX_STUBS] = { ".plt", ".plt.sec", ".plt.got", ".iplt" };

	for (size_t i = 0; i < MAX_STUBS; i++) {
		size_t index = perch__elf_find_section(&rules->elf, names[i]);

		if (index)
			rules->stubs[rules->nr_stubs++] =
				(struct stubs){ rules->elf.section[index].address,
						rules->elf.section[index].size };
	}
}

/*
 * Opens the rules of a section, if there is one that has bytes: those of separate debug files have
 * none. Returns false if they are damaged.
 */
static bool open_section(struct cfi *cfi, const struct perch__elf *elf, const char *name,
			 const char *table)
{
	size_t index = perch__elf_find_section(elf, name);
	size_t of_table = table ? perch__elf_find_section(elf, table) : 0;
	int rc = 0;

	if (index)
		rc = perch__cfi_open(cfi, elf, &elf->section[index],
				     of_table ? &elf->section[of_table] : NULL);
	else if (table && !elf->nr_sections)
		rc = perch__cfi_open_segment(cfi, elf);
	return !rc || rc == -ENOENT;
}

static bool open_eh_frame(struct rules *rules, const struct perch__elf *elf)
{
	return open_section(&rules->eh_frame, elf, ".eh_frame", ".eh_frame_hdr");
}

static bool open_debug_frame(struct rules *rules, const struct perch__elf *elf)
{
	/* of 32-bit programs only .eh_frame is read: nearly all have it */
	return !elf->wide || (open_section(&rules->debug_frame, elf, ".debug_frame", NULL) &&
			      (rules->debug_frame.bytes ||
			       open_section(&rules->debug_frame, elf, ".zdebug_frame", NULL)));
}

/* Returns false if the rules in the separate debug file are damaged. */
static bool open_debug_file(struct rules *rules)
{
	struct perch__elf elf;
	bool valid = true;
	int fd;

	if (perch_symbols_open_debug_file(rules->symbols, rules->dso, &fd, NULL))
		return true;
	if (!perch__elf_init_file(&elf, fd)) {
		perch__elf_read_sections(&elf);
		if (elf.machine == rules->elf.machine && elf.wide == rules->elf.wide &&
		    elf.swapped == rules->elf.swapped)
			valid = (rules->eh_frame.bytes || open_eh_frame(rules, &elf)) &&
				open_debug_frame(rules, &elf);
		perch__elf_clear(&elf);
	}
	close(fd);
	return valid;
}

bool perch__rules_complete(struct rules *rules)
{
	if (!rules->deferred)
		return true;
	rules->deferred = false;
	return open_debug_frame(rules, &rules->elf) &&
	       (rules->debug_frame.bytes || open_debug_file(rules));
}

static bool is_of(const struct perch__elf *elf, const struct architecture *architecture)
{
	return architecture && elf->machine == architecture->machine &&
	       elf->wide == (architecture->word == sizeof(uint64_t));
}

static void close_files(struct rules *rules)
{
	perch__cfi_close(&rules->eh_frame);
	perch__cfi_close(&rules->debug_frame);
	perch__elf_clear(&rules->elf);
	if (rules->fd >= 0)
		close(rules->fd);
	rules->fd = -1;
	rules->deferred = false;
}

static const char damaged[] = "its call frame information is damaged";

/* Returns the reason why there are no rules, or NULL. */
static const char *open_files(struct rules *rules)
{
	struct perch__elf *elf = &rules->elf;

	if (perch__elf_init_file(elf, rules->fd))
		return "not an ELF file";
	perch__elf_read_sections(elf); /* damaged: there are none */
	if (is_of(elf, rules->architecture->narrow))
		rules->architecture = rules->architecture->narrow;
	else if (!is_of(elf, rules->architecture))
		return "the file is of another architecture";
	find_stubs(rules);
	rules->of_go = perch__elf_find_section(elf, ".gopclntab") ||
		       perch__elf_find_section(elf, ".go.buildinfo");
	rules->deferred = true;
	if (!open_eh_frame(rules, elf) || (!rules->eh_frame.bytes && !perch__rules_complete(rules)))
		return damaged;
	return NULL;
}

static void set_error(struct rules *rules, const char *error)
{
	rules->has_error = true;
	snprintf(rules->error, sizeof(rules->error), "%s", error);
}

void perch__rules_damaged(struct rules *rules)
{
	set_error(rules, damaged);
}

struct rules *perch__rules_open(struct perch_symbols *symbols, const struct perch_dso *dso,
				const struct architecture *architecture)
{
	struct rules *rules = perch__calloc(1, sizeof(*rules));
	const char *error;
	struct perch_error err;

	if (!rules)
		return NULL;
	rules->dso = dso;
	rules->architecture = architecture;
	rules->symbols = symbols;
	rules->fd = -1;
	/* memory without a file has no rules, and that is no error */
	if (!perch_dso_is(dso, PERCH_DSO_IS_ELF) || perch_dso_is(dso, PERCH_DSO_IS_IN_KERNEL))
		return rules;
	if (perch_symbols_open_file(symbols, dso, &rules->fd, &err))
		error = err.message;
	else
		error = open_files(rules);
	if (error) {
		set_error(rules, error);
		close_files(rules);
	}
	return rules;
}

void perch__rules_close(struct rules *rules)
{
	close_files(rules);
	free(rules);
}

bool perch__rules_address(const struct rules *rules, uint64_t offset, uint64_t *address)
{
	const struct perch__elf_segment *found = NULL;

	for (size_t i = 0; i < rules->elf.nr_segments; i++) {
		const struct perch__elf_segment *segment = &rules->elf.segment[i];

		/* an executable segment counts: the bytes of a page may be in two segments */
		if (segment->type == PT_LOAD && offset >= segment->offset &&
		    offset - segment->offset < segment->size && (!found || segment->flags & PF_X))
			found = segment;
	}
	if (found)
		*address = offset - found->offset + found->address;
	return found;
}
