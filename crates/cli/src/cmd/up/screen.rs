//! Output of `up`: lines that stay, and on a terminal a status view below them, which is redrawn.

use std::io::{self, IsTerminal, Write};

/// Standard output of `up`.
#[derive(Debug)]
pub(super) struct Screen {
    is_terminal: bool,
    /// Lines of the status view.
    drawn: Vec<String>,
}

impl Screen {
    pub(super) fn new() -> Self {
        Self { is_terminal: io::stdout().is_terminal(), drawn: Vec::new() }
    }

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

    /// Erases the status view, so that other code can print.
    pub(super) fn clear(&mut self) -> io::Result<()> {
        let drawn = std::mem::take(&mut self.drawn);
        let mut out = io::stdout().lock();
        erase(&mut out, drawn.len())?;
        out.flush()
    }

    /// Redraws the status view, if there is a terminal.
    pub(super) fn draw(&mut self, lines: &[String]) -> io::Result<()> {
        // A wrapped line would take several rows, and `erase` counts lines.
        let (width, height) = size();
        let lines = lines.iter().take(height).map(|line| line.chars().take(width).collect::<String>());
        let lines: Vec<_> = lines.collect();
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

/// Columns of the terminal, and lines that can be erased.
fn size() -> (usize, usize) {
    let size =
        rustix::termios::tcgetwinsize(io::stdout()).ok().filter(|size| size.ws_col > 0 && size.ws_row > 1);
    size.map_or((80, 23), |size| (usize::from(size.ws_col), usize::from(size.ws_row) - 1))
}

/// Moves up, and clears everything below.
fn erase(out: &mut impl Write, lines: usize) -> io::Result<()> {
    if lines > 0 { write!(out, "\x1b[{lines}A\x1b[J") } else { Ok(()) }
}
