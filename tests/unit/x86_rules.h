/* SPDX-License-Identifier: MIT */
/* For cases whose rows need rules of src/explain for x86. */
#ifndef PERCH_TEST_X86_RULES_H
#define PERCH_TEST_X86_RULES_H

/* A refusal is explained on the machine where it happened, so a rule asks for the architecture when
 * it is compiled. */
#if defined(__x86_64__) || defined(__i386__)
#define NEEDS_X86_RULES() ((void)0)
#else
#define NEEDS_X86_RULES()                                       \
	do {                                                    \
		print_message("skipped: rows are about x86\n"); \
		skip();                                         \
	} while (0)
#endif

#endif
