/* SPDX-License-Identifier: MIT */
/* Event strings: probes, by functions of ELF files and of /proc/kallsyms. */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include <perch/event.h>

#include "event_fixture.h"
#include "probe_fixture.h"

static struct perch_event first_of(struct perch_events *events, const char *text,
				   struct perch_machine *of)
{
	struct perch_error err;

	if (perch_events_parse(events, text, of, &err))
		fail_msg("%s: %s (column %d)", text, err.message, err.column);
	return events->event[0];
}

struct good_probe {
	const char *text, *path; /* path is NULL if config1 is not a pointer */
	uint32_t type;
	uint64_t config, config2;
};

static const struct good_probe good_probes[] = {
	{ "uprobe:/opt/whole:main", "/opt/whole", 8, 0, ELF_CODE + 0x10 },
	{ "uprobe:/opt/whole:main+0x6", "/opt/whole", 8, 0, ELF_CODE + 0x16 },
	{ "uprobe:/opt/whole:0x1010", "/opt/whole", 8, 0, 0x1010 },
	{ "uprobe:/opt/bare:4112", "/opt/bare", 8, 0, 4112 },
	{ "uprobe:/opt/whole:main(0x1202)", "/opt/whole", 8, UINT64_C(0x1202) << 32,
	  ELF_CODE + 0x10 },
	{ "uprobe:/opt/whole:0x1010(4612):u", "/opt/whole", 8, UINT64_C(4612) << 32, 0x1010 },
	{ "uretprobe:/opt/whole:main", "/opt/whole", 8, 1, ELF_CODE + 0x10 },
	{ "uretprobe:/opt/whole:main+0", "/opt/whole", 8, 1, ELF_CODE + 0x10 },
	{ "uretprobe:/opt/whole:0x1010(0x1202)", "/opt/whole", 8, UINT64_C(0x1202) << 32 | 1,
	  0x1010 },
	{ "uprobe:\"/opt/a:b\":main", "/opt/a:b", 8, 0, ELF_CODE + 0x10 },
	{ "uprobe:/opt/whole:ns::g", "/opt/whole", 8, 0, ELF_CODE + 0xb0 },
	{ "uprobe:/opt/whole:ns::g:u", "/opt/whole", 8, 0, ELF_CODE + 0xb0 },
	{ "uprobe:/opt/whole:ns::g+2", "/opt/whole", 8, 0, ELF_CODE + 0xb2 },
	{ "uretprobe:/opt/whole:ns::f(int)", "/opt/whole", 8, 1, ELF_CODE + 0xc0 },
	{ "uprobe:/opt/whole:'ns::f(int, char)'", "/opt/whole", 8, 0, ELF_CODE + 0xd0 },
	{ "uprobe:/opt/whole:ns::f(int,char)", "/opt/whole", 8, 0, ELF_CODE + 0xd0 },
	{ "uprobe:/opt/whole:ns::f(int, char):u", "/opt/whole", 8, 0, ELF_CODE + 0xd0 },
	{ "uprobe:/opt/whole:ns::X::X", "/opt/whole", 8, 0, ELF_CODE + 0xe0 },
	{ "uprobe:/opt/whole:_ZN2ns1YC2Ei", "/opt/whole", 8, 0, ELF_CODE + 0xe8 },
	{ "uprobe:/opt/whole:ns::X::get", "/opt/whole", 8, 0, ELF_CODE + 0xfc },
	{ "uprobe:/opt/whole:'ns::X::get( )const'", "/opt/whole", 8, 0, ELF_CODE + 0xfc },
	{ "uprobe:/opt/whole:'ns::X::get() const'", "/opt/whole", 8, 0, ELF_CODE + 0xfc },
	{ "uprobe:/opt/whole:ns::g(0x1202)", "/opt/whole", 8, UINT64_C(0x1202) << 32,
	  ELF_CODE + 0xb0 },
	{ "uprobe:'/opt/a:b':'name with spaces, (all)'", "/opt/a:b", 8, 0, ELF_CODE + 0xa0 },
	{ "uprobe:/opt/whole:main.(*T).Count", "/opt/whole", 8, 0, ELF_CODE + 0x190 },
	{ "uprobe:/opt/whole:main.(*T).Count+2", "/opt/whole", 8, 0, ELF_CODE + 0x192 },
	{ "uprobe:/opt/whole:main.(*T).Count(0x1202):u", "/opt/whole", 8, UINT64_C(0x1202) << 32,
	  ELF_CODE + 0x190 },
	{ "uprobe:/opt/whole:\"main.(*T).Count\"", "/opt/whole", 8, 0, ELF_CODE + 0x190 },
	{ "uprobe:/opt/whole:\"host.org/pack.(*T).Sum\"", "/opt/whole", 8, 0, ELF_CODE + 0x194 },
	{ "uprobe:/opt/whole:main.Sum[go/ast.Node,int]", "/opt/whole", 8, 0, ELF_CODE + 0x19c },
	{ "uprobe:/opt/whole:main.Sum[go.shape.int]+2:u", "/opt/whole", 8, 0, ELF_CODE + 0x19a },
	{ "uprobe:/opt/whole:_ZN2ns5wholeEi.isra.0", "/opt/whole", 8, 0, ELF_CODE + 0x180 },
	{ "uprobe:/opt/whole:sized+0xf", "/opt/whole", 8, 0, ELF_CODE + 0x15f },
	{ "uprobe:/opt/whole:ns::blocks+0xf", "/opt/whole", 8, 0, ELF_CODE + 0x16f },
	{ "uprobe:/opt/whole:0x11ff", "/opt/whole", 8, 0, ELF_CODE + ELF_CODE_SIZE - 1 },
	{ "uprobe:/opt/whole:copy@V_1", "/opt/whole", 8, 0, ELF_CODE + 0x100 },
	{ "uprobe:tool:main", "/opt/bin/tool", 8, 0, ELF_CODE + 0x10 },
	{ "uprobe:libfix:main", "/usr/lib/strange-linux-gnu/libfix.so.10", 8, 0, ELF_CODE + 0x10 },
	{ "uprobe:libfix.so.9:main", "/usr/lib/strange-linux-gnu/libfix.so.9", 8, 0,
	  ELF_CODE + 0x10 },
	{ "uprobe:libfix.so.11:main", "/usr/lib/libfix.so.11", 8, 0, ELF_CODE + 0x10 },
	{ "uprobe:libplain:main", "/usr/lib/libplain.so", 8, 0, ELF_CODE + 0x10 },
	{ "usdt:/opt/whole:shop:opened", "/opt/whole", 8, 0, ELF_CODE + 0x11 },
	{ "usdt:/opt/whole:shop:sold:u", "/opt/whole", 8, (uint64_t)(ELF_DATA + 2) << 32,
	  ELF_CODE + 0x21 },
	{ "kprobe:vfs_read", "vfs_read", 6, 0, 0 },
	{ "kprobe:vfs_read+0x10:k", "vfs_read", 6, 0, 0x10 },
	{ "kprobe:'nf_tables:nft_do_chain'", "nf_tables:nft_do_chain", 6, 0, 0 },
	{ "kprobe:nft_do_chain", "nft_do_chain", 6, 0, 0 },
	{ "kprobe:'nf_tables:twice'", "nf_tables:twice", 6, 0, 0 },
	{ "kretprobe:vfs_read", "vfs_read", 6, 1, 0 },
	{ "kprobe:0xffffffff81000000", NULL, 6, 0, 0xffffffff81000000 },
};

