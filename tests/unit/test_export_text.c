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
	static const char text[] = "neither\nno stack\n";
	struct perch_export *export = new_export(PERCH_EXPORT_PAGE, NULL);

	(void)state;
	assert_int_equal(add_bytes(export, text, sizeof(text) - 1), -EINVAL);
	assert_has(err.message, "none of 2 lines");
	assert_int_equal(add_bytes(export, "no stack\n", 9), -EINVAL);
	assert_has(err.message, "its line is neither");
	perch_export_free(export);
}

/* Lines of a compressed or binary file may look like stacks. */
static void refuses_control_bytes(void **state)
{
	static const char *const texts[] = { "a;b 1\na\1;b 1\n", "a;b 1\na\x1b[31m 1\n",
					     "a;b 1\na\r;b 1\n", "a;b 1\na\x7f 1\n" };
	static const char zero[] = "a;b 1\na\0b 1\n";
	struct perch_export *export = new_export(PERCH_EXPORT_PAGE, NULL);

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		assert_int_equal(add_bytes(export, texts[i], strlen(texts[i])), -EILSEQ);
		assert_has(err.message, "line 2 has the byte 0x");
	}
	assert_int_equal(add_bytes(export, zero, sizeof(zero) - 1), -EILSEQ);
	assert_has(err.message, "line 2 has the byte 0x00");
	assert_int_equal(add_bytes(export, "a;b 1\r\n", 7), 0);
	perch_export_free(export);
}

