/* SPDX-License-Identifier: MIT */
/* The distinct addresses of a recording, and the call chains that have them. */
#include "base/no_memory.h"
#include "process/mappings.h"
#include "internal.h"

void perch__matcher_clear(struct matcher *matcher)
{
	if (matcher->is_set)
		regfree(&matcher->regex);
	free(matcher->result);
	*matcher = (struct matcher){ .is_set = false };
}

int perch__matcher_detach(struct matcher *matcher)
{
	*matcher = (struct matcher){ .is_set = false };
	return 0;
}

int perch_addresses_new(struct perch_addresses **result, struct perch_processes *processes,
			struct perch_symbols *symbols, struct perch_error *err)
{
	struct perch_addresses *addresses = calloc(1, sizeof(*addresses));

	if (!addresses)
		return PERCH__NO_MEMORY(err, "for addresses");
	addresses->processes = processes;
	addresses->symbols = symbols;
	*result = addresses;
	return 0;
}

void perch_addresses_free(struct perch_addresses *addresses)
{
	if (!addresses)
		return;
	perch__key_set_clear(&addresses->keys);
	if (addresses->waiting) {
		free(addresses->waiting->key);
		free(addresses->waiting->number);
	}
	free(addresses->waiting);
	perch__matcher_clear(&addresses->ignored);
	free(addresses->address);
	free(addresses);
}

size_t perch_addresses_count(const struct perch_addresses *addresses)
{
	return addresses->keys.nr;
}

const struct perch_address *perch_addresses_at(struct perch_addresses *addresses, uint32_t number)
{
	struct perch_address *address = &addresses->address[number];

	if (!address->looked_up) {
		address->symbol =
			perch_symbols_find(addresses->symbols, address->dso, address->offset);
		address->looked_up = true;
	}
	return address;
}

char perch__cpumode_char(unsigned cpumode)
{
	static const char chars[8] = { '?', 'k', '.', 'H', 'g', 'u', '?', '?' };

	return chars[cpumode & PERCH_MISC_CPUMODE_MASK];
}

unsigned perch__mode_of_address(const struct perch_record *record, uint64_t address)
{
	unsigned mode = record->misc & PERCH_MISC_CPUMODE_MASK;

	if (mode != PERCH_MISC_USER && mode != PERCH_MISC_KERNEL)
		return mode;
	return address >> 63 ? PERCH_MISC_KERNEL : PERCH_MISC_USER;
}

struct address_key perch__address_key(const struct perch_addresses *addresses,
				      struct perch_thread *thread, unsigned cpumode, uint64_t ip)
{
	struct perch_location location;

	_Static_assert(_Alignof(struct perch_dso) > PERCH_MISC_CPUMODE_MASK,
		       "the low bits of the address of a DSO have the cpumode");
	/* A search among a few dozen maps, which stay in the CPU's cache, is faster than a second
	 * large hash table. */
	perch_processes_resolve(addresses->processes, thread, cpumode, ip, &location);
	return (struct address_key){ { (uintptr_t)location.dso | cpumode, location.offset } };
}

int perch__addresses_reserve(struct perch_addresses *addresses, size_t more)
{
	return perch__key_set_reserve(&addresses->keys, more) ||
			       PERCH__ARRAY_RESERVE_BY_NR(addresses->address, addresses->keys.nr,
							  more)
		       ? -ENOMEM
		       : 0;
}

/* Sets the addresses from a number on, which have keys only. */
static void set_addresses(struct perch_addresses *addresses, size_t from)
{
	for (size_t i = from; i < addresses->keys.nr; i++) {
		const uint64_t *key = addresses->keys.key[i];
		uintptr_t dso = key[0] & ~(uint64_t)PERCH_MISC_CPUMODE_MASK;

		addresses->address[i] = (struct perch_address){
			.dso = (const struct perch_dso *)dso,
			.offset = key[1],
			.cpumode_char = perch__cpumode_char(key[0] & PERCH_MISC_CPUMODE_MASK),
		};
		perch__dso_use(addresses->address[i].dso);
	}
}

void perch__addresses_number(struct perch_addresses *addresses, const uint64_t (*keys)[2],
			     size_t nr, uint32_t *numbers)
{
	size_t before = addresses->keys.nr;

	perch__key_set_add_all(&addresses->keys, keys, nr, numbers);
	set_addresses(addresses, before);
}

static struct address_id resolve_address(struct perch_addresses *addresses,
					 struct perch_thread *thread, unsigned cpumode, uint64_t ip)
{
	const struct address_key key = perch__address_key(addresses, thread, cpumode, ip);
	size_t before = addresses->keys.nr;
	struct address_id number;
	bool is_new;

	if (PERCH__ARRAY_RESERVE_BY_NR(addresses->address, before, 1))
		return (struct address_id){ NO_NUMBER };
	number.nr = perch__key_set_add(&addresses->keys, key.word[0], key.word[1], &is_new);
	set_addresses(addresses, before);
	return number;
}

static inline struct recent *recent_of(struct perch_addresses *addresses, uint64_t key, uint64_t ip)
{
	return &addresses->recent[(ip ^ ip >> 12 ^ key << 5) % RECENT];
}

struct address_id perch__address_number(struct perch_addresses *addresses,
					struct perch_thread *thread, unsigned cpumode, uint64_t ip)
{
	uint64_t key = perch__space_key(addresses->processes, thread, cpumode);
	struct recent *recent = recent_of(addresses, key, ip);

