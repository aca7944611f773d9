/* SPDX-License-Identifier: MIT */
/* Suggestions for an unknown word: the names with the smallest edit distance. */
#include <dirent.h>
#include <string.h>
#include <strings.h>

#include "base/edit_distance.h"
#include "internal.h"

/* A distance up to a third of the word, at least one. A name that begins with the word is similar
 * too. */
static bool is_similar(const char *word, const char *name, unsigned *distance)
{
	size_t length = strlen(word);

	*distance = perch__edit_distance(word, name);
	if (*distance <= (length < 6 ? 1 + length / 4 : length / 3))
		return true;
	if (length < 3 || strncasecmp(word, name, length))
		return false;
	*distance = length; /* after names with a smaller distance */
	return true;
}

void perch__suggest(struct perch__suggestions *suggestions, const char *name)
{
	perch__suggest_as(suggestions, name, name);
}

void perch__suggest_as(struct perch__suggestions *suggestions, const char *compared,
		       const char *name)
{
	unsigned distance;
	size_t slot;

	if (strlen(name) >= sizeof(suggestions->best[0].name) ||
	    strlen(compared) > PERCH__EDIT_MAX_LENGTH ||
	    !is_similar(suggestions->word, compared, &distance))
		return;
	for (size_t i = 0; i < suggestions->nr; i++)
		if (!strcmp(suggestions->best[i].name, name))
			return;
	for (slot = suggestions->nr; slot; slot--) {
		int order = strcmp(suggestions->best[slot - 1].name, name);

		/* of the same distance by name: the order of a directory is random */
		if (suggestions->best[slot - 1].distance < distance ||
		    (suggestions->best[slot - 1].distance == distance && order < 0))
			break;
	}
	if (slot == PERCH__SUGGESTIONS)
		return;
	if (suggestions->nr < PERCH__SUGGESTIONS)
		suggestions->nr++;
	memmove(&suggestions->best[slot + 1], &suggestions->best[slot],
		(suggestions->nr - 1 - slot) * sizeof(*suggestions->best));
	strcpy(suggestions->best[slot].name, name);
	suggestions->best[slot].distance = distance;
}

void perch__suggest_directory(struct perch__suggestions *suggestions, const char *path)
{
	DIR *directory = opendir(path);
	struct dirent *entry;

	if (!directory)
		return;
	while ((entry = readdir(directory)))
		if (!strchr(entry->d_name, '.'))
			perch__suggest(suggestions, entry->d_name);
	closedir(directory);
}

void perch__suggestions_remedy(struct perch__suggestions *suggestions, struct perch_error *err,
			       const char *otherwise)
{
	const char *one = suggestions->best[0].name, *two = suggestions->best[1].name,
		   *three = suggestions->best[2].name;

	switch (suggestions->nr) {
	case 0:
		perch_error_remedy(err, "%s", otherwise);
		break;
	case 1:
		perch_error_remedy(err, "did you mean %s?", one);
		break;
	case 2:
		perch_error_remedy(err, "did you mean %s or %s?", one, two);
		break;
	default:
		perch_error_remedy(err, "did you mean %s, %s or %s?", one, two, three);
	}
}
