/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Symbols: the function at an offset of a DSO, and its demangled name.
 *
 * Symbols are read from ELF files, separate debug files, /proc/kallsyms and the vdso. If a build id
 * was recorded, only a file with that one is used. Without it, a file is verified by device and
 * inode, and a file that can be the mapped one is used and unverified: perch_symbols_get_state()
 * reports which. A file of a process in a container is opened below /proc/PID/root or in
 * /proc/PID/map_files, while the process runs.
 *
 * The file of a DSO is searched in the build id cache, then at its path. If it has no symbols or no
 * debug information, a separate debug file is searched: in the build id cache, below
 * /usr/lib/debug/.build-id, by its .gnu_debuglink (both also below /proc/PID/root), and with
 * options.debuginfod on the servers of DEBUGINFOD_URLS. These are also asked for a file that is not
 * here with the recorded build id.
 *
 * A stripped program in Go without a debug file has the names of its functions in Go from the
 * function table of the Go runtime (.gopclntab; Go 1.5 and later), which stripping does not remove.
 * The table is used only if it is complete and the runtime's module data point to it.
 *
 * Code that a JIT compiler generated has the names of the file /tmp/perf-PID.map, which the program
 * writes: lines "START SIZE NAME", the numbers in hexadecimal. It is read below the root directory
 * of the process, with the process id of its own pid namespace; if there is none, or if the process
 * has ended, in /tmp of this machine. It must belong to this user or to root, and must not be a
 * symbolic link. Where functions overlap, the last line counts. A file that grows is read further,
 * at most 10 times a second; in a recording of another machine it is read only below root.
 *
 * The lines of the kernel, and its functions if /proc/kallsyms is that of another kernel or hides
 * addresses, are those of its ELF file: perch_symbols_options.vmlinux, or a file with the build id
 * of the kernel in the build id cache, /usr/lib/debug/.build-id,
 * /usr/lib/debug/boot/vmlinux-RELEASE, /usr/lib/debug/lib/modules/RELEASE/vmlinux,
 * /boot/vmlinux-RELEASE and /lib/modules/RELEASE/build/vmlinux.
 *
 * Functions of a module are those of /proc/kallsyms if it is loaded here, else those of its file,
 * also compressed (.ko.gz, .ko.xz, .ko.zst). Its lines are in that file, or in its debug file. The
 * file is searched in the build id cache, at the recorded path, and by
 * /lib/modules/RELEASE/modules.dep; the debug file in the build id cache,
 * /usr/lib/debug/.build-id, and below /usr/lib/debug at the path of the file, with or without
 * ".debug". They must have the build id of the module; without one in the recording, the file must
 * be made for the recorded release. The kernel's layout of sections is computed for x86 and arm64;
 * code whose address is not known so has no name.
 *
 * What later programs need not read again is kept in $XDG_CACHE_HOME/perch, or ~/.cache/perch (mode
 * 0600; for this user alone; not if the directory belongs to another user). PERCH_CACHE=off in the
 * environment disables it. Removing files changes only the time that lookups take.
 *
 * - kallsyms: the functions of /proc/kallsyms, which the kernel needs about 0.1 s to print. It is
 *   used on the same boot, with the same modules, and if /proc/kallsyms begins with the same bytes.
 * - symbols/: functions of ELF files, and the frames of addresses that were looked up in their
 *   debug information. They are used for files with the same device, inode, size, times of change
 *   and build id. perch_symbols_free() writes what is new. At most 512 MB are kept.
 *
 * Functions without err cannot fail, or their comment lists what they return. In all functions err
 * may be NULL.
 *
 * Threads: one thread per perch_symbols object at a time. Different objects are independent.
 *
 * Fork: a child has a copy of the object, and can use and free it. Nothing that it does changes the
 * object of the parent.
 *
 * Signals: no function is async-signal-safe. They allocate memory and read files.
 */
#ifndef PERCH_SYMBOL_H
#define PERCH_SYMBOL_H

