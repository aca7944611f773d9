/* SPDX-License-Identifier: MIT */
/* Tests functions of stripped programs in Go, from the table of the runtime. */
#include "symbol_fixture.h"

#include "go_program.h"

static struct perch_dso dso;
static struct go_program program;

/* Makes handle and DSO of the program. */
static struct perch_symbols *open_program(void)
{
	const char *path = path_in_directory("program");

	unlink(path); /* writing the same file again waits for the disk */
	write_bytes(path, program.bytes, sizeof(program.bytes));
	dso = dso_at(path, PERCH_DSO_FILE);
	return new_symbols(NULL);
}

static void check_function(struct perch_symbols *symbols, size_t number)
{
	const struct go_function_of_program *function = &go_functions_of_program[number];
	uint64_t start = GO_CODE + function->start, end = GO_CODE + function[1].start;
	const struct perch_symbol *found = perch_symbols_find(symbols, &dso, start);

	if (!*function->name) {
		assert_null(found);
		return;
	}
	assert_non_null(found);
	assert_string_equal(found->name, function->name);
	assert_int_equal(found->start, start);
	assert_int_equal(found->end, end);
	assert_ptr_equal(perch_symbols_find(symbols, &dso, end - 1), found);
}

static void check_program(void)
{
	struct perch_symbols *symbols = open_program();

	for (size_t i = 0; i < GO_FUNCTIONS; i++)
		check_function(symbols, i);
	/* code of C, before and behind */
	assert_string_equal(name_at(symbols, &dso, GO_CODE), "");
	assert_string_equal(name_at(symbols, &dso, GO_CODE + 0x180), "");
	assert_string_equal(
		perch_symbols_error(symbols, &dso),
		"only functions in Go: the file is stripped, and no debug file was found");
	assert_int_equal(perch_symbols_error_reason(symbols, &dso), PERCH_SYMBOLS_STRIPPED);
	perch_symbols_free(symbols);
}

static const int versions[] = { 2, 16, 18, 20 };

static void finds_functions_of_all_versions(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 64; i++) {
		const struct go_shape shape = { .version = versions[i & 3],
						.wide = i & 4,
						.big = i & 8,
						.no_sections = i & 16,
						.merged = i & 32 };

		go_make_program(&program, &shape);
		check_program();
	}
}

static void finds_functions_of_position_independent_programs(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 16; i++) {
		const struct go_shape shape = { .version = versions[i & 3],
						.wide = true,
						.relocated = true,
						.no_sections = i & 4,
						.merged = i & 8 };

		go_make_program(&program, &shape);
		check_program();
	}
}

static void check_no_functions(const char *what)
{
	struct perch_symbols *symbols = open_program();

	for (uint64_t offset = 0; offset < GO_CODE_SIZE; offset += 8)
		if (*name_at(symbols, &dso, GO_CODE + offset))
			fail_msg("%s: a function has a name", what);
	assert_string_equal(perch_symbols_error(symbols, &dso),
			    "no symbols: the file is stripped, and no debug file was found");
	perch_symbols_free(symbols);
}

/* Writes a number of 4 bytes. */
static void damage(size_t offset, uint32_t value)
{
	program.at = offset;
	go_put(&program, value, 4);
}

