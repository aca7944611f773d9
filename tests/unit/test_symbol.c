/* SPDX-License-Identifier: MIT */
/* Tests lookups in ELF symbol tables, and names. */
#include "symbol_fixture.h"

#define NR(array) (sizeof(array) / sizeof(*(array)))
/* clang-format off */
#define FUNCTION(name, value, size)                                       \
	{                                                                 \
		name, CODE + (value), size, STB_GLOBAL, STT_FUNC, TEXT, 0 \
	}
/* clang-format on */

static struct perch_dso dso;

static struct perch_symbols *with_symbols(const struct built_symbol *symbol, size_t nr)
{
	const char *path = path_in_directory("binary");

	write_elf(path, SHT_SYMTAB, symbol, nr, NULL, 0);
	dso = dso_at(path, PERCH_DSO_FILE);
	return new_symbols(NULL);
}

static void finds_symbols_by_file_offset(void **state)
{
	const struct built_symbol symbol[] = { FUNCTION("second", 0x100, 0x20),
					       FUNCTION("first", 0x80, 0x10) };
	struct perch_symbols *symbols = with_symbols(symbol, NR(symbol));
	const struct perch_symbol *first, *second;

	(void)state;
	second = perch_symbols_find(symbols, &dso, CODE_OFFSET + 0x110);
	first = perch_symbols_find(symbols, &dso, CODE_OFFSET + 0x8f);
	assert_non_null(first);
	assert_non_null(second);
	assert_string_equal(first->name, "first");
	assert_int_equal(first->start, CODE_OFFSET + 0x80);
	assert_int_equal(first->end, CODE_OFFSET + 0x90);
	assert_int_equal(first->binding, 'g');
	assert_ptr_equal(first->dso, &dso);
	assert_int_equal(second->index, 0);
	assert_int_equal(first->index, 1);
	assert_ptr_equal(first, perch_symbols_find(symbols, &dso, CODE_OFFSET + 0x80));
	assert_null(perch_symbols_find(symbols, &dso, CODE_OFFSET + 0x7f));
	assert_null(perch_symbols_find(symbols, &dso, CODE_OFFSET + 0x90));
	assert_null(perch_symbols_find(symbols, &dso, CODE + 0x80));
	assert_null(perch_symbols_find(symbols, &dso, UINT64_MAX));
	assert_null(perch_symbols_error(symbols, &dso));
	perch_symbols_free(symbols);
}

static void sorts_symbols(void **state)
{
	enum { MANY = 300 };
	static char name[MANY][16];
	struct built_symbol symbol[MANY];
	struct perch_symbols *symbols;

	(void)state;
	for (unsigned i = 0; i < MANY; i++) {
		unsigned number = i * 77 % MANY; /* 77 and 300 have no common factor */

		snprintf(name[i], sizeof(name[i]), "f%u", number);
		symbol[i] = (struct built_symbol)FUNCTION(name[i], number * 8, 8);
	}
	symbols = with_symbols(symbol, MANY);
	for (unsigned i = 0; i < MANY * 8; i++) {
		char expected[16];

		snprintf(expected, sizeof(expected), "f%u", i / 8);
		assert_string_equal(name_at(symbols, &dso, CODE_OFFSET + i), expected);
	}
	perch_symbols_free(symbols);
}

static void symbols_without_size_end_at_next_symbol(void **state)
{
	const struct built_symbol symbol[] = { FUNCTION("a", 0, 0), FUNCTION("b", 0x100, 0) };
	struct perch_symbols *symbols = with_symbols(symbol, NR(symbol));

	(void)state;
	assert_string_equal(name_at(symbols, &dso, CODE_OFFSET + 0xff), "a");
	assert_string_equal(name_at(symbols, &dso, CODE_OFFSET + CODE_SIZE - 1), "b");
	assert_string_equal(name_at(symbols, &dso, CODE_OFFSET + CODE_SIZE), "");
	perch_symbols_free(symbols);
}

