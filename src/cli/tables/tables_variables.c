/* SPDX-License-Identifier: MIT */
/*
 * Variables of the kernel, from /proc/kallsyms or the file of --kallsyms. Only kernels with
 * CONFIG_KALLSYMS_ALL list them, as those of Debian: of another one the few symbols that are no
 * functions would lend their names to all that follows, and none is used.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "tables.h"

/* MOST_BYTES: farther behind a variable is memory that the kernel has allocated. */
enum { LEAST_VARIABLES = 1000, MOST_BYTES = 1 << 20 };

struct tables_variable {
	uint64_t address;
	char *name;
};

static int compare_addresses(const void *a, const void *b)
{
	const struct tables_variable *first = a, *second = b;

	return (first->address > second->address) - (first->address < second->address);
}

/* The kernel of the recording; NULL if it has none. */
static const struct perch_dso *find_kernel(const struct tables *tables)
{
	const struct perch_dso *const *dsos;
	size_t nr = perch_processes_dsos(perch_session_processes(tables->input.session), &dsos);

	for (size_t i = 0; i < nr; i++)
		if (dsos[i]->kind == PERCH_DSO_KERNEL)
			return dsos[i];
	return NULL;
}

/* True if the recording is of the kernel that runs. */
static bool is_running_kernel(const struct perch_dso *kernel)
{
	uint8_t id[20];
	int size = perch_build_id_of_kernel(id, NULL);

	return size > 0 && size == kernel->build_id_size && !memcmp(id, kernel->build_id, size);
}

/* Where the code of the kernel begins: a recording has one of them. */
struct boundaries {
	uint64_t text, stext;
};

/* Adds a line "ffffffff830f6018 D name". Returns 0 or -ENOMEM. */
static int add_line(struct tables_variables *variables, char *line, struct boundaries *starts)
{
	struct tables_variable *variable;
	char *at, *name;
	uint64_t address = strtoull(line, &at, 16);

	if (at[0] != ' ' || !at[1] || at[2] != ' ' || strchr(at, '\t'))
		return 0;
	name = at + 3;
	name[strcspn(name, "\n")] = 0;
	if (!strcmp(name, "_text"))
		starts->text = address;
	else if (!strcmp(name, "_stext"))
		starts->stext = address;
	if (!address || !strchr("dbrv", tolower((unsigned char)at[1])))
		return 0;
	variable = PERCH__ARRAY_APPEND(variables->variable, variables->nr, variables->capacity);
	if (!variable)
		return -ENOMEM;
	variable->address = address;
	variable->name = perch__strdup(name);
	return variable->name ? 0 : -ENOMEM;
}

/* Reads the file. A kernel of another boot may be elsewhere: its variables have no names. */
static void read_variables(struct tables_variables *variables, const char *path,
			   const struct perch_dso *kernel)
{
	FILE *file = fopen(path, "re");
	struct boundaries starts = { 0 };
	char line[1024];
	int rc = 0;

	while (file && !rc && fgets(line, sizeof(line), file))
		rc = add_line(variables, line, &starts);
	if (file)
		fclose(file);
	if (rc || variables->nr < LEAST_VARIABLES || !kernel->text_start ||
	    (kernel->text_start != starts.text && kernel->text_start != starts.stext)) {
		tables_clear_variables(variables);
		variables->is_read = true;
		return;
	}
	qsort(variables->variable, variables->nr, sizeof(*variables->variable), compare_addresses);
}

/* Returns the last variable that begins at the address or before it. */
static const struct tables_variable *search(const struct tables_variables *variables,
					    uint64_t address)
{
	size_t low = 0, high = variables->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (variables->variable[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || address - variables->variable[low - 1].address >= MOST_BYTES)
		return NULL;
	return &variables->variable[low - 1];
}

bool tables_kernel_variable(struct tables *tables, uint64_t address, char *text, size_t size)
{
	struct tables_variables *variables = &tables->variables;
	const char *path = tables->input.options.symbols.kallsyms;
	const struct tables_variable *found;

	*text = 0;
	if (!variables->is_read) {
		const struct perch_dso *kernel = find_kernel(tables);

		variables->is_read = true;
		if (kernel && (path || is_running_kernel(kernel)))
			read_variables(variables, path ? path : "/proc/kallsyms", kernel);
	}
	found = search(variables, address);
	if (!found)
		return false;
	if (address == found->address)
		snprintf(text, size, "%s", found->name);
	else
		snprintf(text, size, "%s+%#" PRIx64, found->name, address - found->address);
	return true;
}

void tables_clear_variables(struct tables_variables *variables)
{
	for (size_t i = 0; i < variables->nr; i++)
		free(variables->variable[i].name);
	free(variables->variable);
	*variables = (struct tables_variables){ 0 };
}
