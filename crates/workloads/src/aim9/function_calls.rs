//! Rows `fun_cal`, `fun_cal1`, `fun_cal2`, `fun_cal15`: 512,000 calls through a pointer that is
//! chosen at run time, with 0, 1, 2 and 15 arguments. How many of the fifteen travel in registers
//! differs between architectures (6 on x86-64, 8 on aarch64), so that row compares within one.

use super::Call;
use super::native::calls::{self, Call0, Call1, Call2, Call15};
use crate::Error;
use crate::copies::Remarks;
use std::hint::black_box;

/// Turns of the outer and the inner loop; sixteen calls are written out in each.
const OUTER: i32 = 1000;
const INNER: i32 = 32;

pub(super) enum Function {
    NoArgument(Call0),
    OneArgument(Call1),
    TwoArguments(Call2),
    FifteenArguments(Call15),
}

struct Calls {
    function: Function,
    /// By how much a call of the row counts up.
    counts: i64,
    expected: i64,
    first: i64,
}

macro_rules! sixteen {
    ($call:expr) => {
        $call;
        $call;
        $call;
        $call;
        $call;
        $call;
        $call;
        $call;
        $call;
        $call;
        $call;
        $call;
        $call;
        $call;
        $call;
        $call;
    };
}

impl Call for Calls {
    fn call(&mut self) -> Result<(), Error> {
        match &self.function {
            Function::NoArgument(function) => {
                let function = black_box(*function);
                for _ in 0..OUTER * INNER {
                    sixteen!(function());
                }
            }
            Function::OneArgument(function) => {
                let function = black_box(*function);
                for n in 0..OUTER * INNER {
                    sixteen!(function(n));
                }
            }
            Function::TwoArguments(function) => {
                let function = black_box(*function);
                for n in 0..OUTER {
                    for i in 0..INNER {
                        sixteen!(function(n, i));
                    }
                }
            }
            Function::FifteenArguments(function) => {
                let function = black_box(*function);
                for n in 0..OUTER * INNER {
                    sixteen!(function(n, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, n));
                }
            }
        }
        self.expected += self.counts;
        Ok(())
    }

    fn remark(&mut self, to: &mut Remarks) {
        // The counter has 32 bits and wraps.
        to.check("answer", calls::count() == (self.first + self.expected) as i32);
    }
}

pub(super) fn prepare(
    of: fn((Call0, Call1, Call2, Call15)) -> Function,
) -> Result<Box<dyn Call>, Error> {
    let function = of(calls::functions(black_box(false)));
    let sum = |count: i32| i64::from(count) * i64::from(count - 1) / 2;
    let (outer, inner) = (i64::from(OUTER), i64::from(INNER));
    let each = match function {
        Function::NoArgument(_) => outer * inner,
        Function::OneArgument(_) => sum(OUTER * INNER),
        Function::TwoArguments(_) => sum(OUTER) * inner + sum(INNER) * outer,
        Function::FifteenArguments(_) => sum(OUTER * INNER) + 8 * outer * inner,
    };
    let first = i64::from(calls::count());
    Ok(Box::new(Calls { function, counts: 16 * each, expected: 0, first }))
}