static void parses_probes(void **state)
{
	(void)state;
	for (size_t i = 0; i < PERCH__NR(good_probes); i++) {
		const struct good_probe *good = &good_probes[i];
		struct perch_events events;
		struct perch_event event = first_of(&events, good->text, machine);

		print_message("%s\n", good->text);
		assert_string_equal(event.name, good->text);
		assert_int_equal(event.attr.type, good->type);
		assert_int_equal(event.attr.config, good->config);
		assert_int_equal(event.attr.probe_offset, good->config2);
		assert_int_equal(event.attr.config1, (uintptr_t)event.path);
		if (good->path)
			assert_string_equal(event.path, good->path);
		else
			assert_null(event.path);
		/* see inherit of struct perch_event_terms */
		assert_int_equal(event.terms.inherit,
				 good->path ? PERCH_TRISTATE_NO : PERCH_TRISTATE_UNSET);
		perch_events_clear(&events);
	}
}

static const struct {
	const char *text, *names; /* of the functions, with the offsets of their probes */
} good_globs[] = {
	/* not malloc, which the file does not define; twin has two functions */
	{ "uprobe:/opt/whole:s[ei]*:u", "seen:u 50, seen:u 60, serve:u 20, sized:u 150" },
	{ "uretprobe:/opt/whole:mai[n]", "main 10" },
	{ "uprobe:/opt/whole:?ai?(0x1202)", "main 10, pair 178, pair 17c" },
	{ "uprobe:/opt/whole:ns::f*/period=3/",
	  "ns::f(int)/period=3/ c0, ns::f(int, char)/period=3/ d0" },
	/* two names of one function; the indirect function "fastest" does not match */
	{ "uprobe:/opt/whole:'ns::X::X*'", "ns::X::X(int) e0" },
	{ "uprobe:/opt/whole:worn*", "worn 80, worn 90" },
	/* brackets around types, as Go prints them */
	{ "uprobe:/opt/whole:main.Sum[...]",
	  "main.Sum[go.shape.int] 198, main.Sum[go/ast.Node,int] 19c" },
	{ "uprobe:/opt/whole:'main.Sum[*]'",
	  "main.Sum[go.shape.int] 198, main.Sum[go/ast.Node,int] 19c" },
};

