/* SPDX-License-Identifier: MIT */
/* Opens the file of a DSO, and finds the sections with its unwinding rules. */
#include <stdlib.h>
#include <unistd.h>

#include "base/memory.h"
#include "internal.h"

struct sections {
	Elf_Scn *eh_frame, *eh_frame_hdr, *debug_frame;
	GElf_Shdr eh_frame_header, hdr_header;
	bool gnu; /* .zdebug_frame: compressed by old tools */
	bool of_go;
};

/* The sections for which linkers write no rules, or one expression. */
static void find_stubs(struct rules *rules)
{
	static const char *const names_of[MAX_STUBS] = { ".plt", ".plt.sec", ".plt.got", ".iplt" };
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t names;

	if (elf_getshdrstrndx(rules->elf, &names) || !names)
		return;
	while (rules->nr_stubs < MAX_STUBS && (section = elf_nextscn(rules->elf, section))) {
		const char *name = gelf_getshdr(section, &header)
					   ? elf_strptr(rules->elf, names, header.sh_name)
					   : NULL;

		for (size_t i = 0; name && i < MAX_STUBS; i++)
			if (!strcmp(name, names_of[i]))
				rules->stubs[rules->nr_stubs++] =
					(struct stubs){ header.sh_addr, header.sh_size };
	}
}

/* Selects the sections that libdw selects: the first .eh_frame, and the last table before it. */
static void find_sections(Elf *elf, struct sections *sections)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) || !names)
		return;
	while ((section = elf_nextscn(elf, section))) {
		const char *name = gelf_getshdr(section, &header)
					   ? elf_strptr(elf, names, header.sh_name)
					   : NULL;

		if (!name)
			continue;
		sections->of_go |= !strcmp(name, ".gopclntab") || !strcmp(name, ".go.buildinfo");
		if (!sections->eh_frame && !strcmp(name, ".eh_frame_hdr")) {
			sections->eh_frame_hdr = section;
			sections->hdr_header = header;
		} else if (!sections->eh_frame && !strcmp(name, ".eh_frame")) {
			sections->eh_frame = section;
			sections->eh_frame_header = header;
		} else if (!sections->debug_frame && header.sh_type != SHT_NOBITS &&
			   header.sh_size &&
			   (!strcmp(name, ".debug_frame") || !strcmp(name, ".zdebug_frame"))) {
			sections->debug_frame = section;
			sections->gnu = name[1] == 'z';
		}
	}
}

/* The sections of separate debug files have no bytes. */
static bool open_eh_frame(struct rules *rules, Elf *elf, const struct sections *sections)
{
	struct cfi_table table = { 0 };
	bool has_table = sections->eh_frame_hdr && sections->hdr_header.sh_type == SHT_PROGBITS;

	if (!sections->eh_frame || !sections->eh_frame_header.sh_size ||
	    sections->eh_frame_header.sh_type == SHT_NOBITS)
		return true;
	if (has_table) {
		table.data = PERCH__COUNTED_CALL(elf_rawdata(sections->eh_frame_hdr, NULL));
		table.address = sections->hdr_header.sh_addr;
		table.eh_frame_address = sections->eh_frame_header.sh_addr;
		if (!table.data || !table.data->d_buf)
			return false;
	}
	if (!perch__check_cfi(elf, PERCH__COUNTED_CALL(elf_rawdata(sections->eh_frame, NULL)),
			      rules->wide, rules->swapped, has_table ? &table : NULL, true))
		return false;
	rules->eh_frame = PERCH__COUNTED_CALL(dwarf_getcfi_elf(elf));
	return rules->eh_frame;
}

static bool open_debug_frame(struct rules *rules, Elf *elf, const struct sections *sections)
{
	/* of 32-bit programs only .eh_frame is read: nearly all have it */
	return !sections->debug_frame || !rules->wide ||
	       perch__debug_frame_open(&rules->debug_frame, elf, sections->debug_frame,
				       sections->gnu, rules->swapped);
}

/* True if the debug file is of the same architecture as the file. */
static bool is_alike(Elf *elf, Elf *debug)
{
	GElf_Ehdr header, other;

	return debug && elf_kind(debug) == ELF_K_ELF && gelf_getehdr(elf, &header) &&
	       gelf_getehdr(debug, &other) && header.e_machine == other.e_machine &&
	       !memcmp(header.e_ident, other.e_ident, EI_VERSION);
}

