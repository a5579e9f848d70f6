//! The recordings of a fleet: which machines fit, and at which hours of the day they do not.

use super::{PAGE, clock, head, how, stretch, time, verdict};
use crate::brief::Brief;
use crate::number;
use crate::svg;
use crate::svg::canvas::{Anchor, Canvas};
use crate::words::{clean, columns, paragraph, shorten};
use coretwin_base::account::replay::{FleetReplay, MachineReplay, Replay, ReplayHour};

const HOURS: usize = 24;
/// Machines that are drawn; the table has them all.
const DRAWN: usize = 200;
const LEFT: f64 = 190.0;
const TOP: f64 = 86.0;
const CELL: (f64, f64) = (30.0, 24.0);

/// One hour of the day of a machine, over all days: minutes that do not fit, those in doubt, and the most
/// demand over capacity.
#[derive(Debug, Default, Clone, Copy)]
struct HourOfDay {
    over: u32,
    doubtful: u32,
    load: f64,
}

impl HourOfDay {
    fn state(self) -> (char, &'static str) {
        match (self.over, self.doubtful) {
            (0, 0) => ('.', "fits"),
            (0, _) => ('?', "doubt"),
            _ => ('X', "over"),
        }
    }
}

fn by_hour(replay: &Replay) -> [Option<HourOfDay>; HOURS] {
    let mut all = [None; HOURS];
    for hour in &replay.by_hour {
        let of: &mut HourOfDay = all[clock(hour.t) as usize].get_or_insert_default();
        of.over += hour.over;
        of.doubtful += hour.doubtful;
        of.load = of.load.max(load(hour));
    }
    all
}

fn load(hour: &ReplayHour) -> f64 {
    hour.demand_high.unwrap_or(hour.demand_low) / hour.capacity.max(f64::MIN_POSITIVE)
}

fn count(fleet: &FleetReplay, of: &str) -> usize {
    fleet.machines.iter().filter(|machine| verdict(&machine.replay) == of).count()
}

/// The verdict of all, and the sentence that begins with it.
fn answer(fleet: &FleetReplay) -> (&'static str, String) {
    let all = fleet.machines.len();
    let [over, doubt] = ["DOES NOT FIT", "MAY NOT FIT"].map(|of| count(fleet, of));
    let word = match (over, doubt) {
        (0, 0) => "FITS",
        (0, _) => "MAY NOT FIT",
        _ => "DOES NOT FIT",
    };
    let how = fleet.machines.first().map_or("", |machine| how(&machine.replay));
    let fits = all - over - doubt;
    let machines = number::count(all as u64, "machine");
    (
        word,
        format!(
            "{word}: of {machines}, {fits} fit {how} for certain, {doubt} possibly, {over} do not."
        ),
    )
}

pub fn machines_brief(fleet: &FleetReplay) -> Brief {
    let (word, said) = answer(fleet);
    let mut worst: Vec<&MachineReplay> = fleet.machines.iter().collect();
    let lost = |it: &MachineReplay| it.replay.hours - it.replay.fits_low_h.unwrap_or(0.0);
    worst.retain(|machine| verdict(&machine.replay) != "FITS");
    worst.sort_by(|a, b| lost(b).total_cmp(&lost(a)));
    let named = worst.iter().take(3).filter_map(|it| {
        Some(format!("{} {}", clean(&it.name), stretch(it.replay.worst.as_ref()?)))
    });
    Brief::new(word, said).line("worst", named)
}

pub fn machines_text(fleet: &FleetReplay) -> String {
    let mut out = String::new();
    paragraph(&mut out, &answer(fleet).1);
    out.push_str("\nMACHINES\n");
    let names = ["machine", "answer", "recorded", "for certain", "possibly", "when it needs most"];
    let rows = fleet.machines.iter().map(|it| {
        let replay = &it.replay;
        let time = |hours: f64| time(hours, replay.hours);
        vec![
            shorten(&clean(&it.name), 28),
            verdict(replay).to_owned(),
            time(replay.hours),
            replay.fits_low_h.map_or(number::NONE.to_owned(), time),
            time(replay.fits_high_h),
            number::or_none(replay.worst.as_ref().map(stretch)),
        ]
    });
    out += &columns(&std::iter::once(head(&names)).chain(rows).collect::<Vec<_>>(), PAGE);
    out.push_str("\nBY HOUR OF THE DAY (UTC)\n");
    let ruler = "0  3  6  9  12 15 18 21".to_owned();
    let rows = fleet.machines.iter().map(|it| {
        let hours = by_hour(&it.replay);
        let letters = hours.iter().map(|hour| hour.map_or('-', |hour| hour.state().0));
        vec![shorten(&clean(&it.name), 28), letters.collect()]
    });
    let table: Vec<Vec<String>> =
        std::iter::once(vec!["machine".to_owned(), ruler]).chain(rows).collect();
    out += &columns(&table, PAGE);
    out.push_str(". fits · ? in doubt · X does not fit · - not recorded\n");
    out
}

