/* SPDX-License-Identifier: MIT */
/* Code of functions: of this program, and of files that are built here. */
#include <fcntl.h>
#include <inttypes.h>

#include "jitdump.h"
#include "process_fixture.h"
#include "symbol/code.h"
#include "symbol/internal.h"
#include "symbol_fixture.h"

#define ADDRESS 0x401000ull
#define SHIFT	0x600000ull

static char path[] = "/tmp/perch-code-XXXXXX";

static int make_path(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	return fd < 0 ? -1 : close(fd);
}

static int remove_path(void **state)
{
	(void)state;
	return unlink(path);
}

static void write_file(const struct built *built)
{
	int fd = open(path, O_WRONLY | O_TRUNC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, built->bytes, built->size), built->size);
	close(fd);
}

/* An executable with 64 bytes of code at ADDRESS. */
static void write_program(uint16_t machine, const struct built_symbol *symbol, size_t nr)
{
	static struct built text, table, names, out;
	struct built_file file = { .machine = machine, .type = ET_EXEC };

	memset(&text, 0, sizeof(text));
	for (uint8_t i = 0; i < 64; i++)
		text.bytes[text.size++] = i;
	add_section(&file, (struct built_section){ ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR,
						   ADDRESS, .data = &text });
	make_symbols(&table, &names, false, symbol, nr);
	if (nr)
		add_symbols(&file, SHT_SYMTAB, &table, &names);
	file.nr_segments = 1;
	/* the bytes of the first section follow the headers */
	file.segment[0] = (Elf64_Phdr){ .p_type = PT_LOAD,
					.p_flags = PF_R | PF_X,
					.p_offset = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr),
					.p_vaddr = ADDRESS,
					.p_filesz = 64,
					.p_memsz = 64 };
	make_elf(&out, &file);
	write_file(&out);
}

static struct perch_symbols *open_symbols(void)
{
	struct perch_symbols *symbols;

	assert_int_equal(perch_symbols_new(&symbols, NULL, NULL), 0);
	return symbols;
}

static __attribute__((noinline)) int read_here(int number)
{
	return number * 7;
}

static void reads_a_function_of_a_file(void **state)
{
	struct perch_symbols *symbols = open_symbols();
	struct perch_dso dso = { .kind = PERCH_DSO_FILE };
	char self[4096] = "", line[4096];
	uint64_t start, end, offset, at = (uintptr_t)read_here;
	FILE *maps = fopen("/proc/self/maps", "r");
	struct perch_code code;

	(void)state;
	assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	dso.path = self;
	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps))
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64, &start, &end, &offset) ==
			    3 &&
		    at >= start && at < end)
			break;
	fclose(maps);
	offset += at - start;
	assert_int_equal(perch_symbols_read_code(symbols, &dso, offset, 5, &code, NULL), 0);
	assert_int_equal(code.size, 5);
	assert_memory_equal(code.bytes, (const void *)(uintptr_t)at, 5);
	assert_int_equal(code.offset, offset);
	assert_string_equal(code.section, ".text");
	assert_true(code.address >= code.start && code.address < code.end);
	assert_true(code.modified_at > 0);
	assert_false(code.live);
	assert_int_equal(code.nr_parts, 1);
	perch_code_clear(&code);
	assert_null(code.bytes);
	assert_int_equal(read_here(3), 21);
	perch_symbols_free(symbols);
}

static void refuses_what_has_no_bytes(void **state)
{
	struct perch_symbols *symbols = open_symbols();
	const struct perch_dso anon = { .kind = PERCH_DSO_ANON, .path = "//anon" };
	const struct perch_dso unknown = { .kind = PERCH_DSO_UNKNOWN, .path = "[unknown]" };
	const struct perch_dso jit = { .kind = PERCH_DSO_JIT, .path = "/jit" };
	const struct perch_dso bpf = { .kind = PERCH_DSO_KERNEL_CODE, .path = "bpf_prog_1" };
	const struct perch_dso file = { .kind = PERCH_DSO_FILE, .path = path };
	const struct perch_dso stale = { .kind = PERCH_DSO_FILE,
					 .path = "/proc/self/exe",
					 .build_id_size = 20 };
	struct perch_code code;
	struct perch_error err;

	(void)state;
	assert_int_equal(perch_symbols_read_code(symbols, &anon, 1, 1, &code, &err), -ENOENT);
	assert_non_null(strstr(err.remedy, "jitdump"));
	assert_int_equal(perch_symbols_read_code(symbols, &unknown, 1, 1, &code, &err), -ENOENT);
	assert_int_equal(perch_symbols_read_code(symbols, &jit, 1, 1, &code, &err), -ENOENT);
	assert_int_equal(perch_symbols_read_code(symbols, &bpf, 1, 1, &code, &err), -ENOENT);
	assert_true(perch_symbols_read_code(symbols, &stale, 1, 1, &code, &err) < 0);
	write_program(EM_X86_64, NULL, 0);
	assert_int_equal(perch_symbols_read_code(symbols, &file, 1 << 20, 1, &code, &err), -ENOENT);
	assert_int_equal(perch_symbols_read_code(symbols, &file, 120, 0, &code, &err), -EINVAL);
	assert_null(code.bytes);
	perch_symbols_free(symbols);
}

