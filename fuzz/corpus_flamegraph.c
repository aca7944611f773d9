/* SPDX-License-Identifier: MIT */
/* Inputs of fuzz_flamegraph: texts of both kinds. */
#include <string.h>

#include "corpus.h"

void corpus_write_texts(void)
{
	static const char folded[] = "# a comment\n"
				     "name 1;main;outer_[i];inner_[k] 12\n"
				     "name 1;main;f<x>(int, char);[lib.so] 3\n"
				     "name 7\n"
				     "name;f 2.125\n";
	static const char script[] = "a b  12/13 [001] 12.345678:     250000 cpu-clock:u: \n"
				     "\tffffffff81001000 do_work+0x12 ([kernel.kallsyms])\n"
				     "\t    1234 inner (inlined)\n"
				     "  file.h:12 (inlined)\n"
				     "\t    1234 std::f(int)+0x4 (/usr/lib/lib (x).so)\n"
				     "  file.c:34\n"
				     "\t    99 [unknown] ([unknown])\n"
				     "\n"
				     ":7     7 3.000001: sched:sched_switch: \n"
				     "\t    5 jitted+0x1 (/tmp/perf-7.map)\n"
				     "\n"
				     "c 1 [000] 4.5: 1 cycles: 1000 main+0x1 (/bin/c)\n";

	static const char fields[] = "a b 12    250000 cycles: \n"
				     "\t    1234 LA;::f->LB;::g (/tmp/perf-12.map)\n"
				     "\n"
				     "12 [001] KH 2026-01-31 12:00:00.5 cycles:  7f00 \n"
				     "\t    1234 f+0x4 (/bin/c+0x10)\n";

	corpus_write("flamegraph", "fields", fields, strlen(fields));
	corpus_write("flamegraph", "folded", folded, strlen(folded));
	corpus_write("flamegraph", "script", script, strlen(script));
}
