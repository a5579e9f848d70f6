//! The page in a real browser: headless Chromium finds no error, asks the network for nothing,
//! and shows every figure, on a desk and on a phone. Left out where there is no Chromium.

mod support;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A browser that takes longer hangs.
const TIMEOUT: Duration = Duration::from_secs(120);

/// What one visit to a page left behind.
struct Visit {
    /// The document after it was loaded.
    dom: String,
    /// What the browser logged, console messages of the page included.
    log: String,
    /// Network log, JSON.
    network: String,
}

impl Visit {
    fn console(&self) -> Vec<&str> {
        self.log.lines().filter(|line| line.contains(":CONSOLE")).collect()
    }

    /// Addresses that the page asked for. What the browser asks for by itself has no origin.
    fn requests(&self) -> Vec<String> {
        let events = self.network.lines().map(|line| line.trim_end_matches(','));
        events
            .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
            .filter(|event| {
                let initiator = event["params"]["initiator"].as_str();
                initiator.is_some_and(|origin| origin != "not an origin")
            })
            .filter_map(|event| event["params"]["url"].as_str().map(str::to_owned))
            .collect()
    }
}

fn chromium() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
    std::env::split_paths(&path)
        .flat_map(|folder| names.map(|name| folder.join(name)))
        .find(|file| file.is_file())
}

/// Runs the test with a browser, or says why not.
#[expect(clippy::print_stderr, reason = "a test that is left out must say so")]
fn with_browser(test: impl FnOnce(&Path)) {
    match chromium() {
        Some(browser) => test(&browser),
        // Where the gate runs, Chromium has been installed; its absence must not pass for success.
        None if std::env::var_os("CI").is_some() => panic!("no chromium on PATH; see .ci/needs"),
        None => eprintln!("left out: there is no chromium on this machine's PATH"),
    }
}

fn visit(browser: &Path, page: &str, width: u32) -> Visit {
    let folder = TempDir::new().expect("a folder");
    let file = |name: &str| folder.path().join(name);
    fs::write(file("report.html"), page).expect("the page");
    let out = |name: &str| Stdio::from(File::create(file(name)).expect("a file"));
    let mut child = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args(["--disable-default-apps", "--disable-extensions", "--disable-dev-shm-usage"])
        // The browser's own calls home find no address.
        .arg("--host-resolver-rules=MAP * ~NOTFOUND")
        .args(["--enable-logging=stderr", "--v=0", "--dump-dom"])
        .arg(format!("--window-size={width},900"))
        .arg(format!("--user-data-dir={}", file("profile").display()))
        .arg(format!("--log-net-log={}", file("network.json").display()))
        .arg(format!("file://{}", file("report.html").display()))
        .stdin(Stdio::null())
        .stdout(out("dom"))
        .stderr(out("log"))
        .spawn()
        .expect("chromium starts");
    let start = Instant::now();
    while child.try_wait().expect("chromium").is_none() {
        if start.elapsed() > TIMEOUT {
            let _ = child.kill();
            let _ = child.wait();
            panic!("chromium did not end within {TIMEOUT:?}");
        }
        sleep(Duration::from_millis(50));
    }
    let read =
        |name: &str| String::from_utf8_lossy(&fs::read(file(name)).expect(name)).into_owned();
    Visit { dom: read("dom"), log: read("log"), network: read("network.json") }
}

/// The page with a script that writes down what it sees. The page itself allows none, so its
/// policy goes first.
fn measured(page: &str) -> String {
    let policy = page.find("<meta http-equiv").expect("a policy");
    let end = policy + page[policy..].find('>').expect("the end of the tag") + 1;
    let script = "<script>addEventListener('load', () => {
        const sizes = [...document.querySelectorAll('figure svg[role=img]')].map(svg => {
            const box = svg.getBoundingClientRect();
            const drawn = svg.querySelectorAll('path,rect').length;
            return Math.min(box.width, box.height, drawn ? 1e9 : 0);
        });
        const text = [...document.querySelectorAll('svg text')]
            .map(text => text.getBoundingClientRect().height);
        const wide = document.documentElement.scrollWidth - innerWidth;
        const cut = [...document.querySelectorAll('#effects > .block .scroll')]
            .map(box => box.scrollWidth - box.clientWidth);
        top.document.title = ['figures', sizes.length, 'smallest', Math.min(...sizes),
            'text', Math.min(...text), 'overflow', wide,
            'cut', Math.max(0, ...cut), 'width', innerWidth, 'end'].join(' ');
    })</script>";
    format!("{}{}", &page[..policy], &page[end..]).replace("</body>", &format!("{script}</body>"))
}

/// The page in a frame of that width: a window is never narrower than 500.
fn framed(page: &str, width: u32) -> String {
    let page = page.replace('&', "&amp;").replace('"', "&quot;");
    format!(
        "<html><head><title>-</title></head><body style=\"margin:0\"><iframe width=\"{width}\" \
         height=\"900\" style=\"border:0\" srcdoc=\"{page}\"></iframe></body></html>"
    )
}

/// The number after a word in the title of a measured page.
fn number(visit: &Visit, word: &str) -> f64 {
    let title = visit.dom.split("<title>").nth(1).expect("a title");
    let mut words = title.split([' ', '<']).skip_while(|candidate| *candidate != word);
    words.nth(1).and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{title:.200}"))
}

#[test]
fn the_page_loads_without_an_error_or_a_request() {
    with_browser(|browser| {
        for (name, records) in [
            ("chat", support::chat()),
            ("hostile", support::hostile()),
            ("empty", support::empty()),
        ] {
            let visit = visit(browser, &coretwin_report::html(&records.study()), 1200);
            assert!(visit.dom.contains("</html>"), "{name}: {}", visit.log);
            assert_eq!(visit.console(), Vec::<&str>::new(), "{name}");
            assert_eq!(visit.requests(), Vec::<String>::new(), "{name}");
        }
    });
}

#[test]
fn an_error_or_a_request_would_be_seen() {
    with_browser(|browser| {
        let bad = "<html><body><script>console.error('no')</script>\
                   <img src='http://127.0.0.1:9/x.png'></body></html>";
        let visit = visit(browser, bad, 1200);
        assert!(!visit.console().is_empty(), "{}", visit.log);
        assert_eq!(visit.requests(), ["http://127.0.0.1:9/x.png"]);
    });
}

#[test]
fn every_figure_has_a_size_and_nothing_overflows() {
    with_browser(|browser| {
        let studies = [
            ("chat", support::chat(), 10),
            ("command", support::command(), 15),
            ("many", support::many(), 62),
            ("simulated", support::simulated::simulated(), 170),
        ];
        for (name, records, figures) in studies {
            let page = measured(&coretwin_report::html(&records.study()));
            for width in [1280, 390] {
                let visit = visit(browser, &framed(&page, width), 1280);
                let at = format!("{name} at {width}");
                assert_eq!(number(&visit, "figures"), f64::from(figures), "{at}");
                assert!(number(&visit, "smallest") > 60.0, "{at}: a figure is not shown");
                assert!(number(&visit, "text") > 9.0, "{at}: text in a figure is too small");
                assert_eq!(number(&visit, "width"), f64::from(width), "{at}");
                let is_whole = width < 1000 || number(&visit, "cut") <= 0.0;
                assert!(is_whole, "{at}: a table of effects scrolls sideways");
                assert!(number(&visit, "overflow") <= 0.0, "{at}: the page scrolls sideways");
            }
        }
    });
}
