/* SPDX-License-Identifier: MIT */
/* Finds the sites of user probes in their file, and reports why a probe has none. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "probe.h"

#define USE_OFFSET "use the offset in the file, as uprobe:PATH:0xOFFSET"

static int report_file(struct perch__parser *parser, const struct perch__probe_spec *probe, int rc)
{
	bool bare = !strchr(probe->file, '/');

	if (rc == -EBADMSG) {
		perch__parse_error(parser, probe->at_file, EBADMSG, PERCH_ERROR_FORMAT,
				   "'%s' is not an ELF file, or corrupt", probe->path);
		perch_error_remedy(
			parser->err,
			"use the program or library itself, not a script that starts it");
	} else if (rc == -ENOENT && bare) {
		perch__parse_error(
			parser, probe->at_file, ENOENT, PERCH_ERROR_FILE,
			"there is no program '%s' in PATH and no library '%s' in the usual directories",
			probe->file, probe->file);
		perch_error_remedy(parser->err,
				   access(probe->file, F_OK)
					   ? "use its path"
					   : "use ./%s for the file in the current directory",
				   probe->file);
	} else if (rc == -ENOENT) {
		perch__parse_error(parser, probe->at_file, ENOENT, PERCH_ERROR_FILE,
				   "there is no file '%s'", probe->file);
		perch_error_remedy(
			parser->err,
			"a name without a slash is searched in PATH and in the library directories");
	} else {
		perch__parse_error(parser, probe->at_file, -rc,
				   rc == -ENOMEM ? PERCH_ERROR_NO_MEMORY : PERCH_ERROR_FILE,
				   "cannot read '%s': %s",
				   probe->path[0] ? probe->path : probe->file, strerror(-rc));
	}
	return rc;
}

/* The file is an ELF file, but its tables cannot be searched. */
static int report_tables(struct perch__parser *parser, const struct perch__probe_spec *probe,
			 int rc)
{
	perch__parse_error(parser, probe->at_file, -rc,
			   rc == -ENOMEM ? PERCH_ERROR_NO_MEMORY : PERCH_ERROR_FORMAT,
			   rc == -EBADMSG ? "the tables of '%s' are corrupt"
			   : rc == -EFBIG ? "the tables of '%s' are too large"
			   : rc == -E2BIG ? "the probe has too many sites in '%s'"
					  : "cannot read the tables of '%s'",
			   probe->path);
	if (rc != -ENOMEM)
		perch_error_remedy(parser->err, USE_OFFSET);
	return rc;
}

/* A shell takes quotes off a name: quotes must be around the whole event too. */
static void report_similar(struct perch__parser *parser, const struct perch__probe_spec *probe,
			   struct perch__suggestions *suggestions, bool stripped)
{
	const char *name = suggestions->best[0].name;
	char similar[sizeof(parser->err->remedy)];

	perch__suggestions_remedy(suggestions, parser->err,
				  stripped ? "the file is stripped and has symbols of exported "
					     "functions only: " USE_OFFSET
					   : "'nm' lists the functions of a file");
	if (!suggestions->nr || *name != '"' || strpbrk(probe->file, PERCH__PATH_ENDS "'\""))
		return;
	memcpy(similar, parser->err->remedy, sizeof(similar));
	perch_error_remedy(parser->err,
			   "%s In a shell, put single quotes around the event: '%s:%s:%s'", similar,
			   probe->returns ? "uretprobe" : "uprobe", probe->file, name);
}

static int report_no_function(struct perch__parser *parser, const struct perch__probe_spec *probe,
			      const struct perch__elf *elf,
			      const struct perch__elf_function *function, const char *clones)
{
	struct perch__suggestions suggestions = { .word = probe->symbol };

	if (!function->has_functions && !function->undefined) {
		perch__parse_error(parser, probe->at_symbol, ENOENT, PERCH_ERROR_UNKNOWN_EVENT,
				   "'%s' is stripped: it has no symbols of functions", probe->path);
		perch_error_remedy(parser->err, USE_OFFSET);
	} else if (function->undefined) {
		perch__parse_error(parser, probe->at_symbol, ENOENT, PERCH_ERROR_UNKNOWN_EVENT,
				   "'%s' calls the function '%s' but does not define it",
				   probe->path, probe->symbol);
		perch_error_remedy(parser->err,
				   "use the library that defines it, as in uprobe:libc:malloc");
	} else if (*clones) {
		perch__parse_error(parser, probe->at_symbol, ENOENT, PERCH_ERROR_UNKNOWN_EVENT,
				   "'%s' has only clones of the function '%s', which the compiler "
				   "has made of it",
				   probe->path, probe->symbol);
		perch_error_remedy(parser->err, "did you mean %s%s?",
				   strchr(clones, ',') ? "one of these: " : "", clones);
	} else {
		perch__parse_error(parser, probe->at_symbol, ENOENT, PERCH_ERROR_UNKNOWN_EVENT,
				   "there is no function '%s' in '%s'", probe->symbol, probe->path);
		perch__elf_suggest_functions(elf, &suggestions);
		perch__elf_suggest_demangled(elf, parser->machine, &suggestions);
		report_similar(parser, probe, &suggestions, function->stripped);
	}
	return -ENOENT;
}

