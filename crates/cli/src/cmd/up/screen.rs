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

    /// Takes back what is drawn, so that others can write.
    pub(super) fn clear(&mut self) -> io::Result<()> {
        let drawn = std::mem::take(&mut self.drawn);
        let mut out = io::stdout().lock();
        erase(&mut out, drawn.len())?;
        out.flush()
    }

    /// Draws lines in place of those that were drawn before. Where there is no terminal, nothing is drawn.
    pub(super) fn draw(&mut self, lines: &[String]) -> io::Result<()> {
        // A line that the terminal would break counts as several when it is taken back.
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

/// How many characters fit into a line of the terminal, and how many lines can be taken back.
fn size() -> (usize, usize) {
    let size =
        rustix::termios::tcgetwinsize(io::stdout()).ok().filter(|size| size.ws_col > 0 && size.ws_row > 1);
    size.map_or((80, 23), |size| (usize::from(size.ws_col), usize::from(size.ws_row) - 1))
}

/// Goes back over lines, and clears everything below.
fn erase(out: &mut impl Write, lines: usize) -> io::Result<()> {
    if lines > 0 { write!(out, "\x1b[{lines}A\x1b[J") } else { Ok(()) }
}
