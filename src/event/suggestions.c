/* SPDX-License-Identifier: MIT */
/* What was meant by a name that nobody knows: the known names suggestions to it by edit distance.
 */
#include <ctype.h>
#include <dirent.h>
#include <string.h>
#include <strings.h>

#include "internal.h"

#define LONGEST 63

/*
 * Letters to insert, drop, change or exchange with their neighbour to make one word the other, case
 * aside. Three rows of the usual table are enough. Words longer than LONGEST are near nothing.
 */
static unsigned edit_distance(const char *left, const char *right)
{
	unsigned rows[3][LONGEST + 1];
	size_t columns = strlen(right);

	if (columns > LONGEST || strlen(left) > LONGEST)
		return LONGEST;
	for (size_t j = 0; j <= columns; j++)
		rows[0][j] = j;
	for (size_t i = 1; left[i - 1]; i++) {
		unsigned *row = rows[i % 3], *above = rows[(i - 1) % 3],
			 *higher = rows[(i + 1) % 3];

		row[0] = i;
		for (size_t j = 1; j <= columns; j++) {
			int a = tolower((unsigned char)left[i - 1]),
			    b = tolower((unsigned char)right[j - 1]);
			unsigned least = above[j - 1] + (a != b);

			if (above[j] + 1 < least)
				least = above[j] + 1;
			if (row[j - 1] + 1 < least)
				least = row[j - 1] + 1;
			if (i > 1 && j > 1 && a == tolower((unsigned char)right[j - 2]) &&
			    b == tolower((unsigned char)left[i - 2]) && higher[j - 2] + 1 < least)
				least = higher[j - 2] + 1;
			row[j] = least;
		}
	}
	return rows[strlen(left) % 3][columns];
}

/* How far is near: a third of the word, at least one letter. A word that begins the name is near
 * anyway. */
static bool near(const char *word, const char *name, unsigned *distance)
{
	size_t length = strlen(word);

	*distance = edit_distance(word, name);
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

	if (strlen(name) > LONGEST || !near(suggestions->word, name, &distance))
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
