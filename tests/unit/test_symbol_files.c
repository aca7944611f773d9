/* SPDX-License-Identifier: MIT */
/* Tests which file the symbols of a DSO are from, and the reasons why there are none. */
#include "symbol_fixture.h"

#include <zlib.h>

static const uint8_t this_id[20] = { 0xab, 0xcd, 3,  4,	 5,  6,	 7,  8,	 9,  10,
				     11,   12,	 13, 14, 15, 16, 17, 18, 19, 20 };
static const uint8_t other_id[20] = { 0xab, 0xcd, 3,  4,  5,  6,  7,  8,  9,  10,
				      11,   12,	  13, 14, 15, 16, 17, 18, 19, 99 };

static const struct built_symbol full[] = { { "from_symtab", CODE, 16, STB_LOCAL, STT_FUNC, TEXT,
					      0 } };
static const struct built_symbol exported[] = { { "from_dynsym", CODE + 16, 16, STB_GLOBAL,
						  STT_FUNC, TEXT, 0 } };

static struct perch_dso with_id(const char *path, const uint8_t *id, uint8_t size)
{
	struct perch_dso dso = dso_at(path, PERCH_DSO_FILE);

	dso.build_id_size = size;
	memcpy(dso.build_id, id, size);
	return dso;
}

#define ONLY_EXPORTS "[only exported symbols: the file is stripped, and no debug file was found]"

/* Looks up the name at an offset with a new handle. Without a symbol, the error in brackets. */
static const char *ask(const struct perch_symbols_options *options, const struct perch_dso *dso,
		       uint64_t offset)
{
	static char answer[256];
	struct perch_symbols *symbols = new_symbols(options);
	const char *name = name_at(symbols, dso, offset);
	const char *error = perch_symbols_error(symbols, dso);

	if (*name)
		snprintf(answer, sizeof(answer), "%s", name);
	else
		snprintf(answer, sizeof(answer), "[%s]", error ? error : "");
	perch_symbols_free(symbols);
	return answer;
}

static void finds_exports_of_stripped_file(void **state)
{
	struct perch_dso dso = dso_at(path_in_directory("stripped"), PERCH_DSO_FILE);

	(void)state;
	write_elf(dso.path, SHT_DYNSYM, exported, 1, NULL, 0);
	assert_string_equal(ask(NULL, &dso, CODE_OFFSET + 16), "from_dynsym");
	assert_string_equal(ask(NULL, &dso, CODE_OFFSET), ONLY_EXPORTS);
}

static void opens_the_file_with_the_recorded_build_id(void **state)
{
	const char *path = path_in_directory("opened");
	struct perch_dso same = with_id(path, this_id, 20), other = with_id(path, other_id, 20);
	struct perch_dso anonymous = dso_at("//anon", PERCH_DSO_ANON);
	struct perch_symbols *symbols = new_symbols(NULL);
	struct perch_error err;
	char magic[SELFMAG];
	int fd;

	(void)state;
	write_elf(path, SHT_SYMTAB, full, 1, this_id, 20);
	assert_int_equal(perch_symbols_open_file(symbols, &same, &fd, &err), 0);
	assert_int_equal(pread(fd, magic, SELFMAG, 0), SELFMAG);
	assert_memory_equal(magic, ELFMAG, SELFMAG);
	close(fd);
	assert_int_equal(perch_symbols_open_file(symbols, &other, &fd, &err), -ESTALE);
	assert_int_equal(fd, -1);
	assert_string_equal(err.message, "the build id of the file is not the recorded one");
	assert_int_equal(perch_symbols_open_file(symbols, &anonymous, &fd, &err), -ENOENT);
	fd = 0;
	assert_int_equal(perch_symbols_download_debug_file(symbols, &same, &fd, &err), -ENOENT);
	assert_int_equal(fd, -1);
	assert_string_equal(err.message,
			    "no servers of debuginfod: perch_symbols_options.debuginfod or "
			    "DEBUGINFOD_URLS is not set");
	perch_symbols_free(symbols);
}

