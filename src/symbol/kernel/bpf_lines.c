/* SPDX-License-Identifier: MIT */
/* Source lines of BPF programs, by the features BPF_PROG_INFO and BPF_BTF of a recording. */
#include "base/kernel/bpf.h"
#include "symbol/symbols.h"

enum { MAX_PROGRAMS = 16384, MAX_FUNCTIONS = 4096 };

/* The lines of a function. */
struct bpf_lines {
	uint64_t start; /* of the function */
	const uint8_t *address, *line;
	uint32_t nr, address_size, line_size;
	struct perch__btf btf;
};

void perch_symbols_set_bpf_programs(struct perch_symbols *symbols, const void *programs,
				    size_t programs_size, const void *btf, size_t btf_size)
{
	symbols->sources.bpf_programs = programs;
	symbols->sources.bpf_programs_size = programs ? programs_size : 0;
	symbols->sources.btf = btf;
	symbols->sources.btf_size = btf ? btf_size : 0;
}

static bool find_btf(const struct sources *sources, uint32_t id, struct perch__btf *btf)
{
	const uint8_t *at = sources->btf;
	size_t left = sources->btf_size;
	uint32_t found;

	if (left < sizeof(uint32_t))
		return false;
	at += sizeof(uint32_t);
	left -= sizeof(uint32_t);
	for (int i = 0; i < MAX_PROGRAMS && perch__btf_take(&at, &left, &found, btf); i++)
		if (found == id)
			return true;
	return false;
}

/*
 * True if the function is the DSO: an address may belong to one program after the other, so the tag
 * in the name must be the same, too.
 */
static bool is_function(const struct perch__bpf_program *program, uint32_t index,
			const struct perch_dso *dso, uint64_t address, uint32_t length)
{
	const size_t tagged = sizeof("bpf_prog_") - 1 + (size_t)2 * PERCH__BPF_TAG_SIZE;
	char name[64];

	if (address != dso->start || length != dso->length)
		return false;
	perch__bpf_function_name(program, NULL, index, name, sizeof(name));
	return !strncmp(name, dso->path, tagged);
}

static bool has_function(const struct perch__bpf_program *program, const struct perch_dso *dso)
{
	uint64_t address;
	uint32_t length;

	for (uint32_t i = 0;
	     i < MAX_FUNCTIONS && perch__bpf_function(program, i, &address, &length); i++)
		if (is_function(program, i, dso, address, length))
			return true;
	return false;
}

static bool get_lines(const struct sources *sources, const struct perch__bpf_program *program,
		      struct bpf_lines *lines)
{
	uint32_t nr_lines;

	lines->address = perch__bpf_array(program, PERCH__BPF_JITED_LINES, 8, &lines->nr,
					  &lines->address_size);
	lines->line = perch__bpf_array(program, PERCH__BPF_LINES, 16, &nr_lines, &lines->line_size);
	return lines->address && lines->line && lines->nr && lines->nr == nr_lines &&
	       find_btf(sources, program->info.btf, &lines->btf);
}

struct bpf_lines *perch__bpf_lines_open(const struct sources *sources, const struct perch_dso *dso)
{
	struct bpf_lines lines = { .start = dso->start }, *result = NULL;
	struct perch__bpf_program program;
	const uint8_t *at = sources->bpf_programs;
	size_t left = sources->bpf_programs_size;

	if (left < sizeof(uint32_t))
		return NULL;
	at += sizeof(uint32_t);
	left -= sizeof(uint32_t);
	for (int i = 0; i < MAX_PROGRAMS && perch__bpf_take(&at, &left, &program); i++) {
		if (!has_function(&program, dso))
			continue;
		if (get_lines(sources, &program, &lines))
			result = perch__malloc(sizeof(*result));
		if (result)
			*result = lines;
		break;
	}
	return result;
}

static uint64_t address_at(const struct bpf_lines *lines, uint32_t index)
{
	uint64_t address;

	memcpy(&address, lines->address + (size_t)index * lines->address_size, sizeof(address));
	return address;
}

/* The lines are in the order of functions, and in each by address. */
bool perch__bpf_line(const struct bpf_lines *lines, uint64_t address, const char **file,
		     uint32_t *line)
{
	uint32_t words[4]; /* instruction, file, text, line << 10 | column */
	uint64_t best = 0;
	uint32_t found = 0;

	for (uint32_t i = 0; i < lines->nr; i++) {
		uint64_t start = address_at(lines, i);

		if (start < lines->start || start > address || start < best)
			continue;
		best = start;
		found = i;
	}
	if (!best)
		return false;
	memcpy(words, lines->line + (size_t)found * lines->line_size, sizeof(words));
	*file = perch__btf_text(&lines->btf, words[1]);
	*line = words[3] >> 10;
	return *file && **file && *line;
}
