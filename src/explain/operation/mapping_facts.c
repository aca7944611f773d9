/* SPDX-License-Identifier: MIT */
/* Facts for the rules of mmap(2): addresses, limits of the address space, mappings in the way. */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "machine/address_space.h"
#include "operation.h"
#include "explain/rules/predicates.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif
#ifndef MAP_UNINITIALIZED
#define MAP_UNINITIALIZED 0x4000000
#endif
#ifndef MAP_32BIT
#define MAP_32BIT 0
#endif
#ifndef MAP_ABOVE4G
#if defined(__x86_64__)
#define MAP_ABOVE4G 0x80
#else
#define MAP_ABOVE4G 0
#endif
#endif

#define CAP_SYS_RAWIO	    17
#define HIGHEST_MIN_ADDRESS 65536 /* distributions set vm.mmap_min_addr to 4096 to 65536 */
#define IS_PRIVATE_WRITABLE                                                \
	((o->op->map_flags & (MAP_SHARED | MAP_PRIVATE)) == MAP_PRIVATE && \
	 o->op->protection & PROT_WRITE)

int perch__unsupported_flags(int map_flags)
{
	/* Huge pages have their size in the highest bits: those of 2 MiB and 1 GiB are accepted. */
	const unsigned supported = MAP_SHARED | MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS |
				   MAP_DENYWRITE | MAP_EXECUTABLE | MAP_UNINITIALIZED |
				   MAP_GROWSDOWN | MAP_LOCKED | MAP_NORESERVE | MAP_POPULATE |
				   MAP_NONBLOCK | MAP_STACK | MAP_HUGETLB | MAP_32BIT |
				   MAP_ABOVE4G | 21u << 26 | 30u << 26;

	return (int)((unsigned)map_flags & ~supported);
}

bool perch__is_anonymous(const struct perch_operation *op)
{
	return op->kind == PERCH_OPERATION_MMAP && op->map_flags & MAP_ANONYMOUS;
}

/* Returns a number of a file in /proc/sys; false if it is unknown. */
static bool read_number(const struct perch__operation_case *o, const char *path, uint64_t *value)
{
	const char *text = perch__file_text(&o->c, path);
	char *end;

	if (!text)
		return false;
	*value = strtoull(text, &end, 10);
	return end != text;
}

uint64_t perch__min_address(const struct perch__operation_case *o)
{
	uint64_t value;

	return read_number(o, "/proc/sys/vm/mmap_min_addr", &value) ? value : 0;
}

uint64_t perch__max_mappings(const struct perch__operation_case *o)
{
	uint64_t value;

	return read_number(o, "/proc/sys/vm/max_map_count", &value) ? value : 0;
}

/* ---- Fixed addresses ---- */

enum perch__match perch__fixes_address(const struct perch__operation_case *o)
{
	if (!(o->op->map_flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)))
		return PERCH__NO;
	return o->op->address_known ? PERCH__YES : PERCH__UNKNOWN;
}

static enum perch__match lacks_raw_io(const struct perch__operation_case *o)
{
	return perch__lacks(&o->c, CAP_SYS_RAWIO);
}

enum perch__match perch__below_min_address(const struct perch__operation_case *o)
{
	const enum perch__match fixed = perch__fixes_address(o);
	uint64_t min;

	if (fixed != PERCH__YES)
		return fixed;
	if (!read_number(o, "/proc/sys/vm/mmap_min_addr", &min))
		return UNKNOWN_IF(o->op->address < HIGHEST_MIN_ADDRESS);
	return o->op->address < min ? lacks_raw_io(o) : PERCH__NO;
}

/* The largest address space of this architecture, without the last page. */
#if defined(__x86_64__)
#define LARGEST_END (UINT64_C(1) << 56)
#else
#define LARGEST_END USER_END
#endif

uint64_t perch__user_space_end(void)
{
	return USER_END;
}

