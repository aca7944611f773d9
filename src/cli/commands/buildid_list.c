/* SPDX-License-Identifier: MIT */
/* perch buildid-list: the build ids of a recording, an ELF file or the running kernel. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <perch/build_id_cache.h>
#include <perch/symbol.h>
#include <perch/synthesize.h>

#include "base/search.h"
#include "input/input.h"
#include "options.h"
#include "terminal/pager.h"
#include "shared_options.h"

#define COMMAND "buildid-list"

struct id_list {
	struct cli_input input;
	bool with_hits, kernel, kernel_maps;
	int verbose;
};

/* ---- the running kernel ---- */

static void put_id(const uint8_t *bytes, int size)
{
	struct perch_build_id_text id = { "" };

	if (size >= 2)
		perch_format_build_id(&id, bytes, (size_t)size);
	fputs(id.text, stdout);
}

static int compare_starts(const void *left, const void *right)
{
	const struct perch_dso *a = *(const struct perch_dso *const *)left;
	const struct perch_dso *b = *(const struct perch_dso *const *)right;

	return (a->start > b->start) - (a->start < b->start);
}

static void put_kernel_map(const struct perch_dso *dso)
{
	uint8_t bytes[20];

	put_id(bytes, perch_dso_is(dso, PERCH_DSO_IS_KERNEL)
			      ? perch_build_id_of_kernel(bytes, NULL)
			      : perch_build_id_of_module(dso->path, bytes, NULL));
	printf(" %16" PRIx64 " %16" PRIx64 " ", dso->start, dso->start + dso->length);
	cli_put_clean(stdout, dso->path);
	putchar('\n');
}

static int print_kernel_maps(void)
{
	struct perch_processes *processes;
	const struct perch_dso *const *dsos;
	const struct perch_dso **sorted;
	struct perch_error err;
	size_t nr, nr_sorted = 0;

	if (perch_processes_new(&processes, &err))
		return cli_error(COMMAND, &err);
	if (perch_synthesize_kernel(NULL, NULL, perch_processes_apply_synthesized, processes, NULL,
				    &err)) {
		perch_processes_free(processes);
		return cli_error(COMMAND, &err);
	}
	nr = perch_processes_dsos(processes, &dsos);
	sorted = calloc(nr + 1, sizeof(*sorted));
	for (size_t i = 0; sorted && i < nr; i++)
		if ((perch_dso_is(dsos[i], PERCH_DSO_IS_KERNEL) ||
		     perch_dso_is(dsos[i], PERCH_DSO_IS_MODULE)) &&
		    dsos[i]->length)
			sorted[nr_sorted++] = dsos[i];
	if (nr_sorted)
		qsort(sorted, nr_sorted, sizeof(*sorted), compare_starts);
	for (size_t i = 0; i < nr_sorted; i++)
		put_kernel_map(sorted[i]);
	free(sorted);
	perch_processes_free(processes);
	return 0;
}

static int print_kernel(void)
{
	struct perch_error err;
	uint8_t bytes[20];
	int size = perch_build_id_of_kernel(bytes, &err);

	if (size < 2)
		return cli_error(COMMAND, &err);
	put_id(bytes, size);
	putchar('\n');
	return 0;
}

/* ---- files ---- */

/* Prints the build id if the path is an ELF file that has one. Returns false otherwise. */
static bool print_elf(const char *path)
{
	uint8_t bytes[20];
	int size = path && strcmp(path, "-") ? perch_build_id_of_file(path, bytes, NULL) : 0;

	if (size < 2)
		return false;
	put_id(bytes, size);
	putchar('\n');
	return true;
}

static void put_entry(const uint8_t *bytes, size_t size, const char *path)
{
	struct perch_build_id_text id = { "" };

	if (size >= 2)
		perch_format_build_id(&id, bytes, size);
	printf("%-40s ", id.text);
	cli_put_clean(stdout, path);
	putchar('\n');
}

/* Marks the DSOs of sampled addresses: perch_dso.used. Returns 0, or a negative number after it has
 * printed an error. */
static int read_samples(struct id_list *list)
{
	struct perch_processes *processes = perch_session_processes(list->input.session);
	struct perch_record record;
	int rc;

	while ((rc = cli_input_next(&list->input, &record)) > 0) {
		struct perch_location location;
		struct perch_thread *thread;

		if (record.type != PERCH_RECORD_SAMPLE)
			continue;
		thread = perch_processes_thread(processes, record.sample.pid, record.sample.tid);
		if (thread)
			perch_processes_resolve(processes, thread,
						record.misc & PERCH_MISC_CPUMODE_MASK,
						record.sample.ip, &location);
	}
	return rc;
}

/* The files that the header names. */
struct entries {
	const struct perch_build_id *ids;
	const struct perch_build_id **sorted;
	size_t nr;
	bool *hit; /* by file: a DSO with samples is it */
};

static int compare_ids(const struct perch_build_id *a, const struct perch_build_id *b)
{
	int order = (int)a->size - (int)b->size;

	if (!order)
		order = memcmp(a->bytes, b->bytes, a->size);
	return order ? order : strcmp(a->path, b->path);
}

/* A file that is in the header twice is listed once, where it is first. */
static int compare_entries(const void *left, const void *right)
{
	const struct perch_build_id *a = *(const struct perch_build_id *const *)left;
	const struct perch_build_id *b = *(const struct perch_build_id *const *)right;
	int order = compare_ids(a, b);

	return order ? order : (a > b) - (a < b);
}

