//! Printing, as Go's `fmt` does it.

use std::fmt::Write as _;

use super::{
    fault::Wrong,
    machine::Machine,
    number,
    value::{Heap, ListKind, MapKind, Value},
};

/// The widest that a value may be padded to.
const WIDTH: usize = 10_000;

/// How a value is to be printed.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "flags, as they are written")]
struct Spec {
    minus: bool,
    plus: bool,
    /// `%+v`: fields of records are named.
    names: bool,
    sharp: bool,
    space: bool,
    zero: bool,
    width: Option<usize>,
    precision: Option<usize>,
}

impl Machine {
    /// A value as `%v` prints it.
    pub(super) fn display(&mut self, value: &Value) -> Result<String, Wrong> {
        self.weigh(value)?;
        let mut out = String::new();
        print(&self.heap, &mut out, value, 'v', Spec::default(), false);
        self.budget.spend(out.len())?;
        Ok(out)
    }

    /// `fmt.Sprint`: a space between two values of which none is text.
    pub(super) fn sprint(&mut self, values: &[Value]) -> Result<String, Wrong> {
        let mut out = String::new();
        let is_text = |value: &Value| matches!(value, Value::Text(_) | Value::Protocol(_));
        for (at, value) in values.iter().enumerate() {
            if at > 0 && !is_text(value) && !values.get(at - 1).is_some_and(is_text) {
                out.push(' ');
            }
            out.push_str(&self.display(value)?);
        }
        Ok(out)
    }

    /// `fmt.Sprintf`.
    pub(super) fn sprintf(&mut self, format: &str, values: &[Value]) -> Result<String, Wrong> {
        for value in values {
            self.weigh(value)?;
        }
        let mut printer = Printer { values, at: 0, reordered: false, out: String::new() };
        let mut rest = format;
        while let Some(percent) = rest.find('%') {
            printer.out.push_str(&rest[..percent]);
            rest = printer.verb(&self.heap, &rest[percent + 1..]);
            self.budget.step()?;
            if printer.out.len() > self.budget.steps() * super::fault::STEP {
                return self.budget.spend(usize::MAX).map(|()| String::new());
            }
        }
        printer.out.push_str(rest);
        let mut out = printer.out;
        if !printer.reordered && printer.at < values.len() {
            out.push_str("%!(EXTRA ");
            for (number, value) in values.iter().skip(printer.at).enumerate() {
                if number > 0 {
                    out.push_str(", ");
                }
                if value.is_nil() {
                    out.push_str("<nil>");
                } else {
                    out.push_str(&type_name(&self.heap, value));
                    out.push('=');
                    print(&self.heap, &mut out, value, 'v', Spec::default(), false);
                }
            }
            out.push(')');
        }
        self.budget.spend(out.len())?;
        Ok(out)
    }
}

struct Printer<'a> {
    values: &'a [Value],
    at: usize,
    reordered: bool,
    out: String,
}

impl Printer<'_> {
    /// Prints what one `%…` says; gives what follows it.
    fn verb<'text>(&mut self, heap: &Heap, rest: &'text str) -> &'text str {
        let mut spec = Spec::default();
        let mut rest = rest;
        while let Some(flag) = rest.chars().next().filter(|c| "#0+- ".contains(*c)) {
            match flag {
                '#' => spec.sharp = true,
                '0' => spec.zero = true,
                '+' => spec.plus = true,
                '-' => spec.minus = true,
                _ => spec.space = true,
            }
            rest = &rest[1..];
        }
        let mut bad_index = false;
        rest = self.index(rest, &mut bad_index);
        (spec.width, rest) = self.amount(rest, "%!(BADWIDTH)", &mut spec.minus);
        if let Some(after) = rest.strip_prefix('.') {
            rest = self.index(after, &mut bad_index);
            let (precision, after) = self.amount(rest, "%!(BADPREC)", &mut false);
            spec.precision = Some(precision.unwrap_or(0));
            rest = after;
        }
        rest = self.index(rest, &mut bad_index);
        if spec.minus {
            spec.zero = false;
        }
        let mut chars = rest.chars();
        let Some(verb) = chars.next() else {
            self.out.push_str("%!(NOVERB)");
            return "";
        };
        if verb == 'v' && spec.plus {
            spec.plus = false;
            spec.names = true;
        }
        let rest = chars.as_str();
        if verb == '%' {
            self.out.push('%');
        } else if bad_index {
            let _ = write!(self.out, "%!{verb}(BADINDEX)");
        } else if let Some(value) = self.values.get(self.at) {
            self.at += 1;
            print(heap, &mut self.out, value, verb, spec, false);
        } else {
            let _ = write!(self.out, "%!{verb}(MISSING)");
        }
        rest
    }

    /// `[n]` chooses the next argument.
    fn index<'text>(&mut self, rest: &'text str, bad: &mut bool) -> &'text str {
        let Some(inside) = rest.strip_prefix('[') else { return rest };
        self.reordered = true;
        let Some((number, after)) = inside.split_once(']') else {
            *bad = true;
            return inside;
        };
        match number.parse::<usize>().ok().and_then(|number| number.checked_sub(1)) {
            Some(at) if at < self.values.len() => self.at = at,
            _ => *bad = true,
        }
        after
    }

    /// A width or precision: digits, or `*` for the next argument.
    fn amount<'text>(
        &mut self,
        rest: &'text str,
        complaint: &str,
        minus: &mut bool,
    ) -> (Option<usize>, &'text str) {
        if let Some(after) = rest.strip_prefix('*') {
            let given = self.values.get(self.at);
            self.at += usize::from(given.is_some());
            if let Some(Value::Int(amount)) = given
                && let Ok(size) = usize::try_from(amount.unsigned_abs())
                && size <= WIDTH
            {
                *minus |= *amount < 0;
                return (Some(size), after);
            }
            self.out.push_str(complaint);
            return (None, after);
        }
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let amount = rest[..digits].parse::<usize>().ok().filter(|amount| *amount <= WIDTH);
        (amount, &rest[digits..])
    }
}

