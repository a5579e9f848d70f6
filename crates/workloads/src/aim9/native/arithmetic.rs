//! The chains of twelve dependent operations of the arithmetic rows, as machine instructions, so
//! that no compiler can fold, reorder or vectorise them. A test disassembles them and counts.
//!
//! Each function takes the number of turns and the variables a, b, c, and hands back what they
//! became. In the pattern of sums and of floating-point products the longest path of dependence is
//! six of the twelve operations, so two can run at a time; whole products and quotients are mostly
//! serial.

use std::hint::black_box;
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering::Relaxed};

/// The pairs of a sum or a floating-point product, for a macro that writes one operation.
macro_rules! sum {
    ($step:ident $($word:tt)+) => {
        $step! { $($word)+; a b, b c, b c, c a, c a, a b, a b, b c, b c, c a, c a, a b }
    };
}
macro_rules! whole_product {
    ($step:ident $($word:tt)+) => {
        $step! { $($word)+; a b, b c, b c, c b, c b, a c, a b, b c, b c, c b, c b, a c }
    };
}
macro_rules! quotient {
    ($step:ident $($word:tt)+) => {
        $step! { $($word)+; a b, c a, b c, c b, a c, c a, a b, c a, b c, c b, a c, c a }
    };
}
macro_rules! whole_quotient {
    ($step:ident $($word:tt)+) => {
        $step! { $($word)+; a b, a c, b c, c b, a b, a c, b c, c b, a b, a c, b c, c b }
    };
}

#[cfg(target_arch = "x86_64")]
macro_rules! turn_end {
    () => {
        "dec {turns}\njnz 2b"
    };
}
#[cfg(target_arch = "aarch64")]
macro_rules! turn_end {
    () => {
        "subs {turns:x}, {turns:x}, #1\nb.ne 2b"
    };
}
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! assembly {
    ($name:ident: $type:ty, $class:ident, $turn:expr $(, $clobber:tt)*) => {
        #[inline(never)]
        pub(in crate::aim9) fn $name(turns: u64, [a, b, c]: [$type; 3]) -> [$type; 3] {
            let (mut a, mut b, mut c) = (a, b, c);
            // SAFETY: it computes in registers that are all named here, touches no memory and no
            // stack, and ends because the turns, at least 1, count down to 0. A division by zero
            // raises a signal on x86-64 and is no undefined behaviour.
            unsafe {
                std::arch::asm!(
                    "2:",
                    $turn,
                    turn_end!(),
                    turns = inout(reg) turns.max(1) => _,
                    a = inout($class) a,
                    b = inout($class) b,
                    c = inout($class) c,
                    $(out($clobber) _,)*
                    options(nomem, nostack),
                );
            }
            [a, b, c]
        }
    };
}

#[cfg(target_arch = "x86_64")]
pub(in crate::aim9) use x86_64::*;
#[cfg(target_arch = "x86_64")]
mod x86_64 {
    /// How the chains were made, as a result says it.
    pub(in crate::aim9) const CODE: &str = "inline assembly for x86-64";

    macro_rules! step {
        ($operation:literal $width:literal; $($x:ident $y:ident),+) => {
            concat!($(
                $operation, " {", stringify!($x), $width, "}, {", stringify!($y), $width, "}\n"
            ),+)
        };
    }
    /// A signed division takes its dividend from fixed registers and leaves the quotient in one.
    macro_rules! divide {
        ($low:literal $extend:literal $width:literal; $($x:ident $y:ident),+) => {
            concat!($(
                "mov ", $low, ", {", stringify!($x), $width, "}\n",
                $extend, "\n",
                "idiv {", stringify!($y), $width, "}\n",
                "mov {", stringify!($x), $width, "}, ", $low, "\n"
            ),+)
        };
    }

    assembly!(add_double: f64, xmm_reg, sum!(step "addsd" ""));
    assembly!(add_float: f32, xmm_reg, sum!(step "addss" ""));
    assembly!(add_long: i64, reg, sum!(step "add" ":r"));
    assembly!(add_int: i32, reg, sum!(step "add" ":e"));
    assembly!(add_short: i16, reg, sum!(step "add" ":x"));
    assembly!(mul_double: f64, xmm_reg, sum!(step "mulsd" ""));
    assembly!(mul_float: f32, xmm_reg, sum!(step "mulss" ""));
    assembly!(mul_long: i64, reg, whole_product!(step "imul" ":r"));
    assembly!(mul_int: i32, reg, whole_product!(step "imul" ":e"));
    assembly!(mul_short: i16, reg, whole_product!(step "imul" ":x"));
    assembly!(div_double: f64, xmm_reg, quotient!(step "divsd" ""));
    assembly!(div_float: f32, xmm_reg, quotient!(step "divss" ""));
    assembly!(div_long: i64, reg, whole_quotient!(divide "rax" "cqo" ":r"), "rax", "rdx");
    assembly!(div_int: i32, reg, whole_quotient!(divide "eax" "cdq" ":e"), "rax", "rdx");
    assembly!(div_short: i16, reg, whole_quotient!(divide "ax" "cwd" ":x"), "rax", "rdx");
}

