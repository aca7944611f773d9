/* SPDX-License-Identifier: MIT */
/* Inputs of fuzz_filter: expressions. Of fuzz_tracepoint: formats of this kernel, and built ones
 * with every kind of field. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <perch/machine.h>

#include "corpus.h"
#include "tracepoint_input.h"

static void write_input(const char *name, const char *text, const void *raw, size_t raw_size,
			uint8_t flags)
{
	static uint8_t all[CORPUS_BYTES];
	struct tracepoint_input input = { .flags = flags, .text_size = (uint16_t)strlen(text) };

	if (sizeof(input) + input.text_size + raw_size > sizeof(all))
		return;
	memcpy(all, &input, sizeof(input));
	memcpy(all + sizeof(input), text, input.text_size);
	memcpy(all + sizeof(input) + input.text_size, raw, raw_size);
	corpus_write("tracepoint", name, all, sizeof(input) + input.text_size + raw_size);
}

/* Each text with the same bytes: DATA_LOC at byte 8, REL_LOC at byte 12. */
static void write_built(void)
{
	static const char *const texts[] = {
		"name: a\nID: 1\nformat:\n\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
		"\n\tfield:__data_loc char[] s;\toffset:8;\tsize:4;\tsigned:0;\n"
		"\tfield:__rel_loc u16[] r;\toffset:12;\tsize:4;\tsigned:0;\n"
		"\tfield:const char * p;\toffset:16;\tsize:8;\tsigned:0;\n\nprint fmt: \"\"\n",
		"\tfield:unsigned long args[6];\toffset:0;\tsize:48;\tsigned:0;\n"
		"\tfield:long rest[];\toffset:40;\tsize:0;\tsigned:1;\n"
		"\tfield:struct x y;\toffset:1;\tsize:3;\tsigned:0;\n",
		"\tfield:char comm[TASK_COMM_LEN];\toffset:4;\tsize:16;\n"
		"\tfield special:u8 b;\toffset:3;\tsize:1;\n"
		"\tfield:void (*f)(int);\toffset:8;\tsize:8;\tsigned:0;\n"
		"\tfield:u64[2] odd;\toffset:8;\tsize:16;\tsigned:0;\n",
	};
	uint32_t raw[16] = { 1, 2, 5 << 16 | 24, 6 << 16 | 20, 0x64636261 };
	char name[32];

	for (unsigned i = 0; i < 4 * sizeof(texts) / sizeof(*texts); i++) {
		snprintf(name, sizeof(name), "built-%u", i);
		write_input(name, texts[i / 4], raw, sizeof(raw), i % 4);
	}
}

static void write_formats(void)
{
	static const char *const tracepoints[] = {
		"sched/sched_switch",	  "sched/sched_process_exec",
		"raw_syscalls/sys_enter", "syscalls/sys_enter_openat",
		"kmem/kmalloc",		  "timer/timer_start",
	};
	static const uint8_t raw[128] = { [8] = 20, [10] = 16, [20] = 'x' };
	char tracefs[PATH_MAX], path[PATH_MAX + 64], text[4096], name[64];

	if (perch_machine_tracefs(NULL, tracefs, sizeof(tracefs), NULL) < 0)
		return;
	for (size_t i = 0; i < sizeof(tracepoints) / sizeof(*tracepoints); i++) {
		snprintf(path, sizeof(path), "%s/events/%s/format", tracefs, tracepoints[i]);
		if (perch_machine_read(NULL, path, text, sizeof(text)) <= 0)
			continue;
		snprintf(name, sizeof(name), "%s", strchr(tracepoints[i], '/') + 1);
		write_input(name, text, raw, sizeof(raw), 0);
	}
}

/* Expressions over the fields that fuzz_filter.c has. */
static void write_expressions(void)
{
	static const char *const expressions[] = {
		"a == 1 && !(c ~ \"x*[a-z]?\" || d != 'q')",
		"a <= -3 || b & 0x80 && c == 5 || cpu >= 0 || comm == \"comm\"",
		"d ~ '!x*[!a-z]?\\*' && a < 0xffffffff",
	};
	const uint32_t raw[] = { 0x80000001, 0x7f, 0x64636261, 0x78, 5 << 16 | 20, 0x33323178, 0 };
	uint8_t all[256];
	char name[32];

	for (unsigned i = 0; i < sizeof(expressions) / sizeof(*expressions); i++) {
		size_t length = strlen(expressions[i]) + 1;

		memcpy(all, expressions[i], length);
		memcpy(all + length, raw, sizeof(raw));
		snprintf(name, sizeof(name), "expression-%u", i);
		corpus_write("filter", name, all, length + sizeof(raw));
	}
}

void corpus_write_tracepoints(void)
{
	write_expressions();
	write_built();
	write_formats();
}