static void selects_better_name_at_one_address(void **state)
{
	static const struct {
		struct built_symbol worse, better;
	} pair[] = {
		{ { "untyped_name", CODE, 8, STB_GLOBAL, STT_NOTYPE, TEXT, 0 },
		  FUNCTION("typed", 0, 8) },
		{ { "weak_function", CODE, 8, STB_WEAK, STT_FUNC, TEXT, 0 },
		  FUNCTION("global", 0, 8) },
		{ { "local_function", CODE, 8, STB_LOCAL, STT_FUNC, TEXT, 0 },
		  FUNCTION("global", 0, 8) },
		{ { "weak_function", CODE, 8, STB_WEAK, STT_FUNC, TEXT, 0 },
		  { "local", CODE, 8, STB_LOCAL, STT_FUNC, TEXT, 0 } },
		{ FUNCTION("__with_underscores", 0, 8), FUNCTION("without", 0, 8) },
		{ FUNCTION("short", 0, 8), FUNCTION("longer", 0, 8) },
		{ FUNCTION("__GI___libc_read", 0, 8), FUNCTION("_ZN1a1bEv", 0, 8) },
	};

	(void)state;
	for (size_t i = 0; i < NR(pair); i++)
		for (int turn = 0; turn < 2; turn++) {
			struct built_symbol symbol[] = { turn ? pair[i].better : pair[i].worse,
							 turn ? pair[i].worse : pair[i].better };
			struct perch_symbols *symbols;
			const struct perch_symbol *found;

			symbols = with_symbols(symbol, 2);
			found = perch_symbols_find(symbols, &dso, CODE_OFFSET);
			assert_non_null(found);
			assert_string_equal(found->name, pair[i].better.name);
			perch_symbols_free(symbols);
		}
}

static void prefers_symbol_with_size(void **state)
{
	const struct built_symbol symbol[] = { FUNCTION("unsized_function", 0, 0),
					       FUNCTION("sized", 0, 8) };
	struct perch_symbols *symbols = with_symbols(symbol, NR(symbol));

	(void)state;
	assert_string_equal(name_at(symbols, &dso, CODE_OFFSET), "sized");
	assert_string_equal(name_at(symbols, &dso, CODE_OFFSET + 8), "");
	perch_symbols_free(symbols);
}

static void finds_innermost_function(void **state)
{
	const struct built_symbol symbol[] = {
		FUNCTION("outer", 0, 0x100),
		FUNCTION("inner", 0x40, 0x20),
		{ "label", CODE + 0x50, 0, STB_LOCAL, STT_NOTYPE, TEXT, 0 },
		FUNCTION("innermost", 0x58, 4),
	};
	struct perch_symbols *symbols = with_symbols(symbol, NR(symbol));

	(void)state;
	assert_string_equal(name_at(symbols, &dso, CODE_OFFSET + 0x3f), "outer");
	assert_string_equal(name_at(symbols, &dso, CODE_OFFSET + 0x40), "inner");
	assert_string_equal(name_at(symbols, &dso, CODE_OFFSET + 0x52), "inner");
	assert_string_equal(name_at(symbols, &dso, CODE_OFFSET + 0x5b), "innermost");
	assert_string_equal(name_at(symbols, &dso, CODE_OFFSET + 0x5c), "inner");
	assert_string_equal(name_at(symbols, &dso, CODE_OFFSET + 0x60), "outer");
	assert_string_equal(name_at(symbols, &dso, CODE_OFFSET + 0x100), "");
	perch_symbols_free(symbols);
}

