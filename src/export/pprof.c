/* SPDX-License-Identifier: MIT */
/* pprof's format: messages, texts, functions, mappings, events, and the file. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "pprof.h"

#define FIRST_ADDRESS 0x10000000 /* of the first file */
#define PAGE	      0x1000ull

/* ---- messages ---- */

int perch__pprof_put(struct pprof *pprof, const Perch__Pprof__Profile *profile)
{
	size_t size = perch__pprof__profile__get_packed_size(profile);

	if (size > INT32_MAX)
		return -EFBIG;
	if (PERCH__ARRAY_RESERVE(pprof->message, pprof->capacity, size))
		return -ENOMEM;
	perch__pprof__profile__pack(profile, pprof->message);
	perch__gzip_write(pprof->gzip, pprof->message, size);
	return 0;
}

/* ---- texts ---- */

int64_t perch__pprof_text(struct pprof *pprof, const char *text)
{
	size_t nr = pprof->texts.nr;
	uint32_t number = perch__export_texts_add(&pprof->texts, text);
	Perch__Pprof__Profile profile = PERCH__PPROF__PROFILE__INIT;
	char *string = (char *)text;
	int rc;

	if (number == NO_INDEX)
		return -ENOMEM;
	if (number < nr)
		return number;
	profile.n_string_table = 1;
	profile.string_table = &string;
	rc = perch__pprof_put(pprof, &profile);
	return rc ? rc : (int64_t)number;
}

/* Like perch__pprof_text(), of an untrusted text. */
static int64_t add_clean_text(struct pprof *pprof, const char *text)
{
	char clean[PERCH__EXPORT_NAME];

	perch_clean_text(text, clean, sizeof(clean));
	return perch__pprof_text(pprof, clean);
}

/* Returns the first negative number, or 0. */
static int first_error(int64_t a, int64_t b, int64_t c)
{
	return (int)(a < 0 ? a : b < 0 ? b : c < 0 ? c : 0);
}

/* ---- functions, mappings, locations ---- */

static bool same_function(const void *functions, uint32_t index, const void *key)
{
	return ((const uint64_t *)functions)[index] == *(const uint64_t *)key;
}

int64_t perch__pprof_function(struct pprof *pprof, const struct perch_address *address,
			      const struct perch_symbol_frame *frame)
{
	uint64_t key = perch__export_function_key(address, frame->symbol);
	uint64_t hash = perch__hash_integer(pprof->functions.seed, key);
	uint32_t found =
		perch__hash_find(&pprof->functions, hash, same_function, pprof->function, &key);
	Perch__Pprof__Profile profile = PERCH__PPROF__PROFILE__INIT;
	Perch__Pprof__Function function = PERCH__PPROF__FUNCTION__INIT, *functions = &function;
	char buffer[PERCH__EXPORT_NAME];
	int rc;

	if (found != PERCH__HASH_NONE)
		return found + 1;
	if (PERCH__ARRAY_RESERVE_BY_NR(pprof->function, pprof->nr_functions, 1) ||
	    perch__hash_add(&pprof->functions, hash, pprof->nr_functions))
		return -ENOMEM;
	pprof->function[pprof->nr_functions].key = key;
	function.id = ++pprof->nr_functions;
	function.name = perch__pprof_text(pprof, perch__export_name(pprof->export, address,
								    frame->symbol, buffer));
	function.system_name = frame->symbol ? add_clean_text(pprof, frame->symbol->name) : 0;
	function.filename = frame->file ? perch__pprof_text(pprof, frame->file) : 0;
	rc = first_error(function.name, function.system_name, function.filename);
	profile.n_function = 1;
	profile.function = &functions;
	if (!rc)
		rc = perch__pprof_put(pprof, &profile);
	return rc ? rc : (int64_t)function.id;
}

static bool has_mapping(const struct perch_dso *dso)
{
	return dso->kind != PERCH_DSO_UNKNOWN && dso->kind != PERCH_DSO_ANON;
}

