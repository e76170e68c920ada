//! Reading JSON text, one value after the other, with the words of Go's scanner for what is wrong in it.

use std::{borrow::Cow, collections::HashSet};

use serde_json::{Map, Number, Value};

use super::{
    MAX_DEPTH,
    decode::DecodeError,
    quote::{quote, quote_byte},
};

/// How many strict findings one body may have; the rest is not reported.
const MAX_NOTES: usize = 100;

type Result<T> = std::result::Result<T, DecodeError>;

/// One step from a value into it.
#[derive(Clone, Copy)]
pub(crate) enum Step<'p> {
    /// The field of an object.
    Key(&'p str),
    /// The item of an array.
    Index(usize),
}

/// Where a value stands: a list of steps that lives on the stack and costs nothing until it is printed.
#[derive(Clone, Copy)]
pub(crate) struct Place<'p> {
    parent: Option<&'p Self>,
    step: Option<Step<'p>>,
}

impl<'p> Place<'p> {
    /// The whole body.
    pub(crate) const ROOT: Place<'static> = Place { parent: None, step: None };

    /// A step down from here.
    pub(crate) fn to(&'p self, step: Step<'p>) -> Self {
        Self { parent: Some(self), step: Some(step) }
    }

    fn path(&self) -> String {
        let mut steps = Vec::new();
        let mut place = Some(self);
        while let Some(here) = place {
            steps.extend(here.step);
            place = here.parent;
        }
        let mut path = String::new();
        for step in steps.iter().rev() {
            match step {
                Step::Key(key) if path.is_empty() => path.push_str(key),
                Step::Key(key) => {
                    path.push('.');
                    path.push_str(key);
                }
                Step::Index(index) => {
                    path.push('[');
                    path.push_str(&index.to_string());
                    path.push(']');
                }
            }
        }
        path
    }
}

/// A reader of one JSON text.
pub(crate) struct Reader<'text> {
    bytes: &'text [u8],
    at: usize,
    depth: usize,
    notes: Vec<String>,
    noted: HashSet<String>,
    out_of_range: Option<String>,
}

impl<'text> Reader<'text> {
    /// Begins to read a text.
    pub(crate) fn new(bytes: &'text [u8]) -> Self {
        Self { bytes, at: 0, depth: 0, notes: Vec::new(), noted: HashSet::new(), out_of_range: None }
    }

    /// Ends reading: nothing but space may follow. Gives what strict decoding reports, and the first number that no
    /// type can hold.
    pub(crate) fn finish(mut self) -> Result<(Vec<String>, Option<String>)> {
        match self.peek() {
            None => Ok((self.notes, self.out_of_range)),
            Some(byte) => Err(unexpected(byte, "after top-level value")),
        }
    }

    /// Notes a field that strict decoding complains about: `duplicate field "spec.a"`.
    pub(crate) fn note(&mut self, what: &str, place: &Place<'_>) {
        if self.notes.len() < MAX_NOTES {
            let note = format!("{what} field {}", quote(&place.path()));
            if self.noted.insert(note.clone()) {
                self.notes.push(note);
            }
        }
    }

    /// The next byte that is not space, which stays unread.
    pub(crate) fn peek(&mut self) -> Option<u8> {
        while let Some(byte) = self.bytes.get(self.at) {
            if !matches!(byte, b' ' | b'\t' | b'\r' | b'\n') {
                return Some(*byte);
            }
            self.at += 1;
        }
        None
    }

    /// Reads a value of any type, together with its text.
    pub(crate) fn value_and_text(&mut self, place: &Place<'_>) -> Result<(Value, &'text [u8])> {
        self.peek();
        let start = self.at;
        let value = self.value(place)?;
        Ok((value, &self.bytes[start..self.at]))
    }

