/* SPDX-License-Identifier: MIT */
/*
 * Self-monitoring reads of several events: the control pages of the members of a group, or of the
 * events of a set. The events of a group are read at one time: the kernel writes each page when
 * the group leaves the PMU, so if no page has changed from before the first read to after the last
 * one, no member was stopped in between.
 */
#ifndef PERCH_COUNT_USER_PAGES_H
#define PERCH_COUNT_USER_PAGES_H

#include "self_monitoring.h"

/* All zero reads nothing without a system call. */
struct perch__user_pages {
	const struct perch_mmap_page **page; /* NULL where read(2) is used */
	size_t nr;
	/* the only thread that may read; 0 if there is no page. A child of fork(2) must not look at
	 * the pages: its caller checks the generation first */
	uintptr_t thread;
	int map_errno; /* of the last mmap(2) that failed */
};

/* Adds the page of an event as pages->page[index]. Returns PERCH__RDPMC_NOT_READ_YET or a reason.
 */
enum perch__rdpmc_state perch__user_pages_map(struct perch__user_pages *pages, size_t index, int fd,
					      const struct perch_syscalls *calls);
/* Removes the pages from index `first` on, each `stride`, nr of them. */
void perch__user_pages_unmap(struct perch__user_pages *pages, size_t first, size_t stride,
			     size_t nr, const struct perch_syscalls *calls);
/* Removes all pages. forked: this process is a child and has not inherited the mappings. */
void perch__user_pages_clear(struct perch__user_pages *pages, const struct perch_syscalls *calls,
			     bool forked);

/* The locks only grow, so an equal sum means that none has changed. */
PERCH__INLINE uint64_t perch__sum_locks(const struct perch_mmap_page *const *page, size_t stride,
					size_t nr)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < nr; i++)
		sum += *(const volatile uint32_t *)&page[i * stride]->lock;
	return sum;
}

/*
 * Reads the members of a group, the leader first, to counts[i * stride].value. times gets those of
 * the leader, which read(2) returns for all members.
 */
PERCH__INLINE enum perch__rdpmc_state perch__user_pages_read(
	const struct perch_mmap_page *const *page, size_t stride, size_t nr,
	struct perch_count *counts, uint64_t times[2],
	bool (*read_counter)(uint32_t index, uint64_t *value), uint64_t (*read_clock)(void))
{
	enum perch__rdpmc_state state = PERCH__RDPMC_BUSY;

	for (unsigned tries = 0; state == PERCH__RDPMC_BUSY && tries < PERCH__RDPMC_TRIES;
	     tries++) {
		uint64_t before = perch__sum_locks(page, stride, nr), words[3] = { 0 };

		state = PERCH__RDPMC_USED;
		PERCH__IN_ORDER();
		for (size_t i = 0; state == PERCH__RDPMC_USED && i < nr; i++) {
			state = perch__page_try(page[i * stride], words, true, read_counter,
						read_clock);
			counts[i * stride].value = words[0];
			if (!i)
				memcpy(times, words + 1, 2 * sizeof(*times));
		}
		PERCH__IN_ORDER();
		if (state == PERCH__RDPMC_USED && perch__sum_locks(page, stride, nr) != before)
			state = PERCH__RDPMC_BUSY;
	}
	return state;
}

/* Fills in a count whose value is set already. */
static inline void perch__user_pages_count(struct perch_count *count, const uint64_t times[2],
					   uint64_t id, const struct perch__base *base)
{
	count->id = id;
	count->lost = 0;
	perch__evaluate_signed(count, times[0] - base->enabled_ns, times[1] - base->running_ns);
}

/*
 * True if the kernel may refuse the event only because of the bit that requests user-space access,
 * which some PMUs need (arm64).
 */
bool perch__requests_user_access(const struct perch_event *event,
				 const struct perch_options *options);

#endif
