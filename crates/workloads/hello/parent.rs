//! The process that rows `fork-*` of LMbench fork: a small C program as LMbench's is, since a fork copies
//! what its parent has. Built by `build.rs` with its calls bound when first made, as C programs are by
//! default: each child that exits looks `exit` up anew.
//!
//! Arguments: the kind of child, and the program or line that it becomes. On standard input, a socket: a
//! number of 64 bits is the number of children to make, one after the other; two go back, the number of those
//! that did not end as they should, or an error's number below 0, and the CPU.

#![no_std]
#![no_main]

use core::ffi::{c_char, c_int, c_ulong, c_void};
use core::ptr;

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

#[link(name = "c")]
unsafe extern "C" {
    fn __errno_location() -> *mut c_int;
    fn close(descriptor: c_int) -> c_int;
    fn execv(path: *const c_char, argv: *const *const c_char) -> c_int;
    fn execve(path: *const c_char, argv: *const *const c_char, envp: *const c_void) -> c_int;
    fn exit(status: c_int) -> !;
    fn fork() -> c_int;
    fn getenv(name: *const c_char) -> *const c_char;
    fn malloc(bytes: usize) -> *mut c_void;
    fn prctl(option: c_int, value: c_ulong) -> c_int;
    fn read(descriptor: c_int, bytes: *mut c_void, count: usize) -> isize;
    fn sched_getcpu() -> c_int;
    fn waitpid(pid: c_int, status: *mut c_int, options: c_int) -> c_int;
    fn write(descriptor: c_int, bytes: *const c_void, count: usize) -> isize;
}

/// `PR_SET_PDEATHSIG` and `SIGKILL` (prctl(2), signal(7)).
const DIE_WITH_PARENT: (c_int, c_ulong) = (1, 9);

#[unsafe(no_mangle)]
extern "C" fn main(count: c_int, args: *const *const c_char) -> c_int {
    if count != 3 {
        return 2;
    }
    // SAFETY: there are three arguments, each a string, and the first has a byte at least, its end; the
    // numbers that are read and written live meanwhile.
    unsafe {
        // As LMbench's, which keeps its results there, it has a heap.
        let heap = malloc(1000).cast::<u8>();
        if !heap.is_null() {
            *heap = 1;
        }
        prctl(DIE_WITH_PARENT.0, DIE_WITH_PARENT.1);
        let (kind, what) = (**args.add(1), *args.add(2));
        loop {
            let mut children = 0_u64;
            if read(0, (&raw mut children).cast(), 8) != 8 {
                return 0;
            }
            let answer = [make(kind as u8, what, children), i64::from(sched_getcpu())];
            if write(0, (&raw const answer).cast(), 16) != 16 {
                return 1;
            }
        }
    }
}

/// Makes children and waits for each.
///
/// # Safety
///
/// `what` is a string.
unsafe fn make(kind: u8, what: *const c_char, children: u64) -> i64 {
    // An exit status is the second byte of what wait tells (wait(2)).
    let expected = if kind == b'x' { 1 << 8 } else { 0 };
    let mut wrong = 0;
    for _ in 0..children {
        // SAFETY: this process has one thread, and the child never returns from here.
        let pid = unsafe { fork() };
        if pid == 0 {
            // SAFETY: `what` is a string, as the caller says.
            unsafe { be(kind, what) }
        }
        let mut status = 0;
        // SAFETY: the status lives until the call returns; so does the number of an error.
        unsafe {
            if pid < 0 || waitpid(pid, &raw mut status, 0) != pid {
                return -i64::from(*__errno_location());
            }
        }
        wrong += i64::from(status != expected);
    }
    wrong
}

/// What a child does: `x` exits, `e` becomes a program without an environment, `s` becomes a shell with a line.
/// Before, as in LMbench, it looks in the environment for how to be scheduled. Standard output is closed before
/// the program starts, so that nothing has to be read.
///
/// # Safety
///
/// `what` is a string.
unsafe fn be(kind: u8, what: *const c_char) -> ! {
    // SAFETY: lists end in null; their strings live until the program is another.
    unsafe {
        getenv(c"LMBENCH_SCHED".as_ptr());
        match kind {
            b'x' => exit(1),
            b'e' => {
                close(1);
                execve(what, [what, ptr::null()].as_ptr(), ptr::null());
            }
            _ => {
                close(1);
                let line = [c"sh".as_ptr(), c"-c".as_ptr(), what, ptr::null()];
                execv(c"/bin/sh".as_ptr(), line.as_ptr());
            }
        }
        exit(127)
    }
}
