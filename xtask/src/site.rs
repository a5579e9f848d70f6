//! `cargo xtask site`: every page of the documentation, the figures and a report as static pages
//! in `target/site`, with search, for desktop and phone, light and dark.

use anyhow::{Context, Result, ensure};
use pulldown_cmark::{CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const STYLE: &str = include_str!("site/style.css");
const SCRIPT: &str = include_str!("site/search.js");
/// Folders of pages; the rest of `docs` is below one of them.
const FOLDERS: [&str; 5] = ["", "docs", "docs/method", "docs/evidence", "docs/reference"];
/// Files that pages show or offer, by their ends.
const BESIDE: [&str; 2] = ["svg", "json"];
const REPORT: &str = "reports/study.html";

/// A page: its path in the clone, and what it holds.
struct Page {
    path: String,
    title: String,
    body: String,
    /// Headings with their anchors and the text below each, for search.
    parts: Vec<Part>,
}

#[derive(Default)]
struct Part {
    anchor: String,
    heading: String,
    text: String,
}

/// Renders all of it.
pub(crate) fn run(root: &Path) -> Result<bool> {
    let folder = crate::target_folder(root).join("site");
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("removing {}", folder.display()))?;
    }
    let pages = lay_out(root, &folder)?;
    report(root, &folder.join(REPORT))?;
    let broken = broken(&folder)?;
    for (page, link) in &broken {
        crate::print(&format!("{page}: {link} leads nowhere\n"));
    }
    crate::print(&format!("{pages} pages in {}\n", folder.join("index.html").display()));
    Ok(broken.is_empty())
}

/// Everything but the report; how many pages.
fn lay_out(root: &Path, folder: &Path) -> Result<usize> {
    let mut pages = Vec::new();
    for name in FOLDERS {
        for path in files_of(&root.join(name))? {
            let end = path.extension().unwrap_or_default().to_string_lossy().into_owned();
            let name = path.strip_prefix(root)?.to_string_lossy().into_owned();
            if end == "md" {
                pages.push(render(&name, &fs::read_to_string(&path)?));
            } else if name.starts_with("docs") && BESIDE.contains(&end.as_str()) {
                write(&folder.join(&name), &fs::read(&path)?)?;
            }
        }
    }
    for page in &pages {
        write(&folder.join(target(&page.path)), whole(page, &pages).as_bytes())?;
    }
    write(&folder.join("style.css"), STYLE.as_bytes())?;
    let script = format!("const PAGES = {};\n{SCRIPT}", index(&pages));
    write(&folder.join("search.js"), script.as_bytes())?;
    Ok(pages.len())
}

/// A report as a study writes it, of a simulated machine, so that it is the same everywhere.
fn report(root: &Path, to: &Path) -> Result<()> {
    let scratch = to.with_extension("study");
    fs::create_dir_all(to.parent().unwrap_or(to))?;
    let status = Command::new("cargo")
        .args(["run", "--quiet", "--package", "coretwin"])
        .args(crate::FEATURES)
        .args(["--", "study", "chat:rooms=2", "--machine", "xeon-mp-foster"])
        .args(["--blocks", "3", "--seed", "1", "--out"])
        .arg(&scratch)
        .stdout(Stdio::null())
        .current_dir(root)
        .status()
        .context("starting cargo")?;
    ensure!(status.success(), "coretwin study ended with {status}");
    fs::copy(scratch.join("report.html"), to)?;
    Ok(fs::remove_dir_all(&scratch)?)
}

fn files_of(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))?;
    let paths: std::io::Result<Vec<_>> = entries.map(|entry| Ok(entry?.path())).collect();
    let mut paths = paths?;
    paths.retain(|path| path.is_file());
    paths.sort();
    Ok(paths)
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    fs::create_dir_all(path.parent().unwrap_or(path))?;
    fs::write(path, bytes).with_context(|| format!("writing {}", path.display()))
}

