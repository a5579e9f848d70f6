//! The page as a document: well-formed, self-contained, complete, bounded, and deaf to markup in
//! what it reports.

mod support;

use coretwin_base::origin::Origin;
use coretwin_base::study::decision::Licence;
use coretwin_base::study::reading::Status;
use coretwin_base::study::summary::StoppedBecause;
use coretwin_report::{FORMATS, Study, html, markdown, text};
use coretwin_stats::confidence;
use support::{HOSTILE, Records};

/// Checks that tags nest, attributes are quoted and `<` opens nothing else; gives the tag names.
fn tags(page: &str) -> Vec<String> {
    let mut open: Vec<&str> = Vec::new();
    let mut all = Vec::new();
    let mut rest = page;
    while let Some(start) = rest.find('<') {
        let tag = &rest[start + 1..];
        let end = tag.find('>').expect("a tag ends");
        let (tag, after) = (&tag[..end], &tag[end + 1..]);
        rest = after;
        if tag.starts_with('!') {
            continue;
        }
        assert_eq!(tag.matches('"').count() % 2, 0, "<{tag}>");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "</{name}> closes another element");
            continue;
        }
        let name = tag.split([' ', '/']).next().expect("a name");
        assert!(name.chars().all(|c| c.is_ascii_alphanumeric()), "<{tag}>");
        all.push(name.to_owned());
        if !tag.ends_with('/') && name != "meta" {
            open.push(name);
        }
        if name == "style" {
            // A style sheet is not markup.
            let end = rest.find("</style>").expect("the style sheet ends");
            rest = &rest[end..];
        }
    }
    assert!(open.is_empty(), "never closed: {open:?}");
    all
}

fn count(tags: &[String], name: &str) -> usize {
    tags.iter().filter(|tag| *tag == name).count()
}