static void parses_globs(void **state)
{
	(void)state;
	for (size_t i = 0; i < PERCH__NR(good_globs); i++) {
		struct perch_events events;
		char found[512] = "";
		size_t used = 0;

		print_message("%s\n", good_globs[i].text);
		first_of(&events, good_globs[i].text, machine);
		for (size_t j = 0; j < events.nr; j++) {
			const struct perch_event *event = &events.event[j];
			const char *name = strstr(event->name, "whole:");

			assert_non_null(name);
			assert_string_equal(event->path, "/opt/whole");
			assert_int_equal(event->first, j);
			assert_int_equal(event->terms.inherit, PERCH_TRISTATE_NO);
			used += snprintf(found + used, sizeof(found) - used, "%s%s %llx",
					 j ? ", " : "", name + strlen("whole:"),
					 (unsigned long long)event->attr.probe_offset - ELF_CODE);
		}
		assert_string_equal(found, good_globs[i].names);
		perch_events_clear(&events);
	}
}

/* Bytes that this process has read; -1 if the kernel does not count them. */
static long bytes_read(void)
{
	FILE *stream = fopen("/proc/self/io", "r");
	long bytes = -1;

	if (!stream)
		return -1;
	if (fscanf(stream, "rchar: %ld", &bytes) != 1)
		bytes = -1;
	fclose(stream);
	return bytes;
}

static void reads_kernel_functions_once(void **state)
{
	enum { PROBES = 1000 };
	static const char one[] = "kprobe:vfs_read,";
	static char text[PROBES * sizeof(one)];
	struct perch_events events;
	long before = bytes_read();

	(void)state;
	for (size_t i = 0; i < PROBES; i++)
		memcpy(text + i * strlen(one), one, strlen(one));
	text[strlen(text) - 1] = '\0';
	first_of(&events, text, machine);
	assert_int_equal(events.nr, PROBES);
	perch_events_clear(&events);
	if (before < 0)
		skip();
	assert_true(bytes_read() - before < 64 << 10);
}