static void reads_fractions(void **state)
{
	char *text = picture_of("n;a 1.5\nn;b 2.25\nn;c 3\nn;d 1.\nn;e .5\nn;f 1.5.5\n", 8, 3);

	(void)state;
	assert_has(text, "count: 6.75<");
	assert_has(text, "<title>a (22.22%, 1.5)</title>");
	assert_has(text, "<title>b (33.33%, 2.25)</title>");
	assert_has(text, "<title>c (44.44%, 3)</title>");
	free(text);
	/* rounded to 9 digits; a number that becomes too large for them is no count */
	text = picture_of("n;a 0.12345678949\nn;b 0.1234567895\nn;c 99999999999\n", 2, 1);
	assert_has(text, "<title>a (50.00%, 0.123456789)</title>");
	assert_has(text, "<title>b (50.00%, 0.12345679)</title>");
	free(text);
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

/* Options -F of perf script leave out any of these. */
static void reads_headers_with_fewer_fields(void **state)
{
	static const char frames[] = "\t    55d000001000 inner+0x10 (/opt/a/prog)\n"
				     "\t    55d000002000 main+0x20 (/opt/a/prog)\n\n";
	static const struct {
		const char *header, *thread, *event;
	} headers[] = {
		{ "my prog 100 cycles: \n", "my prog", "cycles: 1<" },
		{ "my prog 100    250000 cycles: \n", "my prog", "cycles: 250000<" },
		{ "my prog 100/101 [002] 7 cycles:u: \n", "my prog", "cycles:u: 7<" },
		{ "100 12.000100: 7 cycles: \n", ":100", "cycles: 7<" },
		{ "my prog 100 12.000100: \n", "my prog", "samples: 1<" },
		{ "my prog 100 12.000100:    250000 \n", "my prog", "samples: 250000<" },
		{ "my prog 100 [002] KH    12.000100: 7 cycles: \n", "my prog", "cycles: 7<" },
		{ "my prog 100 [002] 2026-01-31 12:00:00.000100 7 cycles: \n", "my prog",
		  "cycles: 7<" },
		{ "my prog 100 \n", "my prog", "samples: 1<" },
		{ "my prog cycles: \n", "my prog", "cycles: 1<" },
		{ "my prog \n", "my prog", "samples: 1<" },
		{ "12.000100: cycles: \n", "[unknown]", "cycles: 1<" },
		{ "cycles: \n", "[unknown]", "cycles: 1<" },
		{ "[002] \n", "[unknown]", "samples: 1<" },
		{ "", "[unknown]", "samples: 1<" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
		char input[1024], title[64], *text;

		snprintf(input, sizeof(input), "%s%s%s%s", headers[i].header, frames,
			 headers[i].header, frames);
		text = picture_of(input, 2, 0);
		snprintf(title, sizeof(title), "<title>%s (100.00%%, ", headers[i].thread);
		assert_has(text, title);
		assert_has(text, "<title>inner (100.00%, ");
		free(text);
		snprintf(input, sizeof(input), "%s%s", headers[i].header, frames);
		text = picture_of(input, 1, 0);
		assert_has(text, headers[i].event);
		free(text);
	}
}

static void reads_samples_of_one_line(void **state)
{
	char *text = picture_of("            dead   100  12.000100:  7 cycles:  55d0 f+0x1 (/a)\n"
				"            dead   100  12.000200:  5 cycles:  55d1 g+0x1 (/a)\n",
				2, 0);

	(void)state;
	assert_has(text, "<title>dead (100.00%, 12)</title>");
	assert_has(text, "<title>f (58.33%, 7)</title>");
	free(text);
	text = picture_of("dead 100 cycles:  55d0 f+0x1 (/a)\ndead 100 cycles:  55d1 g (/a)\n", 2,
			  0);
	assert_has(text, "<title>g (50.00%, 1)</title>");
	free(text);
	/* the field addr is before the call chain, which has the sampled address */
	text = picture_of("p 1 1.0: page-faults:  7f00 \n\t  55d0 f+0x1 (/a)\n\n"
			  "p 1 1.0: page-faults:  7f00 \n\t  55d0 f+0x1 (/a)\n\n",
			  2, 0);
	assert_has(text, "<title>f (100.00%, 2)</title>");
	assert_null(strstr(text, "[unknown]"));
	free(text);
}

static void leaves_out_what_is_no_sample(void **state)
{
	char *text = picture_of("p 1 [000] 1.0: PERF_RECORD_COMM: p:1/1\n"
				"p 1 [000] 1.1: 3 cycles: \n\t  55d0 f+0x1 (/a)\n\n"
				"p 1 [000] 1.2: PERF_RECORD_MMAP2 1/1: [0x1(0x1) @ 0 0:0 0 0]: x\n"
				"a line\na line: \n\n",
				1, 2);

	(void)state;
	assert_has(text, "cycles: 3<");
	free(text);
}

/* These are no stacks, though lines of perf script may look like each of them. */
static void refuses_prose(void **state)
{
	static const char *const texts[] = {
		"Dear reader:\n  added is a word\n\n",
		"Steps\n 1 first\n 2 second\n\n",
		"note: 5 of\nthe best\n",
		"a 5\nwarning: 3 lost:\n",
	};
	struct perch_export *export = new_export(PERCH_EXPORT_PAGE, NULL);

	(void)state;
	for (size_t i = 0; i + 1 < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(add_bytes(export, texts[i], strlen(texts[i])), -EINVAL);
	perch_export_free(export);
}

/* As exports of a recording name them. */
static void names_frames_without_functions(void **state)
{
	char *text = picture_of("p 1 1.0: 7 cycles: \n"
				"\tffffffff81000000 [unknown] ([kernel.kallsyms])\n"
				"\t 2000 [unknown] (/opt/a)\n"
				"\t 2010 f(int) const (.part.0)+0x4 (/opt/b+0x10)\n"
				"\t 2020 g(int)\n"
				"\t 3000 [unknown] ([unknown])\n\n",
				1, 0);

	(void)state;
	assert_has(text, "<title>[kernel.kallsyms] (100.00%, 7)</title><rect class=\"kernel\"");
	assert_has(text, "<title>[a] (100.00%, 7)</title><rect class=\"unknown\"");
	assert_has(text, "<title>f(int) const (.part.0) (100.00%, 7)</title>");
	assert_has(text, "<title>g(int) (100.00%, 7)</title>");
	assert_has(text, "<title>[unknown] (100.00%, 7)</title><rect class=\"unknown\"");
	free(text);
}

/* ---- output ---- */

static void writes_names_as_text(void **state)
{
	static const char line[] = "</svg>;<script>&\"'\xe2\x80\xa8\xff;a\xc2\x9b[31m 4\n";
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
		cmocka_unit_test(refuses_control_bytes),
		cmocka_unit_test(reads_fractions),
		cmocka_unit_test(refuses_other_formats),
		cmocka_unit_test(cuts_deep_stacks),
		cmocka_unit_test(skips_lines_without_an_end),
		cmocka_unit_test(reads_perf_script),
		cmocka_unit_test(reads_samples_without_periods),
		cmocka_unit_test(reads_headers_with_fewer_fields),
		cmocka_unit_test(reads_samples_of_one_line),
		cmocka_unit_test(leaves_out_what_is_no_sample),
		cmocka_unit_test(refuses_prose),
		cmocka_unit_test(names_frames_without_functions),
		cmocka_unit_test(writes_names_as_text),
		cmocka_unit_test(writes_empty_graphs),
		cmocka_unit_test(reports_failed_writes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
