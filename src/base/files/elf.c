/* SPDX-License-Identifier: MIT */
/* Segments, sections, notes and build ids of ELF files. */
#include <byteswap.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files/io.h"
#include "base/memory.h"
#include "elf.h"

enum {
	/* linkers write about a dozen; each symbol is compared with all of them */
	MAX_SEGMENTS = 1 << 9,
	MAX_SECTIONS =
		/* object files may have one for each function; executables have dozens */
	1 << 18,
	MAX_NAMES = 1 << 24, /* bytes of the names of sections */
	MAX_NOTES = 1 << 20, /* bytes of notes that are searched for a build id */
};
#define MOST_SYMBOL_BYTES (4ull << 30)

uint64_t perch__elf_word(const struct perch__elf *elf, const unsigned char *bytes, size_t size)
{
	uint64_t eight;
	uint32_t four;
	uint16_t two;

	switch (size) {
	case 1:
		return bytes[0];
	case 2:
		memcpy(&two, bytes, sizeof(two));
		return elf->swapped ? bswap_16(two) : two;
	case 4:
		memcpy(&four, bytes, sizeof(four));
		return elf->swapped ? bswap_32(four) : four;
	default:
		memcpy(&eight, bytes, sizeof(eight));
		return elf->swapped ? bswap_64(eight) : eight;
	}
}

ssize_t perch__elf_read(const struct perch__elf *elf, void *buffer, uint64_t offset, size_t size)
{
	if (offset > (uint64_t)INT64_MAX - size)
		return -EBADMSG;
	if (elf->image) {
		if (offset >= elf->size)
			return 0;
		if (size > elf->size - offset)
			size = elf->size - offset;
		memcpy(buffer, elf->image + offset, size);
		return (ssize_t)size;
	}
	return perch__pread_upto(elf->fd, buffer, size, offset);
}

int perch__elf_load(const struct perch__elf *elf, unsigned char **result, uint64_t offset,
		    uint64_t size, size_t most)
{
	unsigned char *bytes;
	ssize_t got;

	if (offset > elf->size || size > elf->size - offset)
		return -EBADMSG;
	if (size > most)
		return -EFBIG;
	bytes = perch__malloc(size + 1);
	if (!bytes)
		return -ENOMEM;
	got = perch__elf_read(elf, bytes, offset, size);
	if (got != (ssize_t)size) { /* the file was truncated */
		free(bytes);
		return got < 0 ? got : -EBADMSG;
	}
	bytes[size] = '\0';
	*result = bytes;
	return 0;
}

struct perch__elf_symbol perch__elf_decode_symbol(const struct perch__elf *elf,
						  const unsigned char *bytes)
{
	uint8_t info = (uint8_t)PERCH__ELF_FIELD(elf, bytes, Sym, st_info);

	return (struct perch__elf_symbol){
		.name = PERCH__ELF_FIELD(elf, bytes, Sym, st_name),
		.section = PERCH__ELF_FIELD(elf, bytes, Sym, st_shndx),
		.type = info & 15,
		.binding = info >> 4,
		.visibility = PERCH__ELF_FIELD(elf, bytes, Sym, st_other) & 3,
		.value = PERCH__ELF_FIELD(elf, bytes, Sym, st_value),
		.size = PERCH__ELF_FIELD(elf, bytes, Sym, st_size),
	};
}

int perch__elf_load_plain(const struct perch__elf *elf, const struct perch__elf_section *section,
			  uint64_t most, unsigned char **bytes, size_t *size)
{
	if (section->type == SHT_NULL || section->type == SHT_NOBITS || !section->size)
		return -ENOENT;
	*size = section->size;
	return perch__elf_load(elf, bytes, section->offset, section->size,
			       most < SIZE_MAX / 2 ? most : SIZE_MAX / 2);
}

/* ---- symbols ---- */

static size_t extended_of(const struct perch__elf *elf, size_t section)
{
	for (size_t i = 1; i < elf->nr_sections; i++)
		if (elf->section[i].type == SHT_SYMTAB_SHNDX && elf->section[i].link == section)
			return i;
	return 0;
}