/* Returns the index of the file that a DSO is, or -1. */
static ptrdiff_t find_dso(const struct entries *entries, const struct perch_dso *dso)
{
	struct perch_build_id wanted = { .size = dso->build_id_size, .path = dso->path };
	size_t at;

	memcpy(wanted.bytes, dso->build_id, dso->build_id_size);
	at = PERCH__SEARCH(entries->nr, i, compare_ids(entries->sorted[i], &wanted) < 0);
	return at < entries->nr && !compare_ids(entries->sorted[at], &wanted)
		       ? entries->sorted[at] - entries->ids
		       : -1;
}

static void put_hits(struct entries *entries, const struct perch_dso *const *dsos, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		ptrdiff_t entry = dsos[i]->used ? find_dso(entries, dsos[i]) : -1;

		if (entry >= 0)
			entries->hit[entry] = true;
	}
	for (size_t i = 0; i < entries->nr; i++)
		if (entries->hit[i])
			put_entry(entries->ids[i].bytes, entries->ids[i].size,
				  entries->ids[i].path);
	for (size_t i = 0; i < nr; i++)
		if (dsos[i]->used && perch_dso_is(dsos[i], PERCH_DSO_IS_MAPPED) &&
		    find_dso(entries, dsos[i]) < 0)
			put_entry(dsos[i]->build_id, dsos[i]->build_id_size, dsos[i]->path);
}

/* Lists the files of sampled addresses: those in the header first, as perf does. Returns a status.
 */
static int print_hits(const struct id_list *list, const struct perch_build_id *ids, size_t nr_ids)
{
	const struct perch_dso *const *dsos;
	size_t nr = perch_processes_dsos(perch_session_processes(list->input.session), &dsos);
	struct entries entries = { .ids = ids,
				   .nr = nr_ids,
				   .sorted = calloc(nr_ids + 1, sizeof(*entries.sorted)),
				   .hit = calloc(nr_ids + 1, sizeof(*entries.hit)) };
	bool ok = entries.sorted && entries.hit;

	for (size_t i = 0; ok && i < nr_ids; i++)
		entries.sorted[i] = &ids[i];
	if (ok) {
		qsort(entries.sorted, nr_ids, sizeof(*entries.sorted), compare_entries);
		put_hits(&entries, dsos, nr);
	}
	free(entries.sorted);
	free(entries.hit);
	return ok ? 0 : cli_no_memory(COMMAND);
}

static int print_recording(struct id_list *list)
{
	const struct perch_build_id *ids;
	struct perch_reader *reader;
	const void *data;
	size_t size, nr;
	int status = cli_input_open(&list->input);

	if (status)
		return status;
	reader = perch_session_reader(list->input.session);
	/* The data of an AUX area, such as those of Intel PT, are not decoded for this list. */
	if (!perch_reader_feature(reader, PERCH_FEATURE_AUXTRACE, &data, &size))
		list->with_hits = false;
	nr = perch_reader_build_ids(reader, &ids);
	if (!nr)
		list->with_hits = true;
	if (list->with_hits && read_samples(list) < 0)
		status = CLI_EXIT_FAILURE;
	cli_start_pager();
	if (list->with_hits && print_hits(list, ids, nr))
		status = CLI_EXIT_FAILURE;
	for (size_t i = 0; !list->with_hits && i < nr; i++)
		put_entry(ids[i].bytes, ids[i].size, ids[i].path);
	if (cli_check_stdout(COMMAND, 0))
		status = CLI_EXIT_FAILURE;
	if (list->with_hits)
		cli_input_print_notes(&list->input);
	cli_input_close(&list->input);
	return status;
}

#define AT(member)   offsetof(struct id_list, member)
#define SETS(member) CLI_SETS(struct id_list, member)

static const struct cli_option options[] = {
	CLI_ROW(.table = cli_input_options, .at = AT(input)),
	CLI_ROW(.letter = 'H', .name = "with-hits", SETS(with_hits),
		.help = "list only files with samples"),
	CLI_ROW(.letter = 'k', .name = "kernel", SETS(kernel),
		.help = "print the build id of the running kernel"),
	CLI_ROW(.letter = 'm', .name = "kernel-maps", SETS(kernel_maps),
		.help = "print build id, addresses and file of the running kernel and its modules"),
	CLI_ROW(.letter = 'v', .name = "verbose", SETS(verbose), .hidden = true),
	CLI_ROW(.table = cli_no_pager_option),
	{ 0 },
};

const struct cli_usage cli_buildid_list_usage = {
	.name = COMMAND,
	.operands = "[OPTIONS]",
	.summary = "Lists the build ids of the files in a perf.data file.",
	.options = options,
};

int perch_cmd_buildid_list(int argc, char **argv)
{
	static struct id_list list = { .input.command = COMMAND,
				       .input.options.keep_stacks = true };
	int next = cli_options_parse(&cli_buildid_list_usage, &list, argc, argv);

	if (next < argc)
		return cli_usage_error(COMMAND, "'%s' is not an option; name a file with -i",
				       argv[next]);
	if (list.kernel && list.kernel_maps)
		return cli_refuse_both(COMMAND, "-k", "-m");
	if ((list.kernel || list.kernel_maps) && (list.with_hits || list.input.path))
		return cli_usage_error(COMMAND,
				       "%s is about the running kernel, %s about a recording: "
				       "choose one",
				       list.kernel ? "-k" : "-m", list.with_hits ? "-H" : "-i");
	if (list.kernel)
		return print_kernel();
	if (list.kernel_maps)
		return print_kernel_maps();
	if (print_elf(list.input.path))
		return 0;
	return print_recording(&list);
}
