//! The calls into the C library that have no safe wrapper elsewhere. What rows need of that kind for
//! what they measure is beside them: `aim9::native`, `lmbench::native`.

#![expect(unsafe_code, reason = "system calls; every block says why it is sound")]

use coretwin_base::machine::cpu_set::{CPU_MAX, CpuId, CpuSet};
use coretwin_base::study::job::RunAs;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

pub(crate) fn done(result: libc::c_int) -> io::Result<()> {
    check(result).map(drop)
}

/// What a call writes to an address, and whether it could.
///
/// # Safety
/// All zeroes is a valid `T`, and the call writes no more than one to the address.
unsafe fn written<T>(call: impl FnOnce(*mut T) -> libc::c_int) -> io::Result<T> {
    // SAFETY: as the caller says.
    let mut value = unsafe { std::mem::zeroed() };
    check(call(&raw mut value)).map(|_| value)
}

#[cfg(target_env = "gnu")]
pub(crate) fn c_library() -> String {
    // SAFETY: it gives a C string that lives as long as the program.
    let version = unsafe { std::ffi::CStr::from_ptr(libc::gnu_get_libc_version()) };
    format!("glibc {}", version.to_string_lossy())
}

#[cfg(not(target_env = "gnu"))]
pub(crate) fn c_library() -> String {
    "not glibc".to_owned()
}

const WORD_BITS: u32 = libc::c_ulong::BITS;

/// Binds this thread, and what it starts from now on, to the CPUs. The mask is sized by hand
/// because `cpu_set_t` ends at 1024 CPUs.
pub(crate) fn bind(cpus: &CpuSet) -> io::Result<()> {
    let mut mask = vec![0 as libc::c_ulong; (CPU_MAX / WORD_BITS + 1) as usize];
    for cpu in cpus.iter().filter(|cpu| cpu.0 <= CPU_MAX) {
        mask[(cpu.0 / WORD_BITS) as usize] |= 1 << (cpu.0 % WORD_BITS);
    }
    // SAFETY: the pointer is to `size_of_val(mask)` bytes that live until the call returns.
    done(unsafe { libc::sched_setaffinity(0, size_of_val(&*mask), mask.as_ptr().cast()) })
}

/// Closes in programs that are started from now on every descriptor that is open now, but the first
/// three. Where the kernel has no such call (before 5.11), each by itself.
pub(crate) fn keep_inherited_to_ourselves() {
    const FIRST: libc::c_uint = 3;
    let flags = libc::CLOSE_RANGE_CLOEXEC.cast_signed();
    // SAFETY: no descriptor is closed here, and no memory passed.
    if unsafe { libc::close_range(FIRST, libc::c_uint::MAX, flags) } == 0 {
        return;
    }
    for entry in std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten() {
        let number = entry.file_name().to_str().and_then(|name| name.parse::<libc::c_int>().ok());
        if let Some(number) = number.filter(|number| number.cast_unsigned() >= FIRST) {
            // SAFETY: as above; of one that is closed already this is an error, which is no harm.
            unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) };
        }
    }
}

pub(crate) fn bound() -> io::Result<CpuSet> {
    let mut mask = vec![0 as libc::c_ulong; (CPU_MAX / WORD_BITS + 1) as usize];
    // SAFETY: the pointer is to `size_of_val(mask)` writable bytes that live until the call returns.
    check(unsafe { libc::sched_getaffinity(0, size_of_val(&*mask), mask.as_mut_ptr().cast()) })?;
    let set = |cpu: &u32| mask[(cpu / WORD_BITS) as usize] >> (cpu % WORD_BITS) & 1 == 1;
    Ok((0..=CPU_MAX).filter(set).map(CpuId).collect())
}

/// The CPU this thread is on; the C library finds out without a system call.
pub(crate) fn current_cpu() -> usize {
    // SAFETY: it takes nothing and gives a number.
    let cpu = unsafe { libc::sched_getcpu() };
    usize::try_from(cpu).unwrap_or(usize::MAX)
}

/// Becomes the user for good: supplementary groups, group, user. Nothing is done if this process
/// is that user already.
pub(crate) fn become_user(user: &RunAs) -> io::Result<()> {
    let name = CString::new(user.name.as_str())?;
    // SAFETY: these calls only read their arguments, and `name` is a C string that outlives them.
    unsafe {
        if libc::getuid() == user.uid && libc::geteuid() == user.uid {
            return Ok(());
        }
        check(libc::initgroups(name.as_ptr(), user.gid))?;
        check(libc::setresgid(user.gid, user.gid, user.gid))?;
        check(libc::setresuid(user.uid, user.uid, user.uid))?;
    }
    Ok(())
}

pub(crate) fn core_sched_available() -> io::Result<()> {
    let mut cookie: libc::c_ulong = 0;
    // SAFETY: PR_SCHED_CORE_GET writes one unsigned long to the address, which is that of `cookie`.
    done(unsafe {
        libc::prctl(libc::PR_SCHED_CORE, libc::PR_SCHED_CORE_GET, 0, 0, &raw mut cookie)
    })
}