int perch__elf_symbols_load(struct perch__elf_symbols *symbols, const struct perch__elf *elf,
			    size_t section, perch__elf_loader *loader)
{
	size_t extended = extended_of(elf, section), size;
	int rc;

	*symbols = (struct perch__elf_symbols){ .elf = elf };
	rc = loader(elf, &elf->section[section], MOST_SYMBOL_BYTES, &symbols->bytes, &size);
	if (rc)
		return rc;
	symbols->nr = size / PERCH__ELF_SIZE(elf, Sym);
	if (extended &&
	    !loader(elf, &elf->section[extended], MOST_SYMBOL_BYTES, &symbols->extended, &size))
		symbols->nr_extended = size / 4;
	return 0;
}

void perch__elf_symbols_clear(struct perch__elf_symbols *symbols)
{
	free(symbols->bytes);
	free(symbols->extended);
	*symbols = (struct perch__elf_symbols){ 0 };
}

bool perch__elf_symbol(const struct perch__elf_symbols *symbols, size_t number,
		       struct perch__elf_symbol *symbol)
{
	const struct perch__elf *elf = symbols->elf;

	if (number >= symbols->nr)
		return false;
	*symbol =
		perch__elf_decode_symbol(elf, symbols->bytes + number * PERCH__ELF_SIZE(elf, Sym));
	if (symbol->section == SHN_XINDEX && number < symbols->nr_extended)
		symbol->section = perch__elf_word(elf, symbols->extended + 4 * number, 4);
	else if (symbol->section >= SHN_LORESERVE && symbol->section != SHN_ABS)
		symbol->section = SHN_UNDEF;
	return true;
}

/* ---- segments and sections ---- */

bool perch__elf_find_offset(const struct perch__elf *elf, uint64_t address, bool code,
			    uint64_t *offset)
{
	for (size_t i = 0; i < elf->nr_segments; i++) {
		const struct perch__elf_segment *segment = &elf->segment[i];

		if (segment->type != PT_LOAD || (code && !(segment->flags & PF_X)) ||
		    address < segment->address || address - segment->address >= segment->size)
			continue;
		/* a segment may claim more than the file has */
		if (segment->offset > elf->size || segment->size > elf->size - segment->offset)
			continue;
		*offset = address - segment->address + segment->offset;
		return true;
	}
	return false;
}

const struct perch__elf_segment *perch__elf_segment_of_type(const struct perch__elf *elf,
							    uint32_t type)
{
	for (size_t i = 0; i < elf->nr_segments; i++)
		if (elf->segment[i].type == type)
			return &elf->segment[i];
	return NULL;
}

/* Adds the segments of type PT_LOAD, or those of the other types that are used. */
static void take_segments(struct perch__elf *elf, const unsigned char *table, size_t nr, bool loads)
{
	size_t size = PERCH__ELF_SIZE(elf, Phdr);

	for (const unsigned char *one = table; one < table + nr * size; one += size) {
		uint32_t type = PERCH__ELF_FIELD(elf, one, Phdr, p_type);

		if (type == PT_GNU_STACK)
			elf->executable_data = PERCH__ELF_FIELD(elf, one, Phdr, p_flags) & PF_X;
		if (loads ? type != PT_LOAD
			  : type != PT_NOTE && type != PT_DYNAMIC && type != PT_GNU_EH_FRAME)
			continue;
		elf->nr_loads += loads;
		elf->segment[elf->nr_segments++] = (struct perch__elf_segment){
			.address = PERCH__ELF_FIELD(elf, one, Phdr, p_vaddr),
			.offset = PERCH__ELF_FIELD(elf, one, Phdr, p_offset),
			.size = PERCH__ELF_FIELD(elf, one, Phdr, p_filesz),
			.memory_size = PERCH__ELF_FIELD(elf, one, Phdr, p_memsz),
			.align = PERCH__ELF_FIELD(elf, one, Phdr, p_align),
			.type = type,
			.flags = PERCH__ELF_FIELD(elf, one, Phdr, p_flags),
		};
	}
}

