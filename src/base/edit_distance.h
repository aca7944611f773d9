/* SPDX-License-Identifier: MIT */
/* The edit distance of two words, for suggestions after a mistyped name. */
#ifndef PERCH_BASE_EDIT_DISTANCE_H
#define PERCH_BASE_EDIT_DISTANCE_H

#include <ctype.h>
#include <string.h>

#define PERCH__EDIT_MAX_LENGTH 63 /* bytes of a word that can be compared */

/*
 * Returns the number of insertions, deletions, changes and swaps of adjacent characters that turn
 * one word into the other. Case is ignored. Returns PERCH__EDIT_MAX_LENGTH for longer words.
 */
static inline unsigned perch__edit_distance(const char *left, const char *right)
{
	/* The table needs the current row and the two before it. */
	unsigned rows[3][PERCH__EDIT_MAX_LENGTH + 1];
	size_t columns = strlen(right);

	if (columns > PERCH__EDIT_MAX_LENGTH || strlen(left) > PERCH__EDIT_MAX_LENGTH)
		return PERCH__EDIT_MAX_LENGTH;
	for (size_t j = 0; j <= columns; j++)
		rows[0][j] = j;
	for (size_t i = 1; left[i - 1]; i++) {
		unsigned *row = rows[i % 3], *above = rows[(i - 1) % 3];
		unsigned *higher = rows[(i + 1) % 3];

		row[0] = i;
		for (size_t j = 1; j <= columns; j++) {
			int a = tolower((unsigned char)left[i - 1]);
			int b = tolower((unsigned char)right[j - 1]);
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

#endif
