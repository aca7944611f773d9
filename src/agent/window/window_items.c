/* SPDX-License-Identifier: MIT */
#include "window_items.h"

#include <stdlib.h>
#include <string.h>

#define TEXT_OVERHEAD 16 /* bytes that the allocator needs for a text */

struct text {
	struct agent_item item;
	char *text;
};

struct labels {
	struct agent_item item;
	struct label_key {
		uint32_t cgroup, comm; /* texts; AGENT_NONE: none */
		uint32_t pid, tid;
	} key;
};

struct address {
	struct agent_item item;
	struct agent_address key;
};

/* A frame below its callers. */
struct stack {
	struct agent_item item;
	struct stack_key {
		uint32_t callers; /* AGENT_NONE: it is the outermost one */
		uint32_t address;
	} key;
};

static bool is_text(const void *items, uint32_t index, const void *key)
{
	return !strcmp(((const struct text *)items)[index].text, key);
}

static bool is_labels(const void *items, uint32_t index, const void *key)
{
	return !memcmp(&((const struct labels *)items)[index].key, key, sizeof(struct label_key));
}

static bool is_address(const void *items, uint32_t index, const void *key)
{
	const struct agent_address *address = &((const struct address *)items)[index].key,
				   *other = key;

	return address->dso == other->dso && address->offset == other->offset &&
	       address->mode == other->mode && address->caller == other->caller;
}

static bool is_stack(const void *items, uint32_t index, const void *key)
{
	return !memcmp(&((const struct stack *)items)[index].key, key, sizeof(struct stack_key));
}

/* A path may have 4095 bytes, and who may make cgroups chooses them. */
static size_t bytes_of_text(const char *text)
{
	return strlen(text) + 1 + TEXT_OVERHEAD;
}

static void release_text(struct agent_items *items, uint32_t index)
{
	char *text;

	if (index == AGENT_NONE || !agent_table_release(&items->texts, index))
		return;
	text = ((struct text *)agent_table_at(&items->texts, index))->text;
	items->text_bytes -= bytes_of_text(text);
	free(text);
}

void agent_items_release_labels(struct agent_items *items, uint32_t index)
{
	const struct labels *labels = agent_table_at(&items->labels, index);

	if (!agent_table_release(&items->labels, index))
		return;
	release_text(items, labels->key.cgroup);
	release_text(items, labels->key.comm);
}

void agent_items_release_stack(struct agent_items *items, uint32_t index)
{
	while (index != AGENT_NONE && agent_table_release(&items->stacks, index)) {
		const struct stack *stack = agent_table_at(&items->stacks, index);

		agent_table_release(&items->addresses, stack->key.address);
		index = stack->key.callers;
	}
}

/* The functions that find or add return an index that has one more reference. */
static bool get_text(struct agent_items *items, const char *text, uint32_t *index)
{
	uint64_t hash;
	char *copy;

	*index = AGENT_NONE;
	if (!text)
		return true;
	hash = perch__hash_text(items->texts.index.seed, text);
	*index = agent_table_find(&items->texts, hash, is_text, text);
	if (*index == AGENT_NONE) {
		copy = strdup(text);
		*index = copy ? agent_table_add(&items->texts, hash) : AGENT_NONE;
		if (*index == AGENT_NONE) {
			free(copy);
			return false;
		}
		((struct text *)agent_table_at(&items->texts, *index))->text = copy;
		items->text_bytes += bytes_of_text(copy);
	}
	agent_table_refer(&items->texts, *index);
	return true;
}

/* Takes the references of the key to texts. */
static uint32_t get_labels(struct agent_items *items, const struct label_key *key)
{
	uint64_t hash = perch__hash_bytes(items->labels.index.seed, key, sizeof(*key));
	uint32_t index = agent_table_find(&items->labels, hash, is_labels, key);
	bool found = index != AGENT_NONE;

	if (!found)
		index = agent_table_add(&items->labels, hash);
	if (found || index == AGENT_NONE) {
		release_text(items, key->cgroup);
		release_text(items, key->comm);
	} else {
		((struct labels *)agent_table_at(&items->labels, index))->key = *key;
	}
	if (index != AGENT_NONE)
		agent_table_refer(&items->labels, index);
	return index;
}

uint32_t agent_items_add_labels(struct agent_items *items, const struct agent_sample_labels *labels)
{
	struct label_key key = { .comm = AGENT_NONE };

	if (!get_text(items, labels->cgroup, &key.cgroup))
		return AGENT_NONE;
	if (!items->coarse) {
		key.pid = labels->pid;
		key.tid = labels->tid;
		if (!get_text(items, labels->comm, &key.comm)) {
			release_text(items, key.cgroup);
			return AGENT_NONE;
		}
	}
	return get_labels(items, &key);
}

