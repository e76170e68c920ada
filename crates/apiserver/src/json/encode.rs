//! From a value to the bytes of a JSON answer.

use serde_json::Value;

use super::number::json_number;

/// Writes a value on one line. A whole answer ends with a newline, which is not part of it.
pub(crate) fn encode(value: &Value) -> Vec<u8> {
    let mut writer = Writer { out: Vec::new(), indent: None };
    writer.value(value);
    writer.out
}

/// A value on one line, for messages and cells.
pub(crate) fn text(value: &Value) -> String {
    // What is written is UTF-8, since its texts are.
    String::from_utf8(encode(value)).unwrap_or_default()
}

/// Writes a value for people: two spaces for each level, and no newline at the end.
pub(crate) fn encode_pretty(value: &Value) -> Vec<u8> {
    let mut writer = Writer { out: Vec::new(), indent: Some(0) };
    writer.value(value);
    writer.out
}

struct Writer {
    out: Vec<u8>,
    /// The level of indentation; none on one line.
    indent: Option<usize>,
}

impl Writer {
    fn value(&mut self, value: &Value) {
        match value {
            Value::Null => self.out.extend(b"null"),
            Value::Bool(true) => self.out.extend(b"true"),
            Value::Bool(false) => self.out.extend(b"false"),
            Value::Number(number) => self.out.extend(json_number(number).as_bytes()),
            Value::String(text) => self.string(text),
            Value::Array(list) => self.container(b'[', b']', list, Self::value),
            Value::Object(map) => self.container(b'{', b'}', map, |writer, (key, item)| {
                writer.string(key);
                writer.out.push(b':');
                if writer.indent.is_some() {
                    writer.out.push(b' ');
                }
                writer.value(item);
            }),
        }
    }

    fn container<T>(
        &mut self,
        opening: u8,
        closing: u8,
        items: impl IntoIterator<Item = T>,
        mut write: impl FnMut(&mut Self, T),
    ) {
        self.out.push(opening);
        let mut is_empty = true;
        for item in items {
            if is_empty {
                self.indent = self.indent.map(|level| level + 1);
            } else {
                self.out.push(b',');
            }
            is_empty = false;
            self.line();
            write(self, item);
        }
        if !is_empty {
            self.indent = self.indent.map(|level| level - 1);
            self.line();
        }
        self.out.push(closing);
    }

    fn line(&mut self) {
        if let Some(level) = self.indent {
            self.out.push(b'\n');
            self.out.resize(self.out.len() + 2 * level, b' ');
        }
    }

    fn string(&mut self, text: &str) {
        self.out.push(b'"');
        let mut start = 0;
        for (at, c) in text.char_indices() {
            let escape: &[u8] = match c {
                '"' => b"\\\"",
                '\\' => b"\\\\",
                '\x08' => b"\\b",
                '\x0c' => b"\\f",
                '\n' => b"\\n",
                '\r' => b"\\r",
                '\t' => b"\\t",
                '\u{2028}' => b"\\u2028",
                '\u{2029}' => b"\\u2029",
                // What a browser would take for markup is escaped too.
                '\0'..='\x1f' | '<' | '>' | '&' => b"",
                _ => continue,
            };
            self.out.extend(&text.as_bytes()[start..at]);
            if escape.is_empty() {
                self.out.extend(format!("\\u{:04x}", u32::from(c)).as_bytes());
            } else {
                self.out.extend(escape);
            }
            start = at + c.len_utf8();
        }
        self.out.extend(&text.as_bytes()[start..]);
        self.out.push(b'"');
    }
}

/// Writes a value on one line, behind what is there.
pub(crate) fn encode_into(out: &mut Vec<u8>, value: &Value) {
    let mut writer = Writer { out: std::mem::take(out), indent: None };
    writer.value(value);
    *out = writer.out;
}
