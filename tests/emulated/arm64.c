/* SPDX-License-Identifier: MIT */
/* The tests of the arm64 machine, which has hardware counters, and the loop that they count. */
#include "guest.h"

__asm__(".text\n"
	".globl guest_loop\n"
	".globl guest_loop_end\n"
	".type guest_loop, %function\n"
	".balign 64\n"
	"guest_loop:\n"
	"	subs	x0, x0, #1\n"
	"	b.ne	guest_loop\n"
	"guest_loop_end:\n"
	"	ret\n"
	".size guest_loop, . - guest_loop\n");

const struct guest_test *const guest_lists[] = {
	guest_counts, guest_groups,	     guest_sets,  guest_samples, guest_names,
	guest_probes, guest_self_monitoring, guest_users, guest_unwind,	 NULL,
};