/* The function is found, but a probe on it would not count its calls. */
static int check_function(struct perch__parser *parser, const struct perch__probe_spec *probe,
			  const struct perch__elf_function *function)
{
	if (function->ambiguous) {
		perch__parse_error(parser, probe->at_symbol, ENOTUNIQ, PERCH_ERROR_UNKNOWN_EVENT,
				   "'%s' has several functions '%s'", probe->path, probe->symbol);
		perch_error_remedy(parser->err, function->rank == 1
							? USE_OFFSET
							: "add the version, as in NAME@VERSION");
		return -ENOTUNIQ;
	}
	if (function->indirect) {
		perch__parse_error(
			parser, probe->at_symbol, EINVAL, PERCH_ERROR_NOT_SUPPORTED,
			"'%s' of '%s' is an indirect function: its code only selects the function to "
			"call, when a program starts",
			probe->symbol, probe->path);
		perch_error_remedy(
			parser->err,
			"use the name of the selected function, or its offset in the file, as "
			"uprobe:PATH:0xOFFSET");
		return -EINVAL;
	}
	return 0;
}

/* Returns -ENOTUNIQ after it has reported several functions. */
static int find_demangled(struct perch__parser *parser, const struct perch__probe_spec *probe,
			  const struct perch__elf *elf, struct perch__elf_function *function,
			  char clones[PERCH__NAMES_MAX])
{
	struct perch__demangled found;
	int rc = perch__elf_find_demangled(elf, parser->machine, probe->symbol, &found);

	memcpy(clones, found.clones, sizeof(found.clones));

	if (rc)
		return rc;
	function->offset = found.offset;
	function->size = found.size;
	function->indirect = found.indirect;
	if (!found.ambiguous)
		return 0;
	perch__parse_error(parser, probe->at_symbol, ENOTUNIQ, PERCH_ERROR_UNKNOWN_EVENT,
			   "'%s' has several functions '%s'", probe->path, probe->symbol);
	if (found.names[0])
		perch_error_remedy(parser->err, "use one of them, in quotes: %s", found.names);
	else
		perch_error_remedy(parser->err, USE_OFFSET);
	return -ENOTUNIQ;
}

/* Asks the function of perch_machine_set_probe_finder(). */
static int ask_finder(struct perch__parser *parser, const struct perch__probe_spec *probe,
		      struct perch_probe_request request, size_t most,
		      struct perch__usdt_site *site, size_t *nr)
{
	struct perch_probe_site *found_site = calloc(most, sizeof(*found_site));
	int found;

	if (!found_site)
		return perch__parse_error(parser, probe->at_symbol, ENOMEM, PERCH_ERROR_NO_MEMORY,
					  "no memory to parse a probe");
	request.path = probe->path;
	request.arguments = probe->arguments[0] ? probe->arguments : NULL;
	request.returns = probe->returns;
	found = perch_machine_find_probe(parser->machine, &request, found_site, most, parser->err);
	for (int i = 0; i < found; i++)
		site[i] = (struct perch__usdt_site){ .offset = found_site[i].offset,
						     .arguments = found_site[i].arguments,
						     .unread = found_site[i].unread };
	free(found_site);
	if (found > 0)
		*nr = (size_t)found;
	else if (found == -ENOSYS)
		perch__parse_error(parser, probe->at_symbol, ENOSYS, PERCH_ERROR_NOT_SUPPORTED,
				   "lines and arguments need perch_machine_set_probe_finder()");
	else if (parser->err)
		parser->err->column = (int)probe->at_symbol;
	return found < 0 ? found : 0;
}

