//! Effects as a grid: a row a workload, a column a model. Blue is better, orange is worse, the deeper
//! the further from no effect; what the data do not decide has no colour.

use super::canvas::{Anchor, Canvas};
use crate::plot::{Heat, HeatCell};
use crate::words::shorten;

const WIDTH: f64 = 720.0;
const LEFT: f64 = 230.0;
const TOP: f64 = 48.0;
const HEIGHT: f64 = 32.0;
const FOOT: f64 = 34.0;
/// Widest a cell is drawn.
const CELL_MAX: f64 = 120.0;
/// Log ratios from which each depth of colour begins: any, 7, 15 and 30 %.
const DEPTHS: [f64; 4] = [0.0, 0.07, 0.14, 0.26];

pub(crate) fn draw(heat: &Heat) -> Canvas {
    let columns = heat.columns.len().max(1) as f64;
    let width = ((WIDTH - LEFT) / columns).min(CELL_MAX);
    let bottom = TOP + HEIGHT * heat.rows.len() as f64;
    let mut canvas = Canvas::new(WIDTH, bottom + FOOT);
    // A letter is some eight units wide; neighbours are on two levels.
    let room = (width * 2.0 / 8.0) as usize;
    for (index, column) in heat.columns.iter().enumerate() {
        let x = LEFT + (index as f64 + 0.5) * width;
        let y = if index % 2 == 0 { TOP - 28.0 } else { TOP - 9.0 };
        canvas.text((x, y), Anchor::Middle, "tick", &shorten(column, room));
    }
    for (number, row) in heat.rows.iter().enumerate() {
        let y = TOP + number as f64 * HEIGHT;
        let label = shorten(&row.label, 28);
        canvas.text((LEFT - 10.0, y + 21.0), Anchor::End, "label", &label);
        for (index, cell) in row.cells.iter().enumerate() {
            let Some(cell) = cell else { continue };
            let x = LEFT + index as f64 * width;
            canvas.titled(&cell.title, |canvas| {
                let to = (x + width - 1.0, y + HEIGHT - 1.0);
                canvas.rectangle((x + 1.0, y + 1.0), to, &class(cell));
                let class = if cell.decided { "cell" } else { "doubt" };
                let text = shorten(&cell.text, room / 2);
                canvas.text((x + width / 2.0, y + 21.0), Anchor::Middle, class, &text);
            });
        }
    }
    let key = "blue: better · orange: worse · no colour: not decided, or no material difference";
    canvas.text((0.0, bottom + 24.0), Anchor::Start, "tick", key);
    canvas
}

fn class(cell: &HeatCell) -> String {
    if !cell.decided {
        return "h-none".to_owned();
    }
    let size = cell.ratio.max(f64::MIN_POSITIVE).ln().abs();
    let depth = DEPTHS.iter().rposition(|from| size >= *from).unwrap_or(0);
    format!("h-{}{depth}", if cell.ratio >= 1.0 { "better" } else { "worse" })
}