pub(crate) fn core_sched_create() -> io::Result<()> {
    // SAFETY: PR_SCHED_CORE_CREATE takes numbers only; the address must be 0.
    done(unsafe { libc::prctl(libc::PR_SCHED_CORE, libc::PR_SCHED_CORE_CREATE, 0, 0, 0) })
}

pub(crate) struct Signals(OwnedFd);

impl Signals {
    pub(crate) fn watch(signals: &[libc::c_int]) -> io::Result<Self> {
        // SAFETY: `set` is initialised by sigemptyset before any other use, and the descriptor
        // that signalfd gives is owned by nobody else.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            check(libc::sigemptyset(&raw mut set))?;
            for signal in signals {
                check(libc::sigaddset(&raw mut set, *signal))?;
            }
            check(libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()))?;
            let fd =
                check(libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK))?;
            Ok(Self(OwnedFd::from_raw_fd(fd)))
        }
    }

    pub(crate) fn next(&self) -> Option<i32> {
        // A record is 128 bytes, its first four the signal's number (signalfd(2)).
        let mut record = [0_u8; 128];
        let read = rustix::io::read(&self.0, &mut record).ok()?;
        let number: [u8; 4] = record.get(..4)?.try_into().ok()?;
        (read == record.len()).then(|| i32::from_ne_bytes(number))
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Lets every signal through again; a process inherits the mask of the one that started it.
pub(crate) fn unblock_signals() -> io::Result<()> {
    // SAFETY: `set` is initialised by sigemptyset before it is read.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        check(libc::sigemptyset(&raw mut set))?;
        done(libc::sigprocmask(libc::SIG_SETMASK, &raw const set, std::ptr::null_mut()))
    }
}

/// A child that has ended and is not reaped yet, so that its `/proc` entry can still be read.
/// None: none has ended. `ECHILD`: there is no child at all.
pub(crate) fn ended_child() -> io::Result<Option<i32>> {
    // SAFETY: waitid writes one siginfo_t to the address, and all zeroes is a valid one (pid 0:
    // nothing has ended). si_pid is meaningful after waitid.
    let pid = unsafe {
        let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        written(|info| libc::waitid(libc::P_ALL, 0, info, options))?.si_pid()
    };
    Ok((pid != 0).then_some(pid))
}

#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Usage {
    pub(crate) user_s: f64,
    pub(crate) system_s: f64,
    /// Peak resident memory of the largest process, in KiB.
    pub(crate) peak_kib: u64,
}

/// Reaps a child that has ended: its status, and the usage of it and of all it had waited for.
pub(crate) fn reap(pid: i32) -> io::Result<(ExitStatus, Usage)> {
    let mut status = 0;
    // SAFETY: wait4 writes one int and one rusage to the addresses; all zeroes is a valid rusage.
    let rusage = unsafe { written(|rusage| libc::wait4(pid, &raw mut status, 0, rusage))? };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    let usage = Usage {
        user_s: seconds(rusage.ru_utime),
        system_s: seconds(rusage.ru_stime),
        peak_kib: u64::try_from(rusage.ru_maxrss).unwrap_or(0),
    };
    Ok((ExitStatus::from_raw(status), usage))
}

/// CPU time of a process and all its threads so far, in seconds.
pub(crate) fn cpu_time_s(pid: i32) -> io::Result<f64> {
    let mut clock = 0;
    // SAFETY: it writes one clockid_t to the address, which is that of `clock`.
    match unsafe { libc::clock_getcpuclockid(pid, &raw mut clock) } {
        0 => {}
        error => return Err(io::Error::from_raw_os_error(error)),
    }
    // SAFETY: it writes one timespec to the address, and all zeroes is a valid one.
    let time = unsafe { written::<libc::timespec>(|time| libc::clock_gettime(clock, time))? };
    Ok(time.tv_sec as f64 + time.tv_nsec as f64 / 1e9)
}

/// Locks a range of bytes of a file for writing, waiting for it, or unlocks it.
pub(crate) fn lock_range(
    file: BorrowedFd<'_>,
    lock: bool,
    offset: i64,
    length: i64,
) -> io::Result<()> {
    let kind = if lock { libc::F_WRLCK } else { libc::F_UNLCK };
    let range = libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: offset,
        l_len: length,
        l_pid: 0,
    };
    // SAFETY: F_SETLKW reads one flock from the address; the descriptor is open while borrowed.
    done(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLKW, &raw const range) })
}

/// Makes a set of SysV semaphores under an unused key; all are 0.
pub(crate) fn semaphores_create(key: i32, count: u32) -> io::Result<i32> {
    let count = libc::c_int::try_from(count).unwrap_or(libc::c_int::MAX);
    // SAFETY: semget takes numbers only.
    check(unsafe { libc::semget(key, count, libc::IPC_CREAT | libc::IPC_EXCL | 0o600) })
}

pub(crate) fn semaphores_find(key: i32) -> Option<i32> {
    // SAFETY: semget takes numbers only.
    check(unsafe { libc::semget(key, 0, 0) }).ok()
}