/* Finds the arguments of each match. */
static int find_match_arguments(struct perch__parser *parser, struct perch__probe_spec *probe)
{
	struct perch__usdt_site site;
	size_t nr;
	int rc = 0;

	for (size_t i = 0; i < probe->matches.nr && probe->arguments[0] && !rc; i++) {
		struct perch__probe_match *match = &probe->matches.match[i];

		rc = ask_finder(parser, probe,
				(struct perch_probe_request){ .offset = match->offset }, 1, &site,
				&nr);
		if (rc) {
			perch_error_prefix(parser->err, "function '%s': ", match->name);
			continue;
		}
		match->offset = site.offset;
		match->arguments = site.arguments;
		match->unread = site.unread;
	}
	return rc;
}

/* An exact name comes first: "main.(*T).f" and "main.f[int]" are names in Go. Returns -ENOENT
 * without an error message if no function matches. */
static int find_matches(struct perch__parser *parser, struct perch__probe_spec *probe,
			const struct perch__elf *elf)
{
	int rc = perch__elf_match_functions(elf, parser->machine, probe->symbol, probe->returns,
					    &probe->matches);

	if (rc)
		return rc == -ENOENT ? rc : report_tables(parser, probe, rc);
	if (probe->offset)
		return perch__parse_error(parser, probe->at_offset, EINVAL, PERCH_ERROR_CONFLICT,
					  "an offset needs one function, and '%s' is a pattern",
					  probe->symbol);
	if (probe->matches.nr <= PERCH__PROBE_MATCHES_MAX)
		return find_match_arguments(parser, probe);
	perch__parse_error(parser, probe->at_symbol, E2BIG, PERCH_ERROR_USAGE,
			   "'%s' matches %zu functions of '%s'; a pattern may match %d",
			   probe->symbol, probe->matches.nr, probe->path, PERCH__PROBE_MATCHES_MAX);
	perch_error_remedy(parser->err, "write a narrower pattern");
	return -E2BIG;
}

/* Takes the parentheses at the end of a name as arguments. Returns false if there are none. */
static bool split_arguments(struct perch__probe_spec *probe)
{
	const size_t length = strlen(probe->symbol);
	size_t depth = 0, open = length;

	if (!length || probe->symbol[length - 1] != ')' || probe->arguments[0])
		return false;
	do {
		open--;
		depth += probe->symbol[open] == ')';
		depth -= probe->symbol[open] == '(';
	} while (open && depth);
	if (!open || depth || open + 2 >= length)
		return false;
	memcpy(probe->arguments, probe->symbol + open + 1, length - open - 2);
	probe->arguments[length - open - 2] = '\0';
	probe->symbol[open] = '\0';
	return true;
}

/* The reverse, for a message: what is in the parentheses is more likely a type of C++ or Go. */
static bool join_arguments(struct perch__probe_spec *probe)
{
	const size_t length = strlen(probe->symbol);

	if (!probe->arguments[0] || !length || probe->symbol[length - 1] == ')' ||
	    (!strstr(probe->symbol, "::") && probe->symbol[length - 1] != '.'))
		return false;
	snprintf(probe->symbol + length, sizeof(probe->symbol) - length, "(%s)", probe->arguments);
	return true;
}

/* Returns -ENOENT without an error message if there is no function of the name. */
static int find_by_name(struct perch__parser *parser, const struct perch__probe_spec *probe,
			const struct perch__elf *elf, struct perch__elf_function *function,
			char clones[PERCH__NAMES_MAX])
{
	int rc = perch__elf_find_function(elf, probe->symbol, function);

	return rc == -ENOENT ? find_demangled(parser, probe, elf, function, clones) : rc;
}

/* Finds a function in the debug information: that of a stripped file, or where its calls are
 * inlined. Returns the number of sites; 0 if it is not there: missing is then what that may be
 * because of, or ""; or an error that it has reported. */
static int find_in_debug_information(struct perch__parser *parser, struct perch__probe_spec *probe,
				     struct perch_probe_site found[PERCH__USDT_SITES_MAX],
				     char missing[PERCH__NAMES_MAX])
{
	const struct perch_probe_request request = { .path = probe->path,
						     .function = probe->symbol,
						     .returns = probe->returns };
	int nr;

	if (perch__is_glob(probe->symbol))
		return 0;
	nr = perch_machine_find_probe(parser->machine, &request, found, PERCH__USDT_SITES_MAX,
				      parser->err);
	/* the parameters in parentheses say which one */
	if (nr == -ENOTUNIQ && join_arguments(probe))
		nr = perch_machine_find_probe(parser->machine, &request, found,
					      PERCH__USDT_SITES_MAX, parser->err);
	if (nr < 0 && parser->err)
		parser->err->column = (int)probe->at_symbol;
	if (nr == -ENOENT && parser->err)
		snprintf(missing, PERCH__NAMES_MAX, "%.255s", parser->err->remedy);
	return nr == -ENOENT || nr == -ENOSYS ? 0 : nr;
}

