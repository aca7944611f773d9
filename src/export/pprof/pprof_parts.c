/* SPDX-License-Identifier: MIT */
/* pprof's format: messages, texts, functions and mappings. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "pprof.h"

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

int64_t perch__pprof_clean_text(struct pprof *pprof, const char *text)
{
	char clean[PERCH__EXPORT_NAME];

	perch_clean_text(text, clean, sizeof(clean));
	return perch__pprof_text(pprof, clean);
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
	function.system_name = frame->symbol ? perch__pprof_clean_text(pprof, frame->symbol->name)
					     : 0;
	function.filename = frame->file ? perch__pprof_text(pprof, frame->file) : 0;
	rc = perch__pprof_first_error(function.name, function.system_name, function.filename);
	profile.n_function = 1;
	profile.function = &functions;
	if (!rc)
		rc = perch__pprof_put(pprof, &profile);
	return rc ? rc : (int64_t)function.id;
}

bool perch__pprof_has_mapping(const struct perch_dso *dso)
{
	return perch_dso_is(dso, PERCH_DSO_IS_MAPPED) && !perch_dso_is(dso, PERCH_DSO_IS_MEMORY);
}

bool perch__pprof_is_loaded_at_start(const struct perch_dso *dso)
{
	return perch_dso_is(dso, PERCH_DSO_IS_IN_KERNEL);
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

	if (!perch__pprof_has_mapping(dso))
		return 0;
	message.id = dso->index + 1;
	if (mapping->written)
		return (int64_t)message.id;
	mapping->written = true;
	/* pages with code only: pprof finds the segment of the file by the start */
	message.memory_start = mapping->base + (mapping->first & ~(PPROF_PAGE - 1));
	message.file_offset =
		perch_dso_is(dso, PERCH_DSO_IS_FILE) ? mapping->first & ~(PPROF_PAGE - 1) : 0;
	message.memory_limit = (mapping->base + mapping->last + PPROF_PAGE) & ~(PPROF_PAGE - 1);
	message.filename = perch__pprof_clean_text(pprof, dso->path);
	message.build_id = add_build_id(pprof, dso);
	/* otherwise pprof would search files of this machine for names */
	message.has_functions = true;
	message.has_filenames = message.has_line_numbers = message.has_inline_frames = lines;
	rc = perch__pprof_first_error(message.filename, message.build_id, 0);
	profile.n_mapping = 1;
	profile.mapping = &messages;
	if (!rc)
		rc = perch__pprof_put(pprof, &profile);
	return rc ? rc : (int64_t)message.id;
}