static void skips_symbols_that_are_no_functions(void **state)
{
	const struct built_symbol symbol[] = {
		{ "undefined", CODE + 0x10, 8, STB_GLOBAL, STT_FUNC, SHN_UNDEF, 0 },
		{ "absolute", CODE + 0x20, 8, STB_GLOBAL, STT_FUNC, SHN_ABS, 0 },
		{ "thread", CODE + 0x30, 8, STB_GLOBAL, STT_TLS, TEXT, 0 },
		{ "hidden_label", CODE + 0x40, 8, STB_GLOBAL, STT_NOTYPE, TEXT, STV_HIDDEN },
		{ "elsewhere", CODE + 0x50, 8, STB_GLOBAL, STT_FUNC, 77, 0 },
		{ "", CODE + 0x60, 8, STB_GLOBAL, STT_FUNC, TEXT, 0 },
		{ "data", CODE + 0x70, 8, STB_GLOBAL, STT_FUNC, 2, 0 },
		{ "$x", CODE + 0x80, 8, STB_LOCAL, STT_NOTYPE, TEXT, 0 },
		{ "indirect", CODE + 0x90, 8, STB_GLOBAL, STT_GNU_IFUNC, TEXT, 0 },
		{ "label", CODE + 0xa0, 8, STB_GLOBAL, STT_NOTYPE, TEXT, 0 },
	};
	struct perch_symbols *symbols;
	struct built table, names, out;
	struct built_file file = code_file();

	(void)state;
	file.machine = EM_AARCH64;
	add_section(&file, (struct built_section){ ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE,
						   CODE, CODE_OFFSET, .size = CODE_SIZE });
	make_symbols(&table, &names, false, symbol, NR(symbol));
	add_symbols(&file, SHT_SYMTAB, &table, &names);
	make_elf(&out, &file);
	dso = dso_at(path_in_directory("arm"), PERCH_DSO_FILE);
	write_bytes(dso.path, out.bytes, out.size);
	symbols = new_symbols(NULL);
	for (uint64_t at = 0x10; at < 0x90; at += 0x10)
		assert_null(perch_symbols_find(symbols, &dso, CODE_OFFSET + at));
	assert_string_equal(name_at(symbols, &dso, CODE_OFFSET + 0x90), "indirect");
	assert_string_equal(name_at(symbols, &dso, CODE_OFFSET + 0xa0), "label");
	perch_symbols_free(symbols);
}

static void reads_elf_of_the_other_byte_order(void **state)
{
	const struct built_symbol symbol[] = { FUNCTION("far", 0x100, 0x20) };
	static const uint8_t id[] = { 1, 2, 3, 4 };
	struct perch_symbols *symbols;
	struct built table, names, note, out;
	struct built_file file = code_file();
	uint8_t build_id[20];

	(void)state;
	file.big = true;
	file.machine = EM_PPC64;
	make_symbols(&table, &names, true, symbol, NR(symbol));
	add_symbols(&file, SHT_SYMTAB, &table, &names);
	add_build_id(&file, &note, id, sizeof(id));
	make_elf(&out, &file);
	dso = dso_at(path_in_directory("big"), PERCH_DSO_FILE);
	write_bytes(dso.path, out.bytes, out.size);
	symbols = new_symbols(NULL);
	assert_string_equal(name_at(symbols, &dso, CODE_OFFSET + 0x11f), "far");
	assert_int_equal(perch_build_id_of_file(dso.path, build_id, NULL), 4);
	assert_memory_equal(build_id, id, 4);
	assert_int_equal(perch_build_id_of_image(out.bytes, out.size, build_id, NULL), 4);
	perch_symbols_free(symbols);
}

