/* SPDX-License-Identifier: MIT */
/* One group of tests for each header of src/base; each returns the number of failures. */
#ifndef TEST_BASE_H
#define TEST_BASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

int test_base_array(void);
int test_base_elf(void);
int test_base_hash_table(void);
int test_base_mean(void);
int test_base_text(void);
int test_base_wide(void);

#endif