static void adds_event_for_each_usdt_site(void **state)
{
	struct perch_events events;

	(void)state;
	first_of(&events, "page-faults,usdt:/opt/whole:shop:sold:u,uprobe:/opt/whole:main",
		 machine);
	assert_int_equal(events.nr, 4);
	assert_int_equal(events.event[1].first, 1);
	assert_int_equal(events.event[2].first, 1);
	assert_int_equal(events.event[3].first, 3);
	assert_int_equal(events.event[1].attr.probe_offset, ELF_CODE + 0x21);
	assert_int_equal(events.event[2].attr.probe_offset, ELF_CODE + 0x31);
	assert_int_equal(events.event[2].attr.config1, (uintptr_t)events.event[2].path);
	assert_ptr_not_equal(events.event[1].path, events.event[2].path);
	assert_true(events.event[1].attr.exclude_kernel && events.event[2].attr.exclude_kernel);
	perch_events_clear(&events);
}

static const struct bad_event bad_events[] = {
	{ "uprobe:", -EINVAL, 7, "expected a program or library", NULL },
	{ "uprobe:/opt/whole", -EINVAL, 17, "expected ':' after the file", NULL },
	{ "uprobe:/opt/whole,cycles", -EINVAL, 17, "found ','", NULL },
	{ "uprobe:/opt/whole:", -EINVAL, 18, "expected a function", NULL },
	{ "uprobe:\"/opt/whole:main", -EINVAL, 7, "quote", NULL },
	{ "uprobe:/opt/whole:main+", -EINVAL, 23, "expected an offset", NULL },
	{ "uprobe:/opt/whole:main+x", -EINVAL, 23, "expected an offset", NULL },
	{ "uprobe:/opt/whole:mains*", -ENOENT, 18, "there is no function 'mains*'", NULL },
	{ "uprobe:/opt/whole:ma*+2", -EINVAL, 22, "an offset needs one function", NULL },
	{ "uprobe:/opt/whole:fast*", -ENOENT, 18, "there is no function", NULL },
	{ "uprobe:/opt/whole:main(", -EINVAL, 23, "expected the file offset of a reference counter",
	  NULL },
	{ "uprobe:/opt/whole:main(2", -EINVAL, 24, "expected ')'", NULL },
	{ "uprobe:/opt/whole:main(3)", -EINVAL, 23, "even", NULL },
	{ "uprobe:/opt/whole:main(0x10000)", -EINVAL, 23, "beyond the end", NULL },
	{ "uprobe:/opt/whole:0x10000", -EINVAL, 18, "beyond the end", NULL },
	{ "uprobe:/opt/whole:main+0xfffffffffffffff0", -EINVAL, 23, "beyond the end", NULL },
	{ "uprobe:/opt/whole:0x10000000000000000", -ERANGE, 18, "64 bits", NULL },
	{ "uprobe:/opt/whole:0x10zz", -EINVAL, 22, "'z'", NULL },
	{ "uprobe:/opt/whole:main.(*T)", -ENOENT, 18, "no function 'main.(*T)'",
	  "did you mean \"main.(*T).Count\"? In a shell, put single quotes around the event: "
	  "'uprobe:/opt/whole:\"main.(*T).Count\"'" },
	{ "uretprobe:/opt/whole:host.org/pack.(*T).Sum", -ENOENT, 21, "no function 'host.org'",
	  "did you mean \"host.org/pack.(*T).Sum\"? In a shell, put single quotes around the event: "
	  "'uretprobe:/opt/whole:\"host.org/pack.(*T).Sum\"'" },
	{ "uprobe:/opt/whole:ns::whole", -ENOENT, 18, "has only clones of the function 'ns::whole'",
	  "did you mean one of these: _ZN2ns5wholeEi.isra.0, _ZN2ns5wholeEi.isra.0.cold" },
	{ "uprobe:/opt/whole:ns::whole(int)", -ENOENT, 18, "only clones", NULL },
	{ "uprobe:/opt/whole:ns::whole(char)", -ENOENT, 18, "no function", NULL },
	{ "uprobe:/opt/whole:sized+0x18", -EINVAL, 24,
	  "offset 0x18 is beyond the end of the function 'sized' of '/opt/whole', which has 0x10 bytes",
	  "is _ZN2ns6blocksEv: use _ZN2ns6blocksEv+0x8" },
	{ "uprobe:/opt/whole:sized+0x10", -EINVAL, 24, NULL, "use _ZN2ns6blocksEv+0x0" },
	{ "uprobe:/opt/whole:sized+0x20", -EINVAL, 24, NULL,
	  "below 0x10; if no function is meant, the offset in the file is 0x1170" },
	{ "uprobe:/opt/whole:ns::blocks+0x10", -EINVAL, 29,
	  "function 'ns::blocks' of '/opt/whole', which has 0x10 bytes", "is 0x1170" },
	{ "uprobe:/opt/whole:ns::blocks+0x18", -EINVAL, 29, NULL,
	  "the function at that place is 'pair': use the offset in the file, 0x1178" },
	{ "uprobe:/opt/whole:sized+0x10000", -EINVAL, 24, "beyond the end of '/opt/whole'", NULL },
	{ "uprobe:/opt/whole:0xfff", -EINVAL, 18,
	  "0xfff of '/opt/whole' is in no executable segment", "0x1000 to 0x11ff" },
	{ "uprobe:/opt/whole:0x1200", -EINVAL, 18, "no code is there", "0x1000 to 0x11ff" },
	{ "uprobe:/opt/whole:main+0x1f0", -EINVAL, 23, "0x1200 of '/opt/whole' is in no executable",
	  NULL },
	{ "uprobe:/opt/whole:mian", -ENOENT, 18, "no function 'mian'", "did you mean main?" },
	{ "uprobe:/opt/whole:malloc", -ENOENT, 18, "does not define it", "library" },
	{ "uprobe:/opt/whole:twin", -ENOTUNIQ, 18, "several functions", "0xOFFSET" },
	{ "uprobe:/opt/whole:ns::f", -ENOTUNIQ, 18, "several functions 'ns::f'",
	  "'ns::f(int)', 'ns::f(int, char)'" },
	{ "uprobe:/opt/whole:ns::Y::Y(int)", -ENOTUNIQ, 18, "several functions",
	  "'_ZN2ns1YC1Ei', '_ZN2ns1YC2Ei'" },
	{ "uprobe:/opt/whole:ns::Y::Y", -ENOTUNIQ, 18, "several functions",
	  "'_ZN2ns1YC1Ei', '_ZN2ns1YC2Ei'" },
	{ "uprobe:/opt/whole:h(int)", -ENOTUNIQ, 18, "several functions", "0xOFFSET" },
	{ "uprobe:/opt/whole:ns::f(long)", -ENOENT, 18, "no function 'ns::f(long)'",
	  "did you mean 'ns::f(int)'?" },
	{ "uprobe:/opt/whole:ns::get", -ENOENT, 18, "no function 'ns::get'",
	  "did you mean ns::g or 'ns::get()::{lambda()#1}::operator()'?" },
	{ "uprobe:/opt/whole:ns::X", -ENOENT, 18, "no function 'ns::X'",
	  "did you mean ns::f, ns::g or ns::X::X?" },
	{ "uprobe:/opt/whole:get", -ENOENT, 18, "no function 'get'", "ns::X::get" },
	{ "uprobe:/opt/whole:operator()", -ENOENT, 18, "no function 'operator()'",
	  "did you mean 'ns::get()::{lambda()#1}::operator()() const'?" },
	{ "uprobe:/opt/whole:ns::", -ENOENT, 18, "no function 'ns'", NULL },
	{ "usdt:/opt/whole:shop::sold", -EINVAL, 21, "expected the name", NULL },
	{ "uprobe:/opt/whole:gone", -ENOTUNIQ, 18, "several functions", "VERSION" },
	{ "uprobe:/opt/whole:fastest", -EINVAL, 18, "indirect function", NULL },
	{ "uprobe:/opt/bare:main", -ENOENT, 17, "stripped", "0xOFFSET" },
	{ "uprobe:/opt/none:main", -ENOENT, 7, "no file '/opt/none'", NULL },
	{ "uprobe:/opt:main", -EISDIR, 7, NULL, NULL },
	{ "uprobe:/opt/script:main", -EBADMSG, 7, "not an ELF file", "script" },
	{ "uprobe:/opt/empty:main", -EBADMSG, 7, "not an ELF file", NULL },
	{ "uprobe:toool:main", -ENOENT, 7, "in PATH", "path" },
	{ "uretprobe:/opt/whole:main+4", -EINVAL, 26, "first instruction", "offset" },
	{ "uretprobe:/opt/whole:0x1168", -EINVAL, 21, "0x1168 is inside of", NULL },
	{ "uretprobe:/opt/whole:_ZN2ns5wholeEi.isra.0.cold", -EINVAL, 21, "jumped to", NULL },
	{ "usdt:", -EINVAL, 5, "as in usdt:./server:shop:sold", NULL },
	{ "usdt:/opt/whole", -EINVAL, 15, "as in usdt:./server:shop:sold", NULL },
	{ "usdt:/opt/whole:shop", -EINVAL, 20, "expected ':' and a name", NULL },
	{ "usdt:/opt/whole:shop:", -EINVAL, 21, "expected the name", NULL },
	{ "usdt:/opt/whole:shop:solt", -ENOENT, 16, "no USDT probe 'shop:solt'", "shop:sold" },
	{ "usdt:/opt/whole:shop:nowhere", -EBADMSG, 5, "corrupt", NULL },
	{ "cs,uprobe:/opt/whole:main/inherit/", -EINVAL, 3, "cannot be inherited", "all CPUs" },
	{ "cs,{kprobe:vfs_read,cs/inherit/}", -EINVAL, 3, "cannot be inherited", "all CPUs" },
	{ "kprobe:", -EINVAL, 7, "expected a function of the kernel", NULL },
	{ "kprobe:vfs_read(2)", -EINVAL, 15, NULL, NULL },
	{ "kprobe:vfs_reed", -ENOENT, 7, "no function 'vfs_reed'", "vfs_read" },
	{ "kprobe:vfs_data", -ENOENT, 7, "no function 'vfs_data'", NULL },
	{ "kprobe:'nf:nft_do_chain'", -ENOENT, 7, "no function", NULL },
	{ "kretprobe:twice", -ENOTUNIQ, 10, "3 functions", "0xADDRESS" },
	{ "kretprobe:vfs_read+4", -EINVAL, 19, "first instruction", NULL },
	{ "cycles,uprobe:/opt/whole:mian", -ENOENT, 25, "mian", NULL },
	{ "{uprobe:/opt/whole:main,uprobe:/opt/whole:mian}", -ENOENT, 42, "mian", NULL },
};

