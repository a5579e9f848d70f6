//! Rows `matrix_rtns` and `array_rtns`: points transformed, and systems of linear equations solved.
//! Plain code, of which today's compiler does two columns at a time where the article's did one.

use super::numbers::Numbers;
use super::{Call, Place};
use crate::Error;
use crate::copies::Remarks;
use std::hint::black_box;

const POINTS: u32 = 100;
/// What the coordinates of a transformed point are multiplied by.
const SCREEN: [f64; 3] = [1280.0, 1024.0, 8192.0];

type Vector = [f64; 4];
type Matrix = [Vector; 4];

/// A vector and a matrix loaded, multiplied, and the point brought onto a screen.
struct Transform {
    decaying: Numbers,
    product: f64,
    last: (Vector, Matrix, Vector),
}

#[inline(never)]
fn transform(vector: &Vector, matrix: &Matrix) -> Vector {
    let mut result = [0.0; 4];
    for (column, value) in result.iter_mut().enumerate() {
        for (x, row) in vector.iter().zip(matrix) {
            *value += x * row[column];
        }
    }
    result
}

impl Call for Transform {
    fn call(&mut self) -> Result<(), Error> {
        for _ in 0..POINTS {
            let vector = std::array::from_fn(|_| self.decaying.next());
            let matrix = std::array::from_fn(|_| std::array::from_fn(|_| self.decaying.next()));
            let result = transform(black_box(&vector), black_box(&matrix));
            let on_screen: [i32; 3] = std::array::from_fn(|n| (result[n] * SCREEN[n]) as i32);
            let [x, y, z] = black_box(on_screen).map(f64::from);
            self.product = x * y * z + self.product / 2.0;
            self.last = (vector, matrix, result);
        }
        black_box(self.product);
        Ok(())
    }

    fn remark(&mut self, to: &mut Remarks) {
        let (vector, matrix, result) = &self.last;
        // By another way: a sum over the rows, each scaled by its coordinate.
        let right = (0..4).all(|n| {
            let expected: f64 = (0..4).rev().map(|row| matrix[row][n] * vector[row]).sum();
            (result[n] - expected).abs() <= 1e-14 * expected.abs()
        });
        to.check("last_point", right);
    }
}

pub(super) fn matrix_rtns(_: &Place) -> Result<Box<dyn Call>, Error> {
    let last = ([0.0; 4], [[0.0; 4]; 4], [0.0; 4]);
    Ok(Box::new(Transform { decaying: Numbers::decaying(), product: 1.0, last }))
}

/// Unknowns of the largest system; a call solves those of 5, 10, … up to it.
const UNKNOWNS: usize = 100;
const STEP: usize = 5;

/// Systems as large as a page of paper, solved without a choice of pivots.
struct Solve {
    system: Vec<f64>,
    work: Vec<f64>,
    worst: f64,
    regular: bool,
}

/// Brings the left part of a system of `n` rows and `n + 1` columns to the unit matrix. As in the
/// original a row is changed over its full width, and the pivots are those of the diagonal.
fn eliminate(system: &mut [f64], n: usize) -> bool {
    let width = n + 1;
    for pivot in 0..n {
        let (before, rest) = system.split_at_mut(pivot * width);
        let (row, after) = rest.split_at_mut(width);
        let divisor = row[pivot];
        if divisor == 0.0 {
            return false;
        }
        row.iter_mut().for_each(|x| *x /= divisor);
        for other in before.chunks_exact_mut(width).chain(after.chunks_exact_mut(width)) {
            let factor = other[pivot];
            for (x, y) in other.iter_mut().zip(&*row) {
                *x -= factor * y;
            }
        }
    }
    true
}

/// How far the solution in the last column of `solved` is from solving `system`.
fn residual(system: &[f64], solved: &[f64], n: usize) -> f64 {
    let width = n + 1;
    let rows = system.chunks_exact(width).map(|row| {
        let solution = solved.chunks_exact(width).map(|row| row[n]);
        let sum: f64 = row.iter().zip(solution).map(|(x, y)| x * y).sum();
        (sum - row[n]).abs()
    });
    rows.fold(0.0, f64::max)
}

impl Call for Solve {
    fn call(&mut self) -> Result<(), Error> {
        let mut next = 1.0;
        for n in (STEP..=UNKNOWNS).step_by(STEP) {
            let size = n * (n + 1);
            for value in &mut self.system[..size] {
                *value = next;
                next = next * 1.000_01 + 1.0;
            }
            // All of the array, whatever the size of the system.
            self.work.copy_from_slice(black_box(&self.system));
            self.regular &= eliminate(black_box(&mut self.work[..size]), n);
            let residual = residual(&self.system[..size], &self.work[..size], n);
            self.worst = self.worst.max(residual);
            if residual.is_nan() {
                self.regular = false;
            }
        }
        Ok(())
    }

    fn remark(&mut self, to: &mut Remarks) {
        to.check("systems_solved", self.regular && self.worst < 0.5);
        to.metric("largest_residual", self.worst, "1");
    }
}

pub(super) fn array_rtns(_: &Place) -> Result<Box<dyn Call>, Error> {
    let array = vec![0.0; UNKNOWNS * (UNKNOWNS + 1)];
    Ok(Box::new(Solve { system: array.clone(), work: array, worst: 0.0, regular: true }))
}
