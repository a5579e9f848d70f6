//! The program that rows of LMbench start: it writes twelve bytes and ends well. Built by `build.rs`
//! twice: as a C program that the dynamic linker joins with the C library, and, with
//! `--cfg without_library`, as instructions that no library or linker takes part in.

#![no_std]
#![no_main]

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

#[cfg(not(without_library))]
#[link(name = "c")]
unsafe extern "C" {
    fn write(descriptor: i32, bytes: *const u8, count: usize) -> isize;
}

#[cfg(not(without_library))]
#[unsafe(no_mangle)]
extern "C" fn main(_: i32, _: *const *const u8) -> i32 {
    // SAFETY: the address is that of twelve bytes. Where standard output is closed it is refused.
    unsafe { write(1, b"Hello world\n".as_ptr(), 12) };
    0
}

// write(1, text, 12); exit_group(0).
#[cfg(all(without_library, target_arch = "x86_64"))]
core::arch::global_asm!(
    ".globl _start",
    "_start:",
    "mov eax, 1",
    "mov edi, 1",
    "lea rsi, [rip + 2f]",
    "mov edx, 12",
    "syscall",
    "mov eax, 231",
    "xor edi, edi",
    "syscall",
    "2: .ascii \"Hello world\\n\"",
);

#[cfg(all(without_library, target_arch = "aarch64"))]
core::arch::global_asm!(
    ".globl _start",
    "_start:",
    "mov x8, #64",
    "mov x0, #1",
    "adr x1, 2f",
    "mov x2, #12",
    "svc #0",
    "mov x8, #94",
    "mov x0, #0",
    "svc #0",
    "2: .ascii \"Hello world\\n\"",
);