    /// Reads a value of any type.
    pub(crate) fn value(&mut self, place: &Place<'_>) -> Result<Value> {
        match self.peek() {
            None => Err(end_of_input()),
            Some(b'{') => {
                let mut map = Map::new();
                self.object(|reader, key| {
                    let here = place.to(Step::Key(&key));
                    if map.contains_key(&key) {
                        reader.note("duplicate", &here);
                    }
                    let value = reader.value(&here)?;
                    map.insert(key, value);
                    Ok(())
                })?;
                Ok(Value::Object(map))
            }
            Some(b'[') => {
                let mut list = Vec::new();
                self.array(|reader| {
                    let value = reader.value(&place.to(Step::Index(list.len())))?;
                    list.push(value);
                    Ok(())
                })?;
                Ok(Value::Array(list))
            }
            Some(b'"') => Ok(Value::String(self.string()?)),
            Some(b't') => self.literal("true", Value::Bool(true)),
            Some(b'f') => self.literal("false", Value::Bool(false)),
            Some(b'n') => self.literal("null", Value::Null),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(byte) => Err(unexpected(byte, "looking for beginning of value")),
        }
    }

    /// Reads an object; `entry` reads the value of each key.
    pub(crate) fn object(&mut self, mut entry: impl FnMut(&mut Self, String) -> Result<()>) -> Result<()> {
        self.descend(b'{')?;
        if self.peek() == Some(b'}') {
            return self.ascend();
        }
        loop {
            match self.peek() {
                None => return Err(end_of_input()),
                Some(b'"') => {}
                Some(byte) => return Err(unexpected(byte, "looking for beginning of object key string")),
            }
            let key = self.string()?;
            match self.peek() {
                None => return Err(end_of_input()),
                Some(b':') => self.at += 1,
                Some(byte) => return Err(unexpected(byte, "after object key")),
            }
            entry(self, key)?;
            match self.peek() {
                None => return Err(end_of_input()),
                Some(b',') => self.at += 1,
                Some(b'}') => return self.ascend(),
                Some(byte) => return Err(unexpected(byte, "after object key:value pair")),
            }
        }
    }

    /// Reads an array; `item` reads each item.
    pub(crate) fn array(&mut self, mut item: impl FnMut(&mut Self) -> Result<()>) -> Result<()> {
        self.descend(b'[')?;
        if self.peek() == Some(b']') {
            return self.ascend();
        }
        loop {
            item(self)?;
            match self.peek() {
                None => return Err(end_of_input()),
                Some(b',') => self.at += 1,
                Some(b']') => return self.ascend(),
                Some(byte) => return Err(unexpected(byte, "after array element")),
            }
        }
    }

    fn descend(&mut self, opening: u8) -> Result<()> {
        self.at += 1;
        self.depth += 1;
        if self.depth > MAX_DEPTH { Err(unexpected(opening, "exceeded max depth")) } else { Ok(()) }
    }

    #[expect(clippy::unnecessary_wraps, reason = "the end of a container is the last thing its loop does")]
    fn ascend(&mut self) -> Result<()> {
        self.at += 1;
        self.depth -= 1;
        Ok(())
    }

    /// The byte at this place. The end of the text counts as a space, which ends every word.
    fn here(&self) -> u8 {
        self.bytes.get(self.at).copied().unwrap_or(b' ')
    }

    fn literal(&mut self, word: &str, value: Value) -> Result<Value> {
        self.at += 1;
        for expected in word.bytes().skip(1) {
            let found = self.here();
            if found != expected {
                let context = format!("in literal {word} (expecting {})", quote_byte(expected));
                return Err(unexpected(found, &context));
            }
            self.at += 1;
        }
        Ok(value)
    }

