/* SPDX-License-Identifier: MIT */
/* The parts of make_corpus. */
#ifndef FUZZ_CORPUS_H
#define FUZZ_CORPUS_H

#include <perch/abi.h>

#include "build/build.h"
#include "record_input.h"

#define CORPUS_BYTES 8192 /* of records in one file, at most */

/* Makes the directory of the corpus. Failures end the program, here and in corpus_write(). */
void corpus_open(const char *directory);
/* Writes one input, DIRECTORY/kind/name. */
void corpus_write(const char *kind, const char *name, const void *bytes, size_t size);
/* Writes a perf.data file of this machine's byte order with these records. */
void corpus_write_file(const char *name, const struct perch_attr *attr, const void *records,
		       size_t size);
/* Writes perf.data files and pipes of both byte orders, with one record of each type. */
void corpus_write_built_files(void);
/* Writes inputs of fuzz_symbol: stripped programs in Go. */
void corpus_write_go_programs(void);
/* Writes inputs of fuzz_jitdump. */
void corpus_write_jitdumps(void);
/* Writes inputs of fuzz_flamegraph. */
void corpus_write_texts(void);
/* Writes inputs of fuzz_tracepoint. */
void corpus_write_tracepoints(void);
/* Writes inputs of fuzz_ring: rings that fill and are read. */
void corpus_write_rings(void);

#endif
