/* SPDX-License-Identifier: MIT */
/*
 * Opens .debug_frame. libdw reads all debug information of a file to use this section, which may be
 * gigabytes. So the section is copied to a small ELF file in memory.
 */
#include <stdlib.h>
#include <string.h>
#ifdef PERCH_HAVE_ZSTD
#include <zstd.h>
#endif

#include "base/memory.h"
#include "internal.h"

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

enum { MAX_SIZE = 1 << 28 };

static const char names[] = "\0.debug_frame\0.shstrtab";
enum { NAME = 1, NAMES_NAME = 14 };

/* What a compressed section claims to have. */
static uint64_t uncompressed_size(Elf_Scn *section, const GElf_Shdr *header, bool gnu)
{
	const Elf_Data *data = PERCH__COUNTED_CALL(elf_rawdata(section, NULL));
	GElf_Chdr compressed;
	uint64_t size = 0;

	if (header->sh_flags & SHF_COMPRESSED)
		return gelf_getchdr(section, &compressed) ? compressed.ch_size : UINT64_MAX;
	if (!gnu)
		return header->sh_size;
	/* "ZLIB", and a number that is always big-endian */
	if (!data || !data->d_buf || data->d_size < 12)
		return UINT64_MAX;
	for (size_t i = 4; i < 12; i++)
		size = size << 8 | ((const uint8_t *)data->d_buf)[i];
	return size;
}

/*
 * libelf 0.188 decompresses only zlib. Sets the bytes, which are the caller's to free. size: what
 * the section claims to have.
 */
static bool decompress_zstd(Elf_Scn *section, bool wide, uint64_t size, Elf_Data *bytes)
{
#ifdef PERCH_HAVE_ZSTD
	const Elf_Data *data = PERCH__COUNTED_CALL(elf_rawdata(section, NULL));
	size_t header = wide ? sizeof(Elf64_Chdr) : sizeof(Elf32_Chdr);

	if (!data || !data->d_buf || data->d_size < header || !size)
		return false;
	bytes->d_buf = perch__malloc(size);
	bytes->d_size = size;
	if (bytes->d_buf && ZSTD_decompress(bytes->d_buf, size, (const char *)data->d_buf + header,
					    data->d_size - header) == size)
		return true;
	free(bytes->d_buf);
#else
	(void)section, (void)wide, (void)size, (void)bytes;
#endif
	return false;
}

/*
 * Finds the bytes of the section, uncompressed; they belong to the file. *owned: the caller frees
 * them.
 */
static bool get_data(Elf *elf, Elf_Scn *section, bool gnu, Elf_Data *bytes, bool *owned)
{
	const Elf_Data *data;
	GElf_Shdr header;
	GElf_Chdr compressed;
	uint64_t size;

	*owned = false;
	if (!gelf_getshdr(section, &header))
		return false;
	size = uncompressed_size(section, &header, gnu);
	if (size > MAX_SIZE)
		return false;
	if (header.sh_flags & SHF_COMPRESSED && gelf_getchdr(section, &compressed) &&
	    compressed.ch_type == ELFCOMPRESS_ZSTD) {
		*owned = decompress_zstd(section, gelf_getclass(elf) == ELFCLASS64, size, bytes);
		return *owned;
	}
	if ((header.sh_flags & SHF_COMPRESSED && elf_compress(section, 0, 0) < 0) ||
	    (gnu && elf_compress_gnu(section, 0, 0) < 0))
		return false;
	data = PERCH__COUNTED_CALL(elf_rawdata(section, NULL));
	if (!data || !data->d_buf || data->d_size > MAX_SIZE)
		return false;
	*bytes = *data;
	return true;
}

struct image {
	Elf64_Ehdr header;
	Elf64_Shdr section[3];
	char names[sizeof(names)];
	uint8_t bytes[];
};

/* Writes a struct in the byte order of the file. */
static bool encode(void *to, size_t size, Elf_Type type, unsigned order)
{
	Elf_Data out = { .d_buf = to, .d_type = type, .d_size = size, .d_version = EV_CURRENT };
	Elf_Data in = out;

	return elf64_xlatetof(&out, &in, order);
}

static struct image *make_image(Elf *elf, const Elf_Data *data)
{
	struct image *image = perch__calloc(1, sizeof(*image) + data->d_size);
	const Elf64_Ehdr *original = elf64_getehdr(elf);
	unsigned order;

	if (!image || !original) {
		free(image);
		return NULL;
	}
	image->header = *original;
	order = original->e_ident[EI_DATA];
	image->header.e_phoff = image->header.e_phnum = 0;
	image->header.e_shoff = offsetof(struct image, section);
	image->header.e_shentsize = sizeof(Elf64_Shdr);
	image->header.e_shnum = 3;
	image->header.e_shstrndx = 2;
	image->section[1] = (Elf64_Shdr){
		.sh_name = NAME,
		.sh_type = SHT_PROGBITS,
		.sh_offset = offsetof(struct image, bytes),
		.sh_size = data->d_size,
		.sh_addralign = 8,
	};
	image->section[2] = (Elf64_Shdr){
		.sh_name = NAMES_NAME,
		.sh_type = SHT_STRTAB,
		.sh_offset = offsetof(struct image, names),
		.sh_size = sizeof(names),
		.sh_addralign = 1,
	};
	memcpy(image->names, names, sizeof(names));
	memcpy(image->bytes, data->d_buf, data->d_size);
	if (!encode(&image->header, sizeof(image->header), ELF_T_EHDR, order) ||
	    !encode(image->section, sizeof(image->section), ELF_T_SHDR, order)) {
		free(image);
		return NULL;
	}
	return image;
}

bool perch__debug_frame_open(struct debug_frame *debug_frame, Elf *elf, Elf_Scn *section, bool gnu,
			     bool swapped)
{
	Elf_Data data = { 0 };
	bool owned;

	*debug_frame = (struct debug_frame){ 0 };
	if (!get_data(elf, section, gnu, &data, &owned))
		return false;
	debug_frame->image = make_image(elf, &data);
	if (owned)
		free(data.d_buf);
	if (!debug_frame->image)
		return false;
	debug_frame->elf = PERCH__COUNTED_CALL(
		elf_memory(debug_frame->image, sizeof(struct image) + data.d_size));
	if (debug_frame->elf && perch__check_cfi(debug_frame->elf,
						 PERCH__COUNTED_CALL(elf_rawdata(
							 elf_getscn(debug_frame->elf, 1), NULL)),
						 true, swapped, NULL, false))
		debug_frame->dwarf =
			PERCH__COUNTED_CALL(dwarf_begin_elf(debug_frame->elf, DWARF_C_READ, NULL));
	debug_frame->cfi =
		debug_frame->dwarf ? PERCH__COUNTED_CALL(dwarf_getcfi(debug_frame->dwarf)) : NULL;
	if (debug_frame->cfi)
		return true;
	perch__debug_frame_close(debug_frame);
	return false;
}

void perch__debug_frame_close(struct debug_frame *debug_frame)
{
	if (debug_frame->dwarf)
		dwarf_end(debug_frame->dwarf);
	if (debug_frame->elf)
		elf_end(debug_frame->elf);
	free(debug_frame->image);
	*debug_frame = (struct debug_frame){ 0 };
}