#include <stdbool.h>
#include <perch/error.h>
#include <perch/fields.h>
#include <perch/process.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Where symbols are read from. */
struct perch_symbols_options {
	const char *root;     /**< directory with the files of the recorded machine; NULL is "/" */
	const char *kallsyms; /**< kernel symbols; NULL is /proc/kallsyms of this machine */
	bool no_demangle;     /**< names stay as in the symbol tables */
	/**
	 * The recording is from another machine or kernel. The kernel, modules and vdso of this
	 * machine are used only if their build ids are the recorded ones. root implies this.
	 */
	bool foreign;
	/**
	 * Files and debug files that are not on this machine come from the servers in the
	 * environment variable DEBUGINFOD_URLS by their build ids, if libdebuginfod is installed.
	 * It keeps them in its cache. It is not used with root.
	 */
	bool debuginfod;
	/** No ELF file of the kernel is used, also not .vmlinux: its functions are those of
	 * kallsyms, and have no lines. */
	bool no_vmlinux;
	/** Names of the kernel and its modules are demangled, too: those of functions in Rust. It
	 * does not depend on no_demangle. */
	bool demangle_kernel;
	/** The map file of a JIT compiler is read also if it belongs to another user than the
	 * reader, root and the user of the process: what it says is not trusted then. */
	bool any_owner;
	/** Files that are not proven to be the mapped ones are refused: no name is of the
	 * state PERCH_SYMBOLS_UNVERIFIED. It is for programs that record. */
	bool verified_only;
	/** Of the recorded machine. A session sets it; PERCH_ARCH_UNKNOWN: files of all are used.
	 */
	enum perch_arch arch;
	/**
	 * The end of the recording, in ns since 1970; 0 if unknown. A file without a recorded build
	 * id is not verified if it was written later, nor if the end of a recording is unknown. A
	 * session sets it.
	 */
	uint64_t recorded_at;
	/**
	 * An ELF file of the kernel with symbols, used instead of kallsyms. It is refused if its
	 * build id is not the recorded one.
	 */
	const char *vmlinux;
	/**
	 * The build id cache. NULL is .debug below root, or without root $PERF_BUILDID_DIR,
	 * buildid.dir of perf-config(1), or ~/.debug.
	 */
	const char *build_id_dir;
	uint64_t reserved[1]; /**< must be 0 */
};

/** The symbols of all DSOs. */
struct perch_symbols;

/**
 * Creates an object without symbols. They are read when they are looked up.
 *
 * @param[out] symbols  the new object
 * @param options       NULL is this machine
 * @param[out] err      the reason of a failure
 * @return 0, or -ENOMEM
 */
PERCH_API int perch_symbols_new(struct perch_symbols **symbols,
				const struct perch_symbols_options *options,
				struct perch_error *err);

/** Frees all symbols. NULL is allowed. */
PERCH_API void perch_symbols_free(struct perch_symbols *symbols);

/**
 * Called while a debug file is awaited from the servers in DEBUGINFOD_URLS.
 *
 * @param context  that of perch_symbols_set_download_progress()
 * @param dso      the DSO; NULL when waiting has ended
 * @param bytes    how many bytes have been received
 * @param total    the bytes of the file; 0 if unknown
 * @retval false   ends the download, and there are no further ones
 */
typedef bool perch_download_progress(void *context, const struct perch_dso *dso, uint64_t bytes,
				     uint64_t total);

/**
 * Sets the function that is called about every second while a file is downloaded. Functions that
 * find symbols call it.
 *
 * @param symbols   the symbols
 * @param function  the function; NULL: none
 * @param context   its first argument
 */
PERCH_API void perch_symbols_set_download_progress(struct perch_symbols *symbols,
						   perch_download_progress *function,
						   void *context);

/**
 * A function. Valid until perch_symbols_free(). A function has one object, so pointers can be
 * compared.
 */
struct perch_symbol {
	uint64_t start;		     /**< first offset in the DSO, see struct perch_location */
	uint64_t end;		     /**< the offset after the last one */
	const char *name;	     /**< as in the symbol table; not trusted */
	const struct perch_dso *dso; /**< the DSO of the function */
	uint32_t index;		     /**< number from 0, without gaps, over all DSOs */
	char binding;		     /**< 'g' global, 'l' local, 'w' weak */
	/** A copy of the function that the compiler inserted into its callers: start and end are 0.
	 * Only perch_symbols_frames() returns it. */
	bool inlined;
};

/**
 * Finds the function around an offset. The first call for a DSO reads its symbol table.
 *
 * @param symbols  the symbols
 * @param dso      the DSO
 * @param offset   offset in the DSO, see struct perch_location
 * @return the innermost function; NULL if no function covers the offset, or out of memory.
 *         perch_symbols_error() returns why the DSO has no functions.
 */
PERCH_API const struct perch_symbol *perch_symbols_find(struct perch_symbols *symbols,
							const struct perch_dso *dso,
							uint64_t offset);

/**
 * Finds the variable around an offset, in a DSO of the kind PERCH_DSO_FILE. The first call for a
 * DSO reads its symbol table. Variables without bytes in the file (.bss) have the offsets that
 * follow those of their segment.
 *
 * @param symbols  the symbols
 * @param dso      the DSO
 * @param offset   offset in the DSO, see struct perch_location
 * @return the variable; NULL if no variable covers the offset, or out of memory
 */
