//! A single mail address, with or without a display name, as in the header of a mail.

/// `a@example.com`, `Ann <a@example.com>`, `a@example.com (Ann)`, or a group of exactly one.
pub(super) fn is_address(text: &str) -> bool {
    let mut reader = Reader { rest: text };
    reader.address(true) == Some(1) && reader.skip_comments().is_some() && reader.rest.is_empty()
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    /// Reads an address or a group; the number of addresses.
    fn address(&mut self, groups: bool) -> Option<usize> {
        self.skip_space();
        let start = self.rest;
        if self.plain_address().is_some() {
            self.skip_space();
            if self.rest.starts_with('(') {
                self.comment()?;
            }
            return Some(1);
        }
        self.rest = start;
        if !self.rest.starts_with('<') {
            self.phrase()?;
        }
        self.skip_space();
        if groups && self.take(':') {
            return self.group();
        }
        self.take('<').then_some(())?;
        self.plain_address()?;
        self.take('>').then_some(1)
    }

    fn group(&mut self) -> Option<usize> {
        self.skip_space();
        let mut count = 0;
        if !self.take(';') {
            loop {
                count += self.address(false)?;
                self.skip_comments()?;
                if self.take(';') {
                    break;
                }
                self.take(',').then_some(())?;
            }
        }
        self.skip_comments()?;
        Some(count)
    }

    fn plain_address(&mut self) -> Option<()> {
        self.skip_space();
        if self.rest.starts_with('"') {
            let filled = self.quoted()?;
            filled.then_some(())?;
        } else {
            self.atom(false)?;
        }
        self.take('@').then_some(())?;
        self.skip_space();
        if let Some(literal) = self.rest.strip_prefix('[') {
            let (address, rest) = literal.split_once(']')?;
            super::net::is_ip(address).then_some(())?;
            self.rest = rest;
            return Some(());
        }
        self.atom(false)
    }

    fn phrase(&mut self) -> Option<()> {
        let mut words = 0;
        loop {
            if words > 0 {
                self.skip_comments()?;
            }
            self.skip_space();
            if self.rest.is_empty() {
                return Some(());
            }
            let read = if self.rest.starts_with('"') { self.quoted().map(|_| ()) } else { self.atom(true) };
            match read {
                Some(()) => words += 1,
                None => return (words > 0).then_some(()),
            }
        }
    }

    /// Reads a quoted string; whether there is anything in it.
    fn quoted(&mut self) -> Option<bool> {
        let mut chars = self.rest.strip_prefix('"')?.chars();
        let mut filled = false;
        loop {
            match chars.next()? {
                '"' => {
                    self.rest = chars.as_str();
                    return Some(filled);
                }
                '\\' => {
                    chars.next().filter(|char| is_visible(*char) || is_blank(*char))?;
                }
                char if is_visible(char) || is_blank(char) => {}
                _ => return None,
            }
            filled = true;
        }
    }

    /// Letters with dots; a permissive one may have dots anywhere.
    fn atom(&mut self, permissive: bool) -> Option<()> {
        let in_atom = |char: char| is_visible(char) && !"()<>[]:;@\\,\"".contains(char);
        let rest = self.rest.trim_start_matches(in_atom);
        let atom = self.rest.get(..self.rest.len() - rest.len())?;
        self.rest = rest;
        let dots = atom.starts_with('.') || atom.ends_with('.') || atom.contains("..");
        (!atom.is_empty() && if permissive { !has_unknown_charset(atom) } else { !dots }).then_some(())
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
    }

    fn skip_comments(&mut self) -> Option<()> {
        self.skip_space();
        while self.rest.starts_with('(') {
            self.comment()?;
            self.skip_space();
        }
        Some(())
    }

    fn comment(&mut self) -> Option<()> {
        let mut chars = self.rest.strip_prefix('(')?.chars();
        let mut depth = 1;
        while depth > 0 {
            match chars.next()? {
                '\\' => {
                    chars.next()?;
                }
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => {}
            }
        }
        self.rest = chars.as_str();
        Some(())
    }

    fn take(&mut self, char: char) -> bool {
        let after = self.rest.strip_prefix(char);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }
}

/// Whether a word of a display name is encoded in a way that cannot be decoded: `=?charset?q?text?=`.
fn has_unknown_charset(word: &str) -> bool {
    let Some(encoded) = word.strip_prefix("=?").and_then(|rest| rest.strip_suffix("?=")) else {
        return false;
    };
    let mut parts = encoded.splitn(3, '?');
    let (Some(charset), Some(encoding), Some(_)) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    let known = ["utf-8", "iso-8859-1", "us-ascii"].iter().any(|known| charset.eq_ignore_ascii_case(known));
    !charset.is_empty() && matches!(encoding, "q" | "Q" | "b" | "B") && !known
}

fn is_visible(char: char) -> bool {
    ('!'..='~').contains(&char) || !char.is_ascii()
}

fn is_blank(char: char) -> bool {
    char == ' ' || char == '\t'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_may_have_a_display_name() {
        for (text, good) in [
            ("a@example.com", true),
            ("Ann B. <a@example.com>", true),
            ("\"Ann, B\" <a@example.com>", true),
            ("a@example.com (Ann (B))", true),
            ("\"a b\"@example.com", true),
            ("a@[127.0.0.1]", true),
            ("team: a@example.com;", true),
            ("=?utf-8?q?x?= <a@b>", true),
            ("=?bad?q?x?= <a@b>", false),
            ("team: a@b, c@d;", false),
            ("a@b, c@d", false),
            ("a", false),
            ("@b", false),
            ("a@", false),
            (".a@b", false),
            ("a..b@c", false),
            ("\"\"@b", false),
            ("a@b c", false),
            ("Ann <a@b", false),
            ("", false),
        ] {
            assert_eq!(is_address(text), good, "{text}");
        }
    }
}