	if (recent->ip == ip && recent->key == key)
		return recent->number;
	recent->number = resolve_address(addresses, thread, cpumode, ip);
	recent->key = recent->number.nr == NO_NUMBER ? 0 : key;
	recent->ip = ip;
	return recent->number;
}

/* Most words of a chain are addresses: this reads them without a function call. Others are left to
 * perch_chain_next(). */
static inline bool next_address(struct perch_chain *walk, struct perch_chain_address *address)
{
	if (walk->at < walk->end) {
		uint64_t word = walk->swapped ? __builtin_bswap64(*walk->at) : *walk->at;

		if (word < PERCH_CONTEXT_MAX) {
			walk->at++;
			*address = (struct perch_chain_address){ .ip = word,
								 .cpumode = walk->cpumode };
			return true;
		}
	}
	return perch_chain_next(walk, address);
}

/*
 * The sample's ip comes first even if the call chain does not have it: the chain may exclude kernel
 * frames, or an unwinder may start at the caller. Return addresses are not adjusted, as in perf.
 */
void perch__chain_read(struct chain *chain, const struct perch_record *record)
{
	const struct perch_sample *sample = &record->sample;
	struct perch_chain_address address;
	struct perch_chain walk;

	chain->nr = 0;
	chain->ip[chain->nr] = sample->ip;
	chain->cpumode[chain->nr++] = record->misc & PERCH_MISC_CPUMODE_MASK;
	perch_chain_init(&walk, record);
	if (!next_address(&walk, &address) ||
	    ((address.ip == sample->ip && address.cpumode == chain->cpumode[0]) &&
	     !next_address(&walk, &address)))
		return;
	do {
		chain->ip[chain->nr] = address.ip;
		chain->cpumode[chain->nr++] = address.cpumode;
	} while (chain->nr < MAX_DEPTH && next_address(&walk, &address));
}

void perch__chain_add_truncated(struct chain *chain)
{
	if (chain->nr == MAX_DEPTH)
		return;
	chain->ip[chain->nr] = TRUNCATED_IP;
	chain->cpumode[chain->nr++] = TRUNCATED_MODE;
}

size_t perch__last_stack_update(struct last_stack *last, const struct perch_processes *processes,
				const struct perch_thread *thread, const struct chain *chain)
{
	uint64_t generation = perch_thread_generation(thread) + 1;
	uint64_t kernel = perch_processes_kernel_generation(processes);
	uint32_t tid = perch_thread_tid(thread);
	size_t shared = 0, outermost = chain->nr - 1;

	if (last->generation == generation && last->kernel_generation == kernel && last->tid == tid)
		/* an address of the kernel or of a guest may be equal to one of user space */
		while (shared < chain->nr && shared < last->nr &&
		       last->ip[shared] == chain->ip[outermost - shared] &&
		       last->cpumode[shared] == chain->cpumode[outermost - shared])
			shared++;
	for (size_t depth = shared; depth < chain->nr; depth++) {
		last->ip[depth] = chain->ip[outermost - depth];
		last->cpumode[depth] = chain->cpumode[outermost - depth];
	}
	last->generation = generation;
	last->kernel_generation = kernel;
	last->tid = tid;
	last->nr = chain->nr;
	return shared;
}

int perch__addresses_number_chain(struct perch_addresses *addresses, struct perch_thread *thread,
				  const struct chain *chain, uint32_t *numbers, size_t max)
{
	struct last_stack *last = &addresses->last_stack[perch_thread_tid(thread) % LAST_STACKS];
	size_t depth = perch__last_stack_update(last, addresses->processes, thread, chain);

	for (size_t at = 0; at < chain->nr - depth; at++)
		__builtin_prefetch(recent_of(addresses,
					     perch__space_key(addresses->processes, thread,
							      chain->cpumode[at]),
					     chain->ip[at]));
	for (; depth < chain->nr; depth++) {
		size_t at = chain->nr - 1 - depth;
		struct address_id number =
			perch__address_number(addresses, thread, chain->cpumode[at], chain->ip[at]);

		if (number.nr == NO_NUMBER) {
			last->generation = 0;
			return -ENOMEM;
		}
		last->number[depth] = number.nr;
	}
	if (max > chain->nr)
		max = chain->nr;
	for (size_t i = 0; i < max; i++)
		numbers[i] = last->number[chain->nr - 1 - i];
	return max;
}

int perch_addresses_call_chain(struct perch_addresses *addresses, struct perch_thread *thread,
			       const struct perch_record *record, uint32_t *numbers, size_t max)
{
	struct chain chain;

	perch__chain_read(&chain, record);
	return perch__addresses_number_chain(addresses, thread, &chain, numbers, max);
}

int perch_addresses_sampled(struct perch_addresses *addresses, struct perch_thread *thread,
			    const struct perch_record *record, uint32_t *number,
			    const struct perch_dso **dso)
{
	struct address_id at = perch__address_number(
		addresses, thread, record->misc & PERCH_MISC_CPUMODE_MASK, record->sample.ip);

	if (at.nr == NO_NUMBER)
		return -ENOMEM;
	*number = at.nr;
	*dso = addresses->address[at.nr].dso;
	return 0;
}
