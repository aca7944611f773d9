/* SPDX-License-Identifier: MIT */
/* What arguments of system calls are: KIND(name). Those with words are rows of flags.def. */
KIND(NONE)
KIND(UNKNOWN) /* of a call whose arguments are not known: all six are shown */
KIND(INT)
KIND(UNSIGNED)
KIND(LONG)
KIND(SIZE)
KIND(HEX)
KIND(POINTER)
KIND(ADDRESS) /* of memory that is not shown */
KIND(BUFFER)  /* its contents are not shown either */
KIND(ID)      /* a user or group: -1 is none */
KIND(FD)
KIND(MAP_FD) /* of mmap(2): -1 is none */
KIND(DIRFD)
KIND(PATH)
KIND(STRING)
KIND(MODE)
KIND(OPEN_MODE) /* only if the flags before it create a file */
KIND(PAIR)	/* a number of 64 bits in two arguments, the lower half first */
KIND(TIMESPEC)
KIND(TIMEVAL)
KIND(TIMESPEC_OR_VALUE) /* the fourth argument of futex(2) */
KIND(SOCKADDR)		/* its length is the argument after it */
KIND(POLLFDS)		/* their number is the argument after it */
