/* SPDX-License-Identifier: MIT */
/*
 * What the readers of line tables share: dwarf_line_header.c reads the files and directories,
 * dwarf_line_program.c runs the program that makes rows, dwarf_lines.c finds the row of an address.
 */
#ifndef PERCH_SYMBOL_DWARF_LINES_H
#define PERCH_SYMBOL_DWARF_LINES_H

#include "dwarf.h"

/* A row, and where the program continues after it. */
struct mark {
	uint64_t address;
	uint32_t file, line, next;
};

/* What a special opcode adds. */
struct advance {
	uint32_t address;
	int32_t line;
};

/* Rows of increasing addresses. */
struct sequence {
	uint64_t start, end;
	uint32_t mark, nr_marks;
};

struct file {
	const char *name;
	uint64_t directory;
	char *path; /* NULL before its first use, unless it is the name */
};

struct dwarf_lines {
	int error; /* 0, -ENOMEM or -ENOTSUP */
	bool swapped;
	struct dwarf_format format; /* of the table: the version may differ from the unit's */
	const uint8_t *program, *end;
	uint8_t smallest_instruction, line_range, first_special;
	int8_t line_base;
	struct advance special[256]; /* by opcode */
	const uint8_t *operands;     /* number of each standard opcode */
	bool usual_operands;	     /* the frequent ones have the usual numbers */
	const char *unit_directory;  /* others are relative to it; NULL: unknown */
	const char **directory;
	size_t nr_directories, directories_capacity;
	struct file *file;
	size_t nr_files, files_capacity;
	struct mark *mark;
	size_t nr_marks, marks_capacity;
	struct sequence *sequence; /* sorted */
	size_t nr_sequences, sequences_capacity;
};

struct machine {
	struct cursor cursor;
	const struct dwarf_lines *lines;
	uint64_t address, before; /* the address of the row before */
	uint32_t file, line;
	uint32_t rows; /* that are run before it stops */
};

enum step {
	STEP_NONE,
	STEP_ROW,
	STEP_END,  /* of a sequence, with a row */
	STEP_BACK, /* a row whose address is less than that of the row before */
	STEP_ERROR,
};

/* ---- dwarf_line_header.c ---- */

/* Reads the header of the table of a unit. Returns 0, -ENOMEM or -ENOTSUP. */
int perch__line_header(struct dwarf *dwarf, struct dwarf_unit *unit, struct dwarf_lines *lines);

/* ---- dwarf_line_program.c ---- */

/*
 * Runs the wanted number of rows, or to one opcode that is not frequent, which may make a row. The
 * cursor must not be at its end.
 */
enum step perch__line_run(struct machine *machine);
/* Runs the whole program and keeps its marks and sequences. Returns 0, -ENOMEM or -ENOTSUP. */
int perch__line_program(struct dwarf_lines *lines);

#endif