static void shortens_a_function_to_its_segment(void **state)
{
	struct perch_symbols *symbols = open_symbols();
	const struct perch_dso file = { .kind = PERCH_DSO_FILE, .path = path };
	const uint64_t start = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr);
	struct perch_code code;

	(void)state;
	write_program(EM_X86_64, NULL, 0);
	assert_int_equal(perch_symbols_read_code(symbols, &file, start + 60, UINT64_MAX / 2, &code,
						 NULL),
			 0);
	assert_int_equal(code.size, 4);
	assert_int_equal(code.bytes[0], 60);
	assert_int_equal(code.address, ADDRESS + 60);
	assert_int_equal(code.machine, EM_X86_64);
	perch_code_clear(&code);
	perch_symbols_free(symbols);
}

static void finds_data_between_functions(void **state)
{
	const struct built_symbol mapping[] = {
		{ "$x", ADDRESS, 0, STB_LOCAL, STT_NOTYPE, 1, 0 },
		{ "$d.1", ADDRESS + 16, 0, STB_LOCAL, STT_NOTYPE, 1, 0 },
		{ "$x", ADDRESS + 24, 0, STB_LOCAL, STT_NOTYPE, 1, 0 },
		{ "$xy", ADDRESS + 28, 0, STB_LOCAL, STT_NOTYPE, 1, 0 },
		{ "$d", ADDRESS + 40, 0, STB_LOCAL, STT_NOTYPE, 1, 0 },
	};
	struct perch_symbols *symbols = open_symbols();
	const struct perch_dso file = { .kind = PERCH_DSO_FILE, .path = path };
	const uint64_t start = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr);
	struct perch_code code;

	(void)state;
	write_program(EM_AARCH64, mapping, 5);
	assert_int_equal(perch_symbols_read_code(symbols, &file, start + 4, 30, &code, NULL), 0);
	assert_int_equal(code.nr_parts, 3);
	assert_int_equal(code.part[0].address, ADDRESS + 4);
	assert_int_equal(code.part[0].kind, PERCH_CODE_INSTRUCTIONS);
	assert_int_equal(code.part[1].address, ADDRESS + 16);
	assert_int_equal(code.part[1].kind, PERCH_CODE_DATA);
	assert_int_equal(code.part[2].address, ADDRESS + 24);
	assert_int_equal(code.part[2].kind, PERCH_CODE_INSTRUCTIONS);
	perch_code_clear(&code);
	/* it begins in data */
	assert_int_equal(perch_symbols_read_code(symbols, &file, start + 44, 4, &code, NULL), 0);
	assert_int_equal(code.nr_parts, 1);
	assert_int_equal(code.part[0].kind, PERCH_CODE_DATA);
	perch_code_clear(&code);
	perch_symbols_free(symbols);
}

static void finds_thumb_functions(void **state)
{
	const struct built_symbol function = { "f", ADDRESS + 9, 8, STB_GLOBAL, STT_FUNC, 1, 0 };
	struct perch_symbols *symbols = open_symbols();
	const struct perch_dso file = { .kind = PERCH_DSO_FILE, .path = path };
	const uint64_t start = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr);
	struct perch_code code;

	(void)state;
	write_program(EM_ARM, &function, 1);
	assert_int_equal(perch_symbols_read_code(symbols, &file, start + 8, 8, &code, NULL), 0);
	assert_int_equal(code.part[0].kind, PERCH_CODE_THUMB);
	perch_code_clear(&code);
	assert_int_equal(perch_symbols_read_code(symbols, &file, start + 4, 4, &code, NULL), 0);
	assert_int_equal(code.part[0].kind, PERCH_CODE_INSTRUCTIONS);
	perch_code_clear(&code);
	perch_symbols_free(symbols);
}

/* The file has the format of /proc/kcore, of a kernel that now runs at another address. */
static void reads_the_running_kernel(void **state)
{
	struct perch_code code = { .offset = ADDRESS + SHIFT + 8, .size = 16 };
	struct perch_error err;

	(void)state;
	write_program(EM_X86_64, NULL, 0);
	assert_int_equal(perch__code_of_kcore(path, SHIFT, &code, NULL), 0);
	assert_true(code.live);
	assert_int_equal(code.address, ADDRESS + SHIFT + 8);
	assert_int_equal(code.start, ADDRESS + SHIFT);
	assert_int_equal(code.part[0].address, code.address);
	assert_int_equal(code.bytes[0], 8);
	assert_int_equal(code.size, 16);
	perch_code_clear(&code);
	code = (struct perch_code){ .offset = ADDRESS + 8, .size = 16 };
	assert_int_equal(perch__code_of_kcore(path, SHIFT, &code, &err), -ENOENT);
	perch_code_clear(&code);
	code = (struct perch_code){ .offset = ADDRESS + 8, .size = 16 };
	assert_int_equal(perch__code_of_kcore("/proc/perch/none", 0, &code, &err), -ENOENT);
	assert_true(err.remedy[0]);
}

