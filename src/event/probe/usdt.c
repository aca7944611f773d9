/* SPDX-License-Identifier: MIT */
/*
 * USDT probes: notes of the owner "stapsdt" in sections of ELF files. A note has the address of one
 * site, the link-time address of the section .stapsdt.base (prelink moves both by the same
 * distance), the address of the reference counter or 0, then the names of provider and probe and
 * the arguments (usdt_arguments.c).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <perch/probes.h>

#include "elf_lookup.h"

#define OWNER	    "stapsdt"
#define NOTE_PROBE  3
#define NOTES_MAX   ((size_t)64 << 20) /* bytes of notes in all sections, which may overlap */
#define SUGGEST_MAX 100000	       /* names to compare with the probe, to limit the time */

struct note {
	uint64_t address, base, counter;
	const char *provider, *name;
	const char *arguments; /* "" if the note has none */
};

typedef int visit_note(void *context, const struct perch__elf *elf, const struct note *note,
		       uint64_t moved);

/* A pass over all notes. */
struct walk {
	const struct perch__elf *elf;
	uint64_t base; /* address of .stapsdt.base; 0 if the file has none */
	size_t bytes;  /* read so far */
	visit_note *visit;
	void *context;
};

struct probe_search {
	const char *provider, *name;
	struct perch__usdt_site *site;
	size_t nr;
	struct perch__suggestions *suggestions;
	size_t suggested;
};

/* Returns the string at *at and moves *at after it. NULL when it exceeds *size bytes. */
static const char *take_string(const char **at, size_t *size)
{
	const char *text = *at;
	size_t length = strnlen(text, *size);

	if (length == *size)
		return NULL;
	*at += length + 1;
	*size -= length + 1;
	return text;
}

static bool read_note(const struct perch__elf *elf, const unsigned char *bytes, size_t size,
		      struct note *note)
{
	size_t word = elf->wide ? 8 : 4;
	const char *at = (const char *)bytes + 3 * word;

	if (size < 3 * word)
		return false;
	size -= 3 * word;
	note->address = perch__elf_word(elf, bytes, word);
	note->base = perch__elf_word(elf, bytes + word, word);
	note->counter = perch__elf_word(elf, bytes + 2 * word, word);
	note->provider = take_string(&at, &size);
	note->name = note->provider ? take_string(&at, &size) : NULL;
	note->arguments = note->name ? take_string(&at, &size) : NULL;
	if (!note->arguments)
		note->arguments = "";
	return note->name;
}

static void suggest_probe(struct perch__suggestions *suggestions, const struct note *note)
{
	char name[128];

	if (snprintf(name, sizeof(name), "%s:%s", note->provider, note->name) < (int)sizeof(name))
		perch__suggest(suggestions, name);
}

/* A compiler that copies code may write several notes for one site. */
static bool has_site(const struct probe_search *search, uint64_t offset)
{
	for (size_t i = 0; i < search->nr; i++)
		if (search->site[i].offset == offset)
			return true;
	return false;
}

/* Finds the instruction and the counter. moved: by prelink */
static bool find_site(const struct perch__elf *elf, const struct note *note, uint64_t moved,
		      struct perch__usdt_site *site)
{
	*site = (struct perch__usdt_site){ 0 };
	return perch__elf_find_offset(elf, note->address + moved, true, &site->offset) &&
	       (!note->counter ||
		perch__elf_find_offset(elf, note->counter + moved, false, &site->counter));
}

static int read_arguments(const struct perch__elf *elf, const struct note *note, uint64_t moved,
			  struct perch__usdt_site *site)
{
	const struct perch__usdt_code code = { note->address + moved, site->offset };

	return perch__usdt_arguments(elf, code, note->arguments, &site->arguments, &site->unread);
}

static int add_note(void *context, const struct perch__elf *elf, const struct note *note,
		    uint64_t moved)
{
	struct probe_search *search = context;
	struct perch__usdt_site site;
	int rc;

	if (strcmp(note->provider, search->provider) || strcmp(note->name, search->name)) {
		if (search->suggestions && search->suggested++ < SUGGEST_MAX)
			suggest_probe(search->suggestions, note);
		return 0;
	}
	if (!find_site(elf, note, moved, &site))
		return -EBADMSG;
	if (has_site(search, site.offset))
		return 0;
	if (search->nr == PERCH__USDT_SITES_MAX)
		return -E2BIG;
	rc = read_arguments(elf, note, moved, &site);
	search->site[search->nr++] = site;
	return rc;
}

