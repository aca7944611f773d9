/* SPDX-License-Identifier: MIT */
/* What the files of make_corpus share. */
#ifndef FUZZ_CORPUS_H
#define FUZZ_CORPUS_H

#include <perch/abi.h>

#include "build/build.h"
#include "record_input.h"

#define CORPUS_BYTES 8192 /* of records in one file, at most */

/* Writes FOLDER/kind/name. */
void corpus_put(const char *kind, const char *name, const void *bytes, size_t size);
/* A perf.data file of this machine's with these records. */
void corpus_file(const char *name, const struct perch_attr *attr, const void *records, size_t size);
/* Files and pipes of machines of both byte orders, with one record of every type. */
void corpus_built_files(void);
/* Rings that fill and are read. */
void corpus_rings(void);

#endif