#[cfg(target_arch = "aarch64")]
pub(in crate::aim9) use aarch64::*;
#[cfg(target_arch = "aarch64")]
mod aarch64 {
    pub(in crate::aim9) const CODE: &str = "inline assembly for aarch64";

    macro_rules! step {
        ($operation:literal $width:literal; $($x:ident $y:ident),+) => {
            concat!($(
                $operation, " {", stringify!($x), $width, "}, {", stringify!($x), $width, "}, {",
                stringify!($y), $width, "}\n"
            ),+)
        };
    }
    /// There is no arithmetic on 16 bits: each operation on 32 is followed by one that wraps.
    macro_rules! wrapped {
        ($operation:literal; $($x:ident $y:ident),+) => {
            concat!($(
                $operation, " {", stringify!($x), ":w}, {", stringify!($x), ":w}, {",
                stringify!($y), ":w}\n",
                "sxth {", stringify!($x), ":w}, {", stringify!($x), ":w}\n"
            ),+)
        };
    }

    assembly!(add_double: f64, vreg, sum!(step "fadd" ":d"));
    assembly!(add_float: f32, vreg, sum!(step "fadd" ":s"));
    assembly!(add_long: i64, reg, sum!(step "add" ":x"));
    assembly!(add_int: i32, reg, sum!(step "add" ":w"));
    assembly!(mul_double: f64, vreg, sum!(step "fmul" ":d"));
    assembly!(mul_float: f32, vreg, sum!(step "fmul" ":s"));
    assembly!(mul_long: i64, reg, whole_product!(step "mul" ":x"));
    assembly!(mul_int: i32, reg, whole_product!(step "mul" ":w"));
    assembly!(div_double: f64, vreg, quotient!(step "fdiv" ":d"));
    assembly!(div_float: f32, vreg, quotient!(step "fdiv" ":s"));
    assembly!(div_long: i64, reg, whole_quotient!(step "sdiv" ":x"));
    assembly!(div_int: i32, reg, whole_quotient!(step "sdiv" ":w"));
    assembly!(add_short_extended: i32, reg, sum!(wrapped "add"));
    assembly!(mul_short_extended: i32, reg, whole_product!(wrapped "mul"));
    assembly!(div_short_extended: i32, reg, whole_quotient!(wrapped "sdiv"));

    macro_rules! short {
        ($name:ident, $extended:ident) => {
            pub(in crate::aim9) fn $name(turns: u64, state: [i16; 3]) -> [i16; 3] {
                $extended(turns, state.map(i32::from)).map(|x| x as i16)
            }
        };
    }
    short!(add_short, add_short_extended);
    short!(mul_short, mul_short_extended);
    short!(div_short, div_short_extended);
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(in crate::aim9) use portable::*;
#[cfg(any(test, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod portable {
    use std::hint::black_box;

    #[cfg(not(test))]
    pub(in crate::aim9) const CODE: &str = "portable code, which the compiler may have changed";

    /// One operation of whole numbers wraps; only then is it the same in debug builds.
    macro_rules! steps {
        ($a:ident $b:ident $c:ident $operation:ident; $($x:ident $y:ident),+) => {
            $(steps!(@ $a $b $c $operation $x $y);)+
        };
        (@ $a:ident $b:ident $c:ident $operation:ident a b) => { $a = $operation($a, $b) };
        (@ $a:ident $b:ident $c:ident $operation:ident a c) => { $a = $operation($a, $c) };
        (@ $a:ident $b:ident $c:ident $operation:ident b c) => { $b = $operation($b, $c) };
        (@ $a:ident $b:ident $c:ident $operation:ident c a) => { $c = $operation($c, $a) };
        (@ $a:ident $b:ident $c:ident $operation:ident c b) => { $c = $operation($c, $b) };
    }
    macro_rules! chain {
        ($name:ident: $type:ty, $operation:expr; $($x:ident $y:ident),+) => {
            pub(in crate::aim9) fn $name(turns: u64, [a, b, c]: [$type; 3]) -> [$type; 3] {
                let (mut a, mut b, mut c) = (a, b, c);
                let operation: fn($type, $type) -> $type = $operation;
                for _ in 0..turns.max(1) {
                    steps!(a b c operation; $($x $y),+);
                    (a, b, c) = black_box((a, b, c));
                }
                [a, b, c]
            }
        };
    }
    macro_rules! portable {
        ($sum:ident $product:ident $quotient:ident: $type:ty, floating) => {
            sum!(chain $sum: $type, |x, y| x + y);
            sum!(chain $product: $type, |x, y| x * y);
            quotient!(chain $quotient: $type, |x, y| x / y);
        };
        ($sum:ident $product:ident $quotient:ident: $type:ty) => {
            sum!(chain $sum: $type, <$type>::wrapping_add);
            whole_product!(chain $product: $type, <$type>::wrapping_mul);
            whole_quotient!(chain $quotient: $type, <$type>::wrapping_div);
        };
    }
    portable!(add_double mul_double div_double: f64, floating);
    portable!(add_float mul_float div_float: f32, floating);
    portable!(add_long mul_long div_long: i64);
    portable!(add_int mul_int div_int: i32);
    portable!(add_short mul_short div_short: i16);
}

