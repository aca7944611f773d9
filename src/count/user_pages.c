/* SPDX-License-Identifier: MIT */
/* Maps the control pages of groups and sets. user_pages.h has the read itself. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "user_pages.h"

enum perch__rdpmc_state perch__user_pages_map(struct perch__user_pages *pages, size_t index, int fd,
					      const struct perch_syscalls *calls)
{
	void *page;

	if (PERCH__ARRAY_RESERVE_ZEROED(pages->page, pages->nr, index + 1)) {
		pages->map_errno = ENOMEM;
		return PERCH__RDPMC_NO_PAGE;
	}
	page = calls->mmap(calls->context, sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED) {
		pages->map_errno = errno;
		return PERCH__RDPMC_NO_PAGE;
	}
	pages->page[index] = page;
	pages->thread = perch__this_thread();
	return PERCH__RDPMC_NOT_READ_YET;
}

void perch__user_pages_unmap(struct perch__user_pages *pages, size_t first, size_t stride,
			     size_t nr, const struct perch_syscalls *calls)
{
	for (size_t i = first; nr && i < pages->nr; i += stride, nr--) {
		if (pages->page[i])
			calls->munmap(calls->context, (void *)pages->page[i],
				      sysconf(_SC_PAGESIZE));
		pages->page[i] = NULL;
	}
}

void perch__user_pages_clear(struct perch__user_pages *pages, const struct perch_syscalls *calls,
			     bool forked)
{
	if (!forked)
		perch__user_pages_unmap(pages, 0, 1, pages->nr, calls);
	free(pages->page);
	pages->page = NULL;
	pages->nr = 0;
	pages->thread = 0;
}

bool perch__requests_user_access(const struct perch_event *event,
				 const struct perch_options *options)
{
	struct perch_options plain = *options;
	struct perch_attr with, without;

	plain.self_monitoring = 0;
	return options->self_monitoring && !perch_attr_build(&with, event, options, NULL) &&
	       !perch_attr_build(&without, event, &plain, NULL) &&
	       memcmp(&with, &without, sizeof(with));
}