PERCH_API const struct perch_symbol *perch_symbols_find_data(struct perch_symbols *symbols,
							     const struct perch_dso *dso,
							     uint64_t offset);

/**
 * Finds the variable at a distance from code of the same DSO. Recordings have no mappings of data
 * by default, but those of code.
 *
 * @param symbols      the symbols
 * @param dso          the DSO
 * @param code         offset of the code in the DSO, see struct perch_location
 * @param distance     the address of the variable minus that of the code
 * @param[out] offset  offset of the address in the DSO, as that of perch_symbol.start; 0 if it has
 *                     none
 * @return the variable; NULL if no variable covers the address, or out of memory
 */
PERCH_API const struct perch_symbol *perch_symbols_find_data_near(struct perch_symbols *symbols,
								  const struct perch_dso *dso,
								  uint64_t code, int64_t distance,
								  uint64_t *offset);

/**
 * Returns the name of a function for display: demangled (C++, Rust) and cleaned.
 *
 * @param symbols  the symbols
 * @param symbol   the function
 * @return the name, never NULL; valid until perch_symbols_free()
 */
PERCH_API const char *perch_symbols_name(struct perch_symbols *symbols,
					 const struct perch_symbol *symbol);

/**
 * Demangles a name of C++, with the types of the parameters and without that of the result, as
 * "ns::f(int, char)"; of Rust, without parameters; of OCaml ("Stdlib.List.map_236"); of D; or of
 * Java as the agent libperf-jvmti writes it. Time and memory are limited.
 *
 * @param name  a name in a symbol table
 * @return the demangled name, not cleaned, which free(3) frees; NULL if the name is not mangled, or
 *         out of memory
 */
PERCH_API char *perch_demangle(const char *name);

/**
 * Checks if a function has a name that a user writes.
 *
 * It may be the name in the symbol table, that of perch_symbols_name(), or the demangled name with
 * the types of the parameters, with or without the type of the result: "ns::f(int, char)". The
 * former are those of all functions of an overloaded name, the latter is that of one. In demangled
 * names, spaces count only between two words: "ns::f(int,char)" is the same name.
 *
 * @param symbols  the symbols
 * @param symbol   the function
 * @param name     the name
 * @return true if it is a name of the function
 */
PERCH_API bool perch_symbols_is_named(struct perch_symbols *symbols,
				      const struct perch_symbol *symbol, const char *name);

/**
 * Checks if addresses of a DSO may have lines and inlined functions. The first call for a DSO
 * opens its debug information, as perch_symbols_frames() does. A caller that needs only inlined
 * functions can leave out the other addresses.
 *
 * @param symbols  the symbols
 * @param dso      the DSO
 * @return true if the DSO has debug information that can be read, or is a jitdump
 */
PERCH_API bool perch_symbols_has_debug_info(struct perch_symbols *symbols,
					    const struct perch_dso *dso);

/**
 * Begins to open the debug information of a DSO, which perch_symbols_has_debug_info() and
 * perch_symbols_frames() then complete. A thread of the library decompresses it while the program
 * does other things, such as perch_symbols_find(). The thread starts with the first large section,
 * has all signals blocked but SIGBUS, and ends with perch_symbols_free(). A failure has no effect,
 * nor has a call for a DSO without such sections.
 *
 * @param symbols  the symbols
 * @param dso      the DSO; the caller will ask for its debug information
 */
PERCH_API void perch_symbols_start_debug_info(struct perch_symbols *symbols,
					      const struct perch_dso *dso);

/**
 * Sets the BPF programs of a recording, from which perch_symbols_frames() has the source lines of
 * DSOs of kind PERCH_DSO_KERNEL_CODE. Their names are those of KSYMBOL records.
 *
 * @param symbols        the symbols
 * @param programs       the bytes of the feature BPF_PROG_INFO, in the byte order of this machine;
 *                       they must live as long as symbols, and need not be trusted. NULL: none
 * @param programs_size  number of bytes
 * @param btf            the same for the feature BPF_BTF
 * @param btf_size       number of bytes
 */
PERCH_API void perch_symbols_set_bpf_programs(struct perch_symbols *symbols, const void *programs,
					      size_t programs_size, const void *btf,
					      size_t btf_size);

struct perch_recorded_file;
/**
 * Sets the functions that the recording has itself: those of perch_reader_recorded_files(). They
 * are used for a DSO without a recorded build id, and for one whose file has no functions. A
 * session does this.
 *
 * @param symbols  the symbols
 * @param files    the files; they must live as long as symbols
 * @param nr       how many
 */
