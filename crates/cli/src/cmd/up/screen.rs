//! Where `up` writes: lines that stay, and on a terminal below them a few that are drawn anew with every change.

use std::io::{self, IsTerminal, Write};

/// Where `up` writes.
#[derive(Debug)]
pub(super) struct Screen {
    is_terminal: bool,
    /// The lines that are drawn now, at the bottom.
    drawn: Vec<String>,
}

impl Screen {
    pub(super) fn new() -> Self {
        Self { is_terminal: io::stdout().is_terminal(), drawn: Vec::new() }
    }

    /// Whether there is something to draw on.
    pub(super) fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Writes lines that stay.
    pub(super) fn write(&mut self, lines: &[String]) -> io::Result<()> {
        let drawn = std::mem::take(&mut self.drawn);
        let mut out = io::stdout().lock();
        erase(&mut out, drawn.len())?;
        for line in lines.iter().chain(&drawn) {
            writeln!(out, "{line}")?;
        }
        out.flush()?;
        self.drawn = drawn;
        Ok(())
    }

    /// Draws lines in place of those that were drawn before. Where there is no terminal, nothing is drawn.
    pub(super) fn draw(&mut self, lines: Vec<String>) -> io::Result<()> {
        if !self.is_terminal || lines == self.drawn {
            return Ok(());
        }
        let mut out = io::stdout().lock();
        erase(&mut out, self.drawn.len())?;
        for line in &lines {
            writeln!(out, "{line}")?;
        }
        out.flush()?;
        self.drawn = lines;
        Ok(())
    }
}

/// Goes back over lines, and clears everything below.
fn erase(out: &mut impl Write, lines: usize) -> io::Result<()> {
    if lines > 0 { write!(out, "\x1b[{lines}A\x1b[J") } else { Ok(()) }
}
