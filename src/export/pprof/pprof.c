/* SPDX-License-Identifier: MIT */
/* pprof's format: events, addresses of files, and the file. */
#include <errno.h>
#include <stdlib.h>

#include "base/kernel/off_cpu_event.h"
#include "pprof.h"

/* Files have addresses from here on, but for the one with most samples, which has its own. */
#define FIRST_ADDRESS 0x20000000ul

/* ---- events ---- */

static int put_type(struct pprof *pprof, const char *name, const char *unit)
{
	Perch__Pprof__Profile profile = PERCH__PPROF__PROFILE__INIT;
	Perch__Pprof__ValueType type = PERCH__PPROF__VALUE_TYPE__INIT, *types = &type;

	type.type = perch__pprof_clean_text(pprof, name);
	type.unit = perch__pprof_text(pprof, unit);
	profile.n_sample_type = 1;
	profile.sample_type = &types;
	return type.type < 0 || type.unit < 0 ? perch__pprof_first_error(type.type, type.unit, 0)
					      : perch__pprof_put(pprof, &profile);
}

/* Writes what lies between two samples of an event: its period, if it has a fixed one. */
static int put_period(struct pprof *pprof, const struct perch_file_event *event, const char *name)
{
	Perch__Pprof__Profile profile = PERCH__PPROF__PROFILE__INIT;
	Perch__Pprof__ValueType type = PERCH__PPROF__VALUE_TYPE__INIT;

	if (event->attr.freq || !event->attr.sample_period || perch__is_off_cpu(event))
		return 0;
	type.type = perch__pprof_clean_text(pprof, name);
	type.unit = perch__pprof_text(pprof, perch__export_unit(event));
	profile.period_type = &type;
	profile.period = (int64_t)event->attr.sample_period;
	return type.type < 0 || type.unit < 0 ? perch__pprof_first_error(type.type, type.unit, 0)
					      : perch__pprof_put(pprof, &profile);
}

/* Writes the types of values: the number of samples, then the period of each event. */
static int put_types(struct pprof *pprof)
{
	const struct perch_file_event *event;
	size_t nr = perch_reader_events(perch_session_reader(pprof->export->session), &event);
	Perch__Pprof__Profile profile = PERCH__PPROF__PROFILE__INIT;
	int rc = (int)perch__pprof_text(pprof, "");
	const char *name;

	if (!rc)
		rc = put_type(pprof, "samples", "count");
	for (size_t i = 0; i < nr && !rc; i++) {
		if (pprof->position[i] == NO_INDEX)
			continue;
		name = perch__export_event_name(pprof->export, (uint32_t)i);
		rc = put_type(pprof, name, perch__export_unit(&event[i]));
		if (rc || i != pprof->export->main_event)
			continue;
		profile.default_sample_type = perch__pprof_clean_text(pprof, name);
		rc = profile.default_sample_type < 0 ? (int)profile.default_sample_type
						     : put_period(pprof, &event[i], name);
	}
	return rc ? rc : perch__pprof_put(pprof, &profile);
}

/* Writes the time between the first and the last sample, and the time of day of the first one if
 * the recording has that. */
static int put_time(struct pprof *pprof)
{
	const struct perch_export *export = pprof->export;
	Perch__Pprof__Profile profile = PERCH__PPROF__PROFILE__INIT;

	if (!export->last_time)
		return 0;
	profile.duration_nanos = (int64_t)(export->last_time - export->first_time);
	profile.time_nanos = (int64_t)perch__export_time_of_day(export, export->first_time);
	return perch__pprof_put(pprof, &profile);
}

/* ---- the file ---- */

/* Finds the file with most samples, which pprof takes for the program: its mapping is the first.
 * *main is NULL if no sample is in a file. Returns 0 or -ENOMEM. */