/* Two stubs of 16 bytes after a head of 16. The relocations are in reverse order. */
static void names_plt_stubs(void **state)
{
	const struct built_symbol symbol[] = { { "puts", 0, 0, STB_GLOBAL, STT_FUNC, SHN_UNDEF, 0 },
					       { "_ZN1a1bEv", 0, 0, STB_GLOBAL, STT_FUNC, SHN_UNDEF,
						 0 } };
	struct built_file file = code_file();
	struct built table, names, relocations = { 0 }, out;
	struct perch_symbols *symbols;
	uint32_t strings;

	(void)state;
	make_symbols(&table, &names, false, symbol, NR(symbol));
	for (uint64_t i = 2; i >= 1; i--) {
		put_number(&relocations, 0x8000 + 8 * i, 8);
		put_number(&relocations, ELF64_R_INFO(i, R_X86_64_JUMP_SLOT), 8);
		put_number(&relocations, 0, 8);
	}
	strings =
		add_section(&file, (struct built_section){ ".dynstr", SHT_STRTAB, .data = &names });
	strings = add_section(&file, (struct built_section){ ".dynsym", SHT_DYNSYM, .data = &table,
							     .link = strings,
							     .entry_size = sizeof(Elf64_Sym) });
	add_section(&file,
		    (struct built_section){ ".rela.plt", SHT_RELA, SHF_ALLOC, .data = &relocations,
					    .link = strings, .entry_size = sizeof(Elf64_Rela) });
	add_section(&file, (struct built_section){ ".plt", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR,
						   CODE + 0x800, CODE_OFFSET + 0x800, .size = 48,
						   .entry_size = 16 });
	make_elf(&out, &file);
	dso = dso_at(path_in_directory("stubs"), PERCH_DSO_FILE);
	write_bytes(dso.path, out.bytes, out.size);
	symbols = new_symbols(NULL);
	assert_string_equal(name_at(symbols, &dso, CODE_OFFSET + 0x80f), "");
	assert_string_equal(name_at(symbols, &dso, CODE_OFFSET + 0x810), "puts@plt");
	assert_string_equal(name_at(symbols, &dso, CODE_OFFSET + 0x82f), "a::b@plt");
	assert_string_equal(perch_symbols_find(symbols, &dso, CODE_OFFSET + 0x82f)->name,
			    "_ZN1a1bEv@plt");
	assert_string_equal(name_at(symbols, &dso, CODE_OFFSET + 0x830), "");
	perch_symbols_free(symbols);
}

/* A stub jumps to a slot, whose relocation has the symbol: not in the order of the stubs. */
static void names_stubs_of_the_got(void **state)
{
	static const uint8_t jump[] = { 0xff, 0x25 }, branch[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0xf2 };
	static const struct {
		uint64_t slot;
		uint32_t type, symbol;
	} relocation[] = { { 0x9008, R_X86_64_GLOB_DAT, 1 },
			   { 0x9000, R_X86_64_GLOB_DAT, 2 },
			   { 0x9010, R_X86_64_64, 1 } };
	const struct built_symbol symbol[] = { { "puts", 0, 0, STB_GLOBAL, STT_FUNC, SHN_UNDEF, 0 },
					       { "exit", 0, 0, STB_GLOBAL, STT_FUNC, SHN_UNDEF,
						 0 } };

	(void)state;
	for (int tracked = 0; tracked < 2; tracked++) { /* indirect branch tracking */
		uint64_t size = tracked ? 16 : 8, first = tracked ? sizeof(branch) : 0;
		struct built table, names, slots = { 0 }, none = { 0 }, stubs = { 0 }, out;
		struct built_file file = code_file();
		struct perch_symbols *symbols;
		uint32_t strings;

		make_symbols(&table, &names, false, symbol, NR(symbol));
		put_number(&none, 0, 8);
		put_number(&none, ELF64_R_INFO(1, R_X86_64_JUMP_SLOT), 8);
		put_number(&none, 0, 8);
		for (uint64_t i = 0; i < NR(relocation); i++) {
			uint64_t end = CODE + 0x900 + i * size + first + 6;

			put_number(&slots, relocation[i].slot, 8);
			put_number(&slots, ELF64_R_INFO(relocation[i].symbol, relocation[i].type),
				   8);
			put_number(&slots, 0, 8);
			put_bytes(&stubs, branch, first);
			put_bytes(&stubs, jump, sizeof(jump));
			put_number(&stubs, (uint32_t)(0x9000 + 8 * i - end), 4);
			while (stubs.size % size)
				put_number(&stubs, 0x90, 1);
		}
		strings = add_section(&file, (struct built_section){ ".dynstr", SHT_STRTAB,
								     .data = &names });
		strings = add_section(&file,
				      (struct built_section){ ".dynsym", SHT_DYNSYM, .data = &table,
							      .link = strings,
							      .entry_size = sizeof(Elf64_Sym) });
		add_section(&file, (struct built_section){ ".rela.plt", SHT_RELA, SHF_ALLOC,
							   .data = &none, .link = strings,
							   .entry_size = sizeof(Elf64_Rela) });
		add_section(&file, (struct built_section){ ".rela.dyn", SHT_RELA, SHF_ALLOC,
							   .data = &slots, .link = strings,
							   .entry_size = sizeof(Elf64_Rela) });
		add_section(&file, (struct built_section){ ".plt.got", SHT_PROGBITS,
							   SHF_ALLOC | SHF_EXECINSTR, CODE + 0x900,
							   .data = &stubs, .entry_size = size });
		make_elf(&out, &file);
		dso = dso_at(path_in_directory("got"), PERCH_DSO_FILE);
		write_bytes(dso.path, out.bytes, out.size);
		symbols = new_symbols(NULL);
		assert_string_equal(name_at(symbols, &dso, CODE_OFFSET + 0x900), "exit@plt");
		assert_string_equal(name_at(symbols, &dso, CODE_OFFSET + 0x900 + size), "puts@plt");
		/* not a slot of a function */
		assert_string_equal(name_at(symbols, &dso, CODE_OFFSET + 0x900 + 2 * size), "");
		perch_symbols_free(symbols);
	}
}