PERCH_API void perch_symbols_set_recorded_files(struct perch_symbols *symbols,
						const struct perch_recorded_file *files, size_t nr);

/**
 * Sets a function that has files of DSOs open, for programs that record: a file may have been
 * removed since, and its process may have ended. A file at the path of the DSO, if it is verified,
 * is preferred; what the function returns is verified, too.
 *
 * @param symbols  the symbols, before anything was looked up
 * @param find     returns a descriptor, which stays open, or -1; NULL: no function
 * @param context  its first argument
 */
PERCH_API void perch_symbols_set_open_files(struct perch_symbols *symbols,
					    int (*find)(void *context, const struct perch_dso *dso),
					    void *context);

/**
 * Says that the DSOs are those of a recording, and which kernel it is of. The kernel then has names
 * only if the recording has its address (perch_dso.text_start): it loads at another address after
 * each boot. Files of modules are searched below /lib/modules/RELEASE. A session does this.
 *
 * @param symbols  the symbols, before anything was looked up
 * @param release  the release of the recorded kernel, as uname -r prints it; it need not be
 *                 trusted. NULL: unknown
 * @param[out] err  the reason of a failure
 * @return 0, or -ENOMEM
 */
PERCH_API int perch_symbols_set_recorded_release(struct perch_symbols *symbols, const char *release,
						 struct perch_error *err);

/**
 * Sets when the recording began. A map file of a JIT compiler that is older is not used for a
 * process that started later: process ids are used again, and map files are not removed. A session
 * does this.
 *
 * @param symbols  the symbols, before anything was looked up
 * @param ns       in ns since 1970, to some seconds; 0 if unknown
 */
PERCH_API void perch_symbols_set_recorded_since(struct perch_symbols *symbols, uint64_t ns);

/** A function at an offset, and the line in it. */
struct perch_symbol_frame {
	const struct perch_symbol *symbol; /**< the function; NULL if unknown */
	/** The source file, cleaned; NULL if unknown. A relative path is completed by the directory
	 * in which the compiler ran, if the debug information has its absolute path. */
	const char *file;
	uint32_t line;	      /**< the line in file, from 1; 0 if unknown */
	uint64_t reserved[2]; /**< for members of later versions */
};

/**
 * Finds the functions at an offset: the inlined ones, and the function that contains
 * them. Each has the source file and line of the offset, or of the call of the frame before.
 *
 * The first call for a DSO opens its debug information: DWARF 2 to 5 in the file or in its separate
 * debug file, also compressed (zlib, zstd), shared (dwz) or split (.dwo, .dwp). Files of another
 * build are not used. Results are cached.
 *
 * @param symbols      the symbols
 * @param dso          the DSO; other kinds than PERCH_DSO_FILE, PERCH_DSO_KERNEL,
 *                     PERCH_DSO_MODULE, PERCH_DSO_JIT and, with perch_symbols_set_bpf_programs(),
 *                     PERCH_DSO_KERNEL_CODE have no lines. Those of the kernel are in its ELF
 *                     file, those of a module in its file or debug file.
 * @param offset       offset in the DSO, see struct perch_location. The line of a call is that of
 *                     an offset before its return address.
 * @param[out] frames  the functions, innermost first. The last one is that of perch_symbols_find(),
 *                     the others are inlined. Valid until perch_symbols_free(), as all texts.
 * @return the number of frames, at least 1; or -ENOMEM, the only error, so it needs no err
 */
PERCH_API int perch_symbols_frames(struct perch_symbols *symbols, const struct perch_dso *dso,
				   uint64_t offset, const struct perch_symbol_frame **frames);

/**
 * Returns the function of a return address: the one with the call. It is that of the address, but
 * where the address is the start of a function or in no function, and a call is before it: the call
 * of a function that does not return may be the end of its caller. If the bytes before the address
 * are no call, as those of data that a JIT compiler writes before a function, or none are available
 * and a JIT compiler made the code, the address itself counts.
 *
 * @param symbols  the symbols
 * @param dso      the DSO
 * @param offset   the return address, as an offset in the DSO
 * @param symbol   the result of perch_symbols_find() for it
 * @return the function; NULL if there is none; valid until perch_symbols_free()
 */
PERCH_API const struct perch_symbol *perch_symbols_caller(struct perch_symbols *symbols,
							  const struct perch_dso *dso,
							  uint64_t offset,
							  const struct perch_symbol *symbol);

