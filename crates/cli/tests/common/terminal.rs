//! A program in a pseudo-terminal: its keys are sent, its screen is read.

#![allow(dead_code, clippy::allow_attributes, reason = "what is unused differs by test file")]

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};
use std::fs::File;
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// Longest wait for something that must come; far more than it takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// A size as the screen's reader wants it.
fn lines(count: u16) -> NonZeroU16 {
    NonZeroU16::new(count).expect("a size")
}

/// A terminal and the program in it, which is ended when it is dropped.
pub(crate) struct Session {
    master: File,
    /// Keeps the terminal alive after its program, so that its modes can be asked for.
    terminal: File,
    child: Child,
    parser: vt100::Parser,
    /// What the program sent.
    sent: Vec<u8>,
    /// How much that was.
    pub(crate) bytes: usize,
}

impl Session {
    /// Starts a program with this as its controlling terminal.
    pub(crate) fn start(
        program: &str,
        args: &[String],
        rows: u16,
        columns: u16,
        environment: &[(&str, &str)],
    ) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)
            .expect("pseudo-terminal");
        grantpt(&master).and_then(|()| unlockpt(&master)).expect("unlocked");
        let name = ptsname(&master, Vec::new()).expect("name").into_string().expect("text");
        let terminal = File::options().read(true).write(true).open(name).expect("terminal");
        let stream = || terminal.try_clone().expect("stream");
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&master, size).expect("size");
        let child = Command::new("setsid")
            .args(["--ctty", program])
            .args(args)
            .env_remove("NO_COLOR")
            .env_remove("CLICOLOR")
            .env_remove("CLICOLOR_FORCE")
            // Continuous integration is taken for a terminal with colours, whatever TERM says.
            .env_remove("CI")
            .envs(environment.iter().copied())
            .stdin(stream())
            .stdout(stream())
            .stderr(stream())
            .spawn()
            .expect("setsid of util-linux");
        let master = File::from(master);
        let flags = fcntl_getfl(&master).expect("flags");
        fcntl_setfl(&master, flags | OFlags::NONBLOCK).expect("flags");
        let parser = vt100::Parser::new(lines(rows), lines(columns), 0);
        Self { master, terminal, child, parser, sent: Vec::new(), bytes: 0 }
    }

    /// Reads what there is.
    fn read(&mut self) {
        let mut bytes = [0; 4096];
        while let Ok(count @ 1..) = self.master.read(&mut bytes) {
            self.parser.process(&bytes[..count]);
            self.sent.extend_from_slice(&bytes[..count]);
            self.bytes += count;
        }
    }

    /// The screen, once it fits.
    pub(crate) fn until(&mut self, what: &str, fits: impl Fn(&str) -> bool) -> String {
        let began = Instant::now();
        loop {
            self.read();
            let screen = self.parser.screen().contents();
            if fits(&screen) {
                return screen;
            }
            assert!(began.elapsed() < PATIENCE, "waited for {what} in vain:\n{screen}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub(crate) fn send(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).expect("keys");
    }

    pub(crate) fn signal(&self, name: &str) {
        let signal = match name {
            "TERM" => Signal::TERM,
            "INT" => Signal::INT,
            _ => Signal::HUP,
        };
        kill_process(Pid::from_child(&self.child), signal).expect("signal");
    }

    /// The terminal goes away, as when a connection breaks.
    pub(crate) fn hang_up(&mut self) {
        self.master = File::open("/dev/null").expect("nothing");
    }

    pub(crate) fn resize(&mut self, rows: u16, columns: u16) {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&self.master, size).expect("size");
        self.parser.screen_mut().set_size(lines(rows), lines(columns));
    }

    /// Waits for the end; its status.
    pub(crate) fn end(&mut self) -> Option<i32> {
        let began = Instant::now();
        loop {
            self.read();
            if let Some(status) = self.child.try_wait().expect("wait") {
                self.read();
                return status.code();
            }
            let screen = self.parser.screen().contents();
            assert!(began.elapsed() < PATIENCE, "it does not end:\n{screen}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// All that was sent.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.sent).into_owned()
    }

    /// Whether the program has a screen of its own and the keys for itself.
    pub(crate) fn is_taken(&self) -> bool {
        self.parser.screen().alternate_screen() && !self.is_cooked()
    }

    /// Whether the program is told of the mouse.
    pub(crate) fn has_mouse(&mut self) -> bool {
        self.read();
        self.parser.screen().mouse_protocol_mode() != vt100::MouseProtocolMode::None
    }

    /// Whether the terminal is as it was: screen, cursor, mouse, modes.
    pub(crate) fn is_given_back(&mut self) -> bool {
        let screen = self.parser.screen();
        let is_plain = !screen.alternate_screen() && !screen.hide_cursor();
        is_plain && !self.has_mouse() && self.is_cooked()
    }

    fn is_cooked(&self) -> bool {
        let modes = tcgetattr(&self.terminal).expect("modes").local_modes;
        modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG)
    }

    /// Whether any character has a colour.
    pub(crate) fn has_colours(&self) -> bool {
        let screen = self.parser.screen();
        let (rows, columns) = screen.size();
        let coloured = |row, column| {
            screen.cell(row, column).is_some_and(|cell| {
                cell.fgcolor() != vt100::Color::Default || cell.bgcolor() != vt100::Color::Default
            })
        };
        (0..rows.get()).any(|row| (0..columns.get()).any(|column| coloured(row, column)))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