static const struct {
	const char *mangled, *plain;
} demangled[] = {
	{ "main", "main" },
	{ "_ZNSt6vectorIiSaIiEE9push_backERKi",
	  "std::vector<int, std::allocator<int> >::push_back" },
	{ "_ZN3zoo3BoxIdLi16EEC2Ev", "zoo::Box<double, 16>::Box" },
	{ "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad" },
	{ "_RNvCs1234_7mycrate3foo", "mycrate::foo" },
	{ "_Zbroken", "_Zbroken" },
	/* OCaml: before 5.1, since then with a point, a character as digits; and names in C */
	{ "camlStdlib__List__map_236", "Stdlib.List.map_236" },
	{ "camlMain__fun_1418", "Main.fun_1418" },
	{ "camlStdlib__List.map_236", "Stdlib.List.map_236" },
	{ "camlMain.entry_12", "Main.entry_12" },
	{ "camlStdlib__$40_139", "Stdlib.@_139" },
	{ "caml_alloc_string", "caml_alloc_string" },
	{ "camlFrame", "camlFrame" },
	{ "camlFrame.part.0", "camlFrame.part.0" },
	{ "camlFrame.constprop.0", "camlFrame.constprop.0" },
	{ "camlFrame_", "camlFrame_" },
	{ "camlFrame__", "camlFrame__" },
	{ "camlList__a b", "camlList__a b" },
	/* Java, of the agent libperf-jvmti */
	{ "Ljava/lang/StringLatin1;equals([B[B)Z",
	  "class java.lang.StringLatin1.equals(byte[], byte[])" },
	{ "Ljava/util/zip/ZipUtils;CENSIZ([BI)J",
	  "class java.util.zip.ZipUtils.CENSIZ(byte[], int)" },
	{ "LA$B;match(LA$C;I[[LD;)V", "class A$B.match(class A$C, int, class D[][])" },
	{ "LA;<init>()V", "class A.<init>()" },
	{ "LA;::f", "LA;::f" },
	{ "LA;f(V)V", "LA;f(V)V" },
	{ "LA;f(I)", "LA;f(I)" },
	{ "LA;f(I)Vx", "LA;f(I)Vx" },
	{ "LoopFilter(int)", "LoopFilter(int)" },
	/* D */
	{ "_D2my4hotd1C4methMFiZl", "my.hotd.C.meth(int)" },
	{ "_Dmain", "D main" },
	{ "_D2", "_D2" },
	{ "_Default_handler", "_Default_handler" },
	{ "bell\a\x1b[31m", "bell??[31m" },
};

static void demangles_and_cleans_names(void **state)
{
	struct built_symbol symbol[NR(demangled)];
	struct perch_symbols *symbols, *raw;

	(void)state;
	for (size_t i = 0; i < NR(demangled); i++)
		symbol[i] = (struct built_symbol)FUNCTION(demangled[i].mangled, i * 16, 16);
	symbols = with_symbols(symbol, NR(demangled));
	raw = new_symbols(&(struct perch_symbols_options){ .no_demangle = true });
	for (size_t i = 0; i < NR(demangled); i++) {
		const struct perch_symbol *found =
			perch_symbols_find(symbols, &dso, CODE_OFFSET + i * 16);

		assert_string_equal(found->name, demangled[i].mangled);
		assert_string_equal(perch_symbols_name(symbols, found), demangled[i].plain);
		assert_ptr_equal(perch_symbols_name(symbols, found),
				 perch_symbols_name(symbols, found));
		if (i + 1 < NR(demangled))
			assert_string_equal(name_at(raw, &dso, CODE_OFFSET + i * 16),
					    demangled[i].mangled);
	}
	perch_symbols_free(symbols);
	perch_symbols_free(raw);
}

