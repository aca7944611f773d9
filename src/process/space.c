/* SPDX-License-Identifier: MIT */
/* Address spaces: what is mapped where, now. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

struct space *perch__space_new(uint64_t generation)
{
	struct space *space = calloc(1, sizeof(*space));

	if (space) {
		space->users = 1;
		space->generation = generation;
	}
	return space;
}

void perch__space_drop(struct space *space)
{
	if (!space || --space->users)
		return;
	free(space->map);
	free(space);
}

struct space *perch__space_share(struct space *space)
{
	space->users++;
	return space;
}

struct space *perch__space_own(struct space *space)
{
	struct space *copy;

	if (space->users == 1)
		return space;
	copy = perch__space_new(space->generation);
	if (!copy)
		return NULL;
	if (space->nr) {
		copy->map = reallocarray(NULL, space->nr, sizeof(*copy->map));
		if (!copy->map) {
			free(copy);
			return NULL;
		}
		memcpy(copy->map, space->map, space->nr * sizeof(*copy->map));
		copy->nr = copy->size = space->nr;
	}
	perch__space_drop(space);
	return copy;
}

/* Index of the first map that ends after the address. */
static size_t first_after(const struct space *space, uint64_t address)
{
	size_t low = 0, high = space->nr;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (space->map[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct map *perch__space_find(const struct space *space, uint64_t address)
{
	size_t at = first_after(space, address);

	return at < space->nr && space->map[at].start <= address ? &space->map[at] : NULL;
}

static int make_room(struct space *space, size_t more)
{
	size_t size = space->size ? space->size : 16;
	struct map *larger;

	while (size < space->nr + more)
		size *= 2;
	if (size == space->size)
		return 0;
	larger = reallocarray(space->map, size, sizeof(*larger));
	if (!larger)
		return -ENOMEM;
	space->map = larger;
	space->size = size;
	return 0;
}

int perch__space_insert(struct space *space, const struct map *map)
{
	struct map pieces[3];
	size_t first, last, nr = 0;

	if (map->end <= map->start)
		return 0;
	if (make_room(space, 2))
		return -ENOMEM;
	first = first_after(space, map->start);
	for (last = first; last < space->nr && space->map[last].start < map->end; last++)
		;
	/* what the first and the last of the covered maps have left of and right of the new one stays */
	if (last > first && space->map[first].start < map->start) {
		pieces[nr] = space->map[first];
		pieces[nr++].end = map->start;
	}
	pieces[nr++] = *map;
	if (last > first && space->map[last - 1].end > map->end) {
		pieces[nr] = space->map[last - 1];
		pieces[nr].offset += map->end - pieces[nr].start;
		pieces[nr++].start = map->end;
	}
	memmove(&space->map[first + nr], &space->map[last], (space->nr - last) * sizeof(*space->map));
	memcpy(&space->map[first], pieces, nr * sizeof(*pieces));
	space->nr = space->nr - (last - first) + nr;
	return 0;
}
