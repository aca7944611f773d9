/* SPDX-License-Identifier: MIT */
/*
 * The program that an emulated machine runs as its first and only process: tests of libperch on
 * what the real machine has not: counters that count every instruction (arm64), a kernel that
 * changes its code (x86_64), the other byte order (s390x). Each test is a child, so that what it
 * breaks (a crash, a counter left open) is its own.
 */
#ifndef PERCH_TESTS_EMULATED_GUEST_H
#define PERCH_TESTS_EMULATED_GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <perch/error.h>

/* A test returns when all was well; otherwise it does not return. */
struct guest_test {
	const char *name;
	void (*run)(void);
};

/* Ends the test as failed: "not ok - NAME: ...". */
__attribute__((noreturn, format(printf, 1, 2))) void guest_fail(const char *format, ...);
/* Ends it as skipped, for machines that lack what it needs. */
__attribute__((noreturn, format(printf, 1, 2))) void guest_skip(const char *format, ...);
/* A line for the reader of the log: a figure that was measured. */
__attribute__((format(printf, 1, 2))) void guest_note(const char *format, ...);

#define CHECK(condition, ...)                                                        \
	do {                                                                         \
		if (!(condition))                                                    \
			guest_fail("line " GUEST_STRING(__LINE__) ": " #condition    \
								  ": " __VA_ARGS__); \
	} while (0)
#define GUEST_STRING(number)	GUEST_STRING_OF(number)
#define GUEST_STRING_OF(number) #number
/* rc of a call that has filled err. */
#define CHECK_OK(call, err)                                                                        \
	do {                                                                                       \
		int guest_rc = (call);                                                             \
		if (guest_rc < 0)                                                                  \
			guest_fail("line " GUEST_STRING(__LINE__) ": " #call ": %d: %s", guest_rc, \
				   (err)->message);                                                \
	} while (0)

/* arm64: exactly GUEST_TURN instructions a turn, between two labels; turns > 0. */
#define GUEST_TURN 2
void guest_loop(uint64_t turns);
extern const char guest_loop_end[];

/* 1: user space may read counters that allow for it. */
#define GUEST_USER_ACCESS "/proc/sys/kernel/perf_user_access"

/* Writes text into a file; the test fails when that cannot be done. */
void guest_write(const char *path, const char *text);
/* This thread runs on that CPU alone from now on. */
void guest_pin(int cpu);
/* The name of the CPUs' PMU: kernels and emulators differ in it. */
const char *guest_pmu(void);
/* |value - wanted| as a part of wanted, in per mille. */
uint64_t guest_off(uint64_t value, uint64_t wanted);

/* The lists of this machine; NULL at the end. */
extern const struct guest_test *const guest_lists[];
/* One list for each file of tests, ended by a test without a name. */
extern const struct guest_test guest_counts[];
extern const struct guest_test guest_groups[];
extern const struct guest_test guest_samples[];
extern const struct guest_test guest_names[];
extern const struct guest_test guest_probes[];
extern const struct guest_test guest_sets[];
extern const struct guest_test guest_user_reads[];
extern const struct guest_test guest_users[];

#endif