/* True if offsets in the DSO are addresses. */
static bool is_loaded_at_start(const struct perch_dso *dso)
{
	return dso->kind == PERCH_DSO_KERNEL || dso->kind == PERCH_DSO_MODULE ||
	       dso->kind == PERCH_DSO_KERNEL_CODE;
}

static int64_t add_build_id(struct pprof *pprof, const struct perch_dso *dso)
{
	char text[2 * sizeof(dso->build_id) + 1] = "";

	for (size_t i = 0; i < dso->build_id_size && i < sizeof(dso->build_id); i++)
		snprintf(text + 2 * i, 3, "%02x", dso->build_id[i]);
	return perch__pprof_text(pprof, text);
}

int64_t perch__pprof_mapping(struct pprof *pprof, const struct perch_dso *dso)
{
	struct mapping *mapping = &pprof->mapping[dso->index];
	Perch__Pprof__Profile profile = PERCH__PPROF__PROFILE__INIT;
	Perch__Pprof__Mapping message = PERCH__PPROF__MAPPING__INIT, *messages = &message;
	bool lines =
		!pprof->export->options.no_inline &&
		perch_symbols_has_debug_info(perch_session_symbols(pprof->export->session), dso);
	int rc;

	if (!has_mapping(dso))
		return 0;
	message.id = dso->index + 1;
	if (mapping->written)
		return (int64_t)message.id;
	mapping->written = true;
	message.memory_start = is_loaded_at_start(dso) ? mapping->first & ~(PAGE - 1)
						       : mapping->base;
	message.memory_limit = (mapping->base + mapping->last + PAGE) & ~(PAGE - 1);
	message.filename = add_clean_text(pprof, dso->path);
	message.build_id = add_build_id(pprof, dso);
	/* otherwise pprof would search files of this machine for names */
	message.has_functions = true;
	message.has_filenames = message.has_line_numbers = message.has_inline_frames = lines;
	rc = first_error(message.filename, message.build_id, 0);
	profile.n_mapping = 1;
	profile.mapping = &messages;
	if (!rc)
		rc = perch__pprof_put(pprof, &profile);
	return rc ? rc : (int64_t)message.id;
}

/* Writes the mapping of the file with most samples first: pprof takes it for the program. */
static int put_main_mapping(struct pprof *pprof)
{
	const struct perch_export *export = pprof->export;
	const struct perch_dso *main = NULL;
	uint64_t *samples = calloc(pprof->nr_mappings + 1, sizeof(*samples)), most = 0;
	int64_t id;

	if (!samples)
		return -ENOMEM;
	for (size_t i = 0; i < export->nr_entries; i++) {
		const struct entry *entry = &export->entry[i];
		const struct perch_dso *dso =
			perch_session_address(export->session, export->stack[entry->stack].address)
				->dso;

		samples[dso->index] += entry->samples;
		if (dso->kind == PERCH_DSO_FILE && samples[dso->index] > most) {
			most = samples[dso->index];
			main = dso;
		}
	}
	free(samples);
	id = main ? perch__pprof_mapping(pprof, main) : 0;
	return id < 0 ? (int)id : 0;
}

/* ---- events ---- */

static int put_type(struct pprof *pprof, const char *name, const char *unit)
{
	Perch__Pprof__Profile profile = PERCH__PPROF__PROFILE__INIT;
	Perch__Pprof__ValueType type = PERCH__PPROF__VALUE_TYPE__INIT, *types = &type;

	type.type = add_clean_text(pprof, name);
	type.unit = perch__pprof_text(pprof, unit);
	profile.n_sample_type = 1;
	profile.sample_type = &types;
	return type.type < 0 || type.unit < 0 ? first_error(type.type, type.unit, 0)
					      : perch__pprof_put(pprof, &profile);
}

