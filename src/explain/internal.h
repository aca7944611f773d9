/* SPDX-License-Identifier: MIT */
#ifndef PERCH_EXPLAIN_INTERNAL_H
#define PERCH_EXPLAIN_INTERNAL_H

#include <stdbool.h>
#include <perch/explain.h>

/*
 * Whether a rule matches. UNKNOWN: a fact is missing, or the condition is not proof. perch__and()
 * and perch__or() need this order of values.
 */
enum perch__match {
	PERCH__NO,
	PERCH__UNKNOWN,
	PERCH__YES,
};

/* What config1 of a uprobe points to. */
enum perch__path {
	PERCH__PATH_NOT_READ,
	PERCH__PATH_UNKNOWN,
	PERCH__PATH_EMPTY,
	PERCH__PATH_NOT_REGULAR, /* a directory, a device, a pipe */
	PERCH__PATH_SHORT,	 /* the offset is beyond the end */
	PERCH__PATH_OK,
};

/*
 * An open call as the kernel saw it, and the facts. Fixes of rules change the copies here.
 */
struct perch__case {
	const struct perch_open_call *call;
	/* zero beyond its size; all zero if the pointer was NULL */
	struct perch_attr attr;
	/* as passed; if unknown, as the kernel wrote it */
	uint32_t size;
	uint32_t kernel_size; /* as the kernel wrote it after E2BIG; 0: unknown */
	/* offset of the first nonzero byte beyond struct perch_attr; 0: none */
	uint32_t unknown_at;
	pid_t pid;
	int cpu;
	int group_fd;
	unsigned long flags;
	/* 0: accepted or unknown: rules have only the call and the facts */
	int errnum;
	/* probing has shown that open calls reach perf */
	bool reached_perf;
	struct perch_machine *machine; /* NULL: facts are unknown */
	/* the result of perch__path_is(), shared by copies of the case; NULL: not cached */
	enum perch__path *path;
};

/*
 * Returns the machine whose facts explain: the caller's, or one of this machine, which is made here
 * and lasts for one explanation. A log may be of another machine: NULL, no fact is known. The
 * caller frees *own.
 */
struct perch_machine *perch__machine_of(struct perch_machine *machine, bool from_log,
					struct perch_machine **own);

/* perch_release_rank() of the running kernel; 0 if unknown. */
unsigned perch__running_rank(const struct perch__case *c);

/* A field or bit of an open call that older kernels do not have. */
struct perch__feature {
	char name[32]; /* the field */
	char since[8];
};
/* Finds the newest feature in use that is newer than the release rank. Returns false if there is
 * none. */
bool perch__newest_feature(const struct perch__case *c, unsigned after,
			   struct perch__feature *feature);
/* Finds the first nonzero attr field at or beyond an offset. */
bool perch__field_beyond(const struct perch_attr *attr, size_t offset,
			 struct perch__feature *feature);
/* Clears a feature: its bits if the field is older than the feature, otherwise the field. */
void perch__drop_feature(struct perch_attr *attr, const struct perch__feature *feature);

/* Writes the value of a placeholder of the rules. Returns false if there is no such placeholder. */
bool perch__placeholder(const struct perch__case *c, const char *name, size_t length, char *buffer,
			size_t size);

#endif
