/* SPDX-License-Identifier: MIT */
/* SANITIZED is 1 in a build with ASan or TSan. These map much memory and have their own allocator.
 */
#ifndef PERCH_SANITIZED_H
#define PERCH_SANITIZED_H

#ifdef __has_feature
#define HAS_FEATURE(name) __has_feature(name)
#else
#define HAS_FEATURE(name) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
	HAS_FEATURE(address_sanitizer) || HAS_FEATURE(thread_sanitizer)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

#endif