/* Each part of the name refers twice to the one before it, whose type has twice the size. */
static void does_not_expand_names_of_d(void **state)
{
	char name[1024] = "_D1a1fFS1b1c", *text;

	(void)state;
	for (int i = 0; i < 60; i++)
		strcat(name, "HQcQc");
	strcat(name, "Zv");
	text = perch_demangle(name);
	assert_true(!text || strlen(text) < (8u << 20));
	free(text);
}

static void demangles_with_parameters(void **state)
{
	static const char *const names[][2] = {
		{ "_ZN2ns1fEic", "ns::f(int, char)" },
		{ "_ZN2ns3sumIiEET_S1_", "ns::sum<int>(int)" },
		{ "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad" },
		{ "main", NULL },
		{ "_start", NULL },
		{ "_Zbroken", NULL },
		{ "", NULL },
	};

	(void)state;
	for (size_t i = 0; i < NR(names); i++) {
		char *text = perch_demangle(names[i][0]);

		if (names[i][1])
			assert_string_equal(text, names[i][1]);
		else
			assert_null(text);
		free(text);
	}
}

static void finds_functions_by_their_parameters(void **state)
{
	static const struct {
		size_t symbol;
		const char *name;
		bool same;
	} names[] = {
		{ 0, "ns::f", true },
		{ 0, "_ZN2ns1fEic", true },
		{ 0, "ns::f(int, char)", true },
		{ 0, "ns::f(int)", false },
		{ 0, "f(int, char)", false },
		{ 0, "ns::f(int, char) ", true },
		{ 0, "ns::f(int,char)", true },
		{ 0, " ns :: f ( int , char )", true },
		{ 0, "ns::f(in t, char)", false },
		{ 0, "ns::f(int, char", false },
		{ 1, "ns::f", true },
		{ 1, "ns::f(int)", true },
		{ 1, "ns::f(int, char)", false },
		{ 2, "operator new", true },
		{ 2, "operator new(unsigned long)", true },
		{ 2, "operator  new ( unsigned  long )", true },
		{ 2, "operatornew", false },
		{ 2, "operator new(unsignedlong)", false },
		{ 3, "ns::sum<int>", true },
		{ 3, "ns::sum<int>(int)", true },
		{ 3, "int ns::sum<int>(int)", true },
		{ 3, "int ns::sum< int >( int )", true },
		{ 3, "long ns::sum<int>(int)", false },
		{ 4, "main", true },
		{ 4, "main()", false },
		{ 4, " main", false },
		{ 5, "JS:~f a.js", true },
		{ 5, "JS:~ f a.js", false },
	};
	static const char *const mangled[] = { "_ZN2ns1fEic",	      "_ZN2ns1fEi", "_Znwm",
					       "_ZN2ns3sumIiEET_S1_", "main",	    "JS:~f a.js" };
	struct built_symbol symbol[NR(mangled)];
	struct perch_symbols *symbols;

	(void)state;
	for (size_t i = 0; i < NR(mangled); i++)
		symbol[i] = (struct built_symbol)FUNCTION(mangled[i], i * 16, 16);
	symbols = with_symbols(symbol, NR(mangled));
	for (size_t i = 0; i < NR(names); i++) {
		const struct perch_symbol *found =
			perch_symbols_find(symbols, &dso, CODE_OFFSET + names[i].symbol * 16);

		if (perch_symbols_is_named(symbols, found, names[i].name) != names[i].same)
			fail_msg("%s: %s", found->name, names[i].name);
	}
	perch_symbols_free(symbols);
}

