/* SPDX-License-Identifier: MIT */
/* Functions that the recording has itself, as those of simpleperf. */
#include <perch/file.h>

#include "symbols.h"

void perch_symbols_set_recorded_files(struct perch_symbols *symbols,
				      const struct perch_recorded_file *files, size_t nr)
{
	symbols->sources.recorded_file = files;
	symbols->sources.nr_recorded_files = nr;
}

/* True if the file can be the DSO. */
static bool is_of(const struct perch_recorded_file *file, const struct perch_dso *dso)
{
	return perch__kind_of(dso)->recorded & 1u << file->kind &&
	       (file->kind == PERCH_RECORDED_KERNEL || !strcmp(file->path, dso->path));
}

/* What is added to a virtual address to get an offset in the DSO. */
static uint64_t shift_of(const struct perch_recorded_file *file, const struct perch_dso *dso)
{
	switch (file->kind) {
	case PERCH_RECORDED_ELF:
		/* old recordings: the address is that of the first byte of code */
		return (file->offset == UINT64_MAX ? dso->code_offset : file->offset) -
		       file->address;
	case PERCH_RECORDED_MODULE:
		return dso->start + (file->offset == UINT64_MAX ? 0 : file->offset) - file->address;
	default:
		return 0;
	}
}

static int add_functions(struct table *table, const struct perch_recorded_file *file,
			 uint64_t shift)
{
	size_t size = 0;
	char *names, *at;
	int blob;

	for (size_t i = 0; i < file->nr_functions; i++)
		size += strlen(file->functions[i].name) + 1;
	names = at = size <= UINT32_MAX ? malloc(size) : NULL;
	blob = perch__table_blob(table, names, size);
	for (size_t i = 0; i < file->nr_functions && blob >= 0; i++) {
		const struct perch_recorded_function *function = &file->functions[i];
		size_t length = strlen(function->name) + 1;
		uint64_t start = function->address + shift;
		struct entry *entry = perch__table_add(table);

		if (!entry)
			return -ENOMEM;
		memcpy(at, function->name, length);
		*entry = (struct entry){
			.start = start,
			/* what lies behind a function is not known */
			.end = start + (function->size ? function->size : 1),
			.name = (uint32_t)(at - names),
			.parent = NO_ENTRY,
			.symbol = NO_ENTRY,
			.blob_index = (uint8_t)blob,
			.binding = STB_GLOBAL,
			.type = STT_FUNC,
		};
		if (entry->end < start)
			entry->end = UINT64_MAX;
		at += length;
	}
	return blob < 0 ? blob : 0;
}

int perch__load_recorded(struct table *table, const struct sources *sources,
			 const struct perch_dso *dso, struct symbol_error *error)
{
	for (size_t i = 0; i < sources->nr_recorded_files; i++) {
		const struct perch_recorded_file *file = &sources->recorded_file[i];
		int rc;

		if (!file->nr_functions || !is_of(file, dso))
			continue;
		rc = add_functions(table, file, shift_of(file, dso));
		if (!rc)
			rc = perch__table_finish(table);
		if (!rc)
			perch__set_symbol_error(error,
						"the recording has only other functions of it");
		return rc;
	}
	return 0;
}