static void reports_wrong_text(void **state)
{
	(void)state;
	for (size_t i = 0; i < PERCH__NR(bad_events); i++)
		check_bad_event(&bad_events[i], machine);
}

static void reports_kernels_without_probes(void **state)
{
	struct perch_events events;
	struct perch_error err;

	(void)state;
	assert_int_equal(perch_events_parse(&events, "kprobe:vfs_read", old, &err), -ENOENT);
	assert_int_equal(err.kind, PERCH_ERROR_UNKNOWN_PMU);
	assert_int_equal(err.column, 0);
	assert_string_equal(err.since, "4.17");
	assert_non_null(strstr(err.remedy, "CONFIG_KPROBE_EVENTS"));
	first_of(&events, "uretprobe:tool:main", old);
	assert_int_equal(events.event[0].attr.type, 7);
	assert_int_equal(events.event[0].attr.config, 1);
	perch_events_clear(&events);
	assert_int_equal(perch_events_parse(&events, "usdt:tool:shop:sold", old, &err), -EINVAL);
	assert_int_equal(err.kind, PERCH_ERROR_TOO_NEW);
	assert_string_equal(err.since, "4.20");
	assert_int_equal(perch_events_parse(&events, "uprobe:tool:main(0x1202)", old, &err),
			 -EINVAL);
	assert_int_equal(err.column, 17);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parses_probes),
		cmocka_unit_test(parses_globs),
		cmocka_unit_test(reads_kernel_functions_once),
		cmocka_unit_test(adds_event_for_each_usdt_site),
		cmocka_unit_test(reports_wrong_text),
		cmocka_unit_test(reports_kernels_without_probes),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
