/* SPDX-License-Identifier: MIT */
/* Tests address spaces: overlapping maps, compared with an array of all addresses, and shared
 * copies. */
#include <malloc.h>
#include "process_fixture.h"
#include "process/internal.h"

#define SPAN 64

struct cell {
	struct perch_dso *dso;
	uint64_t offset;
};

static void insert(struct space *space, struct cell *cells, uint64_t start, uint64_t end,
		   uint64_t offset, struct perch_dso *dso)
{
	struct map map = { start, end, offset, dso };

	assert_int_equal(perch__space_insert(space, &map), 0);
	for (uint64_t at = start; at < end; at++)
		cells[at] = (struct cell){ dso, offset + at - start };
}

/* Checks a tree: maps are in range, in order and do not overlap. Priorities fall from the root on.
 */
static void check_node(const struct map_node *node, uint64_t least, uint64_t most)
{
	if (!node)
		return;
	assert_true(node->references && least <= node->map.start &&
		    node->map.start < node->map.end && node->map.end <= most);
	assert_true(!node->left || node->left->priority <= node->priority);
	assert_true(!node->right || node->right->priority <= node->priority);
	check_node(node->left, least, node->map.start);
	check_node(node->right, node->map.end, most);
}

static void check_space(const struct space *space, const struct cell *cells)
{
	for (uint64_t at = 0; at < SPAN; at++) {
		const struct map *map = perch__space_find(space, at);

		if (!cells[at].dso) {
			assert_null(map);
			continue;
		}
		assert_non_null(map);
		assert_ptr_equal(map->dso, cells[at].dso);
		assert_int_equal(at - map->start + map->offset, cells[at].offset);
	}
	check_node(space->root, 0, UINT64_MAX);
}

/* Inserts a map of any length at any address around two others. */
static void inserts_overlapping_maps(void **state)
{
	struct perch_dso a = { .index = 0 }, b = { .index = 1 }, c = { .index = 2 };

	(void)state;
	for (uint64_t start = 0; start < SPAN; start++)
		for (uint64_t end = start; end <= SPAN; end++) {
			struct cell cells[SPAN] = { 0 };
			struct space *space = perch__space_new(0);

			assert_non_null(space);
			insert(space, cells, 16, 28, 1000, &a);
			insert(space, cells, 36, 48, 2000, &b);
			insert(space, cells, start, end, 3000, &c);
			check_space(space, cells);
			perch__space_put(space);
		}
}

static void random_maps_match_array(void **state)
{
	struct perch_dso dsos[8];
	struct cell cells[SPAN] = { 0 };
	struct space *space = perch__space_new(0);

	(void)state;
	assert_non_null(space);
	srand(7);
	for (unsigned i = 0; i < 20000; i++) {
		uint64_t start = rand() % SPAN;
		uint64_t end = start + rand() % (SPAN - start + 1);

		if (i % 3)
			end = start + (end - start) / 8;
		insert(space, cells, start, end, rand() % 100000, &dsos[rand() % 8]);
		if (i % 16 == 0)
			check_space(space, cells);
	}
	check_space(space, cells);
	perch__space_put(space);
}

static void copies_shared_space_on_change(void **state)
{
	struct perch_dso a = { 0 }, b = { 0 };
	struct space *first = perch__space_new(1), *second;
	const struct map map = { 0x1000, 0x3000, 0, &a }, cut = { 0x2000, 0x2800, 0, &b };

	(void)state;
	assert_non_null(first);
	assert_int_equal(perch__space_insert(first, &map), 0);
	assert_ptr_equal(perch__space_writable(first), first);
	second = perch__space_writable(perch__space_get(first));
	assert_ptr_not_equal(second, first);
	assert_int_equal(first->references, 1);
	assert_int_equal(perch__space_insert(second, &cut), 0);
	assert_ptr_equal(perch__space_find(first, 0x2000)->dso, &a);
	assert_ptr_equal(perch__space_find(second, 0x2000)->dso, &b);
	assert_ptr_equal(perch__space_find(second, 0x1fff)->dso, &a);
	assert_ptr_equal(perch__space_find(second, 0x2800)->dso, &a);
	perch__space_put(first);
	perch__space_put(second);
	perch__space_put(NULL);
}

/* Many copies of a space, each with one change, take memory for the changes only. */
static void spaces_share_unchanged_nodes(void **state)
{
	enum { MAPS = 3000, SPACES = 3000 };
	static struct space *spaces[SPACES];
	struct perch_dso dso = { 0 };
	struct mallinfo2 before = mallinfo2();

	(void)state;
	spaces[0] = perch__space_new(0);
	/* from high addresses to low ones, as the kernel does */
	for (uint64_t at = MAPS; at-- > 0;) {
		const struct map map = { at * 16, at * 16 + 16, at, &dso };

		assert_int_equal(perch__space_insert(spaces[0], &map), 0);
	}
	for (uint64_t i = 1; i < SPACES; i++) {
		const struct map map = { i * 16 + 4, i * 16 + 8, UINT32_MAX, &dso };

		spaces[i] = perch__space_writable(perch__space_get(spaces[0]));
		assert_int_equal(perch__space_insert(spaces[i], &map), 0);
	}
	for (uint64_t i = 1; i < SPACES; i++) {
		assert_int_equal(perch__space_find(spaces[0], i * 16 + 5)->offset, i);
		assert_int_equal(perch__space_find(spaces[i], i * 16 + 5)->offset, UINT32_MAX);
		assert_int_equal(perch__space_find(spaces[i], i * 16 - 11)->offset, i - 1);
	}
	/* full copies would take 3000 * 3000 * 32 bytes */
	assert_true(mallinfo2().uordblks - before.uordblks < 20u << 20);
	for (size_t i = 0; i < SPACES; i++)
		perch__space_put(spaces[i]);
	assert_true(mallinfo2().uordblks - before.uordblks < 1u << 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inserts_overlapping_maps),
		cmocka_unit_test(random_maps_match_array),
		cmocka_unit_test(copies_shared_space_on_change),
		cmocka_unit_test(spaces_share_unchanged_nodes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
