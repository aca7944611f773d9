/* SPDX-License-Identifier: MIT */
/* Tests symbols of the kernel, of modules and of the vdso. */
#include "symbol_fixture.h"

#include <sys/auxv.h>

static const char list[] =
	"0000000000000000 A fixed_percpu_data\n"
	"ffffffff81000000 T _stext\n"
	"ffffffff81000000 T _text\n"
	"ffffffff81000100 t local_one\n"
	"ffffffff81000200 W weak_one\n"
	"ffffffff81000300 D data\n"
	"ffffffff81000400 t $x.7\n"
	"ffffffff81000500 T last\n"
	"not a line of symbols\n"
	"ffffffff8\n"
	"ffffffffc0001010 t init_it\t[snd_hda]\n"
	"ffffffffc0002010 t other\t[ext4]\n"
	"ffffffffc0001800 T play\t[snd_hda]\n"
	"ffffffffc0401000 t bpf_prog_6deef7357e7b4530\t[bpf]\n"
	"ffffffffc0401100 t bpf_prog_end\t[bpf]"; /* without a newline: incomplete */

static const uint64_t base = 0xffffffff81000000;

static struct perch_symbols *with_list(const char *text)
{
	const char *path = path_in_directory("kallsyms");

	write_text(path, text);
	return new_symbols(&(struct perch_symbols_options){ .kallsyms = path });
}

static void finds_kernel_functions(void **state)
{
	struct perch_dso kernel = dso_at("[kernel.kallsyms]", PERCH_DSO_KERNEL);
	struct perch_symbols *symbols = with_list(list);

	(void)state;
	assert_string_equal(name_at(symbols, &kernel, base), "_text");
	assert_string_equal(name_at(symbols, &kernel, base + 0xff), "_text");
	assert_string_equal(name_at(symbols, &kernel, base + 0x100), "local_one");
	assert_int_equal(perch_symbols_find(symbols, &kernel, base + 0x100)->binding, 'l');
	assert_string_equal(name_at(symbols, &kernel, base + 0x4ff), "weak_one");
	assert_int_equal(perch_symbols_find(symbols, &kernel, base + 0x4ff)->binding, 'w');
	assert_string_equal(name_at(symbols, &kernel, base + 0x500), "last");
	/* the last function ends at the end of the next page */
	assert_string_equal(name_at(symbols, &kernel, base + 0x1fff), "last");
	assert_string_equal(name_at(symbols, &kernel, base + 0x2000), "");
	assert_string_equal(name_at(symbols, &kernel, 0xffffffffc0401004),
			    "bpf_prog_6deef7357e7b4530");
	assert_string_equal(name_at(symbols, &kernel, 0xffffffffc0001010), "");
	assert_string_equal(name_at(symbols, &kernel, 0), "");
	assert_null(perch_symbols_error(symbols, &kernel));
	perch_symbols_free(symbols);
}

/* In a call chain, the start of a function is where an interrupt came, if padding is before it. */
static void padding_calls_nothing(void **state)
{
	struct perch_dso kernel = dso_at("[kernel.kallsyms]", PERCH_DSO_KERNEL);
	struct perch_symbols *symbols = with_list("ffffffff81000000 T _text\n"
						  "ffffffff810000f0 t __pfx_padded\n"
						  "ffffffff81000100 t padded\n"
						  "ffffffff810001f0 t __cfi_checked\n"
						  "ffffffff81000200 t checked\n"
						  "ffffffff81000300 t last\n");

	(void)state;
	for (uint64_t at = base + 0x100; at <= base + 0x200; at += 0x100) {
		const struct perch_symbol *symbol = perch_symbols_find(symbols, &kernel, at);

		assert_ptr_equal(perch_symbols_caller(symbols, &kernel, at, symbol), symbol);
	}
	perch_symbols_free(symbols);
}