static int read_segments(struct perch__elf *elf, const unsigned char *header)
{
	uint64_t offset = PERCH__ELF_FIELD(elf, header, Ehdr, e_phoff);
	size_t nr = PERCH__ELF_FIELD(elf, header, Ehdr, e_phnum), size = PERCH__ELF_SIZE(elf, Phdr);
	unsigned char *table;
	int rc;

	if (!nr)
		return 0;
	if (nr > MAX_SEGMENTS || PERCH__ELF_FIELD(elf, header, Ehdr, e_phentsize) != size)
		return -EBADMSG;
	rc = perch__elf_load(elf, &table, offset, nr * size, MAX_SEGMENTS * sizeof(Elf64_Phdr));
	if (rc)
		return rc;
	elf->executable_data = true;
	elf->segment = perch__calloc(nr, sizeof(*elf->segment));
	if (elf->segment) {
		take_segments(elf, table, nr, true);
		take_segments(elf, table, nr, false);
	}
	free(table);
	return elf->segment ? 0 : -ENOMEM;
}

static void take_section(const struct perch__elf *elf, const unsigned char *one, size_t names_size,
			 struct perch__elf_section *section)
{
	uint32_t name = PERCH__ELF_FIELD(elf, one, Shdr, sh_name);
	uint64_t flags = PERCH__ELF_FIELD(elf, one, Shdr, sh_flags);

	*section = (struct perch__elf_section){
		.name = name < names_size ? elf->names + name : "",
		.type = PERCH__ELF_FIELD(elf, one, Shdr, sh_type),
		.link = PERCH__ELF_FIELD(elf, one, Shdr, sh_link),
		.info = PERCH__ELF_FIELD(elf, one, Shdr, sh_info),
		.flags = flags,
		.code = flags & SHF_ALLOC && flags & SHF_EXECINSTR,
		.address = PERCH__ELF_FIELD(elf, one, Shdr, sh_addr),
		.offset = PERCH__ELF_FIELD(elf, one, Shdr, sh_offset),
		.size = PERCH__ELF_FIELD(elf, one, Shdr, sh_size),
		.entry = PERCH__ELF_FIELD(elf, one, Shdr, sh_entsize),
		.alignment = PERCH__ELF_FIELD(elf, one, Shdr, sh_addralign),
	};
}

/* Numbers that do not fit the header's 16 bits are in section 0. names: index of a section */
static int count_sections(struct perch__elf *elf, const unsigned char *header, uint64_t offset,
			  uint64_t *nr, uint64_t *names)
{
	unsigned char first[sizeof(Elf64_Shdr)];
	size_t size = PERCH__ELF_SIZE(elf, Shdr);

	*nr = PERCH__ELF_FIELD(elf, header, Ehdr, e_shnum);
	*names = PERCH__ELF_FIELD(elf, header, Ehdr, e_shstrndx);
	if (*nr && *names != SHN_XINDEX)
		return 0;
	if (perch__elf_read(elf, first, offset, size) != (ssize_t)size)
		return -EBADMSG;
	if (!*nr)
		*nr = PERCH__ELF_FIELD(elf, first, Shdr, sh_size);
	if (*names == SHN_XINDEX)
		*names = PERCH__ELF_FIELD(elf, first, Shdr, sh_link);
	return 0;
}

/* Loads the names of the sections. Returns their size, 0 if they are damaged, or -ENOMEM. */
static ssize_t load_names(struct perch__elf *elf, const unsigned char *header)
{
	uint64_t size = PERCH__ELF_FIELD(elf, header, Shdr, sh_size);
	unsigned char *names;
	int rc = perch__elf_load(elf, &names, PERCH__ELF_FIELD(elf, header, Shdr, sh_offset), size,
				 MAX_NAMES);

	if (rc)
		return rc == -ENOMEM ? rc : 0;
	elf->names = (char *)names;
	return (ssize_t)size;
}

