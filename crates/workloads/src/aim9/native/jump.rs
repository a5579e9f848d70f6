//! A jump out of nested calls, as `_setjmp` and `longjmp` make it: registers saved, eleven frames
//! entered, registers restored. Rust cannot call the C library's pair, because a function that
//! returns twice breaks what its compiler assumes; so all of it, from saving to landing, happens
//! inside one function written in assembly, which returns once.
//!
//! Unlike glibc's pair it neither disguises the saved pointers nor looks for a shadow stack.

/// Saves, goes `depth` calls deeper and jumps back. The answer is 1: what the jump carries.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(in crate::aim9) fn jump_back(depth: u32) -> u32 {
    let mut saved = [0_u64; assembly::SAVED];
    // SAFETY: `out_and_back` keeps the C calling convention: it restores what it must, and writes no
    // more words to the address than `saved` has.
    unsafe { assembly::out_and_back(saved.as_mut_ptr(), depth) }
}

#[cfg(target_arch = "x86_64")]
mod assembly {
    use std::arch::naked_asm;

    /// Words that are saved, at most.
    pub(super) const SAVED: usize = 8;

    /// Saves, recurses, and is landed in by the jump.
    #[unsafe(naked)]
    pub(super) unsafe extern "C" fn out_and_back(saved: *mut u64, depth: u32) -> u32 {
        naked_asm!(
            "push rbp",
            "mov rbp, rsp",
            "push rsi",
            "push rdi",
            "call {save}",
            "test eax, eax",
            "jnz 3f",
            "mov rdi, [rbp - 16]",
            "mov esi, [rbp - 8]",
            "call {deeper}",
            "3:",
            "leave",
            "ret",
            save = sym save,
            deeper = sym deeper,
        )
    }

    /// Keeps the registers that a callee must, the stack and the place to return to. Answers 0.
    #[unsafe(naked)]
    unsafe extern "C" fn save(saved: *mut u64) -> u32 {
        naked_asm!(
            "mov [rdi], rbx",
            "mov [rdi + 8], rbp",
            "mov [rdi + 16], r12",
            "mov [rdi + 24], r13",
            "mov [rdi + 32], r14",
            "mov [rdi + 40], r15",
            "lea rdx, [rsp + 8]",
            "mov [rdi + 48], rdx",
            "mov rdx, [rsp]",
            "mov [rdi + 56], rdx",
            "xor eax, eax",
            "ret",
        )
    }

    /// Calls itself until the depth is 0, and jumps.
    #[unsafe(naked)]
    unsafe extern "C" fn deeper(saved: *mut u64, depth: u32) {
        naked_asm!(
            "push rbp",
            "mov rbp, rsp",
            "test esi, esi",
            "jz {restore}",
            "dec esi",
            "call {deeper}",
            "leave",
            "ret",
            restore = sym restore,
            deeper = sym deeper,
        )
    }

    /// Takes everything back and returns 1 from where `save` returned 0.
    #[unsafe(naked)]
    unsafe extern "C" fn restore(saved: *mut u64) {
        naked_asm!(
            "mov rbx, [rdi]",
            "mov rbp, [rdi + 8]",
            "mov r12, [rdi + 16]",
            "mov r13, [rdi + 24]",
            "mov r14, [rdi + 32]",
            "mov r15, [rdi + 40]",
            "mov rsp, [rdi + 48]",
            "mov eax, 1",
            "jmp [rdi + 56]",
        )
    }
}

#[cfg(target_arch = "aarch64")]
mod assembly {
    use std::arch::naked_asm;

    pub(super) const SAVED: usize = 22;

    #[unsafe(naked)]
    pub(super) unsafe extern "C" fn out_and_back(saved: *mut u64, depth: u32) -> u32 {
        naked_asm!(
            "stp x29, x30, [sp, #-32]!",
            "mov x29, sp",
            "stp x0, x1, [sp, #16]",
            "bl {save}",
            "cbnz w0, 3f",
            "ldp x0, x1, [sp, #16]",
            "bl {deeper}",
            "3:",
            "ldp x29, x30, [sp], #32",
            "ret",
            save = sym save,
            deeper = sym deeper,
        )
    }

    #[unsafe(naked)]
    unsafe extern "C" fn save(saved: *mut u64) -> u32 {
        naked_asm!(
            "stp x19, x20, [x0]",
            "stp x21, x22, [x0, #16]",
            "stp x23, x24, [x0, #32]",
            "stp x25, x26, [x0, #48]",
            "stp x27, x28, [x0, #64]",
            "stp x29, x30, [x0, #80]",
            "stp d8, d9, [x0, #96]",
            "stp d10, d11, [x0, #112]",
            "stp d12, d13, [x0, #128]",
            "stp d14, d15, [x0, #144]",
            "mov x2, sp",
            "str x2, [x0, #160]",
            "mov w0, #0",
            "ret",
        )
    }

    #[unsafe(naked)]
    unsafe extern "C" fn deeper(saved: *mut u64, depth: u32) {
        naked_asm!(
            "stp x29, x30, [sp, #-16]!",
            "mov x29, sp",
            "cbz w1, {restore}",
            "sub w1, w1, #1",
            "bl {deeper}",
            "ldp x29, x30, [sp], #16",
            "ret",
            restore = sym restore,
            deeper = sym deeper,
        )
    }

    #[unsafe(naked)]
    unsafe extern "C" fn restore(saved: *mut u64) {
        naked_asm!(
            "ldp x19, x20, [x0]",
            "ldp x21, x22, [x0, #16]",
            "ldp x23, x24, [x0, #32]",
            "ldp x25, x26, [x0, #48]",
            "ldp x27, x28, [x0, #64]",
            "ldp x29, x30, [x0, #80]",
            "ldp d8, d9, [x0, #96]",
            "ldp d10, d11, [x0, #112]",
            "ldp d12, d13, [x0, #128]",
            "ldp d14, d15, [x0, #144]",
            "ldr x2, [x0, #160]",
            "mov sp, x2",
            "mov w0, #1",
            "ret",
        )
    }
}

/// How the jump is made, as a result says it.
pub(in crate::aim9) const WAY: &str = if cfg!(any(target_arch = "x86_64", target_arch = "aarch64"))
{
    "registers saved and restored in assembly"
} else {
    "nested calls that return: this architecture has no jump here"
};

/// There is no assembly for this architecture: the calls return one by one.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline(never)]
pub(in crate::aim9) fn jump_back(depth: u32) -> u32 {
    if std::hint::black_box(depth) == 0 { 1 } else { jump_back(depth - 1) }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_jump_lands_with_everything_as_it_was() {
        let before: Vec<u64> = (0..64).collect();
        let mut sum = 0;
        for depth in 0..64 {
            sum += u64::from(super::jump_back(depth)) + before[depth as usize];
        }
        assert_eq!(sum, 64 + 63 * 64 / 2);
    }
}