/*
 * The end of user space is known for x86-64. Elsewhere the configuration of the kernel determines
 * it; a 32-bit program has 3 to 4 GiB.
 */
static enum perch__match is_above_user_space(const struct perch__operation_case *o, uint64_t end)
{
	if (end > LARGEST_END - o->page_bytes && sizeof(long) == 8)
		return PERCH__YES;
#if defined(__x86_64__)
	if (end > USER_END)
		return perch__cpu_lacks(&o->c, "la57");
#else
	if (end > UINT64_C(1) << 38)
		return UNKNOWN_IF(o->op->errnum == ENOMEM);
#endif
	return UNKNOWN_IF(o->op->errnum == ENOMEM && end > UINT64_C(0xbfffffff) &&
			  end <= UINT64_C(1) << 32);
}

enum perch__match perch__above_user_space(const struct perch__operation_case *o)
{
	const enum perch__match fixed = perch__fixes_address(o);
	const uint64_t bytes = o->pages * o->page_bytes;
	uint64_t end;

	if (fixed != PERCH__YES)
		return UNKNOWN_IF(fixed == PERCH__UNKNOWN && o->op->errnum == ENOMEM);
	if (__builtin_add_overflow(o->op->address, bytes, &end))
		return PERCH__YES;
	return is_above_user_space(o, end);
}

/* ---- Limits of the address space ---- */

static bool read_space(const struct perch__operation_case *o, struct perch__address_space *space)
{
	return o->c.machine && !perch__address_space(o->c.machine, space);
}

uint64_t perch__address_limit(const struct perch__operation_case *o)
{
	struct perch__address_space space;

	return read_space(o, &space) ? space.limit : UINT64_MAX;
}

/* The mappings that the fixed range touches; an empty range if the address is not fixed. */
static bool read_range(const struct perch__operation_case *o, bool with_flags,
		       struct perch__range *range, uint64_t *nr)
{
	*range = (struct perch__range){ 0 };
	if (perch__fixes_address(o) == PERCH__YES) {
		range->start = o->op->address;
		range->end = o->op->address + o->pages * o->page_bytes;
	}
	return o->c.machine && !perch__mappings(o->c.machine, with_flags, range, nr);
}

bool perch__address_space_known(const struct perch__operation_case *o)
{
	struct perch__address_space space;
	struct perch__range range;
	uint64_t nr;

	return perch__max_mappings(o) && read_space(o, &space) && read_range(o, false, &range, &nr);
}

/* A fixed range within a mapping splits it, so that the limit must not be reached. */
enum perch__match perch__too_many_mappings(const struct perch__operation_case *o)
{
	const uint64_t max = perch__max_mappings(o);
	struct perch__range range;
	uint64_t nr;

	if (o->op->errnum != ENOMEM || !max || !read_range(o, false, &range, &nr))
		return PERCH__NO;
	if (range.used && nr >= max)
		return nr > max ? PERCH__YES : PERCH__UNKNOWN;
	return YES_IF(nr > max);
}

static bool exceeds(uint64_t used, uint64_t more, uint64_t limit)
{
	uint64_t sum;

	return limit != UINT64_MAX && (__builtin_add_overflow(used, more, &sum) || sum > limit);
}

/* The kernel subtracts what the new mapping replaces. */
enum perch__match perch__above_address_limit(const struct perch__operation_case *o)
{
	struct perch__address_space space;
	struct perch__range range;

	if (o->op->errnum != ENOMEM || !read_space(o, &space) ||
	    !read_range(o, false, &range, NULL))
		return PERCH__NO;
	return YES_IF(exceeds(space.mapped - range.used, o->pages * o->page_bytes, space.limit));
}

enum perch__match perch__above_data_limit(const struct perch__operation_case *o)
{
	struct perch__address_space space;

	if (o->op->errnum != ENOMEM || !IS_PRIVATE_WRITABLE || !read_space(o, &space))
		return PERCH__NO;
	return YES_IF(exceeds(space.data, o->pages * o->page_bytes, space.data_limit));
}