/* perf shows a kernel without a map as unknown; one with symbols is known. */
static void names_kernels(void **state)
{
	struct perch_dso kernel = dso_at("[kernel.kallsyms]", PERCH_DSO_KERNEL);
	struct perch_dso unknown = dso_at("", PERCH_DSO_UNKNOWN);
	struct perch_symbols *symbols = with_list(list);
	char name[32];

	(void)state;
	assert_string_equal(perch_symbols_dso_name(symbols, &kernel), "[kernel.kallsyms]");
	assert_string_equal(perch_symbols_name_shown(symbols, &kernel, 'k', NULL, name,
						     sizeof(name)),
			    "[kernel.kallsyms]");
	perch_symbols_free(symbols);
	symbols = with_list("");
	assert_string_equal(perch_symbols_dso_name(symbols, &kernel), "[unknown]");
	/* what runs in the kernel is known to do so without its map */
	kernel.index = 1;
	for (size_t i = 0; i < 2; i++) {
		const struct perch_dso *dso = i ? &kernel : &unknown;

		assert_string_equal(perch_symbols_name_shown(symbols, dso, 'k', NULL, name,
							     sizeof(name)),
				    "[kernel]");
		assert_string_equal(perch_symbols_name_shown(symbols, dso, '.', NULL, name,
							     sizeof(name)),
				    "[unknown]");
	}
	kernel.index = 0;
	perch_symbols_free(symbols);
	kernel.length = 0x1000;
	symbols = with_list("");
	assert_string_equal(perch_symbols_dso_name(symbols, &kernel), "[kernel.kallsyms]");
	perch_symbols_free(symbols);
	kernel.kernel_image = "/boot/vmlinux-6.1.0";
	symbols = with_list(list);
	assert_string_equal(perch_symbols_dso_name(symbols, &kernel), "[kernel.vmlinux]");
	perch_symbols_free(symbols);
}

static void finds_module_functions(void **state)
{
	struct perch_dso sound = dso_at("/lib/modules/6.1.0/snd-hda.ko.xz", PERCH_DSO_MODULE);
	struct perch_dso ext4 = dso_at("[ext4]", PERCH_DSO_MODULE);
	struct perch_dso absent = dso_at("[absent]", PERCH_DSO_MODULE);
	struct perch_symbols *symbols = with_list(list);

	(void)state;
	ext4.index = 1;
	absent.index = 2;
	assert_string_equal(name_at(symbols, &sound, 0xffffffffc0001100), "init_it");
	assert_string_equal(name_at(symbols, &sound, 0xffffffffc0001900), "play");
	assert_string_equal(name_at(symbols, &ext4, 0xffffffffc0002010), "other");
	assert_string_equal(name_at(symbols, &ext4, 0xffffffffc0001100), "");
	assert_string_equal(name_at(symbols, &absent, 0xffffffffc0001100), "");
	assert_string_equal(perch_symbols_error(symbols, &absent), "the module is not loaded");
	perch_symbols_free(symbols);
}

static void shifts_relocated_kernel(void **state)
{
	struct perch_dso kernel = dso_at("[kernel.kallsyms]", PERCH_DSO_KERNEL);
	struct perch_symbols *symbols = with_list(list);
	const struct perch_symbol *found;

	(void)state;
	kernel.text_start = base + 0x1a000000;
	found = perch_symbols_find(symbols, &kernel, base + 0x1a000104);
	assert_non_null(found);
	assert_string_equal(found->name, "local_one");
	assert_int_equal(found->start, base + 0x1a000100);
	assert_int_equal(found->end, base + 0x1a000200);
	assert_null(perch_symbols_find(symbols, &kernel, base + 0x100));
	perch_symbols_free(symbols);
}

/* arm64 without CONFIG_KALLSYMS_ALL: the recording has _stext, which is not at _text. */
static void shifts_a_kernel_that_was_recorded_with_stext(void **state)
{
	struct perch_dso kernel = dso_at("[kernel.kallsyms]", PERCH_DSO_KERNEL);
	struct perch_symbols *symbols = with_list("ffffffff81000000 T _text\n"
						  "ffffffff81010000 T _stext\n"
						  "ffffffff81010100 t local_one\n");

	(void)state;
	kernel.text_start = base + 0x1a000000 + 0x10000;
	assert_string_equal(name_at(symbols, &kernel, base + 0x1a010104), "local_one");
	perch_symbols_free(symbols);
	symbols = with_list("ffffffff81000000 T _text\n"
			    "ffffffff81010000 T _stext\n"
			    "ffffffff81010100 t local_one\n");
	kernel.text_start = base + 0x1a000000;
	assert_string_equal(name_at(symbols, &kernel, base + 0x1a010104), "local_one");
	perch_symbols_free(symbols);
}

