/* SPDX-License-Identifier: MIT */
/* Memory without a file: code of JIT compilers that may write a perf map, stacks, heaps. */
#include "base/inlined_names.h"
#include "symbol/code.h"

#define NO_FUNCTIONS "anonymous memory, not mapped from a file"

/* Finds a function in the map file of a process. */
static const struct perch_symbol *find_generated(struct perch_symbols *symbols,
						 struct dso_symbols *cached, uint64_t address)
{
	struct perch__inlined_name part[PERCH__MOST_INLINED_NAMES];
	const struct perch_symbol *found;
	struct map_function *function;
	unsigned pid;

	if (!perch__perf_map_pid(cached->dso, &pid)) {
		perch__set_symbol_error(&cached->error, NO_FUNCTIONS);
		return NULL;
	}
	function = perch__perf_map_find(&cached->map, &symbols->sources, cached->dso, pid, address,
					&cached->error);
	if (!function)
		return NULL;
	cached->proof = perch__perf_map_proof(&symbols->sources);
	if (function->symbol != NO_ENTRY)
		return perch__symbol_at(symbols, function->symbol);
	found = perch__symbols_add_generated(symbols,
					     &(struct perch_symbol){ .start = function->start,
								     .end = function->end,
								     .name = function->name,
								     .dso = cached->dso });
	if (found)
		function->symbol = found->index;
	cached->has_inlined |= perch__inlined_names(function->name, part) > 0;
	return found;
}

static const char *memory_name(const struct dso_symbols *cached, char *buffer, size_t size)
{
	return perch__name_of_generated(cached->dso, "perf-%u.map", buffer, size);
}

static int code_of_memory(const struct sources *sources, const struct perch_dso *dso,
			  struct perch_code *code, struct perch_error *err)
{
	(void)sources;
	(void)dso;
	(void)code;
	perch_error_set(err, ENOENT, PERCH_ERROR_FILE, "%s",
			"the code was in memory without a file, of which a recording has no bytes");
	perch_error_remedy(err, "A jitdump file has them: start the program with the option "
				"of its compiler that writes one, and record with -k mono");
	return -ENOENT;
}

const struct dso_kind perch__kind_memory = {
	.no_functions = NO_FUNCTIONS,
	.find = find_generated,
	.name = memory_name,
	.code = code_of_memory,
};
