/* SPDX-License-Identifier: MIT */
/* The ELF reader: notes, build ids, and truncated or corrupt images. */
#define _GNU_SOURCE
#include <byteswap.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/files/elf.h"
#include "test_base.h"

struct note {
	Elf64_Nhdr header;
	char name[4];
	unsigned char data[8];
};

#define NOTE(type, ...)                \
	{                              \
		{ 4, 5, type }, "GNU", \
		{                      \
			__VA_ARGS__    \
		}                      \
	}

/* One code segment, and one segment of two notes; the second is a build id of 5 bytes. */
struct image {
	Elf64_Ehdr header;
	Elf64_Phdr segment[2];
	struct note note[2];
};

static struct image make_image(void)
{
	struct image image = {
		.header = { .e_machine = EM_X86_64,
			    .e_phoff = offsetof(struct image, segment),
			    .e_phentsize = sizeof(Elf64_Phdr),
			    .e_phnum = 2 },
		.segment = { { .p_type = PT_LOAD,
			       .p_flags = PF_R | PF_X,
			       .p_vaddr = 0x1000,
			       .p_filesz = sizeof(struct image),
			       .p_memsz = 0x1000 },
			     { .p_type = PT_NOTE,
			       .p_offset = offsetof(struct image, note),
			       .p_filesz = sizeof(image.note),
			       .p_align = 4 } },
		.note = { NOTE(NT_GNU_ABI_TAG, 9, 9, 9), NOTE(NT_GNU_BUILD_ID, 1, 2, 3, 4, 5) },
	};

	memcpy(image.header.e_ident, ELFMAG, SELFMAG);
	image.header.e_ident[EI_CLASS] = ELFCLASS64;
	image.header.e_ident[EI_DATA] = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB
										  : ELFDATA2MSB;
	return image;
}

static void check_image(struct perch__elf *elf)
{
	uint8_t build_id[PERCH__BUILD_ID_MAX];
	uint64_t offset;

	assert_int_equal(elf->machine, EM_X86_64);
	assert_true(elf->wide);
	assert_false(elf->swapped);
	assert_int_equal(elf->nr_segments, 2);
	assert_int_equal(perch__elf_build_id(elf, build_id), 5);
	assert_memory_equal(build_id, "\1\2\3\4\5\0\0\0", 8);
	assert_true(perch__elf_find_offset(elf, 0x1010, true, &offset));
	assert_int_equal(offset, 0x10);
	assert_false(perch__elf_find_offset(elf, 0xfff, true, &offset));
	assert_false(perch__elf_find_offset(elf, 0x1000 + sizeof(struct image), false, &offset));
	perch__elf_clear(elf);
}

static void reads_images_and_files(void **state)
{
	struct image image = make_image();
	struct perch__elf elf;
	int fd = memfd_create("elf", MFD_CLOEXEC);
	(void)state;

	assert_int_equal(perch__elf_init_image(&elf, &image, sizeof(image)), 0);
	check_image(&elf);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, &image, sizeof(image)), sizeof(image));
	assert_int_equal(perch__elf_init_file(&elf, fd), 0);
	check_image(&elf);
	close(fd);
	assert_int_equal(perch__elf_init_file(&elf, fd), -EBADF);
}

static void refuses_other_files(void **state)
{
	struct image image = make_image();
	struct perch__elf elf;
	(void)state;

	for (size_t size = 0; size < offsetof(struct image, note); size++)
		assert_int_equal(perch__elf_init_image(&elf, &image, size), -EBADMSG);
	image.header.e_phentsize++;
	assert_int_equal(perch__elf_init_image(&elf, &image, sizeof(image)), -EBADMSG);
	image = make_image();
	image.header.e_phoff = UINT64_MAX - 8;
	assert_int_equal(perch__elf_init_image(&elf, &image, sizeof(image)), -EBADMSG);
	image = make_image();
	image.header.e_ident[EI_DATA] = 3;
	assert_int_equal(perch__elf_init_image(&elf, &image, sizeof(image)), -EBADMSG);
	image = make_image();
	image.header.e_ident[EI_CLASS] = 3;
	assert_int_equal(perch__elf_init_image(&elf, &image, sizeof(image)), -EBADMSG);
	image = make_image();
	image.header.e_ident[0] = 0;
	assert_int_equal(perch__elf_init_image(&elf, &image, sizeof(image)), -EBADMSG);
}