static void reports_hidden_addresses(void **state)
{
	struct perch_dso kernel = dso_at("[kernel.kallsyms]", PERCH_DSO_KERNEL);
	struct perch_symbols *symbols =
		with_list("0000000000000000 T _text\n0000000000000000 t one\n");

	(void)state;
	assert_null(perch_symbols_find(symbols, &kernel, base));
	assert_non_null(
		strstr(perch_symbols_error(symbols, &kernel), "sysctl kernel.kptr_restrict"));
	perch_symbols_free(symbols);
}

static void reports_missing_or_useless_kallsyms(void **state)
{
	struct perch_dso kernel = dso_at("[kernel.kallsyms]", PERCH_DSO_KERNEL);
	struct perch_symbols *symbols = with_list("nothing of use\n\n\n \xff\xff\n");

	(void)state;
	assert_null(perch_symbols_find(symbols, &kernel, base));
	assert_non_null(strstr(perch_symbols_error(symbols, &kernel), "has no functions"));
	perch_symbols_free(symbols);

	symbols = new_symbols(&(struct perch_symbols_options){ .kallsyms = "/no/such/file" });
	assert_null(perch_symbols_find(symbols, &kernel, base));
	assert_string_equal(perch_symbols_error(symbols, &kernel),
			    "/no/such/file: No such file or directory");
	perch_symbols_free(symbols);
}

static void refuses_other_kernel(void **state)
{
	struct perch_dso kernel = dso_at("[kernel.kallsyms]", PERCH_DSO_KERNEL);
	struct perch_symbols *symbols = new_symbols(NULL);
	uint8_t running[20];
	char name[128], path[256] = "home/.debug/.build-id/ee/";

	(void)state;
	setenv("HOME", path_in_directory("home"), 1);
	if (perch_build_id_of_kernel(running, NULL) < 0) {
		print_message("skipped: /sys/kernel/notes cannot be read\n");
		perch_symbols_free(symbols);
		skip();
	}
	kernel.build_id_size = 20;
	memset(kernel.build_id, 0xee, 20);
	assert_null(perch_symbols_find(symbols, &kernel, base + 0x100));
	assert_non_null(strstr(perch_symbols_error(symbols, &kernel), "not the recorded one"));
	perch_symbols_free(symbols);

	/* unless the build id cache has its kallsyms */
	for (int i = 1; i < 20; i++)
		strcat(path, "ee");
	strcat(path, "/kallsyms");
	write_text(path_in_directory(path), list);
	symbols = new_symbols(NULL);
	snprintf(name, sizeof(name), "%s", name_at(symbols, &kernel, base + 0x100));
	assert_string_equal(name, "local_one");
	perch_symbols_free(symbols);

	/* the boot of a recording that does not have the kernel's address had other ones */
	symbols = new_symbols(NULL);
	assert_int_equal(perch_symbols_set_recorded_release(symbols, "6.1.0", NULL), 0);
	assert_null(perch_symbols_find(symbols, &kernel, base + 0x100));
	assert_non_null(strstr(perch_symbols_error(symbols, &kernel), "the address of the kernel"));
	perch_symbols_free(symbols);
	kernel.text_start = base + 0x1a000000;
	symbols = new_symbols(NULL);
	assert_int_equal(perch_symbols_set_recorded_release(symbols, NULL, NULL), 0);
	assert_string_equal(name_at(symbols, &kernel, base + 0x1a000100), "local_one");
	perch_symbols_free(symbols);
}