/// Where a page of the clone is in the site: a README is the index of its folder.
fn target(path: &str) -> String {
    let path = path.replace("README.md", "index.md");
    path.strip_suffix(".md").map_or(path.clone(), |stem| format!("{stem}.html"))
}

/// A link of a page, to where the site has what it means.
fn relinked(link: &str) -> String {
    if link.contains("://") || link.starts_with('#') {
        return link.to_owned();
    }
    let (path, anchor) = link.split_once('#').map_or((link, None), |(path, to)| (path, Some(to)));
    let anchor = anchor.map_or(String::new(), |anchor| format!("#{anchor}"));
    format!("{}{anchor}", target(path))
}

/// The anchor of a heading, as code hosts make it.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

fn render(path: &str, text: &str) -> Page {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    let events: Vec<Event<'_>> = Parser::new_ext(text, options).collect();
    let mut page =
        Page { path: path.to_owned(), title: path.to_owned(), body: String::new(), parts: vec![] };
    let mut out = Vec::new();
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut heading: Option<(HeadingLevel, usize, String)> = None;
    for event in events {
        if let Event::Text(text) | Event::Code(text) = &event {
            match (&mut heading, page.parts.last_mut()) {
                (Some((.., heading)), _) => heading.push_str(text),
                (None, Some(part)) => part.text = format!("{}{text} ", part.text),
                (None, None) => {}
            }
        }
        match event {
            Event::Start(Tag::Heading { level, .. }) => {
                heading = Some((level, out.len(), String::new()));
                out.push(Event::Text(CowStr::from("")));
            }
            Event::End(TagEnd::Heading(level)) => {
                out.push(Event::Html(format!("</{level}>\n").into()));
                if let Some((level, at, heading)) = heading.take() {
                    let mut id = anchor(&heading);
                    let count = seen.entry(id.clone()).or_default();
                    if *count > 0 {
                        id = format!("{id}-{count}");
                    }
                    *count += 1;
                    out[at] = Event::Html(format!("<{level} id=\"{id}\">").into());
                    if level == HeadingLevel::H1 && page.parts.is_empty() {
                        page.title.clone_from(&heading);
                    }
                    page.parts.push(Part { anchor: id, heading, text: String::new() });
                }
            }
            Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
                let dest_url = relinked(&dest_url).into();
                out.push(Event::Start(Tag::Link { link_type, dest_url, title, id }));
            }
            // Wide tables scroll by themselves, so that a phone's page does not.
            Event::Start(Tag::Table(columns)) => {
                out.push(Event::Html("<div class=\"wide\">".into()));
                out.push(Event::Start(Tag::Table(columns)));
            }
            Event::End(TagEnd::Table) => {
                out.extend([Event::End(TagEnd::Table), Event::Html("</div>\n".into())]);
            }
            other => out.push(other),
        }
    }
    html::push_html(&mut page.body, out.into_iter());
    page
}

