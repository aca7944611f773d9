/* SPDX-License-Identifier: MIT */
/*
 * MMAP and MMAP2 records of the kernel, compared with /proc/self/maps, stat(2) and the notes of ELF
 * files.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <elf.h>
#include <link.h>
#include <sys/sysmacros.h>
#include <cmocka.h>

#include "records.h"

/* A line of /proc/self/maps. */
struct map {
	uint64_t start, end, offset, inode;
	char rights[5], name[512];
	unsigned int major, minor;
};

static struct map map_at(const void *address)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	struct map map;
	char line[1024];

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps)) {
		map.name[0] = 0;
		if (sscanf(line,
			   "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %511[^\n]",
			   &map.start, &map.end, map.rights, &map.offset, &map.major, &map.minor,
			   &map.inode, map.name) < 7)
			continue;
		if (map.start <= (uintptr_t)address && map.end > (uintptr_t)address) {
			fclose(maps);
			return map;
		}
	}
	fclose(maps);
	fail_msg("%p is not in /proc/self/maps", address);
	return map;
}

/* A temporary file of three pages. Its name determines the length of the record. */
struct file {
	int fd;
	char path[128];
};

static struct file make_file(const char *name)
{
	struct file file;

	snprintf(file.path, sizeof(file.path), "/tmp/perch %d %s", (int)getpid(), name);
	file.fd = open(file.path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
	assert_true(file.fd >= 0);
	assert_int_equal(ftruncate(file.fd, 3 * sysconf(_SC_PAGESIZE)), 0);
	return file;
}

static void remove_file(struct file *file)
{
	close(file->fd);
	unlink(file->path);
}

static void *map_file(const struct file *file, int rights, int flags, int page)
{
	size_t bytes = sysconf(_SC_PAGESIZE);
	void *at = mmap(NULL, 2 * bytes, rights, flags, file->fd, page * bytes);

	if (at == MAP_FAILED && errno == EPERM) {
		print_message("skipped: the file system of /tmp does not allow execution: %s\n",
			      strerror(errno));
		skip();
	}
	assert_ptr_not_equal(at, MAP_FAILED);
	return at;
}

static void unmap(void *at)
{
	munmap(at, 2 * sysconf(_SC_PAGESIZE));
}

/* Returns the record of the mapping that starts there, and fails unless there is exactly one. */
static const struct perch_record *record_of(const struct live *live, uint32_t type, const void *at)
{
	const struct perch_record *found = NULL;

	for (const struct perch_record *record = NULL; (record = live_next(live, type, record));)
		if (record->mmap.start == (uintptr_t)at) {
			assert_null(found);
			found = record;
		}
	assert_non_null(found);
	return found;
}

static void check_mapping(const struct perch_record *record, const struct map *map)
{
	assert_int_equal(record->mmap.pid, getpid());
	assert_int_equal(record->mmap.tid, current_tid());
	assert_written_by(record, getpid(), current_tid());
	assert_int_equal(record->mmap.start, map->start);
	assert_int_equal(record->mmap.length, map->end - map->start);
	assert_int_equal(record->misc & PERCH_MISC_CPUMODE_MASK, PERCH_MISC_USER);
	assert_int_equal(!!(record->misc & PERCH_MISC_MMAP_DATA), map->rights[2] != 'x');
}

/* The kernel pads the record to 8 bytes, so the test uses names of every length modulo 8. */
static void mmap_record_has_mapping(void **state)
{
	static const char name[] = "\xc3\xa9t\xc3\xa9 abcdefgh";
	struct perch_attr attr = live_attr();
	struct live live;

	(void)state;
	attr.mmap = 1;
	for (int i = 0; i < 9; i++) {
		const struct perch_record *record;
		struct file file = make_file(&name[i]);
		void *at, *data;
		struct map map;

		record_self(&live, &attr);
		live_enable(&live);
		at = map_file(&file, PROT_READ | PROT_EXEC, MAP_PRIVATE, i % 2);
		data = map_file(&file, PROT_READ, MAP_PRIVATE, 0); /* not recorded */
		record_end(&live);
		map = map_at(at);
		record = only_record(&live, PERCH_RECORD_MMAP);
		assert_ptr_equal(record, record_of(&live, PERCH_RECORD_MMAP, at));
		check_mapping(record, &map);
		assert_int_equal(record->mmap.page_offset, map.offset);
		assert_text(&record->mmap.filename, file.path);
		assert_string_equal(map.name, file.path);
		unmap(at);
		unmap(data);
		remove_file(&file);
		live_close(&live);
	}
}

static void check_mmap2(const struct live *live, const void *at, const struct file *file,
			uint32_t rights, uint32_t flags)
{
	const struct perch_record *record = record_of(live, PERCH_RECORD_MMAP2, at);
	struct map map = map_at(at);
	struct stat st;

	check_mapping(record, &map);
	assert_int_equal(record->mmap.page_offset, map.offset);
	assert_int_equal(record->mmap.major, map.major);
	assert_int_equal(record->mmap.minor, map.minor);
	assert_int_equal(record->mmap.inode, map.inode);
	assert_int_equal(record->mmap.protection, rights);
	assert_int_equal(record->mmap.flags & (MAP_SHARED | MAP_PRIVATE | MAP_LOCKED), flags);
	assert_int_equal(record->mmap.build_id_size, 0);
	assert_false(record->misc & PERCH_MISC_MMAP_BUILD_ID);
	assert_text(&record->mmap.filename, file->path);
	assert_int_equal(fstat(file->fd, &st), 0);
	assert_int_equal(record->mmap.inode, st.st_ino);
}

static void mmap2_record_has_mapping(void **state)
{
	static const struct {
		int rights, flags;
	} kinds[] = {
		{ PROT_READ | PROT_EXEC, MAP_PRIVATE },
		{ PROT_READ | PROT_WRITE, MAP_SHARED },
		{ PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE },
		{ PROT_NONE, MAP_SHARED },
	};
	struct file file = make_file("new");
	struct perch_attr attr = live_attr();
	void *at[4], *locked;
	struct live live;

	(void)state;
	attr.mmap = attr.mmap2 = attr.mmap_data = 1;
	record_self(&live, &attr);
	live_enable(&live);
	for (int i = 0; i < 4; i++)
		at[i] = map_file(&file, kinds[i].rights, kinds[i].flags, i % 2);
	locked = map_file(&file, PROT_READ, MAP_SHARED | MAP_LOCKED, 0);
	record_end(&live);
	for (int i = 0; i < 4; i++) {
		check_mmap2(&live, at[i], &file, kinds[i].rights, kinds[i].flags);
		unmap(at[i]);
	}
	check_mmap2(&live, locked, &file, PROT_READ, MAP_SHARED | MAP_LOCKED);
	unmap(locked);
	live_close(&live);
	remove_file(&file);
}

/*
 * page_offset is not compared: for anonymous memory it is an address in the record, but 0 in /proc.
 */
static void mmap2_record_of_anonymous_memory(void **state)
{
	const size_t bytes = 4 * sysconf(_SC_PAGESIZE);
	struct perch_attr attr = live_attr();
	const struct perch_record *record;
	struct live live;
	struct map map;
	void *at;

	(void)state;
	attr.mmap = attr.mmap2 = attr.mmap_data = 1;
	record_self(&live, &attr);
	live_enable(&live);
	/* no neighbor has this protection, so the kernel does not merge the two mappings */
	at = mmap(NULL, bytes, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		  0);
	record_end(&live);
	assert_ptr_not_equal(at, MAP_FAILED);
	map = map_at(at);
	record = record_of(&live, PERCH_RECORD_MMAP2, at);
	check_mapping(record, &map);
	assert_text(&record->mmap.filename, "//anon");
	assert_true(!record->mmap.major && !record->mmap.minor && !record->mmap.inode &&
		    !record->mmap.build_id_size);
	assert_int_equal(record->mmap.protection, PROT_READ | PROT_WRITE | PROT_EXEC);
	munmap(at, bytes);
	live_close(&live);
}

/* Writes an ELF file that has only a build id of this size; 0 is no build id. */
static void write_elf(const struct file *file, const uint8_t *id, size_t size)
{
	struct {
		ElfW(Ehdr) header;
		ElfW(Phdr) segment;
		ElfW(Nhdr) note;
		char owner[4];
		uint8_t id[20];
	} elf = {
		.header = { .e_ident = ELFMAG,
			    .e_type = ET_DYN,
			    .e_version = EV_CURRENT,
			    .e_ehsize = sizeof(ElfW(Ehdr)),
			    .e_phoff = sizeof(ElfW(Ehdr)),
			    .e_phentsize = sizeof(ElfW(Phdr)),
			    .e_phnum = !!size },
		.segment = { .p_type = PT_NOTE,
			     .p_offset = offsetof(typeof(elf), note),
			     .p_align = 4,
			     .p_filesz = sizeof(ElfW(Nhdr)) + 4 + (size + 3) / 4 * 4 },
		.note = { .n_namesz = 4, .n_descsz = size, .n_type = NT_GNU_BUILD_ID },
		.owner = "GNU",
	};

	elf.header.e_ident[EI_CLASS] = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;
	elf.header.e_ident[EI_DATA] = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB
										: ELFDATA2MSB;
	elf.header.e_ident[EI_VERSION] = EV_CURRENT;
	memcpy(elf.id, id, size);
	assert_int_equal(pwrite(file->fd, &elf, sizeof(elf), 0), sizeof(elf));
}

/* A record has the build id of the file, or if there is none, its device and inode. */
static void check_build_id(const struct live *live, const void *at, const uint8_t *id, size_t size)
{
	const struct perch_record *record = record_of(live, PERCH_RECORD_MMAP2, at);
	struct map map = map_at(at);

	check_mapping(record, &map);
	assert_text(&record->mmap.filename, map.name);
	assert_int_equal(record->mmap.build_id_size, size);
	assert_int_equal(!!(record->misc & PERCH_MISC_MMAP_BUILD_ID), !!size);
	if (size)
		assert_memory_equal(record->mmap.build_id, id, size);
	for (size_t i = size; i < sizeof(record->mmap.build_id); i++)
		assert_int_equal(record->mmap.build_id[i], 0);
	assert_int_equal(record->mmap.inode, size ? 0 : map.inode);
	assert_int_equal(record->mmap.minor, size ? 0 : map.minor);
	assert_int_equal(record->mmap.protection, PROT_READ | PROT_EXEC);
}

static void mmap2_record_has_build_id(void **state)
{
	static const uint8_t id[20] = "\xde\xad\xbe\xef"
				      "0123456789abcdef";
	static const size_t sizes[] = { 20, 16, 8, 1, 0 };
	struct perch_attr attr = live_attr();

	(void)state;
	attr.mmap = attr.mmap2 = attr.build_id = 1;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct file file = make_file("build id");
		struct live live;
		void *at;

		write_elf(&file, id, sizes[i]);
		record_self(&live, &attr);
		live_enable(&live);
		at = map_file(&file, PROT_READ | PROT_EXEC, MAP_PRIVATE, 0);
		record_end(&live);
		check_build_id(&live, at, id, sizes[i]);
		unmap(at);
		remove_file(&file);
		live_close(&live);
	}
}

