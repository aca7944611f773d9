/* SPDX-License-Identifier: MIT */
/*
 * Flame graphs of text: what is read, what is counted as unreadable, and what is written. The
 * pictures have the names and sums as text, so they show what was read; interop/flamegraph.py looks
 * at the pages.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <perch/export.h>

static struct perch_error err;

static struct perch_export *new_export(enum perch_export_format format, const char *title)
{
	const struct perch_export_options options = { .title = title };
	struct perch_export *export;

	assert_int_equal(perch_export_new(&export, NULL, format, &options, &err), 0);
	return export;
}

static int add_bytes(struct perch_export *export, const char *text, size_t size)
{
	FILE *in = fmemopen((void *)text, size, "r");
	int rc;

	assert_non_null(in);
	rc = perch_export_add_text(export, in, &err);
	fclose(in);
	return rc;
}

/* Returns the file of an export, which it frees; the caller frees the text. */
static char *write_export(struct perch_export *export)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(perch_export_write(export, out, &err), 0);
	fclose(out);
	assert_int_equal(strlen(text), size);
	perch_export_free(export);
	return text;
}

/* Returns the picture of a text. lines: the number of unreadable lines that is expected. */
static char *picture_of(const char *text, uint64_t samples, uint64_t lines)
{
	struct perch_export *export = new_export(PERCH_EXPORT_SVG, "title");
	struct perch_export_stats stats;

	assert_int_equal(add_bytes(export, text, strlen(text)), 0);
	perch_export_get_stats(export, &stats);
	assert_int_equal(stats.samples, samples);
	assert_int_equal(stats.unreadable, lines);
	return write_export(export);
}

static void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("'%s' is not in: %s", part, text);
}

/* ---- folded stacks ---- */

static void reads_folded_stacks(void **state)
{
	char *text =
		picture_of("# comment\n\nn m;a;b 3\nn m;a;c_[k] 5\nn m;a d_[i] 2\nn m 10\n", 20, 0);

	(void)state;
	assert_has(text, "<title>all (100.00%, 20)</title>");
	assert_has(text, "<title>n m (100.00%, 20)</title>");
	assert_has(text, "<title>a (40.00%, 8)</title><rect class=\"user\"");
	assert_has(text, "<title>c (25.00%, 5)</title><rect class=\"kernel\"");
	assert_has(text, "<title>a d (10.00%, 2)</title><rect class=\"inlined\"");
	free(text);
}

static void counts_lines_that_are_no_stacks(void **state)
{
	char *text = picture_of("x\nx \n 1\nx 1x\nx -1\nx 99999999999999999999\nx;y 1\nz\n", 1, 7);

	(void)state;
	assert_has(text, "<title>y (100.00%, 1)</title>");
	free(text);
}

static void refuses_other_texts(void **state)
{
	static const char text[] = "\1\2\3\nno stack\n";
	struct perch_export *export = new_export(PERCH_EXPORT_PAGE, NULL);

	(void)state;
	assert_int_equal(add_bytes(export, text, sizeof(text) - 1), -EINVAL);
	assert_has(err.message, "none of 2 lines");
	assert_int_equal(add_bytes(export, "no stack\n", 9), -EINVAL);
	assert_has(err.message, "its line is neither");
	perch_export_free(export);
}

static void refuses_other_formats(void **state)
{
	struct perch_export *export = new_export(PERCH_EXPORT_FOLDED, NULL);

	(void)state;
	assert_int_equal(add_bytes(export, "a;b 1\n", 6), -EINVAL);
	assert_int_equal(err.kind, PERCH_ERROR_USAGE);
	perch_export_free(export);
}

static void cuts_deep_stacks(void **state)
{
	char line[3000 * 2 + 16] = "name", *text;
	struct perch_export *export = new_export(PERCH_EXPORT_SVG, "title");
	struct perch_export_stats stats;

	(void)state;
	for (int i = 0; i < 3000; i++)
		strcat(line + 4 + 2 * i, ";f");
	strcat(line, " 7\n");
	assert_int_equal(add_bytes(export, line, strlen(line)), 0);
	perch_export_get_stats(export, &stats);
	assert_int_equal(stats.cut, 1);
	assert_int_equal(stats.samples, 7);
	text = write_export(export);
	assert_has(text, "<title>f (100.00%, 7)</title>");
	free(text);
}

