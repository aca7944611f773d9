/* SPDX-License-Identifier: MIT */
/* Lists of names and of numbers in the options of a filter. */
#include <ctype.h>
#include <limits.h>
#include <stdio.h>

#include "base/no_memory.h"
#include "filter.h"

#define MAX_NAMES   65536
#define MAX_LINE    65536 /* bytes of a name in a file: demangled ones are shorter */
#define FILE_PREFIX "file://"

/* ---- names ---- */

/* Returns the number that is the whole text in hexadecimal, or 0. */
static uint64_t address_of(const char *text)
{
	unsigned long long number;
	char *end;

	if (!isxdigit((unsigned char)text[0]))
		return 0;
	errno = 0;
	number = strtoull(text, &end, 16);
	return *end || errno ? 0 : number;
}

static int add_name(struct filter_names *names, const char *text, size_t length,
		    struct perch_error *err)
{
	struct filter_name *name;

	if (!length)
		return 0;
	if (names->nr >= MAX_NAMES)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "a list of a filter has more than %d names", MAX_NAMES);
	name = PERCH__ARRAY_APPEND(names->name, names->nr, names->capacity);
	if (!name)
		return PERCH__NO_MEMORY(err, "for a filter");
	name->text = strndup(text, length);
	if (!name->text) {
		names->nr--;
		return PERCH__NO_MEMORY(err, "for a filter");
	}
	name->address = address_of(name->text);
	names->has_addresses |= name->address != 0;
	name->signs = names->of_functions && strpbrk(name->text, " ()<>[]{},\"");
	return 0;
}

/* line: MAX_LINE + 2 bytes. */
static int add_lines(struct filter_names *names, FILE *file, const char *path, char *line,
		     struct perch_error *err)
{
	int rc = 0;

	while (!rc && fgets(line, MAX_LINE + 2, file)) {
		size_t length = strcspn(line, "\n");

		rc = length > MAX_LINE
			     ? perch_error_set(err, EINVAL, PERCH_ERROR_FILE,
					       "%s, a file with names, has a line of more than %d "
					       "bytes",
					       path, MAX_LINE)
			     : add_name(names, line, length, err);
	}
	if (!rc && ferror(file))
		rc = perch_error_set(err, EIO, PERCH_ERROR_FILE,
				     "%s, a file with names, cannot be read", path);
	return rc;
}

/* Adds the lines of a file. */
static int add_file(struct filter_names *names, const char *word, size_t length,
		    struct perch_error *err)
{
	char path[PATH_MAX], *line;
	FILE *file;
	int rc;

	if (length >= sizeof(path))
		return perch_error_set(err, ENAMETOOLONG, PERCH_ERROR_FILE,
				       "the path of a file with names is too long");
	memcpy(path, word, length);
	path[length] = '\0';
	file = fopen(path, "re");
	if (!file)
		return perch_error_set(err, errno, PERCH_ERROR_FILE,
				       "%s, a file with names, cannot be opened: %s", path,
				       strerror(errno));
	line = malloc(MAX_LINE + 2);
	rc = line ? add_lines(names, file, path, line, err) : PERCH__NO_MEMORY(err, "for a filter");
	free(line);
	fclose(file);
	return rc;
}

static int compare_names(const void *left, const void *right)
{
	const struct filter_name *one = left, *other = right;

	return strcmp(one->text, other->text);
}

static void sort_names(struct filter_names *names)
{
	size_t nr = 0;

	qsort(names->name, names->nr, sizeof(*names->name), compare_names);
	for (size_t i = 0; i < names->nr; i++) {
		if (nr && !strcmp(names->name[nr - 1].text, names->name[i].text))
			free(names->name[i].text);
		else
			names->name[nr++] = names->name[i];
	}
	names->nr = nr;
}

int perch__filter_parse_names(struct filter_names *names, const char *list, const char *what,
			      struct perch_error *err)
{
	const bool whole = names->of_functions && perch__filter_is_balanced(list);
	const size_t prefix = strlen(FILE_PREFIX);
	const char *at = list;
	int rc = 0;

