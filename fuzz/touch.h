/* SPDX-License-Identifier: MIT */
/* Reads every byte that a decoded record points to, as the tests of damaged records do. */
#ifndef FUZZ_TOUCH_H
#define FUZZ_TOUCH_H

#include <stdlib.h>
#include <string.h>
#include <perch/record.h>

#include "build/touch.h"

#endif
