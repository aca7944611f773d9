/* SPDX-License-Identifier: MIT */
/* A bug report: a machine, an open call, its errno, and the expected explanation. */
#ifndef PERCH_TEST_REPORT_ROWS_H
#define PERCH_TEST_REPORT_ROWS_H

#include <errno.h>
#include <perch/explain.h>

#include "report_machines.h"

/* What the described kernel returns: a descriptor or a negative errno. */
typedef int report_kernel(const struct perch_attr *attr, pid_t pid, int cpu, int group_fd,
			  unsigned long flags);

struct report {
	const char *name; /* the program, and the symptom */
	enum machine_id machine_id;
	int errnum;
	struct perch_attr attr; /* size 0: this version's */
	pid_t pid;
	int cpu_plus_1; /* 0 is the default: -1 */
	int group_plus_1;
	unsigned long flags;
	const struct perch_open_call_leader *leader;
	report_kernel *kernel;	/* simulated kernel for probing; NULL: no probing */
	enum perch_cause cause; /* the answer's */
	/* or this cause, if the report does not distinguish them; NONE: no other */
	enum perch_cause or_cause;
	/* the report does not decide: one of the candidates is enough */
	bool among;
	/* one of the finding's fields; NULL: any */
	const char *field;
	const char *since; /* NULL: not looked at */
	/* each in the message, the remedy or the follow-ups, ignoring case */
	const char *words[5];
};

/* clang-format off */
#define REPORT(text, where, error, why, ...) \
	{ .name = text, .machine_id = where, .errnum = error, .cause = PERCH_CAUSE_##why, \
	  __VA_ARGS__ }
/* clang-format on */
#define ATTR(...)  .attr = { __VA_ARGS__ }
#define WORDS(...) .words = { __VA_ARGS__ }
#define OR(why)	   .or_cause = PERCH_CAUSE_##why
#define CPU(n)	   .cpu_plus_1 = (n) + 1
#define GROUP(n)   .group_plus_1 = (n) + 1
#define CYCLES	   .type = PERCH_TYPE_HARDWARE, .config = PERCH_COUNT_HW_CPU_CYCLES
#define USER_ONLY  .exclude_kernel = 1, .exclude_hv = 1
#define OFTEN	   .freq = 1, .sample_freq = 999

#endif