fn print(heap: &Heap, out: &mut String, value: &Value, verb: char, spec: Spec, nested: bool) {
    if verb == 'T' && !nested {
        let name = if value.is_nil() { "<nil>".to_owned() } else { type_name(heap, value) };
        pad(out, &name, spec);
        return;
    }
    let text = match value {
        Value::Missing | Value::Nil if verb == 'v' => Some("<nil>".to_owned()),
        Value::Missing | Value::Nil => Some(format!("%!{verb}(<nil>)")),
        Value::Bool(flag) => matches!(verb, 't' | 'v').then(|| flag.to_string()),
        Value::Int(int) | Value::Int64(int) => integer(*int < 0, int.unsigned_abs(), verb, spec),
        Value::Uint(int) => integer(false, *int, verb, spec),
        Value::Byte(byte) => integer(false, u64::from(*byte), verb, spec),
        Value::Float(number) => float(*number, verb, spec),
        Value::Text(text) | Value::Protocol(text) => string(text, verb, spec),
        Value::Time(time) => string(&time.printed(), verb, spec),
        Value::List(_, at) => {
            out.push('[');
            for (number, item) in heap.list(*at).iter().enumerate() {
                if number > 0 {
                    out.push(' ');
                }
                print(heap, out, item, verb, spec, true);
            }
            out.push(']');
            return;
        }
        Value::Map(_, at) => {
            out.push_str("map[");
            for (number, (key, item)) in heap.map(*at).iter().enumerate() {
                if number > 0 {
                    out.push(' ');
                }
                print(heap, out, &Value::text(key), verb, spec, true);
                out.push(':');
                print(heap, out, item, verb, spec, true);
            }
            out.push(']');
            return;
        }
        Value::Record(at) => {
            out.push('{');
            for (number, field) in heap.record(*at).fields.iter().enumerate() {
                if number > 0 {
                    out.push(' ');
                }
                if spec.names {
                    out.push_str(field.name);
                    out.push(':');
                }
                print(heap, out, &field.value, verb, spec, true);
            }
            out.push('}');
            return;
        }
    };
    if let Some(text) = text {
        pad(out, &text, spec);
    } else {
        let _ = write!(out, "%!{verb}({}=", type_name(heap, value));
        print(heap, out, value, 'v', Spec::default(), false);
        out.push(')');
    }
}

fn pad(out: &mut String, text: &str, spec: Spec) {
    let missing = spec.width.unwrap_or(0).saturating_sub(text.chars().count());
    if spec.minus {
        out.push_str(text);
        out.push_str(&" ".repeat(missing));
    } else {
        let fill = if spec.zero { "0" } else { " " };
        // Zeros go between the sign and the number.
        let (sign, text) = match text.strip_prefix(['-', '+']) {
            Some(rest) if spec.zero => text.split_at(text.len() - rest.len()),
            _ => ("", text),
        };
        out.push_str(sign);
        out.push_str(&fill.repeat(missing));
        out.push_str(text);
    }
}