/** For perch_symbols_frames_shown(). */
enum perch_frames_flags {
	PERCH_FRAMES_CALLER = 1 << 0, /**< the address is a return address: its call is meant */
	PERCH_FRAMES_ALONE = 1 << 1,  /**< only the function, without inlined ones and lines */
};

/**
 * Returns the functions at an address of a call chain, as a program shows them: those of
 * perch_symbols_frames(), where there is debug information; else the function alone.
 *
 * @param symbols      the symbols
 * @param dso          the DSO
 * @param offset       the address, as an offset in the DSO
 * @param symbol       the result of perch_symbols_find() for it
 * @param flags        of enum perch_frames_flags
 * @param[out] single  the function alone
 * @param[out] frames  the functions, innermost first; they may be in *single, also after an error
 * @return the number of frames, at least 1; or -ENOMEM, the only error, so it needs no err
 */
PERCH_API int perch_symbols_frames_shown(struct perch_symbols *symbols, const struct perch_dso *dso,
					 uint64_t offset, const struct perch_symbol *symbol,
					 unsigned flags, struct perch_symbol_frame *single,
					 const struct perch_symbol_frame **frames);

/**
 * Returns the name of a function as a program shows it; without a function that of the DSO in
 * brackets: "[libc.so.6]", "[kernel.kallsyms]". If the DSO has none, it is "[kernel]" for code of
 * the kernel, else "[unknown]".
 *
 * @param symbols       the symbols
 * @param dso           the DSO
 * @param cpumode_char  as in struct perch_address
 * @param symbol        the function; NULL: none
 * @param buffer        space for a name that no symbol has
 * @param size          bytes of it; a longer name is cut
 * @return the name, cleaned: buffer, or valid until perch_symbols_free()
 */
PERCH_API const char *perch_symbols_name_shown(struct perch_symbols *symbols,
					       const struct perch_dso *dso, char cpumode_char,
					       const struct perch_symbol *symbol, char *buffer,
					       size_t size);

/** Returns true for a function that handlers of signals return to; NULL is none. What it "calls" is
 * a handler, and what is below it was interrupted. */
PERCH_API bool perch_symbol_is_signal_return(const struct perch_symbol *symbol);

/**
 * Returns the name of a DSO as perf displays it: the base name of a file, "[kernel.kallsyms]",
 * "[vdso]", "[module]", "[JIT] tid 123". The kernel is "[kernel.vmlinux]" if the recorder found its
 * ELF file, and "[unknown]" if the recording has no map of it and this machine no symbols.
 *
 * @param symbols  the symbols
 * @param dso      the DSO
 * @return the name, cleaned, never NULL; valid until perch_symbols_free()
 */
PERCH_API const char *perch_symbols_dso_name(struct perch_symbols *symbols,
					     const struct perch_dso *dso);

/**
 * Returns why a DSO has no symbols, for example "no such file", or only exported symbols, because
 * it is stripped.
 *
 * @param symbols  the symbols
 * @param dso      the DSO
 * @return the reason; NULL if it has symbols, or if none were looked up
 */
PERCH_API const char *perch_symbols_error(const struct perch_symbols *symbols,
					  const struct perch_dso *dso);

/** Why a DSO has no symbols, or only some: what a program may decide by. */
enum perch_symbols_reason {
	PERCH_SYMBOLS_OTHER_REASON,	/**< none, or only the text says it */
	PERCH_SYMBOLS_STRIPPED,		/**< the file is stripped, and has no debug file here */
	PERCH_SYMBOLS_NOT_ON_SERVERS,	/**< the same, and debuginfod has no debug file either */
	PERCH_SYMBOLS_REPLACED,		/**< the file was replaced since the recording */
	PERCH_SYMBOLS_NOT_MOUNTED,	/**< it is on a file system that is not mounted here */
	PERCH_SYMBOLS_OTHER_MOUNTS,	/**< its process was in another mount namespace */
	PERCH_SYMBOLS_OTHER_FILE,	/**< another file is at its path, and it is unknown why */
	PERCH_SYMBOLS_NO_FILE,		/**< there is no file at its path */
	PERCH_SYMBOLS_NO_FILE_ANY_MORE, /**< the same, and the process has ended */
	PERCH_SYMBOLS_DELETED,		/**< the process mapped a file that was deleted */
	PERCH_SYMBOLS_NO_PERMISSION,	/**< this user may not read it */
	PERCH_SYMBOLS_OTHER_PIDS,	/**< the map file of a JIT compiler has the process id of
					 * another pid namespace in its name */
	PERCH_SYMBOLS_LATER_MAP,	/**< the map file of a JIT compiler was made after the
					 * recording, and the process has ended */
	PERCH_SYMBOLS_OTHER_OWNER,	/**< the map file or jitdump belongs to another user */
	PERCH_SYMBOLS_OTHER_MACHINE,	/**< it was recorded on another machine */
	PERCH_SYMBOLS_NO_INODE,		/**< the recording has neither build id nor inode */
	PERCH_SYMBOLS_NO_TIME,		/**< it is unknown when the recording was made */
	PERCH_SYMBOLS_NAMED,		/**< the user names the file, or the directory with it */
};

