/* SPDX-License-Identifier: MIT */
/*
 * A fence between loads of a page that the kernel may write on another CPU. gcc's thread sanitizer
 * knows no fences; the tests that it checks do not read such pages.
 */
#ifndef PERCH_BASE_FENCE_H
#define PERCH_BASE_FENCE_H

#ifdef __SANITIZE_THREAD__
#define PERCH__ACQUIRE_FENCE() __atomic_signal_fence(__ATOMIC_ACQUIRE)
#else
#define PERCH__ACQUIRE_FENCE() __atomic_thread_fence(__ATOMIC_ACQUIRE)
#endif

#endif