static void reads_vmlinux(void **state)
{
	static const uint8_t id[20] = { 1, 2, 3 };
	static const struct built_symbol functions[] = {
		{ "_text", CODE, 0, STB_GLOBAL, STT_NOTYPE, TEXT, 0 },
		{ "sized", CODE + 0x100, 0x20, STB_LOCAL, STT_FUNC, TEXT, 0 },
		{ "unsized", CODE + 0x200, 0, STB_GLOBAL, STT_NOTYPE, TEXT, 0 },
	};
	const char *path = path_in_directory("vmlinux");
	const struct perch_symbols_options options = { .vmlinux = path, .foreign = true };
	struct perch_dso kernel = dso_at("[kernel.kallsyms]", PERCH_DSO_KERNEL);
	struct perch_symbols *symbols = new_symbols(&options);

	(void)state;
	write_elf(path, SHT_SYMTAB, functions, 3, id, 20);
	kernel.text_start = base;
	kernel.build_id_size = 20;
	memcpy(kernel.build_id, id, 20);
	assert_string_equal(name_at(symbols, &kernel, base + 0x110), "sized");
	assert_int_equal(perch_symbols_find(symbols, &kernel, base + 0x110)->end, base + 0x120);
	/* the last function ends with its section */
	assert_string_equal(name_at(symbols, &kernel, base + CODE_SIZE - 1), "unsized");
	assert_string_equal(name_at(symbols, &kernel, base + CODE_SIZE), "");
	assert_string_equal(name_at(symbols, &kernel, CODE + 0x110), "");
	perch_symbols_free(symbols);

	/* without the address of the kernel, names would be those of other functions */
	kernel.text_start = 0;
	symbols = new_symbols(&options);
	assert_string_equal(name_at(symbols, &kernel, CODE + 0x110), "");
	assert_non_null(strstr(perch_symbols_error(symbols, &kernel), "the address of the kernel"));
	perch_symbols_free(symbols);

	kernel.text_start = base;
	kernel.build_id[0] = 9;
	symbols = new_symbols(&options);
	assert_string_equal(name_at(symbols, &kernel, base + 0x110), "");
	assert_non_null(strstr(perch_symbols_error(symbols, &kernel), "is another kernel"));
	perch_symbols_free(symbols);

	write_text(path, "no ELF file");
	symbols = new_symbols(&options);
	assert_string_equal(name_at(symbols, &kernel, base + 0x110), "");
	assert_non_null(strstr(perch_symbols_error(symbols, &kernel), "not an ELF file"));
	perch_symbols_free(symbols);
}

/* A recording of another machine uses the running kernel only if the build ids are equal. */
static void refuses_running_kernel_for_foreign_recording(void **state)
{
	const struct perch_symbols_options foreign = { .foreign = true };
	struct perch_dso kernel = dso_at("[kernel.kallsyms]", PERCH_DSO_KERNEL);
	struct perch_dso module = dso_at("[perch_no_module]", PERCH_DSO_MODULE);
	struct perch_dso vdso = dso_at("[vdso]", PERCH_DSO_VDSO);
	struct perch_symbols *symbols = new_symbols(&foreign);
	int size;

	(void)state;
	assert_null(perch_symbols_find(symbols, &kernel, base + 0x100));
	assert_non_null(
		strstr(perch_symbols_error(symbols, &kernel), "recorded on another machine"));
	assert_null(perch_symbols_find(symbols, &module, base));
	assert_non_null(strstr(perch_symbols_error(symbols, &module), "not the recorded one"));
	for (uint64_t offset = 0; offset < 0x4000; offset += 4)
		assert_null(perch_symbols_find(symbols, &vdso, offset));
	perch_symbols_free(symbols);

	size = perch_build_id_of_kernel(kernel.build_id, NULL);
	if (size <= 0)
		return;
	kernel.build_id_size = size;
	symbols = new_symbols(&foreign);
	perch_symbols_find(symbols, &kernel, base + 0x100);
	/* the addresses may be hidden from the user who runs the test */
	assert_true(!perch_symbols_error(symbols, &kernel) ||
		    !strstr(perch_symbols_error(symbols, &kernel), "not the recorded one"));
	perch_symbols_free(symbols);
}

