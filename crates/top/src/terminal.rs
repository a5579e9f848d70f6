//! The terminal: taken over, and given back as it was, whatever ends the program.
//!
//! Ordinary ends and errors by `Drop`; a panic by a hook that runs before its message is printed;
//! SIGINT, SIGTERM and SIGHUP by flags that the loop looks at; SIGTSTP (Ctrl-Z) by giving it back,
//! stopping, and taking it again. Only SIGKILL cannot be helped (`reset` helps then).

use crate::Error;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::layout::{Position, Rect};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGSTOP, SIGTERM, SIGTSTP};
use std::io::{self, BufWriter, IsTerminal, Stdout, Write};
use std::mem::ManuallyDrop;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long what ends by itself has for that.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Has the terminal tell of clicks and of the wheel (DEC mode 1000), by numbers of any size (1006).
/// Crossterm's own command asks for every movement too.
const MOUSE_ON: &str = "\x1b[?1000h\x1b[?1006h";
const MOUSE_OFF: &str = "\x1b[?1006l\x1b[?1000l";

pub struct Screen {
    /// What is drawn on. Only what changed is sent, in one write. Never dropped: we give the terminal
    /// back ourselves, and Ratatui, where that fails, prints to what may be gone too, which panics.
    pub terminal: ManuallyDrop<Terminal<CrosstermBackend<BufWriter<Stdout>>>>,
    mouse: bool,
}

/// Whether standard input and output are a terminal that can be drawn on. Errors:
/// [`Error::NoTerminal`] saying what is missing.
pub fn check(term: Option<&str>) -> Result<(), Error> {
    let missing = |what: &str| Err(Error::NoTerminal { what: what.to_owned() });
    if !io::stdout().is_terminal() {
        return missing("standard output is no terminal, so there is no screen to draw");
    }
    if !io::stdin().is_terminal() {
        return missing("standard input is no terminal, so there are no keys to read");
    }
    match term {
        None | Some("") => missing("TERM is not set, so nothing is known of this terminal"),
        Some("dumb") => missing("TERM is dumb: this terminal cannot move its cursor"),
        Some(_) => Ok(()),
    }
}

/// Whether lines and marks beyond ASCII can be drawn: by the locale, which is the first of LC_ALL, LC_CTYPE
/// and LANG that is set (locale(7)), and not on the kernel's own console, whose font has too few.
pub fn draws_utf8(variable: impl Fn(&str) -> Option<String>) -> bool {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set).unwrap_or_default();
    let locale = locale.to_ascii_lowercase();
    let is_poor = matches!(variable("TERM").as_deref(), None | Some("linux" | "dumb"));
    !is_poor && (locale.contains("utf-8") || locale.contains("utf8"))
}

impl Screen {
    /// Takes the terminal over, its mouse too where that is wanted.
    pub fn enter(mouse: bool) -> Result<Self, Error> {
        give_back_on_panic();
        // From here on an error gives back what was taken.
        let backend = CrosstermBackend::new(BufWriter::with_capacity(1 << 16, io::stdout()));
        let terminal = Terminal::new(backend).map_err(Error::Terminal)?;
        let screen = Self { terminal: ManuallyDrop::new(terminal), mouse };
        take(mouse).map_err(Error::Terminal)?;
        Ok(screen)
    }

    /// Takes the mouse, or leaves it to the terminal, which then selects text with it.
    pub fn set_mouse(&mut self, wanted: bool) -> Result<(), Error> {
        if self.mouse == wanted {
            return Ok(());
        }
        self.mouse = wanted;
        send(if wanted { MOUSE_ON } else { MOUSE_OFF }).map_err(Error::Terminal)
    }

    /// Gives the terminal back, stops as job control wants it, and takes it again when continued.
    pub fn suspend(&mut self) -> Result<(), Error> {
        give_back();
        // SIGTSTP itself is handled by the flag, so the stop is the one nobody can handle.
        signal_hook::low_level::raise(SIGSTOP).map_err(Error::Terminal)?;
        self.again()
    }

    /// Takes the terminal over again and forgets what was on it.
    pub fn again(&mut self) -> Result<(), Error> {
        take(self.mouse).map_err(Error::Terminal)?;
        self.clear()
    }

    /// Forgets what is on the screen, so that all is drawn anew.
    pub fn clear(&mut self) -> Result<(), Error> {
        // Ratatui's own `clear` asks the terminal where its cursor is, which may stay unanswered.
        let size = self.terminal.size().map_err(Error::Terminal)?;
        self.terminal.resize(Rect::from((Position::ORIGIN, size))).map_err(Error::Terminal)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

fn take(mouse: bool) -> io::Result<()> {
    enable_raw_mode()?;
    execute!(io::stdout(), EnterAlternateScreen, Hide)?;
    if mouse { send(MOUSE_ON) } else { Ok(()) }
}

fn send(sequence: &str) -> io::Result<()> {
    let mut out = io::stdout();
    out.write_all(sequence.as_bytes()).and_then(|()| out.flush())
}

/// A terminal that is gone cannot be given back, and needs not be.
fn give_back() {
    let _ = send(MOUSE_OFF);
    let _ = execute!(io::stdout(), Show, LeaveAlternateScreen);
    let _ = disable_raw_mode();
}

fn give_back_on_panic() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        give_back();
        before(info);
    }));
}