/// A page with what all have around them.
fn whole(page: &Page, pages: &[Page]) -> String {
    let up = "../".repeat(page.path.matches('/').count());
    let mut menu = String::new();
    for (folder, title) in
        FOLDERS.iter().zip(["Coretwin", "Guides", "Method", "Evidence", "Reference"])
    {
        let of = |other: &&Page| Path::new(&other.path).parent() == Some(Path::new(folder));
        let open = if of(&page) || folder.is_empty() { " open" } else { "" };
        menu += &format!("<details{open}><summary>{title}</summary>");
        for other in pages.iter().filter(of) {
            let here = if other.path == page.path { " aria-current=\"page\"" } else { "" };
            let to = target(&other.path);
            menu += &format!("<a href=\"{up}{to}\"{here}>{}</a>", escaped(&other.title));
        }
        menu += "</details>";
    }
    menu += &format!("<a href=\"{up}{REPORT}\">A report (simulated)</a>");
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\"><title>{title} · Coretwin</title>\
         <link rel=\"stylesheet\" href=\"{up}style.css\"></head>\n<body data-up=\"{up}\">\
         <header><label id=\"menu\" for=\"open\">☰</label><a href=\"{up}index.html\">Coretwin</a>\
         <input id=\"search\" type=\"search\" placeholder=\"Search\" aria-label=\"Search\">\
         <button id=\"theme\" aria-label=\"Light or dark\">◐</button></header>\
         <ol id=\"found\" hidden></ol><input type=\"checkbox\" id=\"open\" hidden>\
         <nav>{menu}</nav>\n<main>\n{body}</main>\n\
         <script src=\"{up}search.js\"></script></body></html>\n",
        title = escaped(&page.title),
        body = page.body
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

/// What is searched: page, heading, where, and text.
fn index(pages: &[Page]) -> String {
    let parts = pages.iter().flat_map(|page| {
        page.parts.iter().map(move |part| {
            let to = format!("{}#{}", target(&page.path), part.anchor);
            json!([to, page.title, part.heading, part.text])
        })
    });
    serde_json::Value::Array(parts.collect()).to_string()
}

/// Links of the pages that lead to no file, or to no anchor of it.
fn broken(folder: &Path) -> Result<Vec<(String, String)>> {
    let mut broken = Vec::new();
    for below in FOLDERS {
        let below = folder.join(below);
        for path in
            files_of(&below)?.into_iter().filter(|it| it.extension().is_some_and(|e| e == "html"))
        {
            let page = fs::read_to_string(&path)?;
            for link in page.split(" href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
                if link.contains("://") || link.starts_with("mailto:") {
                    continue;
                }
                let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
                let file = if file.is_empty() { path.clone() } else { below.join(file) };
                let is_there = match anchor {
                    "" => file.exists(),
                    anchor => fs::read_to_string(&file)
                        .is_ok_and(|text| text.contains(&format!("id=\"{anchor}\""))),
                };
                if !is_there {
                    let name = path.strip_prefix(folder)?.display().to_string();
                    broken.push((name, link.to_owned()));
                }
            }
        }
    }
    Ok(broken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_anchors_links_of_the_site_and_parts_to_search() {
        let text = "# A `b` page\n\nSee [there](../README.md#the-end) & [out](https://example.org/x.md).\n\n\
                    ## Same\n\nx\n\n## Same\n\n| a | b |\n|---|---|\n| 1 | 2 |\n";
        let page = render("docs/a.md", text);
        assert_eq!(page.title, "A b page");
        for part in [
            "<h1 id=\"a-b-page\">A <code>b</code> page</h1>",
            "href=\"../index.html#the-end\"",
            "href=\"https://example.org/x.md\"",
            "<h2 id=\"same-1\">",
            "<div class=\"wide\"><table>",
        ] {
            assert!(page.body.contains(part), "{part} is not in {}", page.body);
        }
        assert_eq!(page.parts.len(), 3);
        assert!(page.parts[0].text.contains("there"), "{}", page.parts[0].text);
        assert_eq!(
            (target("docs/README.md"), target("x.svg")),
            ("docs/index.html".into(), "x.svg".into())
        );
    }

    #[test]
    fn a_link_that_leads_nowhere_is_found() {
        let folder = tempfile::tempdir().expect("folder");
        for name in FOLDERS {
            fs::create_dir_all(folder.path().join(name)).expect("folder");
        }
        let page =
            "<h1 id=\"a\"></h1><a href=\"#a\"></a><a href=\"#b\"></a><a href=\"x.html\"></a>";
        write(&folder.path().join("docs/index.html"), page.as_bytes()).expect("page");
        let found = broken(folder.path()).expect("read");
        let links: Vec<&str> = found.iter().map(|(_, link)| link.as_str()).collect();
        assert_eq!(links, ["#b", "x.html"]);
    }

    /// What a reader does: types words, looks at the first hit, turns the light on and off; then on a phone.
    const READER: &str = "<script>addEventListener('load', () => {
        const colour = () => getComputedStyle(document.body).backgroundColor;
        const box = document.getElementById('search'), found = document.getElementById('found');
        const type = (text) => { box.value = text; box.dispatchEvent(new Event('input')); };
        type('switch undo');
        const hits = found.querySelectorAll('li').length, first = found.querySelector('a')?.href;
        type('zzzz qqqq');
        const none = found.textContent;
        box.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape' }));
        const gone = found.hidden && box.value === '';
        const before = colour();
        document.getElementById('theme').click();
        const seen = { hits, first, none, gone, before, after: colour(), width: innerWidth,
            over: document.documentElement.scrollWidth - innerWidth,
            menu: getComputedStyle(document.querySelector('nav')).display };
        const said = (seen) => { document.title = 'seen ' + JSON.stringify(seen) + ' end'; };
        if (parent === window) said(seen); else parent.postMessage(seen, '*');
    })</script>";

    /// What that reader saw, in a real browser.
    fn seen(browser: &str, page: &Path) -> serde_json::Value {
        let profile = tempfile::tempdir().expect("folder");
        let output = Command::new("timeout")
            .args(["120", browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"])
            .args(["--disable-background-networking", "--disable-extensions", "--disable-sync"])
            .args(["--disable-dev-shm-usage", "--host-resolver-rules=MAP * ~NOTFOUND"])
            .args(["--virtual-time-budget=5000", "--window-size=1200,900", "--dump-dom"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg(format!("file://{}", page.display()))
            .output()
            .expect("a browser");
        let dom = String::from_utf8_lossy(&output.stdout);
        let said = dom.split("<title>seen ").nth(1).and_then(|rest| rest.split(" end<").next());
        let said = said.unwrap_or_else(|| panic!("no title: {dom:.300}"));
        serde_json::from_str(&said.replace("&amp;", "&")).expect("JSON")
    }

    #[test]
    fn a_reader_finds_a_page_by_words_in_the_dark_and_on_a_phone() {
        let folder = tempfile::tempdir().expect("folder");
        lay_out(&crate::root(), folder.path()).expect("pages");
        write(&folder.path().join(REPORT), b"").expect("a place holder");
        assert_eq!(broken(folder.path()).expect("links"), Vec::new());
        let there = |name: &&str| Command::new(name).arg("--version").output().is_ok();
        let Some(browser) =
            ["chromium", "chromium-browser", "google-chrome"].into_iter().find(there)
        else {
            assert!(std::env::var_os("CI").is_none(), "no chromium on PATH; see .ci/needs");
            return;
        };
        let at = |name: &str| folder.path().join(name);
        let index = fs::read_to_string(at("index.html")).expect("index");
        write(&at("desk.html"), (index + READER).as_bytes()).expect("desk");
        let frame = "<title>-</title><script>addEventListener('message', (event) => {
            document.title = 'seen ' + JSON.stringify(event.data) + ' end'; })</script>
            <iframe width=360 height=700 src=desk.html></iframe>";
        write(&at("phone.html"), frame.as_bytes()).expect("phone");
        let desk = seen(browser, &at("desk.html"));
        assert!(desk["hits"].as_u64() >= Some(3), "{desk}");
        let first = desk["first"].as_str().expect("a hit").strip_prefix("file://").expect("a file");
        let (file, anchor) = first.split_once('#').expect("an anchor");
        let text = fs::read_to_string(file).expect(file);
        assert!(text.contains(&format!("id=\"{anchor}\"")), "{first}");
        assert_eq!(
            (desk["none"].as_str(), desk["gone"].as_bool()),
            (Some("nothing found"), Some(true))
        );
        assert_eq!(
            (desk["before"].as_str(), desk["after"].as_str()),
            (Some("rgb(255, 255, 255)"), Some("rgb(20, 24, 29)"))
        );
        let phone = seen(browser, &at("phone.html"));
        assert_eq!((desk["menu"].as_str(), phone["menu"].as_str()), (Some("block"), Some("none")));
        assert_eq!(phone["width"].as_u64(), Some(360), "{phone}");
        assert!(phone["over"].as_i64() <= Some(0), "wider than a phone: {phone}");
    }
}