/**
 * Returns the kind of the reason that perch_symbols_error() has as a text. Later versions may have
 * other kinds.
 *
 * @param symbols  the symbols
 * @param dso      the DSO
 * @return the kind; PERCH_SYMBOLS_OTHER_REASON if it has symbols, or if none were looked up
 */
PERCH_API enum perch_symbols_reason perch_symbols_error_reason(const struct perch_symbols *symbols,
							       const struct perch_dso *dso);

/** How certain it is that the names of a DSO, its lines and its unwinding rules are right. */
enum perch_symbols_state {
	PERCH_SYMBOLS_NO_STATE,	  /**< no file was opened, or the DSO is none */
	PERCH_SYMBOLS_VERIFIED,	  /**< the file is the one that was mapped */
	PERCH_SYMBOLS_UNVERIFIED, /**< it can be that, and nothing proves it; it is used */
	PERCH_SYMBOLS_REFUSED,	  /**< it is another file, and not used: perch_symbols_error() */
};

/**
 * Returns if the file that was used for a DSO is known to be the one that was mapped.
 *
 * With a recorded build id it is, or it is refused. Without one, it is verified by device and inode
 * on the machine that was recorded, if it was not written since the recording, whose time is known.
 * Another file that can be the
 * mapped one, by its architecture and its executable segments, is used and unverified: it may be a
 * copy of the mapped file, or another build of the program. perch_symbols_options.verified_only
 * refuses these.
 *
 * @param symbols      the symbols
 * @param dso          the DSO
 * @param[out] reason  why it is unverified: PERCH_SYMBOLS_OTHER_MACHINE, PERCH_SYMBOLS_NO_INODE,
 *                     PERCH_SYMBOLS_NAMED, PERCH_SYMBOLS_OTHER_FILE (another inode),
 *                     PERCH_SYMBOLS_REPLACED (written since the recording) or
 *                     PERCH_SYMBOLS_NO_TIME; later versions may have others.
 *                     PERCH_SYMBOLS_OTHER_REASON in other states. NULL is allowed.
 * @return the state after the lookups so far, for the kinds PERCH_DSO_FILE, PERCH_DSO_MODULE and
 *         PERCH_DSO_KERNEL, and for the map file of a process if it is unverified
 */
PERCH_API enum perch_symbols_state perch_symbols_get_state(const struct perch_symbols *symbols,
							   const struct perch_dso *dso,
							   enum perch_symbols_reason *reason);

/**
 * Returns why the file of a DSO is unverified.
 *
 * @param symbols  the symbols
 * @param dso      the DSO
 * @return a text; NULL in other states than PERCH_SYMBOLS_UNVERIFIED
 */
PERCH_API const char *perch_symbols_doubt(const struct perch_symbols *symbols,
					  const struct perch_dso *dso);

/**
 * Returns what is wrong with the debug information of a DSO, so that names, inlined functions or
 * lines are missing: it is damaged, or a file that has a part of it is missing.
 *
 * @param symbols         the symbols
 * @param dso             the DSO
 * @param[out] addresses  how many addresses that were looked up lack a function, or a line
 * @return the reason, with what would help; NULL if nothing is known to be wrong
 */
PERCH_API const char *perch_symbols_debug_error(const struct perch_symbols *symbols,
						const struct perch_dso *dso, uint64_t *addresses);

/**
 * Returns how many allocations of libperch-profile have failed for symbols, debug information and
 * unwinding information, in any object and thread of this process. If it is not 0, results may
 * lack names of functions, inlined functions, lines or callers: the functions here then go on
 * with what they have.
 *
 * Threads: any thread may call it at any time.
 *
 * @return the number since the library was loaded
 */
PERCH_API uint64_t perch_symbols_failed_allocations(void);

/**
 * Returns how many lookups in a DSO found no function, for example in code of a JIT compiler.
 *
 * @param symbols  the symbols
 * @param dso      the DSO
 * @return the number of calls of perch_symbols_find() that returned NULL
 */
PERCH_API uint64_t perch_symbols_misses(const struct perch_symbols *symbols,
					const struct perch_dso *dso);

