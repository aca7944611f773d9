/* SPDX-License-Identifier: MIT */
/* perch list -x FILE: what probes can be placed in a program or library. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <perch/probes.h>
#include <perch/symbol.h>
#include <perch/variables.h>

#include "base/array.h"
#include "base/json_writer.h"
#include "list.h"
#include "options.h"
#include "terminal/pager.h"

enum row_kind { FUNCTION, INLINED, USDT };

static const char *const kind_words[] = { "function", "inlined", "usdt" };

/* A place for a probe. */
struct row {
	enum row_kind kind;
	char *name; /* displayed: demangled, cleaned */
	uint64_t offset, size;
	char *detail; /* parameters; the function around; arguments. Or NULL */
	char *unread; /* arguments of a USDT probe that are not read, or NULL */
};

struct file_list {
	const struct list_filter *filter;
	struct perch_symbols *symbols;
	const struct perch_dso *dso;
	struct row *row;
	size_t nr, capacity;
};

static char *copy_clean(const char *text)
{
	const size_t size = strlen(text) + 1;
	char *copy = malloc(size);

	if (copy)
		perch_clean_text(text, copy, size);
	return copy;
}

static int add_row(struct file_list *list, struct row row, const char *name, const char *detail,
		   const char *unread)
{
	struct row *added;

	row.name = copy_clean(name);
	row.detail = detail && *detail ? copy_clean(detail) : NULL;
	row.unread = unread ? copy_clean(unread) : NULL;
	added = row.name ? PERCH__ARRAY_APPEND(list->row, list->nr, list->capacity) : NULL;
	if (!added) {
		free(row.name);
		free(row.detail);
		free(row.unread);
		return -ENOMEM;
	}
	*added = row;
	return 0;
}

/* ---- functions ---- */

struct growing {
	char text[256];
	size_t used;
};

static int add_parameter(void *context, const char *name)
{
	struct growing *growing = context;
	const int length = snprintf(growing->text + growing->used,
				    sizeof(growing->text) - growing->used, "%s%s",
				    growing->used ? ", " : "", name);

	if ((size_t)length >= sizeof(growing->text) - growing->used)
		return 1;
	growing->used += (size_t)length;
	return 0;
}

static int add_function(void *context, const struct perch_symbol *symbol)
{
	struct file_list *list = context;
	const struct row row = { .kind = FUNCTION,
				 .offset = symbol->start,
				 .size = symbol->end - symbol->start };
	const char *name = perch_symbols_name(list->symbols, symbol);
	struct growing parameters = { .used = 0 };
	const size_t length = strlen(name);

	if (!list_wanted(list->filter, name, symbol->name) ||
	    (length > 4 && !strcmp(name + length - 4, "@plt")))
		return 0;
	perch_symbols_parameters(list->symbols, list->dso, symbol->start, add_parameter,
				 &parameters, NULL);
	return add_row(list, row, name, parameters.text, NULL);
}

static int add_inlined(void *context, const char *name, uint64_t offset)
{
	struct file_list *list = context;
	const struct row row = { .kind = INLINED, .offset = offset };
	const struct perch_symbol *around;
	char *demangled = *name == '_' ? perch_demangle(name) : NULL;
	int rc = 0;

	if (list_wanted(list->filter, demangled ? demangled : name, name)) {
		around = perch_symbols_find(list->symbols, list->dso, offset);
		rc = add_row(list, row, demangled ? demangled : name,
			     around ? perch_symbols_name(list->symbols, around) : NULL, NULL);
	}
	free(demangled);
	return rc;
}

static int add_usdt(void *context, const struct perch_usdt_probe *probe)
{
	struct file_list *list = context;
	const struct row row = { .kind = USDT, .offset = probe->offset };
	char name[512];

	snprintf(name, sizeof(name), "%s:%s", probe->provider, probe->name);
	if (!list_wanted(list->filter, name, NULL))
		return 0;
	return add_row(list, row, name, probe->arguments, probe->unread);
}

/* Split debug information may be missing. */
static void note_missing(const struct file_list *list)
{
	uint64_t addresses;
	const char *reason = perch_symbols_debug_error(list->symbols, list->dso, &addresses);

	if (reason)
		cli_note("list", "'%s' may have more inlined functions: %s", list->dso->path,
			 reason);
}

static int compare_rows(const void *left, const void *right)
{
	const struct row *a = left, *b = right;
	int order = (int)a->kind - (int)b->kind;

	if (!order)
		order = strcmp(a->name, b->name);
	if (!order)
		order = (a->offset > b->offset) - (a->offset < b->offset);
	return order;
}

