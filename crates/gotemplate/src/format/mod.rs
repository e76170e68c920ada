//! Go's `fmt`: `Sprint` and `Sprintf`.
//!
//! `golden.jsonl` has outputs of Go to compare with. Known differences:
//!
//! - A width or precision above [`MAX_WIDTH`] is ignored; Go accepts up to seven digits.
//! - Of floats, the verbs `%b`, `%x` and `%X` (binary exponents) are not supported: they print as a bad verb, `%!x(float64=1.5)`.
//! - `%p` prints a bad verb, not an address.
//! - A `time.Time` prints as its text with `%v`, `%s`, `%q` and `%x`, and as a bad verb with others, where Go prints the fields
//!   of the struct; `%#v` prints the quoted text.
//! - Keys of a `map[interface {}]interface {}` print as strings.

mod print;
mod quote;
mod verbs;

pub(crate) use print::type_name;
pub(crate) use quote::{hexadecimal, quote};

use self::print::Printer;
use crate::{error::EvalError, interpreter::Interpreter, limits::STEP, value::Value};

/// Maximum width and precision.
const MAX_WIDTH: usize = 10_000;
/// Go rejects a number that has more digits after this value.
const MAX_NUMBER: usize = 1_000_000;

/// Flags, width and precision of a verb: Go's `fmtFlags`.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "one per flag of the format")]
struct Flags {
    minus: bool,
    plus: bool,
    sharp: bool,
    space: bool,
    zero: bool,
    /// `%+v`: prints the names of fields.
    plus_v: bool,
    /// `%#v`: Go syntax.
    sharp_v: bool,
    width: Option<usize>,
    precision: Option<usize>,
}

impl Interpreter {
    /// `%v`.
    pub(crate) fn display(&mut self, value: &Value) -> Result<String, EvalError> {
        self.weigh(value)?;
        let mut printer = Printer::new(&self.heap, self.budget.steps() * STEP);
        printer.argument(value, 'v', Flags::default());
        let out = printer.out;
        self.budget.spend(out.len())?;
        Ok(out)
    }

    /// `fmt.Sprint`: a space between two values if neither is a string.
    pub(crate) fn sprint(&mut self, values: &[Value]) -> Result<String, EvalError> {
        let mut out = String::new();
        let is_string = |value: &Value| matches!(value, Value::Str(_) | Value::Named(..));
        for (at, value) in values.iter().enumerate() {
            if at > 0 && !is_string(value) && !values.get(at - 1).is_some_and(is_string) {
                out.push(' ');
            }
            out.push_str(&self.display(value)?);
        }
        Ok(out)
    }

    /// `fmt.Sprintf`.
    pub(crate) fn sprintf(&mut self, format: &str, values: &[Value]) -> Result<String, EvalError> {
        for value in values {
            self.weigh(value)?;
        }
        let printer = Printer::new(&self.heap, self.budget.steps() * STEP);
        let mut formatter = Formatter { values, at: 0, reordered: false, printer };
        let mut rest = format;
        while let Some(percent) = rest.find('%') {
            formatter.printer.out.push_str(&rest[..percent]);
            rest = formatter.verb(&rest[percent + 1..]);
            self.budget.step()?;
            if formatter.printer.out.len() > self.budget.steps() * STEP {
                return self.budget.spend(usize::MAX).map(|()| String::new());
            }
        }
        formatter.printer.out.push_str(rest);
        formatter.extra();
        let out = formatter.printer.out;
        self.budget.spend(out.len())?;
        Ok(out)
    }
}

/// State of `doPrintf`.
struct Formatter<'a> {
    values: &'a [Value],
    /// Index of the next argument.
    at: usize,
    /// True after an explicit index: unused arguments are no error then.
    reordered: bool,
    printer: Printer<'a>,
}

