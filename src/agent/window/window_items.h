/* SPDX-License-Identifier: MIT */
/* Stacks and labels of all slices, each once. */
#ifndef PERCH_AGENT_WINDOW_ITEMS_H
#define PERCH_AGENT_WINDOW_ITEMS_H

#include "table.h"
#include "window.h"

struct agent_items {
	struct agent_table texts, labels, addresses, stacks;
	size_t text_bytes;
	bool coarse; /* thread labels are left out */
};

void agent_items_init(struct agent_items *items);
void agent_items_clear(struct agent_items *items);

/* Each of these adds a reference to what it finds or adds. AGENT_NONE, or false: no memory. */
uint32_t agent_items_add_labels(struct agent_items *items,
				const struct agent_sample_labels *labels);
bool agent_items_add_stack(struct agent_items *items, const struct agent_sample *sample,
			   uint32_t *stack);
/* Adds a frame below a stack, whose reference it takes, also when it fails. */
uint32_t agent_items_push(struct agent_items *items, uint32_t callers,
			  const struct agent_address *address);
void agent_items_release_labels(struct agent_items *items, uint32_t index);
void agent_items_release_stack(struct agent_items *items, uint32_t index);

/* As the functions of the same names in window.h. */
const struct agent_address *agent_items_frame(const struct agent_items *items, uint32_t stack,
					      uint32_t *callers);
uint32_t agent_items_address(const struct agent_items *items, uint32_t stack);
struct agent_sample_labels agent_items_labels(const struct agent_items *items, uint32_t labels);

void agent_items_mark_dsos(const struct agent_items *items, bool *used);

size_t agent_items_bytes(const struct agent_items *items);     /* that they need */
size_t agent_items_allocated(const struct agent_items *items); /* with free ones */

#endif