/**
 * Returns how many lines of the /tmp/perf-PID.map of a process were skipped, because they are not
 * of the format or more than 4194304.
 *
 * @param symbols  the symbols
 * @param dso      the DSO of the generated code of the process
 * @return the number of lines; 0 for other DSOs
 */
PERCH_API uint64_t perch_symbols_damaged_lines(const struct perch_symbols *symbols,
					       const struct perch_dso *dso);

/**
 * Opens the ELF file that has the code of a DSO: the file that was mapped, that of the build id
 * cache, or a copy of this machine's vdso. A file with another build id than recorded is not
 * opened, nor is the vdso of another kernel; perch_symbols_get_state() reports if the file is
 * certain. The file of a kernel module is relocatable, and may be compressed.
 *
 * @param symbols   the symbols
 * @param dso       a DSO of kind PERCH_DSO_FILE, PERCH_DSO_VDSO or PERCH_DSO_MODULE
 * @param[out] fd   the file, open for reading, which the caller closes; -1 after a failure
 * @param[out] err  the reason of a failure, for example "no such file"
 * @return 0, or a negative errno
 * @retval -ENOENT   there is no such file, or the DSO is of another kind
 * @retval -ESTALE   the build id of the file is not the recorded one
 * @retval -ENOEXEC  not an executable or shared object
 */
PERCH_API int perch_symbols_open_file(struct perch_symbols *symbols, const struct perch_dso *dso,
				      int *fd, struct perch_error *err);

/**
 * Opens the separate debug file of a DSO, for example below /usr/lib/debug. It is found by
 * the build id or by .gnu_debuglink of the file, as for the names of functions.
 *
 * @param symbols   the symbols
 * @param dso       a DSO of kind PERCH_DSO_FILE or PERCH_DSO_MODULE
 * @param[out] fd   the file, open for reading, which the caller closes; -1 after a failure
 * @param[out] err  the reason of a failure
 * @return 0, or a negative errno
 * @retval -ENOENT  there is no such file that matches, or the DSO is of another kind
 */
PERCH_API int perch_symbols_open_debug_file(struct perch_symbols *symbols,
					    const struct perch_dso *dso, int *fd,
					    struct perch_error *err);

/**
 * Opens the file that the debug file of a DSO shares with those of other files: dwz(1)
 * makes it, and .gnu_debugaltlink has its path and build id.
 *
 * @param symbols        the symbols
 * @param dso            a DSO of kind PERCH_DSO_FILE
 * @param[out] fd        the file, open for reading, which the caller closes; -1 after a failure
 * @param[out] build_id  its build id
 * @param[out] err       the reason of a failure
 * @return the size of the build id, or a negative errno
 * @retval -ENOENT  the debug file has no such file, or it is missing; or there is no debug file
 */
PERCH_API int perch_symbols_open_shared_debug_file(struct perch_symbols *symbols,
						   const struct perch_dso *dso, int *fd,
						   uint8_t build_id[20], struct perch_error *err);

/**
 * Downloads the separate debug file of a DSO from the servers in DEBUGINFOD_URLS, if
 * perch_symbols_options.debuginfod is set and the file itself has no debug information.
 *
 * @param symbols   the symbols
 * @param dso       a DSO of kind PERCH_DSO_FILE with a build id
 * @param[out] fd   the file, open for reading, which the caller closes; -1 after a failure
 * @param[out] err  the reason of a failure
 * @return 0, or a negative errno
 * @retval -ENOENT  the servers do not have it or do not answer, or it is not needed
 */
PERCH_API int perch_symbols_download_debug_file(struct perch_symbols *symbols,
						const struct perch_dso *dso, int *fd,
						struct perch_error *err);

/** Most bytes that perch_symbols_read_code() reads. */
#define PERCH_MAX_CODE (4u << 20)

/** What the bytes from an address on are. */
enum perch_code_kind {
	PERCH_CODE_INSTRUCTIONS, /**< instructions of the architecture */
	PERCH_CODE_THUMB,	 /**< arm: Thumb instructions */
	PERCH_CODE_DATA,	 /**< arm, arm64: data between functions */
};

/** A part of code: up to the next part. */
struct perch_code_part {
	uint64_t address;	   /**< first address */
	enum perch_code_kind kind; /**< what it has */
	uint32_t reserved[1];	   /**< for members of later versions */
};