/// Ends this process soon after its terminal is gone, as when a connection breaks. Usually SIGHUP or a failed
/// drawing has ended it by then. But whoever is waiting for a key at that moment reads nothing for ever
/// (Crossterm 0.29) and heeds no flag; then there is no terminal to give back and nobody to tell.
pub fn end_without_it() {
    std::thread::spawn(|| {
        let stdin = io::stdin();
        let is_gone = || {
            // Nothing is asked for: what is told unasked is that it hung up.
            let mut polled = [PollFd::new(&stdin, PollFlags::empty())];
            poll(&mut polled, None).is_ok_and(|ready| ready > 0)
        };
        while !is_gone() {}
        std::thread::sleep(LAST_WORDS);
        std::process::exit(1);
    });
}

/// Has Crossterm (0.29) look again, if there are keys that it does not know of. It is told of them once,
/// when they come; if the size changes at that moment it returns that and forgets the keys until the next
/// one. Setting the terminal's attributes, to what they are, tells it anew (`n_tty_set_termios` wakes
/// who waits to read).
pub fn wake_for_keys() {
    tell_again(io::stdin());
}

fn tell_again(terminal: impl AsFd) {
    let mut polled = [PollFd::new(&terminal, PollFlags::IN)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    let is_waiting = poll(&mut polled, Some(&at_once)).is_ok_and(|ready| ready > 0)
        && polled[0].revents().contains(PollFlags::IN);
    if is_waiting && let Ok(attributes) = tcgetattr(&terminal) {
        // Who has no terminal any more has no keys.
        let _ = tcsetattr(&terminal, OptionalActions::Now, &attributes);
    }
}

#[derive(Debug, Clone, Default)]
pub struct Signals {
    end: Arc<AtomicBool>,
    stop: Arc<AtomicBool>,
    go_on: Arc<AtomicBool>,
}

impl Signals {
    /// Listens from now on.
    pub fn listen() -> Result<Self, Error> {
        let signals = Self::default();
        let flags = [
            (SIGINT, &signals.end),
            (SIGTERM, &signals.end),
            (SIGHUP, &signals.end),
            (SIGTSTP, &signals.stop),
            (SIGCONT, &signals.go_on),
        ];
        for (signal, flag) in flags {
            signal_hook::flag::register(signal, Arc::clone(flag)).map_err(Error::Terminal)?;
        }
        Ok(signals)
    }

    pub fn end(&self) -> bool {
        self.end.load(Ordering::Relaxed)
    }

    /// Whether it is to stop; asked once.
    #[must_use]
    pub fn stop(&self) -> bool {
        self.stop.swap(false, Ordering::Relaxed)
    }

    /// Whether it was continued; asked once.
    #[must_use]
    pub fn go_on(&self) -> bool {
        self.go_on.swap(false, Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::buffer::spare_capacity;
    use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
    use rustix::fs::{Mode, OFlags, open};
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

    #[test]
    fn boxes_are_drawn_where_locale_and_terminal_have_them() {
        for (variables, wanted) in [
            (&[("LANG", "de_DE.UTF-8")][..], true),
            (&[("LANG", "C.utf8"), ("LC_CTYPE", "")], true),
            (&[("LANG", "de_DE.UTF-8"), ("LC_CTYPE", "POSIX")], false),
            (&[("LANG", "C"), ("LC_CTYPE", "C"), ("LC_ALL", "en_GB.UTF-8")], true),
            (&[("LANG", "en_GB.UTF-8"), ("LC_ALL", "C")], false),
            (&[("LANG", "de_DE.ISO-8859-1")], false),
            (&[], false),
            (&[("LANG", "C.UTF-8"), ("TERM", "linux")], false),
            (&[("LANG", "C.UTF-8"), ("TERM", "dumb")], false),
        ] {
            let set = |wanted: &str| {
                let default = [("TERM", "xterm")];
                let mut all = variables.iter().chain(&default);
                all.find(|(name, _)| *name == wanted).map(|(_, value)| (*value).to_owned())
            };
            assert_eq!(draws_utf8(set), wanted, "{variables:?}");
        }
    }

    #[test]
    fn keys_that_were_told_of_and_not_read_are_told_of_again() {
        let keyboard = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&keyboard).expect("granted");
        unlockpt(&keyboard).expect("unlocked");
        let name = ptsname(&keyboard, Vec::new()).expect("a name");
        let terminal =
            open(name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).expect("the other side");
        let mut raw = tcgetattr(&terminal).expect("attributes");
        raw.make_raw();
        tcsetattr(&terminal, OptionalActions::Now, &raw).expect("raw");
        // As mio, below Crossterm, waits: for what is new.
        let waiting = epoll::create(CreateFlags::CLOEXEC).expect("epoll");
        let new = EventFlags::IN | EventFlags::ET;
        epoll::add(&waiting, &terminal, EventData::new_u64(0), new).expect("added");
        let told = |wait_s| {
            let mut events = Vec::with_capacity(4);
            let timeout = Timespec { tv_sec: wait_s, tv_nsec: 0 };
            epoll::wait(&waiting, spare_capacity(&mut events), Some(&timeout)).expect("waited");
            !events.is_empty()
        };
        rustix::io::write(&keyboard, b"q").expect("a key");
        assert!(told(10), "of a new key");
        while told(0) {}
        tell_again(&terminal);
        assert!(told(10), "now again");
        let mut keys = [0; 8];
        assert_eq!(rustix::io::read(&terminal, &mut keys).expect("read"), 1);
        tell_again(&terminal);
        assert!(!told(0), "there is none");
    }
}
