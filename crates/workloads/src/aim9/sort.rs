//! Row `sort_rtns_1`: ten thousand numbers sorted upwards, downwards and upwards again, twice, and
//! two thousand numbers searched for, half of which are there.
//!
//! The C library's `qsort` merged until glibc 2.36 and changed its method twice since. So that rates
//! compare, the row merges by itself, comparing through a function pointer as the original did;
//! `sort=libc` uses the library's `qsort` and `bsearch` instead and names it.

use super::native::library::{self as by_libc, Compare, c_library};
use super::{Call, LIBC, Place, SORT};
use crate::Error;
use crate::copies::Remarks;
use crate::workload::text;
use std::hint::black_box;

pub(super) const NUMBERS: i32 = 10_000;
/// Turns of a call, and searches of a turn: for 0, 10, 20, …
const TURNS: u32 = 2;
const SEARCHES: i32 = 2000;

struct Sort {
    numbers: Vec<i32>,
    half: Vec<i32>,
    libc: bool,
    found: u64,
    turns: u64,
    sorted: bool,
}

fn upwards(a: &i32, b: &i32) -> std::cmp::Ordering {
    a.cmp(b)
}

fn downwards(a: &i32, b: &i32) -> std::cmp::Ordering {
    b.cmp(a)
}

/// Sorts by halves, which are merged through a second array.
fn merge_sort(numbers: &mut [i32], spare: &mut [i32], compare: Compare) {
    let length = numbers.len();
    if length < 2 {
        return;
    }
    let middle = length / 2;
    merge_sort(&mut numbers[..middle], spare, compare);
    merge_sort(&mut numbers[middle..], spare, compare);
    let (mut left, mut right, mut merged) = (0, middle, 0);
    while left < middle && right < length {
        let smaller =
            if compare(&numbers[left], &numbers[right]).is_le() { &mut left } else { &mut right };
        spare[merged] = numbers[*smaller];
        *smaller += 1;
        merged += 1;
    }
    // What is left of the right half stands where it belongs.
    spare[merged..merged + middle - left].copy_from_slice(&numbers[left..middle]);
    merged += middle - left;
    numbers[..merged].copy_from_slice(&spare[..merged]);
}

fn search(numbers: &[i32], wanted: i32, compare: Compare) -> bool {
    let (mut low, mut high) = (0, numbers.len());
    while low < high {
        let middle = low + (high - low) / 2;
        match compare(&wanted, &numbers[middle]) {
            std::cmp::Ordering::Less => high = middle,
            std::cmp::Ordering::Equal => return true,
            std::cmp::Ordering::Greater => low = middle + 1,
        }
    }
    false
}

impl Sort {
    fn sort(&mut self, compare: Compare) {
        let compare = black_box(compare);
        if self.libc {
            by_libc::sort(&mut self.numbers, compare);
        } else {
            merge_sort(&mut self.numbers, &mut self.half, compare);
        }
    }

    fn search(&self, wanted: i32) -> bool {
        if self.libc {
            by_libc::search(&self.numbers, wanted)
        } else {
            search(&self.numbers, wanted, black_box(upwards))
        }
    }
}

impl Call for Sort {
    fn call(&mut self) -> Result<(), Error> {
        for _ in 0..TURNS {
            self.sort(upwards);
            self.sort(downwards);
            self.sorted &= self.numbers.first() > self.numbers.last();
            self.sort(upwards);
            let found = (0..SEARCHES).filter(|n| self.search(10 * n)).count();
            self.found += found as u64;
            self.turns += 1;
        }
        Ok(())
    }

    fn remark(&mut self, to: &mut Remarks) {
        let sorted = self.sorted && self.numbers.iter().copied().eq(0..NUMBERS);
        self.sort(downwards);
        let reversed = self.numbers.iter().copied().eq((0..NUMBERS).rev());
        to.check("sorted", sorted && reversed);
        to.check("half_found", self.found == self.turns * 1000);
        let how = if self.libc { c_library() } else { "our own merge sort".to_owned() };
        to.note("sort", how);
    }
}

pub(super) fn sort_rtns_1(place: &Place) -> Result<Box<dyn Call>, Error> {
    let numbers: Vec<i32> = (0..NUMBERS).collect();
    let half = vec![0; numbers.len()];
    let libc = text(&place.params, SORT.name) == LIBC;
    Ok(Box::new(Sort { numbers, half, libc, found: 0, turns: 0, sorted: true }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_any_order_are_sorted_and_found() {
        let mut random = crate::aim9::numbers::Random::new();
        for length in [0, 1, 2, 3, 10, 777] {
            let mut numbers: Vec<i32> = (0..length).map(|_| i32::from(random.next())).collect();
            let mut expected = numbers.clone();
            expected.sort_unstable();
            merge_sort(&mut numbers, &mut vec![0; length], upwards);
            assert_eq!(numbers, expected);
            assert!(numbers.iter().all(|n| search(&numbers, *n, upwards)));
            assert!(!search(&numbers, -1, upwards) && !search(&numbers, 40_000, upwards));
        }
    }
}