/** The bytes of code, and what a disassembler needs to know. */
struct perch_code {
	uint8_t *bytes; /**< the bytes, as in memory */
	size_t size;	/**< how many, at most PERCH_MAX_CODE */
	/** Address of the first byte: in an ELF file that of its segments, as objdump(1) prints it;
	 * otherwise that in memory. */
	uint64_t address;
	uint64_t offset; /**< offset of the first byte in the DSO */
	/** Addresses from .start on and below .end have offsets at the same distance: the offset of
	 * an address A is A - .address + .offset. */
	uint64_t start;
	uint64_t end;	      /**< see start */
	uint32_t machine;     /**< the architecture: EM_* of <elf.h> */
	uint32_t flags;	      /**< e_flags of the ELF file; else 0 */
	bool wide;	      /**< a 64-bit file */
	bool big_endian;      /**< byte order of the file */
	bool live;	      /**< of the memory of the running kernel, which may have changed */
	char section[32];     /**< name of the section, cleaned; "" if unknown */
	uint64_t modified_at; /**< when the file was written, in ns since 1970; 0 if unknown */
	struct perch_code_part *part; /**< sorted; the first one begins at .address */
	size_t nr_parts;	      /**< at least 1 */
	uint64_t reserved[4];	      /**< for members of later versions */
};

/**
 * Reads the code of a function or of any other part of a DSO:
 *
 * - PERCH_DSO_FILE and PERCH_DSO_VDSO: from the file of perch_symbols_open_file()
 * - PERCH_DSO_KERNEL: from the ELF file of the kernel, else as for modules
 * - PERCH_DSO_MODULE: from /proc/kcore, if the recorded kernel runs on this machine and has not
 * been started again, and this user may read it
 * - PERCH_DSO_KERNEL_CODE: from perch_symbols_set_bpf_programs()
 * - PERCH_DSO_JIT: from the jitdump
 *
 * @param symbols    the symbols
 * @param dso        the DSO
 * @param offset     first offset, see struct perch_location
 * @param size       how many bytes; of more than PERCH_MAX_CODE the first ones are read
 * @param[out] code  the code, for perch_code_clear(); empty after a failure
 * @param[out] err   the reason of a failure: which bytes are missing and why
 * @return 0, or a negative errno
 * @retval -ENOENT  there are no bytes, or not of that DSO
 * @retval -EACCES  this user may not read /proc/kcore
 * @retval -ESTALE  the file, or the running kernel, is not the recorded one
 * @retval -EINVAL  size is 0
 * @retval -ENOMEM  out of memory
 */
PERCH_API int perch_symbols_read_code(struct perch_symbols *symbols, const struct perch_dso *dso,
				      uint64_t offset, uint64_t size, struct perch_code *code,
				      struct perch_error *err);

/** Frees the bytes. Everything is 0 afterwards. */
PERCH_API void perch_code_clear(struct perch_code *code);

/**
 * Reads the build id of a loaded kernel module, in /sys/module.
 *
 * @param name           its name; "[name]" and the path of its file are allowed, too
 * @param[out] build_id  the build id
 * @param[out] err       the reason of a failure
 * @return its size in bytes (at most 20), or a negative errno
 * @retval -ENOENT   no such module is loaded, or it has no build id
 */
PERCH_API int perch_build_id_of_module(const char *name, uint8_t build_id[20],
				       struct perch_error *err);

/**
 * Reads the GNU build id of an ELF file. The file of a kernel module may be compressed (.ko.gz,
 * .ko.xz, .ko.zst).
 *
 * @param path           path of the file
 * @param[out] build_id  the build id
 * @param[out] err       the reason of a failure
 * @return its size in bytes (at most 20), or a negative errno
 * @retval -ENODATA  the file has no build id
 * @retval -ENOEXEC  not an ELF file
 */
PERCH_API int perch_build_id_of_file(const char *path, uint8_t build_id[20],
				     struct perch_error *err);

/**
 * Reads the build id of the running kernel from /sys/kernel/notes.
 *
 * @param[out] build_id  the build id
 * @param[out] err       the reason of a failure
 * @return its size in bytes (at most 20), or a negative errno
 * @retval -ENODATA  the kernel has no build id
 */
PERCH_API int perch_build_id_of_kernel(uint8_t build_id[20], struct perch_error *err);

/**
 * Reads the GNU build id of an ELF image in memory, such as the vdso.
 *
 * @param image          the image
 * @param size           bytes of the image
 * @param[out] build_id  the build id
 * @param[out] err       the reason of a failure
 * @return its size in bytes (at most 20), or a negative errno as of perch_build_id_of_file()
 */
PERCH_API int perch_build_id_of_image(const void *image, size_t size, uint8_t build_id[20],
				      struct perch_error *err);

#ifdef __cplusplus
}
#endif
#endif
