/* SPDX-License-Identifier: MIT */
/*
 * USDT probes: notes of the owner "stapsdt" in sections of ELF files. A note has the address of one
 * site, the link-time address of the section .stapsdt.base (prelink moves both by the same
 * distance), the address of the reference counter or 0, then the names of provider and probe and
 * the location of the arguments.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf_lookup.h"

#define OWNER	    "stapsdt"
#define NOTE_PROBE  3
#define NOTES_MAX   ((size_t)64 << 20) /* bytes of notes in all sections, which may overlap */
#define SUGGEST_MAX 100000	       /* names to compare with the probe, to limit the time */

struct note {
	uint64_t address, base, counter;
	const char *provider, *name;
};

struct probe_search {
	const struct perch__elf *elf;
	const char *provider, *name;
	uint64_t base; /* address of .stapsdt.base; 0 if the file has none */
	struct perch__usdt_site *site;
	size_t nr;
	size_t notes; /* bytes read so far */
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

static int add_note(struct probe_search *search, const struct note *note)
{
	uint64_t moved = search->base && note->base ? search->base - note->base : 0;
	struct perch__usdt_site site = { 0 };

	if (strcmp(note->provider, search->provider) || strcmp(note->name, search->name)) {
		if (search->suggestions && search->suggested++ < SUGGEST_MAX)
			suggest_probe(search->suggestions, note);
		return 0;
	}
	if (!perch__elf_find_offset(search->elf, note->address + moved, true, &site.offset) ||
	    (note->counter &&
	     !perch__elf_find_offset(search->elf, note->counter + moved, false, &site.counter)))
		return -EBADMSG;
	if (has_site(search, site.offset))
		return 0;
	if (search->nr == PERCH__USDT_SITES_MAX)
		return -E2BIG;
	search->site[search->nr++] = site;
	return 0;
}

static int walk_notes(struct probe_search *search, const unsigned char *bytes, size_t size)
{
	struct perch__elf_note part;
	size_t at = 0;
	int rc;

	while ((rc = perch__elf_next_note(&part, bytes, size, 4, search->elf->swapped, &at)) > 0) {
		struct note note;

		if (part.type != NOTE_PROBE || part.name_size != sizeof(OWNER) ||
		    memcmp(part.name, OWNER, sizeof(OWNER)))
			continue;
		if (!read_note(search->elf, part.data, part.size, &note))
			return -EBADMSG;
		rc = add_note(search, &note);
		if (rc)
			return rc;
	}
	return rc;
}

static int walk_section(struct probe_search *search, const struct perch__elf_section *section)
{
	unsigned char *bytes;
	int rc = perch__elf_load(search->elf, &bytes, section->offset, section->size,
				 NOTES_MAX - search->notes);

	if (rc)
		return rc;
	search->notes += section->size;
	rc = walk_notes(search, bytes, section->size);
	free(bytes);
	return rc;
}

static int walk_sections(struct probe_search *search)
{
	const struct perch__elf *elf = search->elf;
	size_t base = perch__elf_find_section(elf, ".stapsdt.base");
	int rc = 0;

	search->base = base ? elf->section[base].address : 0;
	for (size_t i = 1; i < elf->nr_sections && !rc; i++)
		if (elf->section[i].type == SHT_NOTE &&
		    !strcmp(elf->section[i].name, ".note.stapsdt"))
			rc = walk_section(search, &elf->section[i]);
	return rc;
}

int perch__elf_find_usdt_sites(const struct perch__elf *elf, const char *provider, const char *name,
			       struct perch__usdt_site site[PERCH__USDT_SITES_MAX], size_t *nr,
			       struct perch__suggestions *suggestions)
{
	struct probe_search search = { .elf = elf,
				       .provider = provider,
				       .name = name,
				       .site = site,
				       .suggestions = suggestions };
	int rc = walk_sections(&search);

	if (rc)
		return rc;
	*nr = search.nr;
	return search.nr ? 0 : -ENOENT;
}
