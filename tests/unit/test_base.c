/* SPDX-License-Identifier: MIT */
#include "test_base.h"

int main(void)
{
	return test_base_array() + test_base_elf() + test_base_hash_table() + test_base_mean() +
	       test_base_text() + test_base_wide();
}
