/* SPDX-License-Identifier: MIT */
/* Recognizes files of other tools by their first bytes, and parts of directories by their names, to
 * name what reads them. */
#define _GNU_SOURCE
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "internal.h"

#define BYTES(text) text, sizeof(text) - 1

static const struct format {
	const char *magic;
	size_t size;
	const char *what, *remedy;
} formats[] = {
	{ BYTES("FLR\0"), "a recording of Java Flight Recorder",
	  "Read it by JDK Mission Control or 'jfr print'" },
	{ BYTES("\x17\x08\x44tracing"), "a trace.dat file of trace-cmd",
	  "Read it by 'trace-cmd report -i FILE' or KernelShark" },
	{ BYTES("\x5e\x97\xca\xfd"), "a capture of sysprof (.syscap)", "Open it by sysprof" },
	{ BYTES("DTiJ"), "a jitdump file of a JIT compiler",
	  "Give the recording of the program in its place: it names this file, if it was recorded "
	  "with -k mono" },
	{ BYTES("JiTD"), "a jitdump file of a JIT compiler",
	  "Give the recording of the program in its place: it names this file, if it was recorded "
	  "with -k mono" },
	{ BYTES("# callgrind format"), "a profile of callgrind",
	  "Read it by callgrind_annotate or KCachegrind" },
	{ BYTES("version: 1\ncreator: callgrind"), "a profile of callgrind",
	  "Read it by callgrind_annotate or KCachegrind" },
	{ BYTES("SIMPLEPERF"), "samples of 'simpleperf report-sample'",
	  "Give the perf.data file of simpleperf in its place" },
	{ BYTES("BZh"), "compressed by bzip2", "Decompress it by 'bzip2 -d'" },
	{ BYTES("PK\3\4"), "a zip archive",
	  "Unpack it by unzip, and give the perf.data file in it" },
	{ BYTES("\x7f"
		"ELF"),
	  "a program or a library", "Record it first, and give the recording" },
	{ BYTES("<!DOCTYPE html"), "an HTML page", "Open it by a browser" },
	{ BYTES("<!doctype html"), "an HTML page", "Open it by a browser" },
	{ BYTES("<html"), "an HTML page", "Open it by a browser" },
};

static bool take_hex(const char **at, const char *end)
{
	const char *from = *at;

	for (; *at < end && strchr("0123456789abcdefABCDEF", **at) && **at; ++*at)
		;
	return *at > from && *at < end && *(*at)++ == ' ';
}

/* True for a line "START SIZE NAME" of a perf map. */
static bool is_perf_map(const uint8_t *bytes, size_t size)
{
	const char *at = (const char *)bytes, *end = at + (size < 80 ? size : 80);

	return take_hex(&at, end) && take_hex(&at, end) && at<end && * at> ' ';
}

int perch__refuse_part(const struct perch_reader *reader, struct perch_error *err)
{
	const char *slash = reader->path ? strrchr(reader->path, '/') : NULL;

	perch_error_set(err, EBADMSG, PERCH_ERROR_FORMAT,
			"is only a part of a recording, which is a directory");
	if (reader->path)
		perch_error_remedy(err, "Give the directory: %.*s",
				   slash ? (int)(slash - reader->path) + (slash == reader->path)
					 : 1,
				   slash ? reader->path : ".");
	return -EBADMSG;
}

/* True for data.N beside data. */
static bool is_part(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL, *name = slash ? slash + 1 : path;
	char header[PATH_MAX];

	if (!path || strncmp(name, "data.", 5) != 0 || !name[5] ||
	    name[5 + strspn(name + 5, "0123456789")])
		return false;
	return snprintf(header, sizeof(header), "%.*sdata", (int)(name - path), path) <
		       (int)sizeof(header) &&
	       !access(header, F_OK);
}

int perch__refuse_foreign(const struct perch_reader *reader, struct perch_error *err)
{
	if (is_part(reader->path))
		return perch__refuse_part(reader, err);
	for (size_t i = 0; i < PERCH__NR(formats); i++) {
		const struct format *format = &formats[i];

		if (reader->size < format->size ||
		    memcmp(reader->file, format->magic, format->size))
			continue;
		perch_error_set(err, EBADMSG, PERCH_ERROR_FORMAT, "not a perf.data file: it is %s",
				format->what);
		perch_error_remedy(err, "%s", format->remedy);
		return -EBADMSG;
	}
	if (is_perf_map(reader->file, reader->size)) {
		perch_error_set(
			err, EBADMSG, PERCH_ERROR_FORMAT,
			"not a perf.data file: it is a perf map, with the functions of a JIT "
			"compiler");
		perch_error_remedy(err, "Give the recording of the program in its place: its names "
					"are those of /tmp/perf-PID.map");
		return -EBADMSG;
	}
	if (reader->was_compressed) {
		perch_error_set(err, EBADMSG, PERCH_ERROR_FORMAT,
				"not a perf.data file: it is compressed, and what it has does not "
				"start with PERFILE2");
		perch_error_remedy(err, "Read a profile of pprof by 'pprof -top FILE', a text by "
					"'perch flamegraph FILE'");
		return -EBADMSG;
	}
	perch_error_set(err, EBADMSG, PERCH_ERROR_FORMAT,
			"not a perf.data file: it does not start with PERFILE2");
	return perch__ask_for_recording(-EBADMSG, err);
}