    fn number(&mut self) -> Result<Value> {
        let start = self.at;
        if self.here() == b'-' {
            self.at += 1;
        }
        match self.here() {
            b'0' => self.at += 1,
            b'1'..=b'9' => self.digits(),
            byte => return Err(unexpected(byte, "in numeric literal")),
        }
        if self.here() == b'.' {
            self.at += 1;
            if !self.here().is_ascii_digit() {
                return Err(unexpected(self.here(), "after decimal point in numeric literal"));
            }
            self.digits();
        }
        if matches!(self.here(), b'e' | b'E') {
            self.at += 1;
            if matches!(self.here(), b'+' | b'-') {
                self.at += 1;
            }
            if !self.here().is_ascii_digit() {
                return Err(unexpected(self.here(), "in exponent of numeric literal"));
            }
            self.digits();
        }
        let text = std::str::from_utf8(&self.bytes[start..self.at]).unwrap_or_default();
        if let Ok(integer) = text.parse::<i64>() {
            return Ok(Value::from(integer));
        }
        let number = text.parse().ok().and_then(Number::from_f64);
        if number.is_none() && self.out_of_range.is_none() {
            self.out_of_range = Some(text.to_owned());
        }
        Ok(number.map_or(Value::Null, Value::Number))
    }

    fn digits(&mut self) {
        while self.here().is_ascii_digit() {
            self.at += 1;
        }
    }

    fn string(&mut self) -> Result<String> {
        self.at += 1;
        let mut text = String::new();
        let mut start = self.at;
        loop {
            match self.bytes.get(self.at) {
                None => return Err(end_of_input()),
                Some(b'"') => {
                    text.push_str(&well_formed(&self.bytes[start..self.at]));
                    self.at += 1;
                    return Ok(text);
                }
                Some(b'\\') => {
                    text.push_str(&well_formed(&self.bytes[start..self.at]));
                    self.at += 1;
                    text.push(self.escape()?);
                    start = self.at;
                }
                Some(byte @ ..=0x1f) => return Err(unexpected(*byte, "in string literal")),
                Some(_) => self.at += 1,
            }
        }
    }

    fn escape(&mut self) -> Result<char> {
        let byte = self.here();
        let plain = match byte {
            b'"' | b'\\' | b'/' => char::from(byte),
            b'b' => '\x08',
            b'f' => '\x0c',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                self.at += 1;
                return self.unicode_escape();
            }
            _ => return Err(unexpected(byte, "in string escape code")),
        };
        self.at += 1;
        Ok(plain)
    }

    /// The four digits after `\u`, with those of the other half where it is one of two.
    fn unicode_escape(&mut self) -> Result<char> {
        let first = self.hex()?;
        if let Some(c) = char::from_u32(first) {
            return Ok(c);
        }
        let before = self.at;
        if first < 0xdc00 && self.bytes[before..].starts_with(b"\\u") {
            self.at += 2;
            let second = self.hex()?;
            if (0xdc00..0xe000).contains(&second) {
                let pair = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                return Ok(char::from_u32(pair).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = before;
        }
        Ok(char::REPLACEMENT_CHARACTER)
    }

    fn hex(&mut self) -> Result<u32> {
        let mut code = 0;
        for _ in 0..4 {
            let byte = self.here();
            let digit = char::from(byte)
                .to_digit(16)
                .ok_or_else(|| unexpected(byte, "in \\u hexadecimal character escape"))?;
            code = code * 16 + digit;
            self.at += 1;
        }
        Ok(code)
    }
}

/// Bytes as text; each byte that is not UTF-8 becomes a replacement character.
fn well_formed(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    Cow::Owned(text)
}

fn unexpected(byte: u8, context: &str) -> DecodeError {
    DecodeError::Syntax(format!("invalid character {} {context}", quote_byte(byte)))
}

fn end_of_input() -> DecodeError {
    DecodeError::Syntax("unexpected end of JSON input".to_owned())
}

/// The type of a value in a message about a wrong type.
pub(crate) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Why a body that is no object has no kind.
pub(crate) fn no_object(value: &Value) -> String {
    format!(
        "couldn't get version/kind; json parse error: json: cannot unmarshal {} into Go value of type struct \
         {{ APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}",
        kind_of(value)
    )
}
