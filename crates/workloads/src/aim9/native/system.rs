//! The twenty-one questions to C library and kernel that the row `misc_rtns_1` asks.

use std::ffi::c_char;
use std::hint::black_box;

unsafe extern "C" {
    // The crate libc binds these two to a version of the shared library, which a static one lacks.
    fn cfgetispeed(terminal: *const libc::termios) -> libc::speed_t;
    fn cfgetospeed(terminal: *const libc::termios) -> libc::speed_t;
    fn ctermid(name: *mut c_char) -> *mut c_char;
    safe fn clock() -> libc::clock_t;
}

/// Asks them all once. Whether the answers that must be given were: the folder, the user root,
/// the name of the system.
pub(in crate::aim9) fn ask_everything() -> bool {
    let mut name = [0 as c_char; 4096];
    let mut groups = [0 as libc::gid_t; 256];
    // SAFETY: every call gets buffers of the size that it is told, structures that all zeroes are
    // a valid value of, or C strings; what they point to afterwards is only compared with null.
    unsafe {
        let terminal: libc::termios = std::mem::zeroed();
        black_box(cfgetispeed(&raw const terminal));
        black_box(cfgetospeed(&raw const terminal));
        black_box(clock());
        black_box(ctermid(name.as_mut_ptr()));
        let folder = libc::getcwd(name.as_mut_ptr(), name.len());
        let user = libc::getuid();
        black_box(libc::geteuid());
        let group = libc::getgid();
        black_box(libc::getegid());
        black_box(libc::getenv(c"PATH".as_ptr()));
        black_box(libc::getgroups(256, groups.as_mut_ptr()));
        black_box((libc::getpid(), libc::getpgrp(), libc::getppid()));
        let root = libc::getpwnam(c"root".as_ptr());
        black_box(libc::getpwuid(user));
        black_box(libc::getgrgid(group));
        let mut times: libc::tms = std::mem::zeroed();
        black_box(libc::times(&raw mut times));
        black_box(libc::isatty(0));
        black_box(libc::ttyname(0).is_null());
        let mut system: libc::utsname = std::mem::zeroed();
        let named = libc::uname(&raw mut system);
        !folder.is_null() && !root.is_null() && named == 0
    }
}

/// Version of the C library, where it tells one.
#[cfg(target_env = "gnu")]
pub(in crate::aim9) fn c_library() -> String {
    // SAFETY: it gives a C string that lives as long as the program.
    let version = unsafe { std::ffi::CStr::from_ptr(libc::gnu_get_libc_version()) };
    format!("glibc {}", version.to_string_lossy())
}

/// Version of the C library, where it tells one.
#[cfg(not(target_env = "gnu"))]
pub(in crate::aim9) fn c_library() -> String {
    "not glibc".to_owned()
}