static void refuses_other_build_id(void **state)
{
	const char *path = path_in_directory("build");
	struct perch_dso same = with_id(path, this_id, 20), other = with_id(path, other_id, 20);
	struct perch_dso padded = with_id(path, this_id, 20);

	(void)state;
	write_elf(path, SHT_SYMTAB, full, 1, this_id, 20);
	assert_string_equal(ask(NULL, &same, CODE_OFFSET), "from_symtab");
	assert_non_null(strstr(ask(NULL, &other, CODE_OFFSET), "build id of the file"));
	/* a short id that an old perf version padded to 20 bytes */
	write_elf(path, SHT_SYMTAB, full, 1, this_id, 8);
	assert_non_null(strstr(ask(NULL, &padded, CODE_OFFSET), "build id of the file"));
	memset(padded.build_id + 8, 0, 12);
	assert_string_equal(ask(NULL, &padded, CODE_OFFSET), "from_symtab");
	/* a file without a build id does not match */
	write_elf(path, SHT_SYMTAB, full, 1, NULL, 0);
	assert_non_null(strstr(ask(NULL, &same, CODE_OFFSET), "build id of the file"));
}

static uint32_t crc_of(const char *path)
{
	uint8_t bytes[1 << 14];
	FILE *stream = fopen(path, "r");
	size_t size;

	assert_non_null(stream);
	size = fread(bytes, 1, sizeof(bytes), stream);
	fclose(stream);
	return (uint32_t)crc32(0, bytes, (uInt)size);
}

static void write_linked(const char *path, const char *link, uint32_t crc)
{
	struct built symbols, names, note = { 0 }, out;
	struct built_file file = code_file();

	make_symbols(&symbols, &names, false, exported, 1);
	add_symbols(&file, SHT_DYNSYM, &symbols, &names);
	put_bytes(&note, link, strlen(link) + 1);
	note.size = (note.size + 3) & ~(size_t)3;
	put_number(&note, crc, 4);
	add_section(&file, (struct built_section){ ".gnu_debuglink", SHT_PROGBITS, .data = &note });
	make_elf(&out, &file);
	write_bytes(path, out.bytes, out.size);
}

static void uses_debug_link(void **state)
{
	static const char *const candidates[] = { "bin/program.debug", "bin/.debug/program.debug",
						  "root/usr/lib/debug/bin/program.debug" };
	struct perch_dso dso = dso_at(path_in_directory("bin/program"), PERCH_DSO_FILE);

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		const struct perch_symbols_options below = { .root = path_in_directory("root") };
		const struct perch_symbols_options *options = i == 2 ? &below : NULL;
		const char *debug = path_in_directory(candidates[i]);

		dso.path = i == 2 ? "/bin/program" : path_in_directory("bin/program");
		write_elf(debug, SHT_SYMTAB, full, 1, NULL, 0);
		write_linked(i == 2 ? path_in_directory("root/bin/program") : dso.path,
			     "program.debug", crc_of(debug));
		assert_string_equal(ask(options, &dso, CODE_OFFSET), "from_symtab");
		assert_string_equal(ask(options, &dso, CODE_OFFSET + 16), "from_dynsym");
		/* one bit of the file differs: the CRC does not match */
		write_linked(i == 2 ? path_in_directory("root/bin/program") : dso.path,
			     "program.debug", crc_of(debug) ^ 1);
		assert_string_equal(ask(options, &dso, CODE_OFFSET), ONLY_EXPORTS);
		unlink(debug);
	}
	/* a link is a file name, not a path */
	write_elf(path_in_directory("program.debug"), SHT_SYMTAB, full, 1, NULL, 0);
	write_linked(path_in_directory("bin/program"), "../program.debug",
		     crc_of(path_in_directory("program.debug")));
	dso.path = path_in_directory("bin/program");
	assert_string_equal(ask(NULL, &dso, CODE_OFFSET), ONLY_EXPORTS);
}