/* Writes the types of values: the number of samples, then the period of each event. */
static int put_types(struct pprof *pprof, const struct perch_file_event *event, size_t nr)
{
	const struct perch_export *export = pprof->export;
	Perch__Pprof__Profile profile = PERCH__PPROF__PROFILE__INIT;
	Perch__Pprof__ValueType type = PERCH__PPROF__VALUE_TYPE__INIT;
	int rc = (int)perch__pprof_text(pprof, "");

	if (!rc)
		rc = put_type(pprof, "samples", "count");
	for (size_t i = 0; i < nr && !rc; i++)
		rc = put_type(pprof, event[i].name, perch__export_unit(&event[i].attr));
	if (rc || !nr)
		return rc;
	type.type = profile.default_sample_type = add_clean_text(pprof, event[0].name);
	type.unit = perch__pprof_text(pprof, perch__export_unit(&event[0].attr));
	profile.period_type = &type;
	if (!event[0].attr.freq)
		profile.period = (int64_t)event[0].attr.sample_period;
	profile.duration_nanos = (int64_t)(export->last_time - export->first_time);
	if (export->last_time)
		profile.time_nanos = (int64_t)perch__export_time_of_day(export, export->first_time);
	return perch__pprof_put(pprof, &profile);
}

/* ---- the file ---- */

/* Gives each DSO the range of addresses that its samples have. Files have a range of their own,
 * because processes map them at different addresses. */
static int set_ranges(struct pprof *pprof)
{
	struct perch_export *export = pprof->export;
	const struct perch_dso *const *dsos;
	uint64_t next = FIRST_ADDRESS;

	pprof->nr_mappings = perch_processes_dsos(perch_session_processes(export->session), &dsos);
	pprof->mapping = calloc(pprof->nr_mappings + 1, sizeof(*pprof->mapping));
	if (!pprof->mapping)
		return -ENOMEM;
	for (size_t i = 0; i < pprof->nr_mappings; i++)
		pprof->mapping[i].first = UINT64_MAX;
	for (size_t i = 0; i < export->nr_stacks; i++) {
		const struct perch_address *address =
			perch_session_address(export->session, export->stack[i].address);
		struct mapping *mapping = &pprof->mapping[address->dso->index];

		if (address->offset < mapping->first)
			mapping->first = address->offset;
		if (address->offset > mapping->last)
			mapping->last = address->offset;
	}
	for (size_t i = 0; i < pprof->nr_mappings; i++) {
		struct mapping *mapping = &pprof->mapping[i];

		if (mapping->first > mapping->last || !has_mapping(dsos[i]) ||
		    is_loaded_at_start(dsos[i]))
			continue;
		mapping->base = next;
		next = (next + mapping->last + 2 * PAGE) & ~(PAGE - 1);
	}
	return 0;
}

static int put_profile(struct pprof *pprof)
{
	struct perch_reader *reader = perch_session_reader(pprof->export->session);
	const struct perch_file_event *event;
	size_t nr_events = perch_reader_events(reader, &event);
	int rc;

	pprof->texts.table.seed = pprof->functions.seed = pprof->export->stacks.seed;
	rc = set_ranges(pprof);
	if (!rc)
		rc = put_types(pprof, event, nr_events);
	if (!rc)
		rc = put_main_mapping(pprof);
	if (!rc)
		rc = perch__pprof_samples(pprof, nr_events);
	return rc;
}

static void close_pprof(struct pprof *pprof)
{
	perch__gzip_close(pprof->gzip);
	free(pprof->message);
	free(pprof->function);
	free(pprof->mapping);
	perch__export_texts_clear(&pprof->texts);
	perch__hash_clear(&pprof->functions);
	free(pprof);
}

int perch__export_pprof(struct perch_export *export, FILE *out, struct perch_error *err)
{
	struct pprof *pprof = calloc(1, sizeof(*pprof));
	int rc = -ENOMEM;

	if (pprof) {
		pprof->export = export;
		pprof->gzip = perch__gzip_open(out);
		if (pprof->gzip)
			rc = put_profile(pprof);
		close_pprof(pprof);
	}
	if (rc == -ENOMEM)
		return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY, "no memory");
	if (rc)
		return perch_error_set(err, -rc, PERCH_ERROR_FILE,
				       "a message of the profile exceeds 2 GiB");
	return 0;
}