/* Appends a note to that of a site. Clears the site after an error, which it reports. */
static int join_notes(struct perch__parser *parser, const struct perch__probe_spec *probe,
		      struct perch__usdt_site *site, const char *note)
{
	char *both;

	if (perch__asprintf(&both, "%s, %s", site->unread, note) < 0) {
		perch__free_usdt_sites(site, 1);
		return perch__parse_error(parser, probe->at_symbol, ENOMEM, PERCH_ERROR_NO_MEMORY,
					  "no memory to parse a probe");
	}
	free(site->unread);
	site->unread = both;
	return 0;
}

/* Takes what belongs to a site. */
static int take_inlined(struct perch__parser *parser, const struct perch__probe_spec *probe,
			struct perch_probe_site *found, struct perch__usdt_site *site)
{
	size_t one;
	int rc = 0;

	*site = (struct perch__usdt_site){ .offset = found->offset };
	if (probe->arguments[0])
		rc = ask_finder(parser, probe,
				(struct perch_probe_request){ .offset = found->offset }, 1, site,
				&one);
	if (!rc && site->unread && found->unread)
		rc = join_notes(parser, probe, site, found->unread);
	if (rc || site->unread)
		free(found->unread);
	else
		site->unread = found->unread;
	return rc;
}

/* The sites of a function that is inlined where it is called. */
static int use_inlined(struct perch__parser *parser, struct perch__probe_spec *probe,
		       struct perch_probe_site *found, int nr_found, struct perch__usdt_site *site,
		       size_t *nr)
{
	int rc = 0;

	if (probe->returns || probe->offset) {
		for (int i = 0; i < nr_found; i++)
			free(found[i].unread);
		return perch__parse_error(
			parser, probe->returns ? probe->at_symbol : probe->at_offset, EINVAL,
			PERCH_ERROR_CONFLICT,
			"the function '%s' is inlined where it is called: only where it begins can "
			"be probed",
			probe->symbol);
	}
	for (*nr = 0; *nr < (size_t)nr_found && !rc; *nr += !rc)
		rc = take_inlined(parser, probe, &found[*nr], &site[*nr]);
	return rc;
}

static int find_function_sites(struct perch__parser *parser, struct perch__probe_spec *probe,
			       const struct perch__elf *elf, struct perch__usdt_site *site,
			       size_t *nr)
{
	struct perch_probe_site found[PERCH__USDT_SITES_MAX];
	struct perch__elf_function function;
	char clones[PERCH__NAMES_MAX] = "", missing[PERCH__NAMES_MAX] = "";
	int nr_found, rc = find_by_name(parser, probe, elf, &function, clones);

	if (rc == -ENOENT && split_arguments(probe)) {
		rc = find_by_name(parser, probe, elf, &function, clones);
		if (rc == -ENOTUNIQ && join_arguments(probe))
			rc = find_by_name(parser, probe, elf, &function, clones);
	}
	if (rc == -ENOTUNIQ)
		return rc;
	if (rc == -ENOENT && perch__is_glob(probe->symbol)) {
		rc = find_matches(parser, probe, elf);
		if (rc != -ENOENT || probe->matches.nr)
			return rc;
	}
	nr_found = rc == -ENOENT ? find_in_debug_information(parser, probe, found, missing) : 0;
	if (nr_found < 0)
		return nr_found;
	if (nr_found && (nr_found > 1 || found[0].inlined))
		return use_inlined(parser, probe, found, nr_found, site, nr);
	if (nr_found) {
		function.offset = found[0].offset;
		rc = 0;
	}
	if (rc == -ENOENT && join_arguments(probe))
		find_by_name(parser, probe, elf, &function, clones);
	if (rc == -ENOENT)
		report_no_function(parser, probe, elf, &function, clones);
	if (rc == -ENOENT && missing[0])
		perch_error_prefix(parser->err, "%s; ", missing);
	if (rc == -ENOENT)
		return rc;
	if (rc)
		return report_tables(parser, probe, rc);
	rc = check_function(parser, probe, &function);
	if (rc)
		return rc;
	if (__builtin_add_overflow(function.offset, probe->offset, &site->offset))
		site->offset = UINT64_MAX; /* beyond the end of every file */
	rc = perch__check_function_offset(parser, probe, elf, &function);
	if (rc || !probe->arguments[0])
		return rc;
	return ask_finder(parser, probe, (struct perch_probe_request){ .offset = site->offset }, 1,
			  site, nr);
}