/* A file may lack functions or debug information, and have USDT probes. */
static int gather_rows(struct file_list *list, struct perch_error *err)
{
	struct perch_error no_functions;
	int rc = perch_symbols_list(list->symbols, list->dso, add_function, list, &no_functions);

	if (rc != -ENOMEM)
		rc = perch_symbols_inlined(list->symbols, list->dso, add_inlined, list, NULL);
	if (rc != -ENOMEM)
		rc = perch_usdt_list(list->dso->path, NULL, add_usdt, list, err);
	if (rc == -ENOMEM)
		return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY,
				       "no memory for the functions of a file");
	if (rc)
		return rc;
	note_missing(list);
	if (list->nr)
		qsort(list->row, list->nr, sizeof(*list->row), compare_rows);
	return 0;
}

/* ---- output ---- */

static void print_row(const struct row *row)
{
	printf("  %-40s [%s] %#" PRIx64, row->name, kind_words[row->kind], row->offset);
	if (row->kind == FUNCTION && row->size)
		printf(", %" PRIu64 " byte%s", row->size, row->size == 1 ? "" : "s");
	if (row->detail)
		printf(row->kind == FUNCTION  ? " (%s)"
		       : row->kind == INLINED ? " in %s"
					      : " %s",
		       row->detail);
	if (row->unread)
		printf("; not read: %s", row->unread);
	putchar('\n');
}

static void print_text(const struct file_list *list)
{
	for (size_t i = 0; i < list->nr; i++) {
		if (i && list->row[i].kind != list->row[i - 1].kind)
			putchar('\n');
		print_row(&list->row[i]);
	}
}

/* The text of -e. A copy of an inlined function has only an offset. */
static void put_event(struct perch__json_writer *json, const struct file_list *list,
		      const struct row *row)
{
	const char *special = strpbrk(row->name, ":,{} /+(") && row->kind == FUNCTION ? "\"" : "";
	char text[4096];

	if (row->kind == INLINED)
		snprintf(text, sizeof(text), "uprobe:%s:%#" PRIx64, list->dso->path, row->offset);
	else
		snprintf(text, sizeof(text), "%s:%s:%s%s%s", row->kind == USDT ? "usdt" : "uprobe",
			 list->dso->path, special, row->name, special);
	perch__json_put_text(json, "event", text);
}

static void put_row(struct perch__json_writer *json, const struct file_list *list,
		    const struct row *row)
{
	static const char *const details[] = { "parameters", "in", "arguments" };

	perch__json_begin_object(json);
	perch__json_put_text(json, "name", row->name);
	perch__json_put_text(json, "kind", kind_words[row->kind]);
	put_event(json, list, row);
	perch__json_put_integer(json, "offset", row->offset);
	if (row->kind == FUNCTION)
		perch__json_put_integer(json, "size", row->size);
	if (row->detail)
		perch__json_put_text(json, details[row->kind], row->detail);
	if (row->unread)
		perch__json_put_text(json, "unread", row->unread);
	perch__json_end(json);
}

static void put_nth_row(struct perch__json_writer *json, const void *list, size_t nth)
{
	const struct file_list *rows = list;

	put_row(json, rows, &rows->row[nth]);
}

static int show_rows(const struct file_list *list, bool json)
{
	int status = 0;

	if (list->nr || json)
		cli_start_pager();
	if (json)
		status = list_print_array(list->nr, put_nth_row, list);
	else
		print_text(list);
	if (!list->nr) {
		fprintf(stderr,
			"perch list: no function, inlined function or USDT probe of '%s'%s\n",
			list->dso->path, list->filter->nr_words ? " matches" : "");
		status = CLI_EXIT_FAILURE;
	}
	return cli_check_stdout("list", 0) ? CLI_EXIT_FAILURE : status;
}

static void clear_rows(struct file_list *list)
{
	for (size_t i = 0; i < list->nr; i++) {
		free(list->row[i].name);
		free(list->row[i].detail);
		free(list->row[i].unread);
	}
	free(list->row);
	perch_symbols_free(list->symbols);
}

int list_file(const char *file, const struct list_filter *filter, bool json,
	      const struct perch_machine *machine)
{
	char path[4096];
	const struct perch_dso dso = { .kind = PERCH_DSO_FILE, .path = path };
	struct file_list list = { .filter = filter, .dso = &dso };
	struct perch_error err;
	int status;

	if (perch_probe_file(file, path, sizeof(path), machine, &err) ||
	    perch_symbols_new(&list.symbols, NULL, &err))
		return cli_error("list", &err);
	status = gather_rows(&list, &err) ? cli_error("list", &err) : show_rows(&list, json);
	clear_rows(&list);
	return status;
}
