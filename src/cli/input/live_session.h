/* SPDX-License-Identifier: MIT */
/* A session whose records come from the rings of a recorder, for perch top and perch trace. */
#ifndef PERCH_CLI_LIVE_SESSION_H
#define PERCH_CLI_LIVE_SESSION_H

#include <perch/recorder.h>

#include "input.h"

/* Opens input->session, for perch_session_put(). Returns 0, or the exit status after it has printed
 * an error. */
int cli_live_open(struct cli_input *input, const struct perch_recorder *recorder);

#endif