static int find_usdt_sites(struct perch__parser *parser, const struct perch__probe_spec *probe,
			   const struct perch__elf *elf, struct perch__usdt_site *site, size_t *nr)
{
	char word[64];
	struct perch__suggestions suggestions = { .word = word };
	int rc;

	snprintf(word, sizeof(word), "%.30s:%.30s", probe->provider, probe->symbol);
	rc = perch__elf_find_usdt_sites(elf, probe->provider, probe->symbol, site, nr,
					&suggestions);
	if (rc == -ENOENT) {
		perch__parse_error(parser, probe->at_provider, ENOENT, PERCH_ERROR_UNKNOWN_EVENT,
				   "there is no USDT probe '%s:%s' in '%s'", probe->provider,
				   probe->symbol, probe->path);
		perch__suggestions_remedy(&suggestions, parser->err,
					  "'readelf -n' lists the probes of a file");
		return rc;
	}
	return rc ? report_tables(parser, probe, rc) : 0;
}

/* The kernel refuses these with EINVAL only, and takes an offset without code. */
static int check_sites(struct perch__parser *parser, const struct perch__probe_spec *probe,
		       const struct perch__elf *elf, const struct perch__usdt_site *site, size_t nr)
{
	int rc;

	for (size_t i = 0; i < nr; i++) {
		if (site[i].offset >= elf->size)
			return perch__parse_error(parser, probe->at_offset, EINVAL,
						  PERCH_ERROR_BAD_FIELD,
						  "offset %#llx is beyond the end of '%s'",
						  (unsigned long long)site[i].offset, probe->path);
		rc = perch__check_in_code(parser, probe, elf, site[i].offset);
		if (!rc && probe->returns)
			rc = perch__check_return_site(parser, probe, elf, site[i].offset);
		if (rc)
			return rc;
		if (site[i].counter >= elf->size || site[i].counter > UINT32_MAX)
			return perch__parse_error(
				parser, probe->at_counter ? probe->at_counter : probe->at_symbol,
				EINVAL, PERCH_ERROR_BAD_FIELD,
				"the reference counter at %#llx is beyond %s of '%s'",
				(unsigned long long)site[i].counter,
				site[i].counter >= elf->size ? "the end" : "the first 4 GiB",
				probe->path);
		if (site[i].counter & 1)
			return perch__parse_error(
				parser, probe->at_counter ? probe->at_counter : probe->at_symbol,
				EINVAL, PERCH_ERROR_BAD_FIELD,
				"the offset of a reference counter must be even (given %#llx)",
				(unsigned long long)site[i].counter);
	}
	return 0;
}

int perch__find_probe_sites(struct perch__parser *parser, struct perch__probe_spec *probe,
			    struct perch__usdt_site *site, size_t *nr)
{
	struct perch__elf elf;
	int rc = perch__find_dso(probe->file, probe->path, sizeof(probe->path), parser->machine);

	if (rc)
		probe->path[0] = '\0';
	else
		rc = perch__elf_file_open(&elf, probe->path, parser->machine);
	if (rc)
		return report_file(parser, probe, rc);
	*nr = 1;
	site[0] = (struct perch__usdt_site){ .offset = probe->offset };
	if (probe->kind == PERCH__PROBE_USDT)
		rc = find_usdt_sites(parser, probe, &elf, site, nr);
	else if (probe->line)
		rc = ask_finder(parser, probe,
				(struct perch_probe_request){ .source = probe->symbol,
							      .line = probe->line },
				PERCH__USDT_SITES_MAX, site, nr);
	else if (!probe->numbered)
		rc = find_function_sites(parser, probe, &elf, site, nr);
	if (!rc && probe->at_counter)
		site[0].counter = probe->counter;
	if (!rc && !probe->matches.nr)
		rc = check_sites(parser, probe, &elf, site, *nr);
	perch__elf_file_close(&elf);
	if (rc)
		perch__free_usdt_sites(site, *nr);
	return rc;
}