/* Its functions are others than those of the vdso of this program, and at other offsets. */
static void does_not_take_its_own_vdso_for_that_of_other_programs(void **state)
{
	const bool wide = sizeof(void *) == 8;
	struct perch_dso vdso = dso_at(wide ? "[vdso32]" : "[vdso]", PERCH_DSO_VDSO);
	struct perch_symbols *symbols = new_symbols(NULL);

	(void)state;
	for (uint64_t offset = 0; offset < 0x4000; offset += 4)
		assert_null(perch_symbols_find(symbols, &vdso, offset));
	assert_non_null(perch_symbols_error(symbols, &vdso));
	assert_string_equal(perch_symbols_dso_name(symbols, &vdso), "[vdso]");
	perch_symbols_free(symbols);
}

static void opens_the_vdso_as_a_file(void **state)
{
	struct perch_dso vdso = dso_at("[vdso]", PERCH_DSO_VDSO);
	struct perch_symbols *symbols = new_symbols(NULL);
	struct perch_error err;
	char magic[SELFMAG];
	int fd;

	(void)state;
	if (!getauxval(AT_SYSINFO_EHDR)) {
		print_message("skipped: no vdso in this process\n");
		skip();
	}
	assert_int_equal(perch_symbols_open_file(symbols, &vdso, &fd, &err), 0);
	assert_int_equal(pread(fd, magic, SELFMAG, 0), SELFMAG);
	assert_memory_equal(magic, ELFMAG, SELFMAG);
	close(fd);
	vdso.build_id_size = 20;
	memset(vdso.build_id, 0xee, 20);
	assert_int_equal(perch_symbols_open_file(symbols, &vdso, &fd, &err), -ESTALE);
	assert_string_equal(err.message, "the vdso of another kernel");
	perch_symbols_free(symbols);
}

static void reads_vdso_from_memory(void **state)
{
	const uint8_t *image = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	struct perch_dso vdso = dso_at("[vdso]", PERCH_DSO_VDSO);
	struct perch_symbols *symbols;
	unsigned found = 0;

	(void)state;
	if (!image) {
		print_message("skipped: no vdso in this process\n");
		skip();
	}
	symbols = new_symbols(NULL);
	for (uint64_t offset = 0; offset < 0x4000; offset += 4)
		found += strstr(name_at(symbols, &vdso, offset), "clock_gettime") != NULL;
	assert_true(found > 0);
	assert_string_equal(name_at(symbols, &vdso, 0), "");
	perch_symbols_free(symbols);

	symbols = new_symbols(NULL);
	vdso.build_id_size = 20;
	memset(vdso.build_id, 0xee, 20);
	assert_null(perch_symbols_find(symbols, &vdso, 0x1000));
	assert_string_equal(perch_symbols_error(symbols, &vdso), "the vdso of another kernel");
	perch_symbols_free(symbols);
}

static void reports_why_symbols_are_missing(void **state)
{
	struct perch_dso heap = dso_at("[heap]", PERCH_DSO_ANON);
	struct perch_dso nothing = dso_at("", PERCH_DSO_UNKNOWN);
	struct perch_symbols *symbols = new_symbols(NULL);

	(void)state;
	nothing.index = 1;
	assert_null(perch_symbols_find(symbols, &heap, 0));
	assert_null(perch_symbols_find(symbols, &nothing, 0));
	assert_non_null(perch_symbols_error(symbols, &heap));
	assert_non_null(perch_symbols_error(symbols, &nothing));
	perch_symbols_free(symbols);
	perch_symbols_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_kernel_functions),
		cmocka_unit_test(names_kernels),
		cmocka_unit_test(finds_module_functions),
		cmocka_unit_test(shifts_relocated_kernel),
		cmocka_unit_test(shifts_a_kernel_that_was_recorded_with_stext),
		cmocka_unit_test(reports_hidden_addresses),
		cmocka_unit_test(padding_calls_nothing),
		cmocka_unit_test(reports_missing_or_useless_kallsyms),
		cmocka_unit_test(refuses_other_kernel),
		cmocka_unit_test(reads_vmlinux),
		cmocka_unit_test(refuses_running_kernel_for_foreign_recording),
		cmocka_unit_test(does_not_take_its_own_vdso_for_that_of_other_programs),
		cmocka_unit_test(opens_the_vdso_as_a_file),
		cmocka_unit_test(reads_vdso_from_memory),
		cmocka_unit_test(reports_why_symbols_are_missing),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