static const char id_path[] = "ab/cd030405060708090a0b0c0d0e0f1011121314";

static void finds_debug_files_by_build_id(void **state)
{
	const struct perch_symbols_options options = { .root = path_in_directory("other") };
	struct perch_dso dso = with_id("/bin/stripped", this_id, 20);
	char path[256];

	(void)state;
	write_elf(path_in_directory("other/bin/stripped"), SHT_DYNSYM, exported, 1, this_id, 20);
	assert_string_equal(ask(&options, &dso, CODE_OFFSET), ONLY_EXPORTS);
	snprintf(path, sizeof(path), "other/usr/lib/debug/.build-id/%s.debug", id_path);
	write_elf(path_in_directory(path), SHT_SYMTAB, full, 1, other_id, 20);
	assert_string_equal(ask(&options, &dso, CODE_OFFSET), ONLY_EXPORTS);
	write_elf(path_in_directory(path), SHT_SYMTAB, full, 1, this_id, 20);
	assert_string_equal(ask(&options, &dso, CODE_OFFSET), "from_symtab");
	assert_string_equal(ask(&options, &dso, CODE_OFFSET + 16), "from_dynsym");
	/* also with the build id of the file, if none was recorded */
	dso.build_id_size = 0;
	assert_string_equal(ask(&options, &dso, CODE_OFFSET), "from_symtab");
}

/* Writes a debug file whose code is in the second segment, at this address. */
static void write_lone_debug_file(const char *path, uint64_t code)
{
	const struct built_symbol function = { "lone", code, 16, STB_GLOBAL, STT_FUNC, TEXT, 0 };
	struct built symbols, names, note, out;
	struct built_file file = { .segment = { { .p_type = PT_LOAD,
						  .p_flags = PF_R,
						  .p_filesz = 0x300,
						  .p_memsz = 0x604 },
						{ .p_type = PT_LOAD,
						  .p_flags = PF_R | PF_X,
						  .p_vaddr = code,
						  .p_memsz = CODE_SIZE } },
				   .nr_segments = 2 };

	add_section(&file, (struct built_section){ ".text", SHT_NOBITS, SHF_ALLOC | SHF_EXECINSTR,
						   code, CODE_OFFSET, .size = CODE_SIZE });
	make_symbols(&symbols, &names, false, &function, 1);
	add_symbols(&file, SHT_SYMTAB, &symbols, &names);
	add_build_id(&file, &note, this_id, 20);
	make_elf(&out, &file);
	write_bytes(path, out.bytes, out.size);
}

/* lld places code at 0x1610 with offset 0x610 in the program, which its debug file does not say. */
static void ignores_debug_files_without_offsets(void **state)
{
	const struct perch_symbols_options options = { .root = path_in_directory("lone") };
	struct perch_dso dso = with_id("/no/such/program", this_id, 20);
	char path[256];

	(void)state;
	snprintf(path, sizeof(path), "lone/usr/lib/debug/.build-id/%s.debug", id_path);
	write_lone_debug_file(path_in_directory(path), 0x1000);
	assert_string_equal(ask(&options, &dso, 0x1000), "lone");
	write_lone_debug_file(path_in_directory(path), 0x1610);
	assert_string_equal(ask(&options, &dso, 0x610), "[no such file]");
	assert_string_equal(ask(&options, &dso, 0x1610), "[no such file]");
	write_lone_debug_file(path_in_directory(path), 0x2000);
	assert_string_equal(ask(&options, &dso, 0x2000), "[no such file]");
}