static uint32_t get_address(struct agent_items *items, const struct agent_address *key)
{
	uint64_t hash = perch__hash_pair(items->addresses.index.seed, (uintptr_t)key->dso,
					 key->offset ^ (uint64_t)key->caller << 63);
	uint32_t index = agent_table_find(&items->addresses, hash, is_address, key);

	if (index == AGENT_NONE) {
		index = agent_table_add(&items->addresses, hash);
		if (index == AGENT_NONE)
			return index;
		((struct address *)agent_table_at(&items->addresses, index))->key = *key;
	}
	agent_table_refer(&items->addresses, index);
	return index;
}

/* Adds a frame below a stack, whose reference it takes, also when it fails. */
uint32_t agent_items_push(struct agent_items *items, uint32_t callers,
			  const struct agent_address *address)
{
	struct stack_key key = { .callers = callers, .address = get_address(items, address) };
	uint32_t index = AGENT_NONE;
	uint64_t hash;
	bool found;

	if (key.address == AGENT_NONE) {
		agent_items_release_stack(items, callers);
		return AGENT_NONE;
	}
	hash = perch__hash_pair(items->stacks.index.seed, key.callers, key.address);
	index = agent_table_find(&items->stacks, hash, is_stack, &key);
	found = index != AGENT_NONE;
	if (!found)
		index = agent_table_add(&items->stacks, hash);
	if (found || index == AGENT_NONE) {
		agent_table_release(&items->addresses, key.address);
		if (index != AGENT_NONE)
			agent_table_refer(&items->stacks, index);
		agent_items_release_stack(items, callers);
		return index;
	}
	((struct stack *)agent_table_at(&items->stacks, index))->key = key;
	agent_table_refer(&items->stacks, index);
	return index;
}

/* Returns false if out of memory. */
bool agent_items_add_stack(struct agent_items *items, const struct agent_sample *sample,
			   uint32_t *stack)
{
	*stack = AGENT_NONE;
	for (size_t i = sample->nr; i-- > 0;) {
		*stack = agent_items_push(items, *stack, &sample->chain[i]);
		if (*stack == AGENT_NONE)
			return false;
	}
	return true;
}

void agent_items_init(struct agent_items *items)
{
	*items = (struct agent_items){ .coarse = false };
	agent_table_init(&items->texts, sizeof(struct text));
	agent_table_init(&items->labels, sizeof(struct labels));
	agent_table_init(&items->addresses, sizeof(struct address));
	agent_table_init(&items->stacks, sizeof(struct stack));
}

void agent_items_clear(struct agent_items *items)
{
	agent_table_clear(&items->texts);
	agent_table_clear(&items->labels);
	agent_table_clear(&items->addresses);
	agent_table_clear(&items->stacks);
}

size_t agent_items_bytes(const struct agent_items *items)
{
	return items->text_bytes + agent_table_bytes(&items->texts) +
	       agent_table_bytes(&items->labels) + agent_table_bytes(&items->addresses) +
	       agent_table_bytes(&items->stacks);
}

size_t agent_items_allocated(const struct agent_items *items)
{
	return items->text_bytes + agent_table_allocated(&items->texts) +
	       agent_table_allocated(&items->labels) + agent_table_allocated(&items->addresses) +
	       agent_table_allocated(&items->stacks);
}

const struct agent_address *agent_items_frame(const struct agent_items *items, uint32_t stack,
					      uint32_t *callers)
{
	const struct stack *item = agent_table_at(&items->stacks, stack);
	const struct address *address = agent_table_at(&items->addresses, item->key.address);

	*callers = item->key.callers;
	return &address->key;
}

uint32_t agent_items_address(const struct agent_items *items, uint32_t stack)
{
	return ((const struct stack *)agent_table_at(&items->stacks, stack))->key.address;
}

static const char *text_at(const struct agent_items *items, uint32_t index)
{
	return index == AGENT_NONE
		       ? NULL
		       : ((const struct text *)agent_table_at(&items->texts, index))->text;
}

struct agent_sample_labels agent_items_labels(const struct agent_items *items, uint32_t labels)
{
	const struct label_key *key =
		&((const struct labels *)agent_table_at(&items->labels, labels))->key;

	return (struct agent_sample_labels){ .cgroup = text_at(items, key->cgroup),
					     .comm = text_at(items, key->comm),
					     .pid = key->pid,
					     .tid = key->tid };
}

void agent_items_mark_dsos(const struct agent_items *items, bool *used)
{
	for (uint32_t i = 0; i < items->addresses.nr; i++) {
		const struct address *address = agent_table_at(&items->addresses, i);

		if (address->item.references && address->key.dso)
			used[address->key.dso->index] = true;
	}
}
