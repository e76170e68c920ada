//! Quoted texts in a path, with the escapes of Go.

/// Text between two equal quotes; none if an escape is invalid.
pub(super) fn unquoted(quoted: &str) -> Option<String> {
    let quote = quoted.chars().next()?;
    let inside = quoted.strip_prefix(quote)?.strip_suffix(quote)?;
    let mut out = Vec::with_capacity(inside.len());
    let mut letters = inside.chars();
    while let Some(letter) = letters.next() {
        if letter == quote || letter == '\n' && inside.contains('\\') {
            return None;
        }
        if letter == '\\' {
            escaped(&mut letters, quote, &mut out)?;
        } else {
            push(&mut out, letter);
        }
    }
    Some(String::from_utf8_lossy(&out).into_owned())
}

fn escaped(letters: &mut std::str::Chars<'_>, quote: char, out: &mut Vec<u8>) -> Option<()> {
    match letters.next()? {
        'a' => out.push(0x07),
        'b' => out.push(0x08),
        'f' => out.push(0x0c),
        'n' => out.push(b'\n'),
        'r' => out.push(b'\r'),
        't' => out.push(b'\t'),
        'v' => out.push(0x0b),
        '\\' => out.push(b'\\'),
        'x' => out.push(u8::try_from(number(letters, 2, 16)?).ok()?),
        'u' => push(out, char::from_u32(number(letters, 4, 16)?)?),
        'U' => push(out, char::from_u32(number(letters, 8, 16)?)?),
        first @ '0'..='7' => {
            let rest = number(letters, 2, 8)?;
            out.push(u8::try_from(first.to_digit(8)? * 64 + rest).ok()?);
        }
        letter if letter == quote => push(out, letter),
        _ => return None,
    }
    Some(())
}

fn push(out: &mut Vec<u8>, letter: char) {
    out.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
}

fn number(letters: &mut std::str::Chars<'_>, digits: usize, base: u32) -> Option<u32> {
    (0..digits)
        .try_fold(0_u32, |number, _| number.checked_mul(base)?.checked_add(letters.next()?.to_digit(base)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_those_of_go() {
        for (quoted, text) in [
            ("'a'", Some("a")),
            (r#""a\"b""#, Some("a\"b")),
            (r#"'a"b'"#, Some("a\"b")),
            (r#""a\'b""#, None),
            (r#""\x41\u00e9\101\n""#, Some("Aé\u{41}\n")),
            (r#""\q""#, None),
            (r#""\400""#, None),
        ] {
            assert_eq!(unquoted(quoted).as_deref(), text, "{quoted}");
        }
    }
}