/// Machines by hour of the day.
pub fn machines_svg(fleet: &FleetReplay) -> String {
    let machines: Vec<&MachineReplay> = fleet.machines.iter().take(DRAWN).collect();
    let (width, height) = CELL;
    let size = (LEFT + HOURS as f64 * width + 16.0, TOP + machines.len() as f64 * height + 20.0);
    let mut canvas = Canvas::new(size.0, size.1);
    let title = format!("Demand over capacity by hour, SMT {}", fleet.smt.name());
    canvas.text((16.0, 26.0), Anchor::Start, "title", &title);
    let about =
        "the most of all days, at the most demand · red: does not fit · amber: in doubt · UTC";
    canvas.text((16.0, 48.0), Anchor::Start, "tick", about);
    for hour in 0..HOURS {
        let x = LEFT + (hour as f64 + 0.5) * width;
        canvas.text((x, TOP - 8.0), Anchor::Middle, "tick", &format!("{hour:02}"));
    }
    for (row, machine) in machines.iter().enumerate() {
        let y = TOP + row as f64 * height;
        let name = shorten(&clean(&machine.name), 20);
        canvas.text((LEFT - 8.0, y + 16.0), Anchor::End, "tick", &name);
        for (at, hour) in by_hour(&machine.replay).into_iter().enumerate() {
            let Some(hour) = hour else { continue };
            let x = LEFT + at as f64 * width;
            let said = format!(
                "{name}, {at:02}:00: {:.2} of capacity, {} min do not fit, {} in doubt",
                hour.load, hour.over, hour.doubtful
            );
            canvas.titled(&said, |canvas| {
                let to = (x + width - 1.0, y + height - 1.0);
                canvas.rectangle((x + 1.0, y + 1.0), to, hour.state().1);
                let text = format!("{:.1}", hour.load);
                canvas.text((x + width / 2.0, y + 16.0), Anchor::Middle, "tick", &text);
            });
        }
    }
    let rules = [
        ".fits{fill:#e8efe6}.doubt{fill:#f3d9a8}.over{fill:#e0906a}",
        ".fits{fill:#233028}.doubt{fill:#5a4520}.over{fill:#7d3a20}",
        "@media(max-width:600px){.tick{font-size:16px}.title{font-size:22px}}",
    ];
    svg::file(canvas, "machines", &title, &answer(fleet).1, rules)
}

#[cfg(test)]
mod tests {
    use super::*;
    use coretwin_base::account::replay::{ReplayModel, ReplaySmt, Stretch};
    use coretwin_base::account::{FactorOrigin, MethodName, Span};
    use coretwin_base::origin::Origin;
    use coretwin_base::schema::SCHEMA;

    /// Two days, of which hour 14 does not fit on the second, and hour 15 may not.
    fn machine(name: &str, over: u32, doubtful: u32) -> MachineReplay {
        let hour = |at: i64, over: u32, doubtful: u32| ReplayHour {
            t: at * 3600,
            recorded_s: 3600.0,
            demand_low: 1.0,
            demand_high: Some(if over > 0 { 6.0 } else { 2.0 }),
            capacity: 4.0,
            capacity_high: 4.0,
            over,
            doubtful,
        };
        let hours = vec![hour(14, 0, 0), hour(24 + 14, over, 0), hour(24 + 15, 0, doubtful)];
        let fits_h = |minutes: u32| 3.0 - f64::from(minutes) / 60.0;
        let span = Span { value: 1.25, low: 1.0, high: 1.5 };
        let replay = Replay {
            schema: SCHEMA,
            origin: Origin::Measured,
            smt: ReplaySmt::Off,
            recorded_threads: 2,
            cores: 4,
            method: MethodName::Ebpf,
            core_yield: span,
            yield_origin: FactorOrigin::Default,
            hours: 3.0,
            fits_low_h: Some(fits_h(over + doubtful)),
            fits_high_h: fits_h(over),
            rule_fits_h: 3.0,
            worst: (over + doubtful > 0).then_some(Stretch {
                from: 38 * 3600,
                until: 39 * 3600,
                low: 1.1,
                high: Some(1.5),
            }),
            wait_low_s: 0.0,
            wait_high_s: 0.0,
            throughput_low: 1.0,
            throughput_high: Some(1.0),
            per_thread_low: 2.0,
            per_thread_high: Some(2.0),
            model: ReplayModel {
                fits_low_h: 3.0,
                fits_high_h: 3.0,
                wait_low_s: 0.0,
                wait_high_s: 0.0,
            },
            minutes: Vec::new(),
            by_hour: hours,
            groups: Vec::new(),
            warnings: Vec::new(),
        };
        MachineReplay { name: name.to_owned(), file: name.to_owned(), replay }
    }

    #[test]
    fn machines_are_counted_and_each_hour_of_the_day_is_its_worst() {
        let machines =
            vec![machine("fits", 0, 0), machine("doubt", 0, 9), machine("\u{1b}over", 12, 9)];
        let fleet =
            FleetReplay { schema: SCHEMA, smt: ReplaySmt::Off, machines, refused: Vec::new() };
        let text = machines_text(&fleet);
        let said = "DOES NOT FIT: of 3 machines, 1 fit without siblings for certain, 1 possibly, 1 do not.";
        assert!(text.split_whitespace().collect::<Vec<_>>().join(" ").starts_with(said), "{text}");
        let row = |cells: &str| format!("--------------{cells}--------");
        for cells in ["..", ".?", "X?"] {
            assert!(text.contains(&row(cells)), "{cells} in:\n{text}");
        }
        assert!(text.contains("14:00 to 15:00 UTC needs 1.10 to 1.50 of capacity"), "{text}");
        let svg = machines_svg(&fleet);
        for (class, count) in [("fits", 3), ("doubt", 2), ("over", 1)] {
            assert_eq!(svg.matches(&format!("class=\"{class}\"")).count(), count, "{class}");
        }
        assert!(svg.contains("14:00: 1.50 of capacity, 12 min do not fit, 0 in doubt"), "{svg}");
        assert!(!text.contains('\u{1b}') && !svg.contains('\u{1b}'), "no name is printed raw");
    }
}