static int find_main(const struct pprof *pprof, const struct perch_address **main)
{
	const struct perch_export *export = pprof->export;
	uint64_t *samples = calloc(pprof->nr_mappings + 1, sizeof(*samples)), most = 0;

	*main = NULL;
	if (!samples)
		return -ENOMEM;
	for (size_t i = 0; i < export->nr_entries; i++) {
		const struct export_entry *entry = &export->entry[i];
		const struct perch_address *address;

		if (entry->stack == NO_INDEX)
			continue;
		address =
			perch_session_address(export->session, export->stack[entry->stack].address);
		samples[address->dso->index] += entry->samples;
		if (perch_dso_is(address->dso, PERCH_DSO_IS_FILE) &&
		    samples[address->dso->index] > most) {
			most = samples[address->dso->index];
			*main = address;
		}
	}
	free(samples);
	return 0;
}

/*
 * Gives a file the addresses that objdump(1) prints, as without randomization: pprof -disasm of Go
 * compares them. Files that cannot be read have other addresses.
 */
static void set_base(struct pprof *pprof, const struct perch_address *address)
{
	struct mapping *mapping = &pprof->mapping[address->dso->index];
	struct perch_code code;

	if (perch_symbols_read_code(perch_session_symbols(pprof->export->session), address->dso,
				    address->offset, 1, &code, NULL))
		return;
	if (code.address >= code.offset && code.address < FIRST_ADDRESS / 2 &&
	    mapping->last < FIRST_ADDRESS / 2) {
		mapping->base = code.address - code.offset;
		mapping->at_base = true;
	}
	perch_code_clear(&code);
}

/* Gives each DSO the range of addresses that its samples have. Files have a range of their own,
 * because processes map them at different addresses. */
static int set_ranges(struct pprof *pprof, const struct perch_dso **main)
{
	struct perch_export *export = pprof->export;
	const struct perch_address *in_main;
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
	if (find_main(pprof, &in_main))
		return -ENOMEM;
	*main = in_main ? in_main->dso : NULL;
	if (in_main)
		set_base(pprof, in_main);
	for (size_t i = 0; i < pprof->nr_mappings; i++) {
		struct mapping *mapping = &pprof->mapping[i];

		if (mapping->at_base || mapping->first > mapping->last ||
		    !perch__pprof_has_mapping(dsos[i]) || perch__pprof_is_loaded_at_start(dsos[i]))
			continue;
		mapping->base = next;
		next = (next + mapping->last + 2 * PPROF_PAGE) & ~(PPROF_PAGE - 1);
	}
	return 0;
}

static int put_profile(struct pprof *pprof)
{
	const struct perch_dso *main;
	int rc;

	pprof->texts.table.seed = pprof->functions.seed = pprof->export->stacks.seed;
	pprof->position = perch__export_event_positions(pprof->export, &pprof->nr_written);
	rc = pprof->position ? set_ranges(pprof, &main) : -ENOMEM;
	if (!rc)
		rc = put_types(pprof);
	if (!rc)
		rc = put_time(pprof);
	if (!rc && main && perch__pprof_mapping(pprof, main) < 0)
		rc = -ENOMEM;
	if (!rc)
		rc = perch__pprof_samples(pprof);
	return rc;
}

/* Returns 0, or the errno of a write that has failed. */
static int close_pprof(struct pprof *pprof)
{
	int error = perch__gzip_close(pprof->gzip);

	free(pprof->message);
	free(pprof->function);
	free(pprof->mapping);
	free(pprof->position);
	perch__export_texts_clear(&pprof->texts);
	perch__hash_clear(&pprof->functions);
	free(pprof);
	return error;
}

int perch__export_pprof(struct perch_export *export, FILE *out, struct perch_error *err)
{
	struct pprof *pprof = calloc(1, sizeof(*pprof));
	int rc = -ENOMEM, error = 0;

	if (pprof) {
		pprof->export = export;
		pprof->gzip = perch__gzip_open(out, export->options.threads);
		if (pprof->gzip)
			rc = put_profile(pprof);
		error = close_pprof(pprof);
	}
	return perch__export_protobuf_result(rc, error, "profile", err);
}