// The functions that the function-call rows call, and what they count in. As in the original they are
// reached through pointers that are chosen at run time among two, so that nothing is inlined, and count
// through a pointer: a call costs an indirect call and a value that is stored and read again at once.

static COUNT: AtomicI32 = AtomicI32::new(0);
static ADDEND: AtomicI32 = AtomicI32::new(1);
static COUNT_AT: AtomicPtr<AtomicI32> = AtomicPtr::new((&raw const COUNT).cast_mut());
static ADDEND_AT: AtomicPtr<AtomicI32> = AtomicPtr::new((&raw const ADDEND).cast_mut());

type Call0 = extern "C" fn();
type Call1 = extern "C" fn(i32);
type Call2 = extern "C" fn(i32, i32);
#[rustfmt::skip]
type Call15 = extern "C" fn(
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

pub(in crate::aim9) type Functions = (Call0, Call1, Call2, Call15);

/// The functions that are called; with `decoy`, others of the same shape.
pub(in crate::aim9) fn functions(decoy: bool) -> Functions {
    // Written where no compiler can see the value, or it would do without the pointers.
    COUNT_AT.store(black_box((&raw const COUNT).cast_mut()), Relaxed);
    ADDEND_AT.store(black_box((&raw const ADDEND).cast_mut()), Relaxed);
    if decoy {
        (decoy0, decoy1, decoy2, decoy15)
    } else {
        (no_argument, one_argument, two_arguments, fifteen_arguments)
    }
}

#[cfg(test)]
mod tests {
    use super::portable;

    /// Awkward values, near the ends of what 16 bits hold.
    const VALUES: [i16; 6] = [1, -1, 3, 32_767, -32_768, 12_345];

    /// Equal, or both not a number.
    fn equal<T: Copy + Into<f64>>(x: [T; 3], y: [T; 3]) -> bool {
        let (x, y): ([f64; 3], [f64; 3]) = (x.map(Into::into), y.map(Into::into));
        x.iter().zip(y).all(|(x, y)| *x == y || x.is_nan() && y.is_nan())
    }

    #[test]
    fn the_instructions_compute_what_the_plain_code_does() {
        for a in VALUES {
            for b in VALUES {
                for c in VALUES {
                    let long = [a, b, c].map(|x| i64::from(x) << 47 | 1);
                    let int = [a, b, c].map(|x| i32::from(x) << 15 | 1);
                    for turns in [1, 2, 5] {
                        let short = [a, b, c];
                        assert_eq!(
                            super::add_short(turns, short),
                            portable::add_short(turns, short)
                        );
                        assert_eq!(
                            super::mul_short(turns, short),
                            portable::mul_short(turns, short)
                        );
                        assert_eq!(super::add_int(turns, int), portable::add_int(turns, int));
                        assert_eq!(super::mul_int(turns, int), portable::mul_int(turns, int));
                        assert_eq!(super::add_long(turns, long), portable::add_long(turns, long));
                        assert_eq!(super::mul_long(turns, long), portable::mul_long(turns, long));
                        let double = [a, b, c].map(|x| 1.0 + f64::from(x) / 1e6);
                        let same = |x: [f64; 3], y: [f64; 3]| assert!(equal(x, y), "{double:?}");
                        same(super::add_double(turns, double), portable::add_double(turns, double));
                        same(super::mul_double(turns, double), portable::mul_double(turns, double));
                        same(super::div_double(turns, double), portable::div_double(turns, double));
                        let float = [a, b, c].map(|x| 1.0 + f32::from(x) / 1e6);
                        let same = |x: [f32; 3], y: [f32; 3]| assert!(equal(x, y), "{float:?}");
                        same(super::add_float(turns, float), portable::add_float(turns, float));
                        same(super::mul_float(turns, float), portable::mul_float(turns, float));
                        same(super::div_float(turns, float), portable::div_float(turns, float));
                    }
                }
            }
        }
    }

    #[test]
    fn whole_quotients_are_right_where_nothing_becomes_zero() {
        for state in [[12_345_i16, 1, 1], [-1234, 1, -1], [32_767, -1, 1]] {
            for turns in [1, 3] {
                let (long, int) = (state.map(i64::from), state.map(i32::from));
                assert_eq!(super::div_short(turns, state), portable::div_short(turns, state));
                assert_eq!(super::div_int(turns, int), portable::div_int(turns, int));
                assert_eq!(super::div_long(turns, long), portable::div_long(turns, long));
            }
        }
    }

    #[test]
    fn sixteen_bits_wrap() {
        assert_eq!(
            super::add_short(1, [32_767, 1, 0])[0],
            portable::add_short(1, [32_767, 1, 0])[0]
        );
        let [a, ..] = super::mul_short(1, [300, 300, 1]);
        assert!(i64::from(a) != 300_i64.pow(5), "a product beyond 16 bits does not fit");
    }
}