static void skips_lines_without_an_end(void **state)
{
	size_t size = (3 << 20) + 16;
	char *line = malloc(size), *text;
	struct perch_export *export = new_export(PERCH_EXPORT_SVG, "title");
	struct perch_export_stats stats;

	(void)state;
	assert_non_null(line);
	memset(line, 'x', size);
	memcpy(line, "a;b 1\n", 6);
	memcpy(line + size - 8, " 1\na;b 2", 8);
	assert_int_equal(add_bytes(export, line, size), 0);
	perch_export_get_stats(export, &stats);
	assert_int_equal(stats.unreadable, 1);
	assert_int_equal(stats.samples, 3);
	text = write_export(export);
	assert_null(strstr(text, "xxx"));
	free(text);
	free(line);
}

/* ---- perf script ---- */

static void reads_perf_script(void **state)
{
	char *text = picture_of("my prog 12/13 [003] 12.500000:     250000 cpu-clock:u: \n"
				"\tffffffff81001000 work+0x12 ([kernel.kallsyms])\n"
				"\t    1234 operator()(int) const+0x4 (/usr/lib/lib (x).so)\n"
				"  file.c:34\n"
				"\t    1234 [unknown] (/usr/lib/libz.so.1)\n"
				"\n"
				"p 14 13.5:     750000 cpu-clock:u:   99 main+0x1 (/bin/prog)\n"
				"what is this\n",
				2, 1);

	(void)state;
	assert_has(text, "cpu-clock:u: 1000000<");
	assert_has(text, "<title>my prog (25.00%, 250000)</title>");
	assert_has(text, "<title>[libz.so.1] (25.00%, 250000)</title><rect class=\"unknown\"");
	assert_has(text,
		   "<title>operator()(int) const (25.00%, 250000)</title><rect class=\"user\"");
	assert_has(text, "<title>work (25.00%, 250000)</title><rect class=\"kernel\"");
	assert_has(text, "<title>main (75.00%, 750000)</title>");
	free(text);
}

static void reads_samples_without_periods(void **state)
{
	char *text = picture_of(":7     7 3.000001: sched:sched_switch: \n"
				"\t    5 jitted+0x1 (/tmp/perf-7.map)\n"
				"\n"
				":7     7 3.000002: sched:sched_switch: \n\n",
				2, 0);

	(void)state;
	assert_has(text, "sched:sched_switch: 2<");
	assert_has(text, "<title>jitted (50.00%, 1)</title><rect class=\"jit\"");
	free(text);
}

/* ---- output ---- */

static void writes_names_as_text(void **state)
{
	static const char line[] = "</svg>;<script>&\"'\xe2\x80\xa8\xff;a\x1b[31m 4\n";
	char *text = picture_of(line, 4, 0);
	struct perch_export *page =
		new_export(PERCH_EXPORT_PAGE, "</title><script>alert(1)</script>");

	(void)state;
	assert_has(text, "<title>&lt;/svg&gt; (100.00%, 4)</title>");
	assert_has(text, "<title>&lt;script&gt;&amp;&quot;&#39;?? (100.00%, 4)</title>");
	assert_has(text, "<title>a?[31m (100.00%, 4)</title>");
	free(text);
	assert_int_equal(add_bytes(page, line, sizeof(line) - 1), 0);
	text = write_export(page);
	assert_null(strstr(text, "<script>alert"));
	assert_has(text, "<title>&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;</title>");
	free(text);
}

static void writes_empty_graphs(void **state)
{
	char *text = write_export(new_export(PERCH_EXPORT_SVG, NULL));

	(void)state;
	assert_has(text, "no event: 0<");
	free(text);
	text = write_export(new_export(PERCH_EXPORT_PAGE, NULL));
	assert_has(text, "</html>");
	free(text);
}

static void reports_failed_writes(void **state)
{
	struct perch_export *export = new_export(PERCH_EXPORT_PAGE, NULL);
	FILE *full = fopen("/dev/full", "w");

	(void)state;
	assert_non_null(full);
	assert_int_equal(perch_export_write(export, full, &err), -ENOSPC);
	fclose(full);
	perch_export_free(export);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_folded_stacks),
		cmocka_unit_test(counts_lines_that_are_no_stacks),
		cmocka_unit_test(refuses_other_texts),
		cmocka_unit_test(refuses_other_formats),
		cmocka_unit_test(cuts_deep_stacks),
		cmocka_unit_test(skips_lines_without_an_end),
		cmocka_unit_test(reads_perf_script),
		cmocka_unit_test(reads_samples_without_periods),
		cmocka_unit_test(writes_names_as_text),
		cmocka_unit_test(writes_empty_graphs),
		cmocka_unit_test(reports_failed_writes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