static int walk_notes(struct walk *walk, const unsigned char *bytes, size_t size)
{
	struct perch__elf_note part;
	size_t at = 0;
	int rc;

	while ((rc = perch__elf_next_note(&part, bytes, size, 4, walk->elf->swapped, &at)) > 0) {
		struct note note;

		if (part.type != NOTE_PROBE || part.name_size != sizeof(OWNER) ||
		    memcmp(part.name, OWNER, sizeof(OWNER)))
			continue;
		if (!read_note(walk->elf, part.data, part.size, &note))
			return -EBADMSG;
		rc = walk->visit(walk->context, walk->elf, &note,
				 walk->base && note.base ? walk->base - note.base : 0);
		if (rc)
			return rc;
	}
	return rc;
}

static int walk_section(struct walk *walk, const struct perch__elf_section *section)
{
	unsigned char *bytes;
	int rc = perch__elf_load(walk->elf, &bytes, section->offset, section->size,
				 NOTES_MAX - walk->bytes);

	if (rc)
		return rc;
	walk->bytes += section->size;
	rc = walk_notes(walk, bytes, section->size);
	free(bytes);
	return rc;
}

static int walk_sections(const struct perch__elf *elf, visit_note *visit, void *context)
{
	const size_t base = perch__elf_find_section(elf, ".stapsdt.base");
	struct walk walk = { .elf = elf, .visit = visit, .context = context };
	int rc = 0;

	walk.base = base ? elf->section[base].address : 0;
	for (size_t i = 1; i < elf->nr_sections && !rc; i++)
		if (elf->section[i].type == SHT_NOTE &&
		    !strcmp(elf->section[i].name, ".note.stapsdt"))
			rc = walk_section(&walk, &elf->section[i]);
	return rc;
}

void perch__free_usdt_sites(struct perch__usdt_site *site, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		free(site[i].arguments);
		free(site[i].unread);
		site[i].arguments = site[i].unread = NULL;
	}
}

int perch__elf_find_usdt_sites(const struct perch__elf *elf, const char *provider, const char *name,
			       struct perch__usdt_site site[PERCH__USDT_SITES_MAX], size_t *nr,
			       struct perch__suggestions *suggestions)
{
	struct probe_search search = {
		.provider = provider, .name = name, .site = site, .suggestions = suggestions
	};
	int rc = walk_sections(elf, add_note, &search);

	*nr = search.nr;
	if (rc) {
		perch__free_usdt_sites(site, search.nr);
		*nr = 0;
	}
	return rc ? rc : search.nr ? 0 : -ENOENT;
}

/* ---- all probes of a file ---- */

struct listing {
	perch_usdt_visit *visit;
	void *context;
};

static int list_note(void *context, const struct perch__elf *elf, const struct note *note,
		     uint64_t moved)
{
	const struct listing *listing = context;
	struct perch__usdt_site site;
	struct perch_usdt_probe probe = { .provider = note->provider,
					  .name = note->name,
					  .text = note->arguments };
	int rc;

	if (!find_site(elf, note, moved, &site))
		return 0; /* in code that the linker has dropped */
	rc = read_arguments(elf, note, moved, &site);
	probe.offset = site.offset;
	probe.counter = site.counter;
	probe.arguments = site.arguments;
	probe.unread = site.unread;
	if (!rc)
		rc = listing->visit(listing->context, &probe);
	perch__free_usdt_sites(&site, 1);
	return rc;
}

int perch_usdt_list(const char *path, const struct perch_machine *machine, perch_usdt_visit *visit,
		    void *context, struct perch_error *err)
{
	struct listing listing = { visit, context };
	struct perch__elf elf;
	int rc = perch__elf_file_open(&elf, path, machine);

	if (!rc) {
		rc = walk_sections(&elf, list_note, &listing);
		perch__elf_file_close(&elf);
	}
	if (rc < 0)
		perch_error_set(
			err, -rc, PERCH_ERROR_FILE, "cannot read the USDT probes of '%s': %s", path,
			rc == -EBADMSG ? "it is not an ELF file, or corrupt" : strerror(-rc));
	return rc;
}