static bool is_marked(const struct live *live, const void *at)
{
	const struct perch_record_header *header = record_of(live, PERCH_RECORD_MMAP2, at)->bytes;

	return header->misc & PERCH_MISC_MMAP_BUILD_ID;
}

/*
 * The kernel leaves the mark of an event in the record of the next one, which is the one that was
 * opened before: perch record therefore asks for no build ids (record_plan.c). From Linux 7.3 on it
 * does not.
 */
static void mmap2_record_beside_an_event_with_build_ids(void **state)
{
	static const uint8_t id[20] = "0123456789abcdefghij";
	struct perch_attr plain = live_attr(), with_id = live_attr();
	struct file file = make_file("two events");
	struct live before, with, after;
	struct perch_release release;
	bool marked;
	void *at;

	(void)state;
	plain.mmap = plain.mmap2 = 1;
	with_id.mmap = with_id.mmap2 = with_id.build_id = 1;
	write_elf(&file, id, sizeof(id));
	record_self(&before, &plain);
	record_self(&with, &with_id);
	record_self(&after, &plain);
	live_enable(&before);
	live_enable(&with);
	live_enable(&after);
	at = map_file(&file, PROT_READ | PROT_EXEC, MAP_PRIVATE, 0);
	record_end(&after);
	record_end(&with);
	record_end(&before);
	check_build_id(&before, at, NULL, 0);
	check_build_id(&with, at, id, sizeof(id));
	check_build_id(&after, at, NULL, 0);
	marked = is_marked(&before, at) || is_marked(&after, at);
	assert_int_equal(perch_machine_release(NULL, &release, NULL), 0);
	print_message("Linux %s %s records of other events\n", release.text,
		      marked ? "marks" : "does not mark");
	assert_false(marked && (release.major > 7 || (release.major == 7 && release.minor >= 3)));
	unmap(at);
	remove_file(&file);
	live_close(&after);
	live_close(&with);
	live_close(&before);
}

