/* SPDX-License-Identifier: MIT */
#ifndef PERCH_BASE_NR_H
#define PERCH_BASE_NR_H

/* The number of elements of an array. */
#define PERCH__NR(array) (sizeof(array) / sizeof((array)[0]))

#endif