	while (!rc) {
		size_t length = whole ? perch__filter_function_length(at) : strcspn(at, ",");

		if (length > prefix && !strncmp(at, FILE_PREFIX, prefix))
			rc = add_file(names, at + prefix, length - prefix, err);
		else
			rc = add_name(names, at, length, err);
		if (!at[length])
			break;
		at += length + 1;
	}
	if (!rc && !names->nr)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "'%s': expected %s, separated by commas", list, what);
	if (!rc)
		sort_names(names);
	return rc;
}

static struct filter_name *find_filter_name(const struct filter_names *names, const char *text)
{
	struct filter_name wanted = { .text = (char *)text };

	return bsearch(&wanted, names->name, names->nr, sizeof(wanted), compare_names);
}

bool perch__filter_is_named(const struct filter_names *names, const char *text)
{
	struct filter_name *name = text ? find_filter_name(names, text) : NULL;

	if (name)
		name->seen = true;
	return name != NULL;
}

void perch__filter_clear_names(struct filter_names *names)
{
	for (size_t i = 0; i < names->nr; i++)
		free(names->name[i].text);
	free(names->name);
}

/* ---- numbers ---- */

/* Removes a number of at most `most` from the text. */
static bool take_number(const char **text, uint32_t most, uint32_t *number)
{
	unsigned long value;
	char *end;

	if (!isdigit((unsigned char)**text))
		return false;
	errno = 0;
	value = strtoul(*text, &end, 10);
	*text = end;
	*number = value;
	return !errno && value <= most;
}

static int add_range(struct filter_ranges *ranges, uint32_t first, uint32_t last,
		     struct perch_error *err)
{
	struct filter_range *range =
		PERCH__ARRAY_APPEND(ranges->range, ranges->nr, ranges->capacity);

	if (!range)
		return PERCH__NO_MEMORY(err, "for a filter");
	*range = (struct filter_range){ .first = first, .last = last };
	return 0;
}

int perch__filter_parse_ids(struct filter_ranges *ids, const char *list, const char *what,
			    struct perch_error *err)
{
	const char *at = list;

	while (true) {
		const char *word = at;
		uint32_t id = UINT32_MAX;
		bool valid = true;
		int rc;

		/* the id of samples without a process, and of those of the hypervisor */
		if (!strncmp(at, "-1", 2))
			at += 2;
		else
			valid = take_number(&at, INT32_MAX, &id);
		if (!valid || (*at && *at != ',')) {
			int length = (int)strcspn(word, ",");

			rc = perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
					     "'%.*s' is no %s id: expected numbers, separated by "
					     "commas (12,34)",
					     length, word, what);
			if (err)
				err->column = (int)(word - list);
			if (length && !isdigit((unsigned char)*word) && *word != '-')
				perch_error_remedy(err,
						   "Names of threads are another list (--comms)");
			return rc;
		}
		rc = add_range(ids, id, id, err);
		if (rc || !*at)
			return rc;
		at++;
	}
}

int perch__filter_parse_ranges(struct filter_ranges *ranges, const char *list, const char *what,
			       uint32_t least, struct perch_error *err)
{
	const char *at = list;

	while (true) {
		const char *word = at;
		uint32_t first, last;
		bool valid = take_number(&at, MAX_CPUS - 1, &first);
		int rc;

		valid = valid && first >= least;
		last = first;
		if (valid && *at == '-') {
			at++;
			valid = take_number(&at, MAX_CPUS - 1, &last) && last >= first;
		}
		if (!valid || (*at && *at != ',')) {
			rc = perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
					     "'%.*s' is no %s: expected numbers from %u to %d or "
					     "ranges of them, separated by commas (1,3-5)",
					     (int)strcspn(word, ","), word, what, least,
					     MAX_CPUS - 1);
			if (err)
				err->column = (int)(word - list);
			return rc;
		}
		rc = add_range(ranges, first, last, err);
		if (rc || !*at)
			return rc;
		at++;
	}
}
