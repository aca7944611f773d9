/* SPDX-License-Identifier: MIT */
/* perch version --build-options. meson.build defines the macros. */
#include <stdio.h>
#include <string.h>

#include "build_options.h"
#include "messages.h"

/* "1" if the macro is 1; "0", or its name, if the build lacks it. */
#define TEXT_(macro) #macro
#define TEXT(macro)  TEXT_(macro)

#ifdef PERCH_STATIC
#define LOADS "0"
#else
#define LOADS	     "1"
#define PERCH_STATIC 0
#endif

static const struct build_option {
	const char *name, *has, *library, *purpose;
} build_options[] = {
	{ "zstd", TEXT(PERCH_HAVE_ZSTD), "libzstd",
	  "compressed recordings, and debug information compressed by zstd" },
	{ "lzma", TEXT(PERCH_HAVE_LZMA), "liblzma", "symbols in .gnu_debugdata, and files in .xz" },
	{ "deflate", TEXT(PERCH_HAVE_DEFLATE), "libdeflate",
	  "twice as fast as zlib for debug information" },
	{ "traceevent", TEXT(PERCH_HAVE_TRACEEVENT), "libtraceevent",
	  "samples of tracepoints as the kernel prints them" },
	{ "pprof", TEXT(PERCH_HAVE_PPROF), "libprotobuf-c",
	  "exports for pprof, OTLP and Perfetto" },
	{ "capstone", TEXT(PERCH_HAVE_CAPSTONE), "libcapstone", "instructions in perch annotate" },
	{ "pfm", TEXT(PERCH_HAVE_PFM), "libpfm", "event names of libpfm4" },
	{ "debuginfod", LOADS, "libdebuginfod", "debug files of servers" },
	{ "agent-listen", TEXT(PERCH_HAVE_LISTEN), "libmicrohttpd", "perch agent --listen" },
	{ "agent-push", TEXT(PERCH_HAVE_PUSH), "libcurl", "perch agent --push" },
	{ "static", TEXT(PERCH_STATIC), NULL, "one file that needs no library" },
};

static bool is_on(const struct build_option *option)
{
	return option->has[0] == '1';
}

bool cli_has_build_option(const char *name)
{
	for (size_t i = 0; i < CLI_NR(build_options); i++)
		if (!strcmp(build_options[i].name, name))
			return is_on(&build_options[i]);
	return false;
}

void cli_print_build_options(void)
{
	for (size_t i = 0; i < CLI_NR(build_options); i++) {
		const struct build_option *option = &build_options[i];

		printf("%22s: [ %s ]  # ", option->name, is_on(option) ? "on " : "OFF");
		if (option->library)
			printf("%s: ", option->library);
		puts(option->purpose);
	}
}
