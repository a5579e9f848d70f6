//! Marks of the arms: a shape and a colour each, so that neither is needed to tell them apart.

use super::canvas::place;

const STYLES: usize = 6;

/// The class that sets an arm's colour and dash.
pub(crate) fn colour(arm: usize) -> String {
    format!("a{}", arm % STYLES)
}

pub(crate) fn shape(arm: usize, (x, y): (f64, f64), radius: f64) -> String {
    // From the seventh arm on, colours meet other shapes.
    match (arm + arm / STYLES) % STYLES {
        0 => {
            let (r, d, left) = (place(radius), place(2.0 * radius), place(x - radius));
            let y = place(y);
            format!("M{left} {y}a{r} {r} 0 1 0 {d} 0a{r} {r} 0 1 0 -{d} 0z")
        }
        1 => polygon((x, y), radius * 0.9, &[(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)]),
        2 => polygon((x, y), radius * 1.2, &[(0.0, -1.0), (1.0, 0.8), (-1.0, 0.8)]),
        3 => polygon((x, y), radius * 1.3, &[(0.0, -1.0), (1.0, 0.0), (0.0, 1.0), (-1.0, 0.0)]),
        4 => polygon((x, y), radius * 1.2, &[(0.0, 1.0), (1.0, -0.8), (-1.0, -0.8)]),
        _ => polygon((x, y), radius * 1.25, &PLUS),
    }
}

const PLUS: [(f64, f64); 12] = [
    (-0.35, -1.0),
    (0.35, -1.0),
    (0.35, -0.35),
    (1.0, -0.35),
    (1.0, 0.35),
    (0.35, 0.35),
    (0.35, 1.0),
    (-0.35, 1.0),
    (-0.35, 0.35),
    (-1.0, 0.35),
    (-1.0, -0.35),
    (-0.35, -0.35),
];

pub(crate) fn cross((x, y): (f64, f64), radius: f64) -> String {
    let [left, right, top, bottom] = [x - radius, x + radius, y - radius, y + radius].map(place);
    format!("M{left} {top}L{right} {bottom}M{left} {bottom}L{right} {top}")
}

fn polygon((x, y): (f64, f64), radius: f64, corners: &[(f64, f64)]) -> String {
    let mut path = String::new();
    for (index, (dx, dy)) in corners.iter().enumerate() {
        path.push(if index == 0 { 'M' } else { 'L' });
        path.push_str(&format!("{} {}", place(x + dx * radius), place(y + dy * radius)));
    }
    path.push('z');
    path
}