struct note {
	uint8_t id[20];
	size_t size;
};

/* Finds the build id of this program in its mapped segments. */
static int find_build_id(struct dl_phdr_info *info, size_t size, void *context)
{
	struct note *found = context;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const char *at = (const char *)info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
		const char *end = at + info->dlpi_phdr[i].p_memsz;

		while (info->dlpi_phdr[i].p_type == PT_NOTE && at + sizeof(ElfW(Nhdr)) < end) {
			const ElfW(Nhdr) *note = (const void *)at;
			const char *id = at + sizeof(*note) + ((note->n_namesz + 3) & ~3U);

			if (note->n_type == NT_GNU_BUILD_ID &&
			    note->n_descsz <= sizeof(found->id) &&
			    !memcmp(at + sizeof(*note), "GNU", 4)) {
				memcpy(found->id, id, note->n_descsz);
				found->size = note->n_descsz;
				return 1;
			}
			at = id + ((note->n_descsz + 3) & ~3U);
		}
	}
	return 1; /* stop: the first object is the program */
}

static void mmap2_record_has_build_id_of_this_program(void **state)
{
	struct file self = { .fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC) };
	struct perch_attr attr = live_attr();
	struct note note = { .size = 0 };
	struct live live;
	void *at;

	(void)state;
	assert_true(self.fd >= 0);
	dl_iterate_phdr(find_build_id, &note);
	attr.mmap = attr.mmap2 = attr.build_id = 1;
	record_self(&live, &attr);
	live_enable(&live);
	at = map_file(&self, PROT_READ | PROT_EXEC, MAP_PRIVATE, 0);
	record_end(&live);
	print_message("the build id has %zu bytes\n", note.size);
	check_build_id(&live, at, note.id, note.size);
	unmap(at);
	close(self.fd);
	live_close(&live);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mmap_record_has_mapping),
		cmocka_unit_test(mmap2_record_has_mapping),
		cmocka_unit_test(mmap2_record_of_anonymous_memory),
		cmocka_unit_test(mmap2_record_has_build_id),
		cmocka_unit_test(mmap2_record_beside_an_event_with_build_ids),
		cmocka_unit_test(mmap2_record_has_build_id_of_this_program),
	};

	return RECORDS_RUN(tests);
}