/// One semaphore operation (`semop`), repeated if a signal interrupts it. The change is -1, 0
/// (wait for zero) or positive.
pub(crate) fn semaphore_operate(set: i32, index: u16, change: i16) -> io::Result<()> {
    let mut operation = libc::sembuf { sem_num: index, sem_op: change, sem_flg: 0 };
    loop {
        // SAFETY: the address is that of one sembuf, as the count says.
        match check(unsafe { libc::semop(set, &raw mut operation, 1) }) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other.map(drop),
        }
    }
}

/// The argument of `semctl`, which the C library leaves to its callers to define (semctl(2)).
#[repr(C)]
union SemaphoreArgument {
    value: libc::c_int,
    buffer: *mut libc::semid_ds,
}

pub(crate) fn semaphore_set(set: i32, index: u16, value: i32) -> io::Result<()> {
    let argument = SemaphoreArgument { value };
    // SAFETY: SETVAL reads the number of the union.
    done(unsafe { libc::semctl(set, i32::from(index), libc::SETVAL, argument) })
}

pub(crate) fn semaphores_creator(set: i32) -> io::Result<u32> {
    // SAFETY: IPC_STAT writes one semid_ds to the address of the union; all zeroes is a valid one.
    let found = unsafe {
        written(|buffer| libc::semctl(set, 0, libc::IPC_STAT, SemaphoreArgument { buffer }))
    };
    found.map(|set| set.sem_perm.cuid)
}

/// Removes the set; its waiters are woken with `EIDRM`.
pub(crate) fn semaphores_remove(set: i32) -> io::Result<()> {
    // SAFETY: IPC_RMID ignores every other argument.
    done(unsafe { libc::semctl(set, 0, libc::IPC_RMID) })
}

pub(crate) fn segment_create(key: i32, bytes: usize) -> io::Result<i32> {
    // SAFETY: shmget takes numbers only.
    check(unsafe { libc::shmget(key, bytes, libc::IPC_CREAT | libc::IPC_EXCL | 0o600) })
}

pub(crate) fn segment_find(key: i32) -> Option<i32> {
    // SAFETY: shmget takes numbers only.
    check(unsafe { libc::shmget(key, 0, 0) }).ok()
}

pub(crate) fn segment_creator(segment: i32) -> io::Result<u32> {
    // SAFETY: IPC_STAT writes one shmid_ds to the address; all zeroes is a valid one.
    let found = unsafe { written(|buffer| libc::shmctl(segment, libc::IPC_STAT, buffer)) };
    found.map(|segment: libc::shmid_ds| segment.shm_perm.cuid)
}

/// Removes the segment once no process has it attached.
pub(crate) fn segment_remove(segment: i32) -> io::Result<()> {
    // SAFETY: IPC_RMID ignores the address.
    done(unsafe { libc::shmctl(segment, libc::IPC_RMID, std::ptr::null_mut()) })
}

/// How often another task took the CPU from this thread, or it gave it away.
pub(crate) fn thread_switches() -> u64 {
    // SAFETY: getrusage writes one rusage to the address; all zeroes is a valid one.
    let usage = unsafe { written(|usage| libc::getrusage(libc::RUSAGE_THREAD, usage)) };
    let switches = |usage: libc::rusage| usage.ru_nivcsw.saturating_add(usage.ru_nvcsw);
    usage.map_or(0, |usage| u64::try_from(switches(usage)).unwrap_or(0))
}

/// Page faults of this process so far that needed no disk.
pub(crate) fn minor_faults() -> u64 {
    // SAFETY: as above.
    let usage = unsafe { written(|usage| libc::getrusage(libc::RUSAGE_SELF, usage)) };
    usage.map_or(0, |usage: libc::rusage| u64::try_from(usage.ru_minflt).unwrap_or(0))
}

/// Puts this thread into a class (sched(7)): `SCHED_OTHER`, the usual one; `SCHED_IDLE`, behind all
/// others; `SCHED_FIFO` or `SCHED_RR`, before all others until it sleeps, of a priority from 1 to 99.
/// With `SCHED_RESET_ON_FORK` threads that it starts are of the usual one.
pub(crate) fn enter_class(class: libc::c_int, priority: u8) -> io::Result<()> {
    let param = libc::sched_param { sched_priority: priority.into() };
    // SAFETY: sched_setscheduler reads one sched_param from the address.
    done(unsafe { libc::sched_setscheduler(0, class, &raw const param) })
}

/// The kernel ends this process if a real-time thread of it runs that long without sleeping.
pub(crate) fn limit_real_time(microseconds: u64) -> io::Result<()> {
    let limit = libc::rlimit { rlim_cur: microseconds, rlim_max: microseconds };
    // SAFETY: setrlimit reads one rlimit from the address.
    done(unsafe { libc::setrlimit(libc::RLIMIT_RTTIME, &raw const limit) })
}

/// Lets this process open as many files as it may: servers and clients of many connections need more
/// than the usual limit. If it fails, opening the files fails, with a sentence of its own.
pub(crate) fn open_more_files() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}
