/* SPDX-License-Identifier: MIT */
/*
 * The records of perf stat record, without their headers, as perf.data files have them. perf's
 * releases have different numbers for the same aggregation: STAT_CONFIG has those of the release
 * that wrote it.
 */
#ifndef PERCH_CLI_STAT_FILE_H
#define PERCH_CLI_STAT_FILE_H

#include <stdint.h>

#include "stat.h"

struct stat_count {
	uint64_t id;
	uint32_t cpu, thread; /* thread: index in THREAD_MAP */
	uint64_t value, enabled, running;
};

struct stat_round {
	uint64_t kind, ns; /* enum stat_round_kind; since the start */
};

struct stat_thread {
	uint64_t tid;
	char comm[16];
};

struct stat_thread_map {
	uint64_t nr;
	struct stat_thread thread[];
};

enum {
	STAT_CONFIG_AGGREGATION,
	STAT_CONFIG_INTERVAL,
	STAT_CONFIG_SCALE,
};

struct stat_config {
	uint64_t nr;
	struct {
		uint64_t tag, value;
	} term[3]; /* perf 6.5 and later add the level of caches */
};

/* Kinds of EVENT_UPDATE. */
enum { STAT_UPDATE_UNIT, STAT_UPDATE_SCALE, STAT_UPDATE_NAME, STAT_UPDATE_CPUS };

enum stat_file_release {
	STAT_FILE_FIRST,  /* before perf 6.5 */
	STAT_FILE_CACHE,  /* from 6.5 on: --per-cache */
	STAT_FILE_NEWEST, /* from 6.9 on: --per-cluster */
};

/* stat_file.c: the number of an aggregation in STAT_CONFIG. */
uint64_t stat_file_aggregation(enum stat_aggregation aggregation, enum stat_file_release release);
/* The aggregation of a number; STAT_GLOBAL for others. */
enum stat_aggregation stat_aggregation_of(uint64_t number, enum stat_file_release release);

#endif