/* Returns false if the rules in the separate debug file are damaged. */
static bool open_debug_file(struct rules *rules)
{
	struct sections sections = { 0 };

	if (perch_symbols_open_debug_file(rules->symbols, rules->dso, &rules->debug_fd, NULL))
		return true;
	rules->debug = PERCH__COUNTED_CALL(elf_begin(rules->debug_fd, ELF_C_READ, NULL));
	if (!is_alike(rules->elf, rules->debug))
		return true;
	find_sections(rules->debug, &sections);
	return (rules->eh_frame || open_eh_frame(rules, rules->debug, &sections)) &&
	       open_debug_frame(rules, rules->debug, &sections);
}

bool perch__rules_complete(struct rules *rules)
{
	struct sections sections = { 0 };

	if (!rules->deferred)
		return true;
	rules->deferred = false;
	find_sections(rules->elf, &sections);
	return sections.debug_frame ? open_debug_frame(rules, rules->elf, &sections)
				    : open_debug_file(rules);
}

static bool is_of(const struct perch__elf *elf, const struct architecture *architecture)
{
	return architecture && elf->machine == architecture->machine &&
	       elf->wide == (architecture->word == sizeof(uint64_t));
}

static int read_segments(struct rules *rules)
{
	const struct architecture *architecture = rules->architecture;
	struct perch__elf elf;
	int rc = perch__elf_init_file(&elf, rules->fd);

	if (rc)
		return rc;
	if (is_of(&elf, architecture->narrow)) {
		rules->architecture = architecture->narrow;
	} else if (!is_of(&elf, architecture)) {
		perch__elf_clear(&elf);
		return -ENOEXEC;
	}
	rules->wide = elf.wide;
	rules->swapped = elf.swapped;
	rules->segment = elf.segment;
	for (size_t i = 0; i < elf.nr_segments; i++)
		if (rules->segment[i].type == PT_LOAD)
			rules->segment[rules->nr_segments++] = rules->segment[i];
	elf.segment = NULL;
	perch__elf_clear(&elf);
	return 0;
}

static void close_files(struct rules *rules)
{
	if (rules->eh_frame)
		dwarf_cfi_end(rules->eh_frame);
	perch__debug_frame_close(&rules->debug_frame);
	if (rules->debug)
		elf_end(rules->debug);
	if (rules->elf)
		elf_end(rules->elf);
	if (rules->debug_fd >= 0)
		close(rules->debug_fd);
	if (rules->fd >= 0)
		close(rules->fd);
	free(rules->segment);
	rules->eh_frame = NULL;
	rules->elf = rules->debug = NULL;
	rules->segment = NULL;
	rules->nr_segments = 0;
	rules->fd = rules->debug_fd = -1;
	rules->deferred = false;
}

/* Returns the reason why there are no rules, or NULL. */
static const char *open_files(struct rules *rules)
{
	struct sections sections = { 0 };

	switch (read_segments(rules)) {
	case 0:
		break;
	case -ENOEXEC:
		return "the file is of another architecture";
	default:
		return "not an ELF file";
	}
	elf_version(EV_CURRENT);
	rules->elf = PERCH__COUNTED_CALL(elf_begin(rules->fd, ELF_C_READ, NULL));
	if (!rules->elf || elf_kind(rules->elf) != ELF_K_ELF)
		return "not an ELF file";
	find_sections(rules->elf, &sections);
	find_stubs(rules);
	rules->of_go = sections.of_go;
	rules->deferred = true;
	if (!open_eh_frame(rules, rules->elf, &sections) ||
	    (!rules->eh_frame && !perch__rules_complete(rules)))
		return "its call frame information is damaged";
	return NULL;
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
	rules->fd = rules->debug_fd = -1;
	/* memory without a file has no rules, and that is no error */
	if (dso->kind != PERCH_DSO_FILE && dso->kind != PERCH_DSO_VDSO)
		return rules;
	if (perch_symbols_open_file(symbols, dso, &rules->fd, &err))
		error = err.message;
	else
		error = open_files(rules);
	if (error) {
		rules->has_error = true;
		snprintf(rules->error, sizeof(rules->error), "%s", error);
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

	for (size_t i = 0; i < rules->nr_segments; i++) {
		const struct perch__elf_segment *segment = &rules->segment[i];

		/* an executable segment counts: the bytes of a page may be in two segments */
		if (offset >= segment->offset && offset - segment->offset < segment->size &&
		    (!found || segment->flags & PF_X))
			found = segment;
	}
	if (found)
		*address = offset - found->offset + found->address;
	return found;
}