static bool meminfo_line(const char *text, const char *name, uint64_t *bytes)
{
	const char *line = strstr(text, name);
	uint64_t kib;

	if (!line || sscanf(line + strlen(name), ": %" SCNu64, &kib) != 1)
		return false;
	*bytes = kib << 10;
	return true;
}

/* Only private writable mappings count. vm.overcommit_memory: 0 refuses more than the memory and
 * swap of the machine, 1 nothing, 2 what exceeds the commit limit. */
enum perch__match perch__above_commit_limit(const struct perch__operation_case *o)
{
	uint64_t mode, memory, swap, committed, limit;
	char text[8192];

	if (o->op->errnum != ENOMEM || !IS_PRIVATE_WRITABLE)
		return PERCH__NO;
	if (!read_number(o, "/proc/sys/vm/overcommit_memory", &mode) ||
	    perch_machine_read(o->c.machine, "/proc/meminfo", text, sizeof(text)) < 0)
		return PERCH__UNKNOWN;
	if (mode == 1 || (mode == 0 && o->op->map_flags & MAP_NORESERVE))
		return PERCH__NO;
	if (mode == 2)
		return meminfo_line(text, "CommitLimit", &limit) &&
				       meminfo_line(text, "Committed_AS", &committed)
			       ? YES_IF(exceeds(committed, o->pages * o->page_bytes, limit))
			       : PERCH__UNKNOWN;
	return meminfo_line(text, "MemTotal", &memory) && meminfo_line(text, "SwapTotal", &swap)
		       ? YES_IF(exceeds(0, o->pages * o->page_bytes, memory + swap))
		       : PERCH__UNKNOWN;
}

/* ---- What is in the way ---- */

static enum perch__match may_replace(const struct perch__operation_case *o)
{
	return o->op->map_flags & MAP_FIXED_NOREPLACE ? PERCH__NO : perch__fixes_address(o);
}

/* Stable releases of older kernels have the change too. Those before 6.12 return ENOMEM for it. */
enum perch__match perch__cuts_ring(const struct perch__operation_case *o)
{
	const enum perch__match replaces = may_replace(o);
	const enum perch__match is_new = perch__not(perch__may_lack_change(&o->c, "6.17"));
	const bool is_old = perch__may_lack_change(&o->c, "6.12") != PERCH__NO;
	struct perch__range range;

	if (replaces == PERCH__NO ||
	    (o->op->errnum != EINVAL && !(o->op->errnum == ENOMEM && is_old)))
		return PERCH__NO;
	if (replaces == PERCH__UNKNOWN || !read_range(o, false, &range, NULL))
		return UNKNOWN_IF(o->op->errnum == EINVAL);
	if (!range.cuts_ring)
		return PERCH__NO;
	return o->op->errnum == ENOMEM ? PERCH__YES : is_new;
}

enum perch__match perch__replaces_sealed(const struct perch__operation_case *o)
{
	const enum perch__match replaces = may_replace(o);
	struct perch__range range;

	if (o->op->errnum != EPERM || replaces == PERCH__NO ||
	    perch__may_lack_change(&o->c, "6.10") != PERCH__NO)
		return PERCH__NO;
	if (replaces == PERCH__UNKNOWN || !read_range(o, true, &range, NULL))
		return PERCH__UNKNOWN;
	return YES_IF(range.is_sealed);
}

enum perch__match perch__may_not_lock(const struct perch__operation_case *o)
{
	struct perch_limits limits;

	if (!(o->op->map_flags & MAP_LOCKED))
		return PERCH__NO;
	if (!o->c.machine || perch_machine_limits(o->c.machine, &limits, NULL))
		return UNKNOWN_IF(o->op->errnum == EPERM);
	return limits.locked_bytes ? PERCH__NO : perch__lacks(&o->c, PERCH_CAP_IPC_LOCK);
}