static void reads_a_function_of_a_jitdump(void **state)
{
	static const uint8_t bytes[] = { 0x55, 0x48, 0x89, 0xe5, 0xc3 };
	struct jitdump dump = { .file = fopen(path, "w"), .pid = 12 };
	const struct perch_dso *const *dsos, *jit = NULL;
	struct perch_processes *processes = new_processes();
	struct perch_symbols *symbols = open_symbols();
	const struct perch_symbol *symbol;
	struct perch_location location;
	struct perch_code code;
	char link[64];
	size_t nr;

	(void)state;
	assert_non_null(dump.file);
	snprintf(link, sizeof(link), "%s-12.dump", "/tmp/jit");
	jitdump_header(&dump, EM_X86_64, 1, 0);
	jitdump_load(&dump, 5, 0, 0x700000, "function", bytes, sizeof(bytes));
	assert_int_equal(fclose(dump.file), 0);
	unlink(link);
	assert_int_equal(rename(path, link), 0);
	assert_int_equal(perch_processes_use_jitdump(processes, NULL, NULL), 0);
	map_file(processes, 12, 0x1000, 0x1000, 0, link);
	assert_int_equal(perch_processes_advance(processes, 10), 0);
	perch_processes_resolve(processes, perch_processes_thread(processes, 12, 12),
				PERCH_MISC_USER, 0x700003, &location);
	nr = perch_processes_dsos(processes, &dsos);
	for (size_t i = 0; i < nr; i++)
		if (dsos[i]->kind == PERCH_DSO_JIT)
			jit = dsos[i];
	assert_non_null(jit);
	assert_ptr_equal(location.dso, jit);
	symbol = perch_symbols_find(symbols, jit, location.offset);
	assert_non_null(symbol);
	assert_int_equal(perch_symbols_read_code(symbols, jit, symbol->start,
						 symbol->end - symbol->start, &code, NULL),
			 0);
	assert_int_equal(code.size, sizeof(bytes));
	assert_memory_equal(code.bytes, bytes, sizeof(bytes));
	assert_int_equal(code.address, 0x700000);
	assert_int_equal(code.machine, EM_X86_64);
	assert_true(code.wide);
	perch_code_clear(&code);
	/* from its fourth byte on */
	assert_int_equal(perch_symbols_read_code(symbols, jit, symbol->start + 3, 1, &code, NULL),
			 0);
	assert_int_equal(code.size, 1);
	assert_int_equal(code.bytes[0], 0xe5);
	assert_int_equal(code.address, 0x700003);
	perch_code_clear(&code);
	perch_symbols_free(symbols);
	perch_processes_free(processes);
	assert_int_equal(rename(link, path), 0);
}

/* Memory of the first segment without bytes has the offsets of the second one, from 0x300 on. */
static void a_variable_has_no_bytes_of_another_segment(void **state)
{
	static const struct perch__elf_segment segments[] = {
		{ .address = 0x10100, .offset = 0x100, .size = 0x100, .memory_size = 0x800 },
		{ .address = 0x20300, .offset = 0x300, .size = 0x100, .memory_size = 0x100 },
	};
	static const struct {
		uint64_t address, offset; /* offset 0: none */
	} cases[] = {
		{ 0x10100, 0x100 }, { 0x101ff, 0x1ff }, { 0x10200, 0x200 }, { 0x10300, 0 },
		{ 0x10400, 0x400 }, { 0x10900, 0 },	{ 0x20300, 0x300 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		uint64_t offset = 0;

		assert_int_equal(perch__elf_data_offset(segments, 2, cases[i].address, &offset),
				 cases[i].offset != 0);
		assert_int_equal(offset, cases[i].offset);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_a_function_of_a_file),
		cmocka_unit_test(refuses_what_has_no_bytes),
		cmocka_unit_test(shortens_a_function_to_its_segment),
		cmocka_unit_test(finds_data_between_functions),
		cmocka_unit_test(finds_thumb_functions),
		cmocka_unit_test(reads_the_running_kernel),
		cmocka_unit_test(reads_a_function_of_a_jitdump),
		cmocka_unit_test(a_variable_has_no_bytes_of_another_segment),
	};

	return cmocka_run_group_tests(tests, make_path, remove_path);
}
