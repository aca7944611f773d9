/* SPDX-License-Identifier: MIT */
/* Records of a reader that are brought into the order of time before they are needed. */
#ifndef PERCH_FILE_AHEAD_H
#define PERCH_FILE_AHEAD_H

#include <stdbool.h>
#include <perch/file.h>

/*
 * Reads the records that follow those which are ready, if the reader is to need them, and sorts
 * them. Returns false if there is nothing to do. Any thread may call this while another one calls
 * perch_reader_next(), but none may while it closes the reader.
 */
bool perch__reader_read_ahead(struct perch_reader *reader);

#endif