static void uses_build_id_cache(void **state)
{
	struct perch_dso dso = with_id("/no/such/program", this_id, 20);
	char path[256];

	(void)state;
	setenv("HOME", path_in_directory("home"), 1);
	assert_string_equal(ask(NULL, &dso, CODE_OFFSET), "[no such file]");
	snprintf(path, sizeof(path), "home/.debug/.build-id/%s/elf", id_path);
	write_elf(path_in_directory(path), SHT_DYNSYM, exported, 1, this_id, 20);
	assert_string_equal(ask(NULL, &dso, CODE_OFFSET + 16), "from_dynsym");
	snprintf(path, sizeof(path), "home/.debug/.build-id/%s/debug", id_path);
	write_elf(path_in_directory(path), SHT_SYMTAB, full, 1, this_id, 20);
	assert_string_equal(ask(NULL, &dso, CODE_OFFSET), "from_symtab");
}

/* A program with this build id in a build id cache. */
static void fill_cache(const char *directory, const struct built_symbol *symbol)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/.build-id/%s/elf", directory, id_path);
	write_elf(path_in_directory(path), SHT_SYMTAB, symbol, 1, this_id, 20);
}

static void finds_the_build_id_cache(void **state)
{
	static const struct built_symbol in_home = { "in_home", CODE, 16, 0, STT_FUNC, TEXT, 0 };
	static const struct built_symbol in_config = {
		"in_config", CODE, 16, 0, STT_FUNC, TEXT, 0
	};
	static const struct built_symbol in_variable = { "in_variable", CODE, 16, 0,
							 STT_FUNC,	TEXT, 0 };
	static const struct built_symbol in_option = {
		"in_option", CODE, 16, 0, STT_FUNC, TEXT, 0
	};
	static const struct built_symbol in_root = { "in_root", CODE, 16, 0, STT_FUNC, TEXT, 0 };
	const struct perch_symbols_options option = { .build_id_dir = path_in_directory("option") };
	const struct perch_symbols_options root = { .root = path_in_directory("copy") };
	struct perch_dso dso = with_id(path_in_directory("replaced"), this_id, 20);
	char config[600];

	(void)state;
	write_elf(dso.path, SHT_SYMTAB, full, 1, other_id, 20);
	setenv("HOME", path_in_directory("finds"), 1);
	fill_cache("finds/.debug", &in_home);
	assert_string_equal(ask(NULL, &dso, CODE_OFFSET), "in_home");
	fill_cache("config", &in_config);
	snprintf(config, sizeof(config), "[core]\n\tdir = no\n[buildid]\n# dir = no\n\tdir = %s\n",
		 path_in_directory("config"));
	write_text(path_in_directory("finds/.perfconfig"), config);
	assert_string_equal(ask(NULL, &dso, CODE_OFFSET), "in_config");
	fill_cache("variable", &in_variable);
	setenv("PERF_BUILDID_DIR", path_in_directory("variable"), 1);
	assert_string_equal(ask(NULL, &dso, CODE_OFFSET), "in_variable");
	fill_cache("option", &in_option);
	assert_string_equal(ask(&option, &dso, CODE_OFFSET), "in_option");
	fill_cache("copy/.debug", &in_root);
	assert_string_equal(ask(&root, &dso, CODE_OFFSET), "in_root");
	unsetenv("PERF_BUILDID_DIR");
}

/* What an entry of the cache holds must have the build id, wherever a symbolic link leads. */
static void refuses_other_builds_in_the_cache(void **state)
{
	struct perch_dso dso = with_id("/no/such/program", this_id, 20);
	char path[256];

	(void)state;
	setenv("HOME", path_in_directory("bad"), 1);
	snprintf(path, sizeof(path), "bad/.debug/.build-id/%s/elf", id_path);
	write_elf(path_in_directory("bad/outside"), SHT_SYMTAB, full, 1, other_id, 20);
	assert_int_equal(symlink(path_in_directory("bad/outside"), path_in_directory(path)), 0);
	assert_string_equal(ask(NULL, &dso, CODE_OFFSET), "[no such file]");
	assert_int_equal(unlink(path_in_directory(path)), 0);
	assert_int_equal(mkfifo(path_in_directory(path), 0600), 0);
	assert_string_equal(ask(NULL, &dso, CODE_OFFSET), "[no such file]");
}

