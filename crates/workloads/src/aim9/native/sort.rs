//! The C library's sort and search.

use std::cmp::Ordering;
use std::ffi::{c_int, c_void};

/// Compares two numbers.
pub(in crate::aim9) type Compare = fn(&i32, &i32) -> Ordering;

unsafe extern "C" fn upwards(a: *const c_void, b: *const c_void) -> c_int {
    // SAFETY: qsort and bsearch hand over addresses of elements, which are of this type.
    unsafe { (*a.cast::<i32>()).cmp(&*b.cast::<i32>()) as c_int }
}

unsafe extern "C" fn downwards(a: *const c_void, b: *const c_void) -> c_int {
    // SAFETY: as for the other.
    unsafe { upwards(b, a) }
}

/// `qsort`, in the direction of `compare`.
pub(in crate::aim9) fn sort(numbers: &mut [i32], compare: Compare) {
    let compare = if compare(&0, &1) == Ordering::Less { upwards } else { downwards };
    // SAFETY: the array has so many elements of this size, and the function is for that type.
    unsafe {
        libc::qsort(numbers.as_mut_ptr().cast(), numbers.len(), size_of::<i32>(), Some(compare));
    }
}

/// `bsearch` in numbers sorted upwards.
pub(in crate::aim9) fn search(numbers: &[i32], wanted: i32) -> bool {
    let (key, base) = ((&raw const wanted).cast(), numbers.as_ptr().cast());
    // SAFETY: the array has so many elements of this size, and key and function are for that type.
    let found = unsafe { libc::bsearch(key, base, numbers.len(), size_of::<i32>(), Some(upwards)) };
    !found.is_null()
}