static void damaged_table_has_no_functions(void **state)
{
	const struct {
		const char *what;
		size_t offset;
		uint32_t value;
	} damages[] = {
		{ "magic", GO_TABLE, 0xfffffff2 },
		{ "zeros", GO_TABLE + 4, 0x08010001 },
		{ "more functions", GO_TABLE + 8, GO_FUNCTIONS + 1 },
		{ "fewer functions", GO_TABLE + 8, GO_FUNCTIONS - 1 },
		{ "no functions", GO_TABLE + 8, 0 },
		{ "too many functions", GO_TABLE + 8, 1 << 30 },
		{ "far more functions", GO_TABLE + 12, 1 },
		{ "names elsewhere", GO_TABLE + 32, GO_NAMES + 1 },
		{ "names outside", GO_TABLE + 32, GO_TABLE_SIZE + 1 },
		{ "no names", GO_TABLE + 40, GO_NAMES },
		{ "index elsewhere", GO_TABLE + 64, GO_INDEX + 8 },
		{ "index outside", GO_TABLE + 64, GO_TABLE_SIZE + 1 },
		{ "not sorted", GO_TABLE + GO_INDEX + 8, 0x1000 },
		{ "start", GO_TABLE + GO_INDEX + 8, 0x44 },
		{ "struct outside", GO_TABLE + GO_INDEX + 4, GO_TABLE_SIZE },
		{ "struct of another function", GO_TABLE + GO_INDEX + 4,
		  GO_STRUCTS - GO_INDEX + 16 },
		{ "start in the struct", GO_TABLE + GO_STRUCTS, 4 },
		{ "name outside", GO_TABLE + GO_STRUCTS + 4, GO_NAMES_END - GO_NAMES },
		{ "pointer to the table", GO_MODULE, GO_BASE + GO_TABLE + 8 },
		{ "pointer to the index", GO_MODULE + 16 * 8, GO_BASE + GO_TABLE },
		{ "number of functions", GO_MODULE + 17 * 8, GO_FUNCTIONS },
		{ "first address", GO_MODULE + 20 * 8, GO_BASE + GO_CODE },
		{ "last address", GO_MODULE + 21 * 8, GO_BASE + GO_CODE },
		{ "text", GO_MODULE + 22 * 8, GO_BASE + GO_CODE },
		/* segments: file sizes of the code and of the data */
		{ "code", 64 + 32, 0x100 },
		{ "data", 64 + 2 * 56 + 32, 0x40 },
		{ "code is not executable", 64 + 4, PF_R },
	};
	const struct go_shape shape = { .version = 20, .wide = true };

	(void)state;
	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		go_make_program(&program, &shape);
		damage(damages[i].offset, damages[i].value);
		check_no_functions(damages[i].what);
	}
	go_make_program(&program, &shape);
	check_program();
}

/* Every function around an offset contains it, whatever the table has. */
static void damaged_bytes_do_no_harm(void **state)
{
	(void)state;
	for (size_t at = GO_TABLE; at < GO_MODULE + 23 * 8; at++) {
		const struct go_shape shape = { .version = versions[at & 3],
						.wide = at & 4,
						.no_sections = at & 8 };
		struct perch_symbols *symbols;

		go_make_program(&program, &shape);
		program.bytes[at] ^= at & 16 ? 0xff : 0x01;
		symbols = open_program();
		for (uint64_t offset = 0; offset < GO_CODE_SIZE; offset += 0x20) {
			const struct perch_symbol *found =
				perch_symbols_find(symbols, &dso, GO_CODE + offset);

			assert_true(!found || (found->start <= GO_CODE + offset &&
					       found->end > GO_CODE + offset));
		}
		perch_symbols_free(symbols);
	}
}

/* The section of names becomes a table of symbols of one symbol: the first source. */
static void symbol_table_is_preferred(void **state)
{
	const struct go_shape shape = { .version = 20, .wide = true };
	const uint32_t symbols_at = 0x3300, section = GO_SECTIONS + 3 * sizeof(Elf64_Shdr);
	struct perch_symbols *symbols;

	(void)state;
	go_make_program(&program, &shape);
	program.at = section;
	go_put(&program, 0, 4);
	go_put(&program, SHT_SYMTAB, 4);
	program.at = section + 24;
	go_put(&program, symbols_at, 8);
	go_put(&program, 2 * sizeof(Elf64_Sym), 8);
	go_put(&program, 1, 4); /* names of sections are those of symbols */
	program.at = section + 56;
	go_put(&program, sizeof(Elf64_Sym), 8);
	program.at = symbols_at + sizeof(Elf64_Sym);
	go_put(&program, 2, 4);
	go_put(&program, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 1);
	go_put(&program, 0, 1);
	go_put(&program, 4, 2);
	go_put(&program, go_text(), 8);
	go_put(&program, 0x20, 8);
	symbols = open_program();
	assert_string_equal(name_at(symbols, &dso, GO_CODE + 0x40), "shstrtab");
	assert_string_equal(name_at(symbols, &dso, GO_CODE + 0x80), "");
	perch_symbols_free(symbols);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_functions_of_all_versions),
		cmocka_unit_test(finds_functions_of_position_independent_programs),
		cmocka_unit_test(damaged_table_has_no_functions),
		cmocka_unit_test(damaged_bytes_do_no_harm),
		cmocka_unit_test(symbol_table_is_preferred),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