static void stays_below_root(void **state)
{
	const struct perch_symbols_options options = { .root = path_in_directory("jail") };
	struct perch_dso dso;

	(void)state;
	write_elf(path_in_directory("outside"), SHT_SYMTAB, full, 1, NULL, 0);
	write_elf(path_in_directory("jail/lib/inside"), SHT_SYMTAB, full, 1, NULL, 0);
	dso = dso_at("/../outside", PERCH_DSO_FILE);
	assert_string_equal(ask(&options, &dso, CODE_OFFSET), "[no such file]");
	dso = dso_at(path_in_directory("outside"), PERCH_DSO_FILE);
	assert_string_equal(ask(&options, &dso, CODE_OFFSET), "[no such file]");
	assert_int_equal(symlink(dso.path, path_in_directory("jail/link")), 0);
	dso = dso_at("/link", PERCH_DSO_FILE);
	assert_string_equal(ask(&options, &dso, CODE_OFFSET), "[no such file]");
	/* absolute symbolic links are relative to the root */
	assert_int_equal(symlink("/lib", path_in_directory("jail/lib64")), 0);
	dso = dso_at("/lib64/inside", PERCH_DSO_FILE);
	assert_string_equal(ask(&options, &dso, CODE_OFFSET), "from_symtab");
}

static void opens_regular_files_only(void **state)
{
	static const struct {
		const char *path, *error;
	} wrong[] = {
		{ "fifo", "[not a regular file]" },
		{ "/dev/null", "[not a regular file]" },
		{ "/dev/tty", "[not a regular file]" },
		{ "directory/", "[not a regular file]" },
		{ "missing", "[no such file]" },
		{ "empty", "[not an ELF file]" },
		{ "text", "[not an ELF file]" },
		{ "/proc/kmsg", "[not an ELF file]" },
		{ "/memfd:made (deleted)", "[the file was deleted]" },
		{ "relative/path", "[not a file path]" },
		{ "", "[not a file path]" },
	};

	(void)state;
	assert_int_equal(mkfifo(path_in_directory("fifo"), 0600), 0);
	path_in_directory("directory/");
	write_text(path_in_directory("empty"), "");
	write_text(path_in_directory("text"),
		   "#!/bin/sh\necho this is a script, and long enough for an ELF header\n");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		bool built = !strchr(wrong[i].path, '/') || !strcmp(wrong[i].path, "directory/");
		struct perch_dso dso = dso_at(
			built && *wrong[i].path ? path_in_directory(wrong[i].path) : wrong[i].path,
			PERCH_DSO_FILE);

		if (!strcmp(wrong[i].path, "/dev/tty") || !strcmp(wrong[i].path, "/proc/kmsg"))
			if (access(wrong[i].path, R_OK))
				continue;
		assert_string_equal(ask(NULL, &dso, CODE_OFFSET), wrong[i].error);
	}
}

static void reads_each_file_once(void **state)
{
	const char *path = path_in_directory("once");
	struct perch_dso dso = dso_at(path, PERCH_DSO_FILE);
	struct perch_symbols *symbols = new_symbols(NULL);

	(void)state;
	assert_null(perch_symbols_find(symbols, &dso, CODE_OFFSET));
	write_elf(path, SHT_SYMTAB, full, 1, NULL, 0);
	assert_null(perch_symbols_find(symbols, &dso, CODE_OFFSET));
	assert_string_equal(perch_symbols_error(symbols, &dso), "no such file");
	perch_symbols_free(symbols);

	symbols = new_symbols(NULL);
	assert_null(perch_symbols_error(symbols, &dso));
	assert_string_equal(name_at(symbols, &dso, CODE_OFFSET), "from_symtab");
	unlink(path);
	assert_string_equal(name_at(symbols, &dso, CODE_OFFSET + 1), "from_symtab");
	perch_symbols_free(symbols);
}