/* Names of the kernel have an option of their own. */
static void demangles_names_of_the_kernel(void **state)
{
	static const struct {
		struct perch_symbols_options options;
		const char *name;
	} cases[] = {
		{ { .no_demangle = false }, "_RNvCs1234_7mycrate3foo" },
		{ { .demangle_kernel = true }, "mycrate::foo" },
		{ { .no_demangle = true, .demangle_kernel = true }, "mycrate::foo" },
	};
	const struct built_symbol symbol = FUNCTION("_RNvCs1234_7mycrate3foo", 0, 16);

	(void)state;
	for (size_t i = 0; i < NR(cases); i++) {
		const struct perch_dso before = dso;
		struct perch_symbols *unused = with_symbols(&symbol, 1);
		struct perch_symbols *symbols = new_symbols(&cases[i].options);
		const struct perch_symbol *found = perch_symbols_find(symbols, &dso, CODE_OFFSET);

		assert_non_null(found);
		dso.kind = PERCH_DSO_MODULE;
		assert_string_equal(perch_symbols_name(symbols, found), cases[i].name);
		dso.kind = before.kind;
		perch_symbols_free(symbols);
		perch_symbols_free(unused);
	}
}

/* A name of 100 bytes that would demangle to 2^40 bytes is not demangled. */
static void keeps_names_that_expand_too_much(void **state)
{
	char name[512] = "_Z1fI1AIS0_S0_E";
	struct built_symbol symbol = FUNCTION(name, 0, 16);
	struct perch_symbols *symbols;

	(void)state;
	for (int i = 1; i < 40; i++) {
		char part[16];

		snprintf(part, sizeof(part), "S%c_S%c_",
			 "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i % 36],
			 "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i % 36]);
		strcat(name, "1BI");
		strcat(name, part);
		strcat(name, "E");
	}
	strcat(name, "Evv");
	symbols = with_symbols(&symbol, 1);
	assert_true(strlen(name_at(symbols, &dso, CODE_OFFSET)) < 1 << 17);
	perch_symbols_free(symbols);
}

static void survives_truncated_files(void **state)
{
	const struct built_symbol symbol[] = { FUNCTION("a", 0, 8), FUNCTION("_Z1bv", 8, 0) };
	static const uint8_t id[] = { 1, 2, 3, 4 };
	struct built table, names, note, out;
	struct built_file file = code_file();

	(void)state;
	make_symbols(&table, &names, false, symbol, NR(symbol));
	add_symbols(&file, SHT_DYNSYM, &table, &names);
	add_build_id(&file, &note, id, sizeof(id));
	make_elf(&out, &file);
	dso = dso_at(path_in_directory("short"), PERCH_DSO_FILE);
	for (size_t size = 0; size < out.size; size++) {
		struct perch_symbols *symbols;

		write_bytes(dso.path, out.bytes, size);
		symbols = new_symbols(NULL);
		assert_null(perch_symbols_find(symbols, &dso, CODE_OFFSET));
		assert_non_null(perch_symbols_error(symbols, &dso));
		perch_symbols_free(symbols);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_symbols_by_file_offset),
		cmocka_unit_test(sorts_symbols),
		cmocka_unit_test(symbols_without_size_end_at_next_symbol),
		cmocka_unit_test(selects_better_name_at_one_address),
		cmocka_unit_test(prefers_symbol_with_size),
		cmocka_unit_test(finds_innermost_function),
		cmocka_unit_test(skips_symbols_that_are_no_functions),
		cmocka_unit_test(reads_elf_of_the_other_byte_order),
		cmocka_unit_test(names_plt_stubs),
		cmocka_unit_test(names_stubs_of_the_got),
		cmocka_unit_test(demangles_and_cleans_names),
		cmocka_unit_test(demangles_with_parameters),
		cmocka_unit_test(does_not_expand_names_of_d),
		cmocka_unit_test(finds_functions_by_their_parameters),
		cmocka_unit_test(demangles_names_of_the_kernel),
		cmocka_unit_test(keeps_names_that_expand_too_much),
		cmocka_unit_test(survives_truncated_files),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