/* Segments and notes that exceed the file give no offsets and no build id. */
static void ignores_segments_beyond_the_file(void **state)
{
	uint8_t build_id[PERCH__BUILD_ID_MAX];
	struct image image = make_image();
	struct perch__elf elf;
	uint64_t offset;
	(void)state;

	assert_int_equal(perch__elf_init_image(&elf, &image, sizeof(image) - 1), 0);
	assert_int_equal(perch__elf_build_id(&elf, build_id), 0);
	assert_false(perch__elf_find_offset(&elf, 0x1010, true, &offset));
	perch__elf_clear(&elf);
	image.header.e_shoff = sizeof(image); /* the section table is beyond the end */
	image.header.e_shentsize = sizeof(Elf64_Shdr);
	image.header.e_shnum = 1;
	assert_int_equal(perch__elf_init_image(&elf, &image, sizeof(image)), 0);
	assert_int_equal(perch__elf_build_id(&elf, build_id), 5);
	assert_int_equal(perch__elf_read_sections(&elf), -EBADMSG);
	perch__elf_clear(&elf);
}

static void finds_the_build_id_among_notes(void **state)
{
	struct note notes[] = { NOTE(NT_GNU_BUILD_ID + 1, 7),
				NOTE(NT_GNU_BUILD_ID, 1, 2, 3, 4, 5) };
	uint8_t build_id[PERCH__BUILD_ID_MAX];
	(void)state;

	assert_int_equal(perch__elf_notes_build_id(notes, sizeof(notes), 4, false, build_id), 5);
	assert_int_equal(perch__elf_notes_build_id(notes, sizeof(notes) - 3, 4, false, build_id),
			 5);
	assert_int_equal(perch__elf_notes_build_id(notes, sizeof(notes) - 4, 4, false, build_id),
			 0);
	assert_int_equal(perch__elf_notes_build_id(notes, sizeof(notes), 4, true, build_id), 0);
	for (size_t i = 0; i < 2; i++) {
		notes[i].header.n_namesz = bswap_32(notes[i].header.n_namesz);
		notes[i].header.n_descsz = bswap_32(notes[i].header.n_descsz);
		notes[i].header.n_type = bswap_32(notes[i].header.n_type);
	}
	assert_int_equal(perch__elf_notes_build_id(notes, sizeof(notes), 4, true, build_id), 5);
	assert_int_equal(build_id[4], 5);
}

static void stops_at_a_truncated_note(void **state)
{
	struct note notes[] = { NOTE(1, 1), NOTE(2, 2) };
	struct perch__elf_note note;
	size_t at = 0;
	(void)state;

	assert_int_equal(perch__elf_next_note(&note, notes, sizeof(notes), 4, false, &at), 1);
	assert_int_equal(note.type, 1);
	assert_int_equal(note.size, 5);
	assert_memory_equal(note.name, "GNU", 4);
	assert_ptr_equal(note.data, notes[0].data);
	notes[1].header.n_descsz = UINT32_MAX;
	assert_int_equal(perch__elf_next_note(&note, notes, sizeof(notes), 4, false, &at),
			 -EBADMSG);
	notes[1].header = (Elf64_Nhdr){ UINT32_MAX, 5, 2 };
	assert_int_equal(perch__elf_next_note(&note, notes, sizeof(notes), 4, false, &at),
			 -EBADMSG);
	notes[1].header = (Elf64_Nhdr){ 4, 8, 2 };
	assert_int_equal(perch__elf_next_note(&note, notes, sizeof(notes), 4, false, &at), 1);
	assert_int_equal(at, sizeof(notes));
	assert_int_equal(perch__elf_next_note(&note, notes, sizeof(notes), 4, false, &at), 0);
}

int test_base_elf(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_images_and_files),
		cmocka_unit_test(refuses_other_files),
		cmocka_unit_test(ignores_segments_beyond_the_file),
		cmocka_unit_test(finds_the_build_id_among_notes),
		cmocka_unit_test(stops_at_a_truncated_note),
	};

	return cmocka_run_group_tests_name("base/files/elf.h", tests, NULL, NULL);
}