static void handles_many_dsos(void **state)
{
	enum { MANY = 3000 };
	static struct perch_dso dso[MANY];
	static char path[MANY][32];
	struct perch_symbols *symbols = new_symbols(NULL);

	(void)state;
	for (uint32_t i = 0; i < MANY; i++) {
		snprintf(path[i], sizeof(path[i]), "/no/such/dir/lib%u.so", i);
		dso[i] = dso_at(path[i], PERCH_DSO_FILE);
		dso[i].index = i / 2; /* for example of two machines */
		assert_null(perch_symbols_find(symbols, &dso[i], 0));
	}
	for (uint32_t i = 0; i < MANY; i++)
		assert_string_equal(perch_symbols_dso_name(symbols, &dso[i]),
				    strrchr(path[i], '/') + 1);
	perch_symbols_free(symbols);
}

static void makes_short_dso_names(void **state)
{
	static const struct {
		enum perch_dso_kind kind;
		const char *path, *name;
	} names[] = {
		{ PERCH_DSO_FILE, "/usr/lib/libc.so.6", "libc.so.6" },
		{ PERCH_DSO_FILE, "/memfd:jit (deleted)", "memfd:jit (deleted)" },
		{ PERCH_DSO_FILE, "/tmp/evil\n\x1b]0;", "evil??]0;" },
		{ PERCH_DSO_FILE, "/tmp/", "/tmp/" },
		{ PERCH_DSO_FILE, "", "" },
		{ PERCH_DSO_KERNEL, "[kernel.kallsyms]_text", "[kernel.kallsyms]" },
		{ PERCH_DSO_MODULE, "/lib/modules/6.1/kernel/net/ipv6-x.ko.xz", "[ipv6_x]" },
		{ PERCH_DSO_MODULE, "[ext4]", "[ext4]" },
		{ PERCH_DSO_MODULE, "/boot/vmlinux-6.1", "vmlinux-6.1" },
		{ PERCH_DSO_VDSO, "[vdso]", "[vdso]" },
		{ PERCH_DSO_ANON, "//anon", "anon" },
		{ PERCH_DSO_ANON, "[heap]", "[heap]" },
		{ PERCH_DSO_ANON, "/tmp/perf-12.map", "[JIT] tid 12" },
		{ PERCH_DSO_UNKNOWN, "", "[unknown]" },
	};
	enum { NR_NAMES = sizeof(names) / sizeof(*names) };
	struct perch_dso dso[NR_NAMES];
	struct perch_symbols *symbols = new_symbols(NULL);

	(void)state;
	for (uint32_t i = 0; i < NR_NAMES; i++) {
		dso[i] = dso_at(names[i].path, names[i].kind);
		dso[i].index = i;
		dso[i].length = 1; /* mapped */
		assert_string_equal(perch_symbols_dso_name(symbols, &dso[i]), names[i].name);
	}
	perch_symbols_free(symbols);
}

static void write_with_section(const char *path, struct built_section section)
{
	struct built symbols, names, out;
	struct built_file file = code_file();

	make_symbols(&symbols, &names, false, exported, 1);
	add_symbols(&file, SHT_DYNSYM, &symbols, &names);
	add_section(&file, section);
	make_elf(&out, &file);
	write_bytes(path, out.bytes, out.size);
}

static void reports_damaged_mini_debug_information(void **state)
{
	static const uint8_t magic[] = { 0xfd, '7', 'z', 'X', 'Z', 0 };
	struct perch_dso dso = dso_at(path_in_directory("mini"), PERCH_DSO_FILE);
	struct perch_symbols *symbols = new_symbols(NULL);
	struct built data = { 0 };
	uint64_t addresses;

	(void)state;
	put_bytes(&data, magic, sizeof(magic));
	put_number(&data, 0x0123456789abcdef, 8);
	write_with_section(dso.path,
			   (struct built_section){ ".gnu_debugdata", SHT_PROGBITS, .data = &data });
	assert_string_equal(name_at(symbols, &dso, CODE_OFFSET + 16), "from_dynsym");
	assert_string_equal(name_at(symbols, &dso, CODE_OFFSET), "");
	assert_non_null(strstr(perch_symbols_debug_error(symbols, &dso, &addresses),
			       "its .gnu_debugdata is "));
	assert_int_equal(addresses, 1);
	perch_symbols_free(symbols);
}