impl Formatter<'_> {
    /// Prints one `%…`; returns the rest of the format. The loop of `doPrintf`.
    fn verb<'text>(&mut self, rest: &'text str) -> &'text str {
        let mut flags = Flags::default();
        let mut rest = rest;
        while let Some(flag) = rest.chars().next().filter(|c| "#0+- ".contains(*c)) {
            match flag {
                '#' => flags.sharp = true,
                '0' => flags.zero = true,
                '+' => flags.plus = true,
                '-' => flags.minus = true,
                _ => flags.space = true,
            }
            rest = &rest[1..];
        }
        let mut is_valid = true;
        let mut after_index;
        (rest, after_index) = self.index(rest, &mut is_valid);
        if let Some(after) = rest.strip_prefix('*') {
            rest = after;
            let width = self.number_argument();
            if width.is_none() {
                self.printer.out.push_str("%!(BADWIDTH)");
            }
            flags.minus |= width.is_some_and(|width| width < 0);
            flags.width = width.and_then(bounded);
            after_index = false;
        } else {
            let width;
            (width, rest) = number(rest);
            is_valid &= !(after_index && width.is_some());
            flags.width = width.filter(|width| *width <= MAX_WIDTH);
        }
        // Go takes a point at the end of the format for the verb.
        if let Some(after) = rest.strip_prefix('.').filter(|after| !after.is_empty()) {
            is_valid &= !after_index;
            (rest, after_index) = self.index(after, &mut is_valid);
            if let Some(after) = rest.strip_prefix('*') {
                rest = after;
                let precision = self.number_argument().filter(|precision| *precision >= 0);
                if precision.is_none() {
                    self.printer.out.push_str("%!(BADPREC)");
                }
                flags.precision = precision.and_then(bounded);
                after_index = false;
            } else {
                let precision;
                (precision, rest) = number(rest);
                flags.precision = Some(precision.unwrap_or(0)).filter(|precision| *precision <= MAX_WIDTH);
            }
        }
        if !after_index {
            (rest, _) = self.index(rest, &mut is_valid);
        }
        let mut chars = rest.chars();
        let Some(verb) = chars.next() else {
            self.printer.out.push_str("%!(NOVERB)");
            return "";
        };
        if matches!(verb, 'v' | 'w') {
            flags.plus_v = std::mem::take(&mut flags.plus);
            flags.sharp_v = std::mem::take(&mut flags.sharp);
        }
        if verb == '%' {
            self.printer.out.push('%');
        } else if !is_valid {
            self.printer.out.extend(["%!", verb.encode_utf8(&mut [0; 4]), "(BADINDEX)"]);
        } else if let Some(value) = self.values.get(self.at) {
            self.at += 1;
            self.printer.argument(value, verb, flags);
        } else {
            self.printer.out.extend(["%!", verb.encode_utf8(&mut [0; 4]), "(MISSING)"]);
        }
        chars.as_str()
    }

    /// `argNumber`: `[n]`, the index of the next argument. Returns the rest, and true after a well-formed index.
    fn index<'text>(&mut self, rest: &'text str, is_valid: &mut bool) -> (&'text str, bool) {
        let Some(inside) = rest.strip_prefix('[') else { return (rest, false) };
        self.reordered = true;
        let Some((digits, after)) = inside.split_once(']').filter(|_| rest.len() > 2) else {
            *is_valid = false;
            return (inside, false);
        };
        let index = match number(digits) {
            (Some(index), "") => Some(index),
            _ => None,
        };
        match index.and_then(|index| index.checked_sub(1)) {
            Some(at) if at < self.values.len() => self.at = at,
            _ => *is_valid = false,
        }
        (after, index.is_some())
    }

    /// `intFromArg`: width or precision from the next argument.
    fn number_argument(&mut self) -> Option<i64> {
        let value = self.values.get(self.at)?;
        self.at += 1;
        let number = match value {
            Value::Int(int) | Value::Int64(int) => *int,
            Value::Uint(int) => i64::try_from(*int).ok()?,
            Value::Byte(byte) => i64::from(*byte),
            _ => return None,
        };
        usize::try_from(number.unsigned_abs()).is_ok_and(|size| size <= MAX_NUMBER).then_some(number)
    }

    /// Arguments that no verb used.
    fn extra(&mut self) {
        if self.reordered || self.at >= self.values.len() {
            return;
        }
        self.printer.out.push_str("%!(EXTRA ");
        for (number, value) in self.values.iter().skip(self.at).enumerate() {
            if number > 0 {
                self.printer.out.push_str(", ");
            }
            if value.is_nil() {
                self.printer.out.push_str("<nil>");
            } else {
                self.printer.typed(value, Flags::default());
            }
        }
        self.printer.out.push(')');
    }
}

/// Magnitude of a width or precision, unless it is above [`MAX_WIDTH`].
fn bounded(number: i64) -> Option<usize> {
    usize::try_from(number.unsigned_abs()).ok().filter(|size| *size <= MAX_WIDTH)
}

/// `parsenum`: digits. After a number that is too large nothing of the format is left.
fn number(text: &str) -> (Option<usize>, &str) {
    let mut number = None;
    for (at, c) in text.char_indices() {
        let Some(digit) = c.to_digit(10) else { return (number, &text[at..]) };
        let so_far = number.unwrap_or(0);
        if so_far > MAX_NUMBER {
            return (None, "");
        }
        number = Some(so_far * 10 + digit as usize);
    }
    (number, "")
}

#[cfg(test)]
mod tests;