fn integer(negative: bool, magnitude: u64, verb: char, spec: Spec) -> Option<String> {
    let (prefix, digits) = match verb {
        'v' | 'd' => ("", magnitude.to_string()),
        'b' => (if spec.sharp { "0b" } else { "" }, format!("{magnitude:b}")),
        'o' => (if spec.sharp { "0" } else { "" }, format!("{magnitude:o}")),
        'O' => ("0o", format!("{magnitude:o}")),
        'x' => (if spec.sharp { "0x" } else { "" }, format!("{magnitude:x}")),
        'X' => (if spec.sharp { "0X" } else { "" }, format!("{magnitude:X}")),
        'c' => return Some(character(negative, magnitude).to_string()),
        'q' => return Some(quote(&character(negative, magnitude).to_string(), '\'')),
        'U' => return Some(format!("U+{magnitude:04X}")),
        _ => return None,
    };
    let wanted = spec.precision.unwrap_or(0).saturating_sub(digits.len());
    let sign = sign(negative, spec);
    Some(format!("{sign}{prefix}{}{digits}", "0".repeat(wanted)))
}

fn sign(negative: bool, spec: Spec) -> &'static str {
    if negative {
        "-"
    } else if spec.plus {
        "+"
    } else if spec.space {
        " "
    } else {
        ""
    }
}

fn character(negative: bool, code: u64) -> char {
    let code = if negative { None } else { u32::try_from(code).ok() };
    code.and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER)
}

fn float(float: f64, verb: char, spec: Spec) -> Option<String> {
    let text = match verb {
        'v' => number::with_precision(float, 'g', spec.precision),
        'e' | 'E' | 'f' | 'F' | 'g' | 'G' => number::with_precision(float, verb, spec.precision),
        _ => return None,
    };
    let signed = text.starts_with(['-', '+']);
    Some(if signed { text } else { format!("{}{text}", sign(false, spec)) })
}

fn string(text: &str, verb: char, spec: Spec) -> Option<String> {
    let cut: String = match spec.precision {
        Some(precision) if verb != 'x' && verb != 'X' => text.chars().take(precision).collect(),
        _ => text.to_owned(),
    };
    Some(match verb {
        'v' | 's' => cut,
        'q' if spec.sharp && !cut.contains('`') && !cut.chars().any(char::is_control) => format!("`{cut}`"),
        'q' => quote(&cut, '"'),
        'x' => hexadecimal(cut.as_bytes()),
        'X' => hexadecimal(cut.as_bytes()).to_ascii_uppercase(),
        _ => return None,
    })
}

/// Bytes as hexadecimal digits.
pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut out, byte| {
        // Writing to a text cannot fail.
        let _ = write!(out, "{byte:02x}");
        out
    })
}

/// `strconv.Quote`.
pub(super) fn quote(text: &str, mark: char) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push(mark);
    for c in text.chars() {
        match c {
            c if c == mark || c == '\\' => out.extend(['\\', c]),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            c if u32::from(c) < 0x20 || u32::from(c) == 0x7f => {
                let _ = write!(out, "\\x{:02x}", u32::from(c));
            }
            c if is_printable(c) => out.push(c),
            c => {
                let _ = match u32::from(c) {
                    code @ ..0x10000 => write!(out, "\\u{code:04x}"),
                    code => write!(out, "\\U{code:08x}"),
                };
            }
        }
    }
    out.push(mark);
    out
}

fn is_printable(c: char) -> bool {
    // Behind another letter, combining signs are not escaped, as Go does not.
    c.is_ascii() || !['a', c].iter().collect::<String>().escape_debug().any(|c| c == '\\')
}

/// The name of a type, as `%T` prints it.
pub(super) fn type_name(heap: &Heap, value: &Value) -> String {
    match value {
        Value::List(ListKind::Any, _) => "[]interface {}",
        Value::List(ListKind::Text, _) => "[]string",
        Value::List(ListKind::Int, _) => "[]int",
        Value::Map(MapKind::Any, _) => "map[string]interface {}",
        Value::Map(MapKind::AnyKeys, _) => "map[interface {}]interface {}",
        Value::Map(MapKind::Text, _) => "map[string]string",
        Value::Map(MapKind::Services, _) => "map[string]provisioners.NetworkService",
        Value::Map(MapKind::Ports, _) => "map[string]provisioners.ServicePort",
        Value::Protocol(_) => "types.ServicePortProtocol",
        Value::Time(_) => "time.Time",
        Value::Record(at) => heap.record(*at).type_name,
        Value::Missing | Value::Nil => "interface {}",
        other => other.kind(),
    }
    .to_owned()
}