/* The header of the section says how large it would be: as much memory is not used. */
static void limits_decompressed_sections(void **state)
{
	struct perch_dso dso = dso_at(path_in_directory("large"), PERCH_DSO_FILE);
	struct perch_symbols *symbols = new_symbols(NULL);
	const struct perch_symbol_frame *frame;
	struct built data = { 0 };
	uint64_t addresses;

	(void)state;
	put_number(&data, 2, 8); /* zstd */
	put_number(&data, 1ull << 40, 8);
	put_number(&data, 1, 8);
	put_number(&data, 0xfd2fb528, 4);
	write_with_section(dso.path, (struct built_section){ ".debug_info", SHT_PROGBITS,
							     SHF_COMPRESSED, .data = &data });
	assert_false(perch_symbols_has_debug_info(symbols, &dso));
	assert_int_equal(perch_symbols_frames(symbols, &dso, CODE_OFFSET + 16, &frame), 1);
	assert_string_equal(perch_symbols_name(symbols, frame->symbol), "from_dynsym");
	assert_string_equal(perch_symbols_debug_error(symbols, &dso, &addresses),
			    "its compressed debug information is too large");
	assert_int_equal(addresses, 2);
	perch_symbols_free(symbols);
}

static void reads_build_ids(void **state)
{
	struct perch_error err;
	uint8_t id[20];

	(void)state;
	write_elf(path_in_directory("id"), SHT_SYMTAB, full, 1, this_id, 20);
	assert_int_equal(perch_build_id_of_file(path_in_directory("id"), id, &err), 20);
	assert_memory_equal(id, this_id, 20);
	write_elf(path_in_directory("id"), SHT_SYMTAB, full, 1, NULL, 0);
	assert_int_equal(perch_build_id_of_file(path_in_directory("id"), id, &err), -ENODATA);
	write_text(path_in_directory("id"),
		   "no ELF file, but a text of some length that goes on and on and on");
	assert_int_equal(perch_build_id_of_file(path_in_directory("id"), id, &err), -ENOEXEC);
	assert_int_equal(perch_build_id_of_file(path_in_directory("nothing"), id, &err), -ENOENT);
	assert_non_null(strstr(err.message, "/nothing: No such file"));
	assert_int_equal(perch_build_id_of_file("/dev/null", id, &err), -ENXIO);
	assert_int_equal(perch_build_id_of_image("short", 5, id, &err), -ENOEXEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_exports_of_stripped_file),
		cmocka_unit_test(opens_the_file_with_the_recorded_build_id),
		cmocka_unit_test(refuses_other_build_id),
		cmocka_unit_test(uses_debug_link),
		cmocka_unit_test(finds_debug_files_by_build_id),
		cmocka_unit_test(ignores_debug_files_without_offsets),
		cmocka_unit_test(uses_build_id_cache),
		cmocka_unit_test(finds_the_build_id_cache),
		cmocka_unit_test(refuses_other_builds_in_the_cache),
		cmocka_unit_test(stays_below_root),
		cmocka_unit_test(opens_regular_files_only),
		cmocka_unit_test(reads_each_file_once),
		cmocka_unit_test(handles_many_dsos),
		cmocka_unit_test(makes_short_dso_names),
		cmocka_unit_test(reports_damaged_mini_debug_information),
		cmocka_unit_test(limits_decompressed_sections),
		cmocka_unit_test(reads_build_ids),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