static int take_sections(struct perch__elf *elf, const unsigned char *table, size_t nr,
			 size_t names)
{
	size_t size = PERCH__ELF_SIZE(elf, Shdr);
	ssize_t names_size = names < nr ? load_names(elf, table + names * size) : 0;

	elf->section = names_size < 0 ? NULL : perch__calloc(nr ? nr : 1, sizeof(*elf->section));
	if (!elf->section) { /* a later call begins again */
		free(elf->names);
		elf->names = NULL;
		return -ENOMEM;
	}
	elf->section[0].name = "";
	for (; elf->nr_sections < nr; elf->nr_sections++)
		take_section(elf, table + elf->nr_sections * size, (size_t)names_size,
			     &elf->section[elf->nr_sections]);
	return 0;
}

static int read_sections(struct perch__elf *elf)
{
	size_t size = PERCH__ELF_SIZE(elf, Shdr);
	unsigned char header[sizeof(Elf64_Ehdr)];
	unsigned char *table;
	uint64_t nr, names, offset;
	int rc;

	if (perch__elf_read(elf, header, 0, sizeof(header)) < (ssize_t)PERCH__ELF_SIZE(elf, Ehdr))
		return -EBADMSG;
	offset = PERCH__ELF_FIELD(elf, header, Ehdr, e_shoff);
	if (!offset)
		return take_sections(elf, NULL, 0, 0);
	if (PERCH__ELF_FIELD(elf, header, Ehdr, e_shentsize) != size ||
	    count_sections(elf, header, offset, &nr, &names) || nr > MAX_SECTIONS)
		return -EBADMSG;
	rc = perch__elf_load(elf, &table, offset, nr * size, MAX_SECTIONS * sizeof(Elf64_Shdr));
	if (rc)
		return rc;
	rc = take_sections(elf, table, nr, names);
	free(table);
	return rc;
}

int perch__elf_read_sections(struct perch__elf *elf)
{
	int rc;

	if (elf->section)
		return elf->sections_result;
	rc = read_sections(elf);
	if (rc == -ENOMEM || (rc && take_sections(elf, NULL, 0, 0)))
		return -ENOMEM;
	elf->sections_result = rc;
	return rc;
}

size_t perch__elf_find_section(const struct perch__elf *elf, const char *name)
{
	for (size_t i = 1; i < elf->nr_sections; i++)
		if (!strcmp(elf->section[i].name, name))
			return i;
	return 0;
}

static int read_header(struct perch__elf *elf)
{
	static const uint16_t one = 1;
	unsigned char native = *(const unsigned char *)&one ? ELFDATA2LSB : ELFDATA2MSB;
	unsigned char header[sizeof(Elf64_Ehdr)];
	ssize_t got;
	int rc;

	/* files of /proc have size 0, and reading some of them has effects */
	if (elf->size < sizeof(Elf32_Ehdr))
		return -EBADMSG;
	got = perch__elf_read(elf, header, 0, sizeof(header));
	if (got < 0)
		return got;
	if (got < (ssize_t)sizeof(Elf32_Ehdr) || memcmp(header, ELFMAG, SELFMAG))
		return -EBADMSG;
	elf->wide = header[EI_CLASS] == ELFCLASS64;
	elf->swapped = header[EI_DATA] != native;
	if ((!elf->wide && header[EI_CLASS] != ELFCLASS32) ||
	    got < (ssize_t)PERCH__ELF_SIZE(elf, Ehdr) ||
	    (header[EI_DATA] != ELFDATA2LSB && header[EI_DATA] != ELFDATA2MSB))
		return -EBADMSG;
	elf->type = PERCH__ELF_FIELD(elf, header, Ehdr, e_type);
	elf->machine = PERCH__ELF_FIELD(elf, header, Ehdr, e_machine);
	elf->entry = PERCH__ELF_FIELD(elf, header, Ehdr, e_entry);
	rc = read_segments(elf, header);
	if (rc)
		perch__elf_clear(elf);
	return rc;
}

int perch__elf_init_file(struct perch__elf *elf, int fd)
{
	struct stat status;

	*elf = (struct perch__elf){ .fd = fd };
	if (fstat(fd, &status))
		return -errno;
	elf->size = (uint64_t)status.st_size;
	return read_header(elf);
}

