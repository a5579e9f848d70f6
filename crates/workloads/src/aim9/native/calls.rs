//! The functions that the function-call rows call, and what they count in.
//!
//! As in the original they are reached through pointers that are chosen at run time among two, so
//! that nothing is inlined, and count through a pointer: a call costs an indirect call and a value
//! that is stored and read again at once.

use std::hint::black_box;
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering::Relaxed};

static COUNT: AtomicI32 = AtomicI32::new(0);
static ADDEND: AtomicI32 = AtomicI32::new(1);
static COUNT_AT: AtomicPtr<AtomicI32> = AtomicPtr::new((&raw const COUNT).cast_mut());
static ADDEND_AT: AtomicPtr<AtomicI32> = AtomicPtr::new((&raw const ADDEND).cast_mut());

pub(in crate::aim9) type Call0 = extern "C" fn();
pub(in crate::aim9) type Call1 = extern "C" fn(i32);
pub(in crate::aim9) type Call2 = extern "C" fn(i32, i32);
#[rustfmt::skip]
pub(in crate::aim9) type Call15 = extern "C" fn(
    i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32,
);

pub(in crate::aim9) fn count() -> i32 {
    COUNT.load(Relaxed)
}

fn at(pointer: &AtomicPtr<AtomicI32>) -> &'static AtomicI32 {
    // SAFETY: both pointers are to the statics above; nothing else is ever written into them.
    unsafe { &*pointer.load(Relaxed) }
}

/// Adds; not as one atomic operation, which would be another instruction. One thread counts.
#[inline(always)]
fn add(amount: i32) {
    let count = at(&COUNT_AT);
    count.store(count.load(Relaxed).wrapping_add(amount), Relaxed);
}

extern "C" fn no_argument() {
    add(at(&ADDEND_AT).load(Relaxed));
}

extern "C" fn one_argument(n: i32) {
    add(n);
}

extern "C" fn two_arguments(n: i32, i: i32) {
    add(n.wrapping_add(i));
}

#[rustfmt::skip]
extern "C" fn fifteen_arguments(
    _: i32, _: i32, _: i32, _: i32, _: i32, _: i32, _: i32, eighth: i32, _: i32, _: i32, _: i32,
    _: i32, _: i32, _: i32, last: i32,
) {
    add(eighth.wrapping_add(last));
}

extern "C" fn decoy0() {
    add(-1);
}
extern "C" fn decoy1(n: i32) {
    add(!n);
}
extern "C" fn decoy2(n: i32, i: i32) {
    add(n ^ i);
}
#[rustfmt::skip]
extern "C" fn decoy15(
    first: i32, _: i32, _: i32, _: i32, _: i32, _: i32, _: i32, _: i32, _: i32, _: i32, _: i32,
    _: i32, _: i32, _: i32, _: i32,
) {
    add(first);
}

/// The functions that are called; with `decoy`, others of the same shape.
pub(in crate::aim9) fn functions(decoy: bool) -> (Call0, Call1, Call2, Call15) {
    // Written where no compiler can see the value, or it would do without the pointers.
    COUNT_AT.store(black_box((&raw const COUNT).cast_mut()), Relaxed);
    ADDEND_AT.store(black_box((&raw const ADDEND).cast_mut()), Relaxed);
    if decoy {
        (decoy0, decoy1, decoy2, decoy15)
    } else {
        (no_argument, one_argument, two_arguments, fifteen_arguments)
    }
}