#[test]
fn every_page_is_well_formed_and_asks_for_nothing() {
    for (name, records) in support::all() {
        let page = html(&records.study());
        let tags = tags(&page);
        for banned in ["script", "img", "link", "iframe", "object", "image", "use", "base"] {
            assert_eq!(count(&tags, banned), 0, "{name}: <{banned}>");
        }
        let plain = page.replace(r#"xmlns="http://www.w3.org/2000/svg""#, "");
        for banned in ["http:", "https:", "url(", "@import", "src=\"", "NaN", "inf\""] {
            assert!(!plain.contains(banned), "{name}: {banned}");
        }
        for link in plain.match_indices("href=\"").map(|(at, _)| &plain[at + 6..]) {
            assert!(link.starts_with('#'), "{name}: a link leaves the page: {link:.40}");
        }
        assert!(page.contains("default-src 'none'"), "{name}");
    }
}

#[test]
fn every_figure_is_there_and_can_be_read_aloud() {
    // Forest, bars, and two for each row; the command has two curves and no bars.
    for (name, records, figures) in [
        ("chat", support::chat(), 1 + 1 + 4 * 2),
        ("no-siblings", support::no_siblings(), 1 + 1 + 2),
        ("command", support::command(), 1 + 2 + 6 * 2),
        ("many", support::many(), 1 + 1 + 30 * 2),
        ("empty", support::empty(), 1),
    ] {
        let page = html(&records.study());
        let tags = tags(&page);
        assert_eq!(count(&tags, "figure"), figures, "{name}");
        assert_eq!(page.matches(r#"role="img""#).count(), figures, "{name}");
        for number in 1..=figures {
            for part in ["title", "about"] {
                let id = format!(r#"id="figure-{number}-{part}""#);
                assert_eq!(page.matches(&id).count(), 1, "{name}: {id}");
            }
        }
        // What is folded has its caption in its summary.
        let folded = page.matches("<details><summary>").count();
        assert_eq!(count(&tags, "table"), count(&tags, "caption") + folded, "{name}");
        let headings = page.matches("<th scope=\"").count();
        assert_eq!(count(&tags, "th"), headings, "{name}: a heading without scope");
    }
}

#[test]
fn markup_in_labels_stays_text() {
    let records = support::hostile();
    let page = html(&records.study());
    tags(&page);
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    for format in FORMATS.iter().filter(|format| format.name != "csv") {
        let out = (format.render)(&records.study());
        assert!(!out.contains('\u{1b}'), "{}: an escape sequence got through", format.name);
    }
    let md = markdown(&records.study());
    let code_left_out: Vec<&str> = md.lines().filter(|line| !line.starts_with("    ")).collect();
    assert!(code_left_out.iter().all(|line| !line.contains("<script")), "{md}");
    let rows =
        code_left_out.iter().filter(|line| line.contains("&lt;script") && line.starts_with('|'));
    assert!(rows.count() > 3);
}

#[test]
fn a_terminal_has_100_columns() {
    for (name, records) in support::all() {
        for line in text(&records.study()).lines().filter(|line| !line.starts_with("  $ ")) {
            // A word longer than the terminal cannot be broken without changing it.
            let breakable = !line.trim().contains(HOSTILE.split(' ').next().expect("a word"));
            assert!(!breakable || line.chars().count() <= 100, "{name}: {line}");
        }
    }
}

#[test]
fn the_first_line_says_what_is_not_smt() {
    let first = |records: &Records| {
        let text = text(&records.study());
        text.lines().next().expect("a line").to_owned()
    };
    assert!(first(&support::no_siblings()).starts_with("No siblings are visible"));
    assert!(first(&support::stand_in()).starts_with("SMT was never switched off"));
    assert!(first(&support::chat()).starts_with("Keep SMT on for chat"));
    let mut plain_sets = support::no_siblings();
    plain_sets.plan.topology = support::chat().plan.topology;
    assert!(first(&plain_sets).starts_with("Plain CPU sets are compared"));
    for records in [support::stand_in(), support::no_siblings()] {
        for format in [text, markdown, html] {
            let out = format(&records.study());
            // The article's title is no statement of ours.
            let ours = out.replace("Hyper-Threading speeds Linux", "");
            assert!(!ours.contains("Hyper-Threading"), "{out}");
        }
        let page = html(&records.study());
        let (notice, heading) = (page.find("class=\"notice\""), page.find("<h1"));
        assert!(notice.is_some() && notice < heading);
    }
    let page = html(&support::no_siblings().study());
    assert!(!page.contains(">HELPS<") && !page.contains(">HURTS<"));
}

#[test]
fn the_protocol_of_2003_prints_the_articles_names_and_no_interval() {
    let records = support::chat_2003();
    let table = text(&records.study());
    assert!(table.contains("6.1.0 noht  6.1.0 ht  Speed-up"), "{table}");
    assert!(table.contains("Geometric mean     143,650   177,044      23 %"), "{table}");
    assert!(!table.contains(&confidence::interval()), "{table}");
}

#[test]
fn table_4_agrees_with_the_summary() {
    let records = support::chat();
    let suite = &records.summary.suites[0];
    let line = text(&records.study());
    let line = line.lines().find(|line| line.contains("Geometric mean")).expect("the total");
    let ratio = suite.ratio.expect("a result");
    assert!(line.contains(&format!("+{:.1} %", (ratio - 1.0) * 100.0)), "{line}");
    let ends = (suite.low.expect("low"), suite.high.expect("high"));
    let ends = format!("+{:.1} to +{:.1} %", (ends.0 - 1.0) * 100.0, (ends.1 - 1.0) * 100.0);
    assert!(line.contains(&ends), "{line}: {ends}");
}

#[test]
fn a_row_that_failed_in_an_arm_is_shown_with_its_cause() {
    let mut records = support::chat();
    for reading in &mut records.readings {
        if reading.arm == "on" && reading.row == "chat:rooms=40" {
            reading.status = Status::Failed;
            reading.value = None;
            reading.cause = Some("no port was free".into());
        }
    }
    let records = records.analysed(StoppedBecause::Budget);
    for (format, cause) in [
        (text as fn(&_) -> _, "FAILED in on: no port"),
        (markdown, "FAILED in on: no port was free"),
        (html, "FAILED in on: no port was free"),
    ] {
        let out = format(&records.study());
        assert!(out.contains(cause), "{out}");
    }
    assert!(html(&records.study()).contains("22 readings, 1 not analysed, 11 failed."));
    let emulated = markdown(&support::emulated().study());
    assert!(emulated.contains("| 1 run failed |"), "without a verdict: {emulated}");
}

#[test]
fn disturbed_and_failed_runs_are_marked_with_their_cause() {
    let page = html(&support::chat().study());
    for title in [
        "<title>on, block 3, not analysed: steal 4.1 % of the arm's CPU time (limit 2 %)</title>",
        "block 3, not analysed: its block was run again or not completed</title>",
        "<title>off, block 7, failed: connect: Cannot assign requested address</title>",
    ] {
        assert!(page.contains(title), "{title}");
    }
    assert!(page.contains(r#"<path class="hollow a0""#));
    assert!(page.contains(r#"<path class="failed a0""#));
    assert!(page.contains("22 readings, 2 not analysed, 1 failed."));
}

#[test]
fn many_readings_are_thinned_and_it_is_said() {
    let small = html(&support::large(30_000).study());
    let large = html(&support::large(120_000).study());
    assert!(large.len() < small.len() + small.len() / 20, "{} {}", small.len(), large.len());
    assert!(large.len() < 1_500_000, "{}", large.len());
    let said = "Drawn is every 8th of the 30,000 analysed readings of the row.";
    assert!(large.contains(said));
}

#[test]
fn csv_holds_every_reading_with_as_many_fields_as_its_heading() {
    for (name, records) in support::all().into_iter().filter(|(name, _)| *name != "hostile") {
        let csv = coretwin_report::csv(&records.study());
        assert_eq!(csv.lines().count(), records.readings.len() + 1, "{name}");
        let fields = |line: &str| line.split('"').step_by(2).map(|s| s.matches(',').count()).sum();
        let heading: usize = csv.lines().next().map_or(0, fields);
        for line in csv.lines() {
            assert_eq!(fields(line), heading, "{name}: {line}");
        }
    }
    let csv = coretwin_report::csv(&support::chat().study());
    assert_eq!(csv.matches(",true,").count(), 79, "8 cells of 10 blocks, less the failed one");
}

#[test]
fn equal_records_give_equal_bytes() {
    for format in FORMATS {
        let [one, two] = [(); 2].map(|()| (format.render)(&support::chat().study()));
        assert!(one == two, "{}", format.name);
    }
}

#[test]
fn the_command_to_reproduce_names_no_folder_that_exists() {
    let mut records = support::command();
    let line = "coretwin study --out a --blocks 9 --resume c -- ./x --out d";
    records.environment.sessions[0].argv = line.split(' ').map(str::to_owned).collect();
    let out = text(&records.study());
    assert!(
        out.contains("coretwin study --out a-again --blocks 9 --seed 42 -- ./x --out d"),
        "{out}"
    );
    // Of a fleet it is the plan that holds the seed; `fleet run` takes none.
    let line = "coretwin fleet run mine --here --task 3";
    records.environment.sessions[0].argv = line.split(' ').map(str::to_owned).collect();
    let out = text(&records.study());
    assert!(out.contains(line) && !out.contains("--seed"), "{out}");
}

#[test]
fn a_cpu_set_among_other_arms_is_better_or_worse() {
    let page = text(&support::many().study());
    let line = page.lines().find(|line| line.contains("wide against one-per-core:"));
    assert!(line.is_some_and(|line| line.contains("BETTER")), "{page}");
    let line = page.lines().find(|line| line.contains("on against one-per-core:"));
    assert!(line.is_some_and(|line| line.contains("HELPS")), "{page}");
}

/// On this study throughput speaks for `on`, a licence by the thread against it.
#[test]
fn the_first_line_follows_the_licence() {
    let records = support::chat();
    let by_thread = Study { licence: Some(Licence::PerThread), ..records.study() };
    let flat = |report: String| report.split_whitespace().collect::<Vec<_>>().join(" ");
    let report = flat(text(&by_thread));
    let (head, _) = report.split_once(" WHAT TO SET ").expect("the section");
    assert!(head.starts_with("Set off (SMT off): on (SMT on, all CPUs) gives "), "{head}");
    assert!(
        head.contains(" · HURTS · work per licence (per-thread), ") && !head.contains("HELPS"),
        "{head}"
    );
    let page = html(&by_thread);
    let (_, title) = page.split_once("<h1>").expect("the answer");
    let worse = "Switch SMT off for your licences: 38.2\u{a0}% worse with it.";
    assert!(title.starts_with(worse), "{}", &title[..200]);
    let plain = flat(text(&records.study()));
    assert!(plain.starts_with("Keep SMT on for chat (HELPS)"), "{}", &plain[..200]);
}

#[test]
fn a_study_that_was_stopped_says_so_on_its_card_and_a_budget_how_exact_it_is() {
    let head = |records: &Records| {
        text(&records.study()).split("\n\n").next().unwrap_or_default().to_owned()
    };
    let interim = head(&support::interim());
    assert!(interim.contains(" · INTERIM · ") && !interim.contains("HELPS"), "{interim}");
    let budget = text(&support::chat().analysed(StoppedBecause::Budget).study());
    let told = budget.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("the time budget ended; the widest interval is ±"), "{budget}");
}

/// What stands between two marks of a page.
fn between<'a>(page: &'a str, from: &str, to: &str) -> &'a str {
    let (_, rest) = page.split_once(from).unwrap_or_else(|| panic!("{from}"));
    rest.split_once(to).unwrap_or_else(|| panic!("{to}")).0
}

#[test]
fn title_card_and_markdown_say_how_the_figures_may_be_read() {
    for (records, marks) in [
        (support::chat(), ["MEASURED", "HELPS"]),
        (support::simulated::simulated(), ["PREDICTED", ""]),
        (support::emulated(), ["EMULATED", ""]),
        (support::interim(), ["MEASURED, INTERIM", ""]),
        (support::no_siblings(), ["MEASURED", "INCONCLUSIVE"]),
    ] {
        let (page, md) = (html(&records.study()), markdown(&records.study()));
        assert!(between(&page, "<title>", "</title>").starts_with(marks[0]), "{marks:?}");
        let card = between(&page, "<p class=\"badges\">", "</p>");
        for mark in marks.iter().flat_map(|marks| marks.split(", ")) {
            assert!(card.contains(&format!(">{mark}<")) || mark.is_empty(), "{mark}: {card}");
            assert!(md.lines().take(9).any(|line| line.contains(mark)), "{mark}: {md}");
        }
        let title = between(&page, "<h1>", "</h1>").replace('\u{a0}', " ");
        let numbers = title.split(' ').filter(|word| word.parse::<f64>().is_ok()).count();
        assert!(title.split(' ').count() <= 12 && numbers == 1, "{title}");
        assert!(md.starts_with(&format!("# {title}\n")), "{md}");
    }
}

#[test]
fn what_to_set_stands_only_below_a_verdict_to_act_on() {
    let says = |records: &Records| markdown(&records.study()).contains("## What to set\n");
    assert!(says(&support::chat()));
    // Each of these names an arm, and only the verdict or the origin keeps it from being advice.
    let mut alike = support::chat();
    let of_on = alike.readings.iter_mut().filter(|reading| &*reading.arm == "on");
    of_on.for_each(|reading| reading.value = reading.value.map(|value| value / 1.236));
    let mut predicted = support::chat();
    predicted.plan.origin = Some(Origin::Simulated);
    for records in [alike, predicted] {
        let records = records.analysed(StoppedBecause::Target);
        assert!(!says(&records), "{}", markdown(&records.study()));
    }
    let simulated = support::simulated::simulated();
    for records in [
        support::interim(),
        support::emulated(),
        support::no_siblings(),
        support::article_quick(),
        simulated,
    ] {
        assert!(!says(&records), "{}", markdown(&records.study()));
    }
}

#[test]
fn what_all_rows_have_is_said_once_and_rows_inside_the_margin_are_folded() {
    let page = html(&support::many().study());
    assert_eq!(page.matches("size=100").count(), 1);
    assert!(
        page.contains("<p>Every row of chat has messages=100, size=100, users=20, wait=none.</p>")
    );
    assert!(page.contains("<th scope=\"row\">chat:rooms=10</th>"));
    let records = support::simulated::simulated();
    let page = html(&records.study());
    let folded = between(&page, "<details><summary>", "</summary>");
    let all = records.summary.rows.len();
    let absent = records.summary.rows.iter().filter(|row| row.ratio.is_none()).count();
    let (within, rest) = folded.split_once(" rows inside the margin of ±2 %, ").expect(folded);
    assert_eq!(rest, format!("{absent} rows not run in an arm"));
    let loud = between(&page, "<span>Rows</span>", "</table>").matches("<tr>").count() - 1;
    assert_eq!(loud + within.parse::<usize>().expect(within) + absent, all);
    let few = html(&support::chat().study());
    assert!(!few.contains("inside the margin of ±2 %<"), "four rows that differ stay open");
}

#[test]
fn a_legend_names_what_is_drawn_and_nothing_else() {
    let legends = |page: &str| -> Vec<String> {
        let lists = page.split("class=\"legend\"").skip(1);
        lists.map(|rest| rest.split("</ul>").next().unwrap_or_default().to_owned()).collect()
    };
    let chat = legends(&html(&support::chat().study()));
    // Of the bars, of the run order with its marks, of the distributions.
    let signs = [false, true, false];
    assert_eq!(chat.iter().map(|one| one.contains("not analysed")).collect::<Vec<_>>(), signs);
    assert_eq!(chat.iter().map(|one| one.contains(">failed<")).collect::<Vec<_>>(), signs);
    let quiet = legends(&html(&support::no_siblings().study())).join("");
    assert!(quiet.contains("half") && !quiet.contains("analysed") && !quiet.contains("failed"));
    let command = legends(&html(&support::command().study())).join("");
    assert!(command.contains("the count that was chosen"), "{command}");
}
