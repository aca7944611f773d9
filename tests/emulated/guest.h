/* SPDX-License-Identifier: MIT */
/*
 * The program that an emulated machine runs as its first process: tests of libperch with features
 * that the build machine may lack: exact hardware counters (arm64), kernel code changes (x86_64),
 * the other byte order (s390x). Each test runs in a child process, so a crash or an open counter
 * does not affect the others.
 */
#ifndef PERCH_TESTS_EMULATED_GUEST_H
#define PERCH_TESTS_EMULATED_GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <perch/error.h>

/* A test returns if it passes; otherwise it exits. */
struct guest_test {
	const char *name;
	void (*run)(void);
};

/* Fails the test: prints "not ok - NAME: ..." and exits. */
__attribute__((noreturn, format(printf, 1, 2))) void guest_fail(const char *format, ...);
/* Skips the test and exits. */
__attribute__((noreturn, format(printf, 1, 2))) void guest_skip(const char *format, ...);
/* Prints a line to the log, for example a measured number. */
__attribute__((format(printf, 1, 2))) void guest_note(const char *format, ...);

#define CHECK(condition, ...)                                                        \
	do {                                                                         \
		if (!(condition))                                                    \
			guest_fail("line " GUEST_STRING(__LINE__) ": " #condition    \
								  ": " __VA_ARGS__); \
	} while (0)
#define GUEST_STRING(number)	GUEST_STRING_OF(number)
#define GUEST_STRING_OF(number) #number
/* Fails the test if the function returned a negative errno. */
#define CHECK_OK(call, err)                                                                        \
	do {                                                                                       \
		int guest_rc = (call);                                                             \
		if (guest_rc < 0)                                                                  \
			guest_fail("line " GUEST_STRING(__LINE__) ": " #call ": %d: %s", guest_rc, \
				   (err)->message);                                                \
	} while (0)

/* arm64: runs a loop of GUEST_LOOP_INSTRUCTIONS instructions per iteration; iterations > 0. */
#define GUEST_LOOP_INSTRUCTIONS 2
void guest_loop(uint64_t iterations);
extern const char guest_loop_end[];

/* 1 allows user space to read counters. */
#define GUEST_USER_ACCESS "/proc/sys/kernel/perf_user_access"

/* Writes text into a file. Fails the test if that fails. */
void guest_write(const char *path, const char *text);
/* Binds this thread to a CPU. */
void guest_pin(int cpu);
/* The name of the core PMU, which differs among kernels and emulators. */
const char *guest_pmu(void);
/* |value - wanted| / wanted, in per mille. */
uint64_t guest_off(uint64_t value, uint64_t wanted);

/* The lists of tests of this machine, ended by NULL. */
extern const struct guest_test *const guest_lists[];
/* One list for each file, ended by a test without a name. */
extern const struct guest_test guest_counts[];
extern const struct guest_test guest_groups[];
extern const struct guest_test guest_samples[];
extern const struct guest_test guest_names[];
extern const struct guest_test guest_probes[];
extern const struct guest_test guest_sets[];
extern const struct guest_test guest_self_monitoring[];
extern const struct guest_test guest_users[];
extern const struct guest_test guest_unwind[];

#endif