int perch__elf_init_image(struct perch__elf *elf, const void *image, size_t size)
{
	*elf = (struct perch__elf){ .fd = -1, .image = image, .size = size };
	return read_header(elf);
}

void perch__elf_clear(struct perch__elf *elf)
{
	free(elf->segment);
	free(elf->section);
	free(elf->names);
	elf->segment = NULL;
	elf->section = NULL;
	elf->names = NULL;
	elf->nr_segments = elf->nr_loads = elf->nr_sections = 0;
}

static uint32_t note_word(const unsigned char *bytes, bool swapped)
{
	uint32_t word;

	memcpy(&word, bytes, sizeof(word));
	return swapped ? bswap_32(word) : word;
}

/* Sizes have 32 bits, so their sums do not overflow 64. */
int perch__elf_next_note(struct perch__elf_note *note, const void *bytes, size_t size, size_t align,
			 bool swapped, size_t *at)
{
	const unsigned char *header = (const unsigned char *)bytes + *at;
	uint64_t mask = align == 8 ? 7 : 3, data, next;

	if (size - *at < sizeof(Elf64_Nhdr))
		return 0;
	note->name_size = note_word(header, swapped);
	note->size = note_word(header + 4, swapped);
	note->type = note_word(header + 8, swapped);
	data = *at + ((sizeof(Elf64_Nhdr) + (uint64_t)note->name_size + mask) & ~mask);
	if (data > size || note->size > size - data)
		return -EBADMSG;
	note->name = header + sizeof(Elf64_Nhdr);
	note->data = (const unsigned char *)bytes + data;
	next = data + (((uint64_t)note->size + mask) & ~mask);
	*at = next < size ? next : size;
	return 1;
}

int perch__elf_notes_build_id(const void *notes, size_t size, size_t align, bool swapped,
			      uint8_t build_id[PERCH__BUILD_ID_MAX])
{
	struct perch__elf_note note;
	size_t at = 0;

	while (perch__elf_next_note(&note, notes, size, align, swapped, &at) > 0) {
		if (note.type != NT_GNU_BUILD_ID || note.name_size != sizeof(ELF_NOTE_GNU) ||
		    memcmp(note.name, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) || !note.size ||
		    note.size > PERCH__BUILD_ID_MAX)
			continue;
		memset(build_id, 0, PERCH__BUILD_ID_MAX);
		memcpy(build_id, note.data, note.size);
		return (int)note.size;
	}
	return 0;
}

/*
 * seen: bytes of notes that were read before. Notes that exceed the file or the limit are skipped.
 */
static int load_build_id(const struct perch__elf *elf, uint64_t offset, uint64_t size,
			 uint64_t align, uint64_t *seen, uint8_t build_id[PERCH__BUILD_ID_MAX])
{
	unsigned char *notes;
	int rc;

	if (*seen > MAX_NOTES || size > MAX_NOTES - *seen)
		return 0;
	*seen += size + 64;
	rc = perch__elf_load(elf, &notes, offset, size, MAX_NOTES);
	if (rc)
		return rc == -ENOMEM ? rc : 0;
	rc = perch__elf_notes_build_id(notes, size, align, elf->swapped, build_id);
	free(notes);
	return rc;
}

int perch__elf_build_id(struct perch__elf *elf, uint8_t build_id[PERCH__BUILD_ID_MAX])
{
	uint64_t seen = 0;
	int rc = 0;

	for (size_t i = 0; i < elf->nr_segments && !rc; i++) {
		const struct perch__elf_segment *segment = &elf->segment[i];

		if (segment->type == PT_NOTE)
			rc = load_build_id(elf, segment->offset, segment->size, segment->align,
					   &seen, build_id);
	}
	if (rc)
		return rc;
	rc = perch__elf_read_sections(elf);
	if (rc)
		return rc == -ENOMEM ? rc : 0;
	for (size_t i = 1; i < elf->nr_sections && !rc; i++) {
		const struct perch__elf_section *section = &elf->section[i];

		if (section->type == SHT_NOTE && !(section->flags & SHF_COMPRESSED))
			rc = load_build_id(elf, section->offset, section->size, 4, &seen, build_id);
	}
	return rc;
}
