/* SPDX-License-Identifier: MIT */
/* What was meant by a name that nobody knows: the known names suggestions to it by edit distance.
 */
#include <dirent.h>
#include <string.h>
#include <strings.h>

#include "base/edit_distance.h"
#include "internal.h"

/* How far is near: a third of the word, at least one letter. A word that begins the name is near
 * anyway. */
static bool near(const char *word, const char *name, unsigned *distance)
{
	size_t length = strlen(word);

	*distance = perch__edit_distance(word, name);
	if (*distance <= (length < 6 ? 1 + length / 4 : length / 3))
		return true;
	if (length < 3 || strncasecmp(word, name, length))
		return false;
	*distance = length; /* after those that differ by a slip */
	return true;
}

void perch__suggest(struct perch__suggestions *suggestions, const char *name)
{
	unsigned distance;
	size_t place;

	if (strlen(name) > PERCH__EDIT_LONGEST || !near(suggestions->word, name, &distance))
		return;
	for (size_t i = 0; i < suggestions->nr; i++)
		if (!strcmp(suggestions->best[i].name, name))
			return;
	for (place = suggestions->nr; place; place--) {
		int order = strcmp(suggestions->best[place - 1].name, name);

		/* by name among the equally near, so that the order of a folder does not show */
		if (suggestions->best[place - 1].distance < distance ||
		    (suggestions->best[place - 1].distance == distance && order < 0))
			break;
	}
	if (place == PERCH__SUGGESTIONS)
		return;
	if (suggestions->nr < PERCH__SUGGESTIONS)
		suggestions->nr++;
	memmove(&suggestions->best[place + 1], &suggestions->best[place],
		(suggestions->nr - 1 - place) * sizeof(*suggestions->best));
	strcpy(suggestions->best[place].name, name);
	suggestions->best[place].distance = distance;
}

void perch__suggest_directory(struct perch__suggestions *suggestions, const char *path)
{
	DIR *folder = opendir(path);
	struct dirent *entry;

	if (!folder)
		return;
	while ((entry = readdir(folder)))
		if (!strchr(entry->d_name, '.'))
			perch__suggest(suggestions, entry->d_name);
	closedir(folder);
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
