//! From a value to the YAML of an answer: block style, two spaces for each level, lists in line with their key.

use std::cmp::Ordering;

use serde_json::{Map, Number, Value};

use super::{
    number::{general_float, json_number},
    yaml_style::{Ink, Style, is_simple_key, literal, style},
};

/// Writes a value as a YAML document.
pub(crate) fn encode_yaml(value: &Value) -> String {
    let mut writer = Writer { out: String::new() };
    match value {
        Value::Object(map) if !map.is_empty() => writer.map(map, 0),
        Value::Array(list) if !list.is_empty() => writer.list(list, 0),
        _ => {
            writer.scalar(value, 2);
            writer.end_line();
        }
    }
    writer.out
}

struct Writer {
    out: String,
}

impl Writer {
    /// Writes the entries of a map; the place of the first one is reached already.
    fn map(&mut self, map: &Map<String, Value>, indent: usize) {
        for (index, (key, value)) in in_order(map.iter().collect()).into_iter().enumerate() {
            if index > 0 {
                self.indent(indent);
            }
            if is_simple_key(key) {
                self.text(key, None);
                self.out.push(':');
                self.after_key(value, indent);
            } else {
                self.out.push_str("? ");
                self.text(key, Some(indent + 2));
                self.end_line();
                self.indent(indent);
                self.out.push_str(": ");
                self.inline(value, indent + 2);
            }
        }
    }

    fn list(&mut self, list: &[Value], indent: usize) {
        for (index, item) in list.iter().enumerate() {
            if index > 0 {
                self.indent(indent);
            }
            self.out.push_str("- ");
            self.inline(item, indent + 2);
        }
    }

    /// The value of a simple key: what has parts begins on the next line.
    fn after_key(&mut self, value: &Value, indent: usize) {
        match value {
            Value::Object(map) if !map.is_empty() => {
                self.end_line();
                self.indent(indent + 2);
                self.map(map, indent + 2);
            }
            Value::Array(list) if !list.is_empty() => {
                self.end_line();
                self.indent(indent);
                self.list(list, indent);
            }
            _ => {
                self.out.push(' ');
                self.scalar(value, indent + 2);
                self.end_line();
            }
        }
    }

    /// A value after a `- `: what has parts begins on the same line.
    fn inline(&mut self, value: &Value, indent: usize) {
        match value {
            Value::Object(map) if !map.is_empty() => self.map(map, indent),
            Value::Array(list) if !list.is_empty() => self.list(list, indent),
            _ => {
                self.scalar(value, indent);
                self.end_line();
            }
        }
    }

    /// A value without parts; the further lines of a text stand `indent` deep.
    fn scalar(&mut self, value: &Value, indent: usize) {
        match value {
            Value::Null => self.out.push_str("null"),
            Value::Bool(true) => self.out.push_str("true"),
            Value::Bool(false) => self.out.push_str("false"),
            Value::Number(number) => self.out.push_str(&yaml_number(number)),
            Value::String(text) => self.text(text, Some(indent)),
            Value::Array(_) => self.out.push_str("[]"),
            Value::Object(_) => self.out.push_str("{}"),
        }
    }

    /// Writes a text; without an indentation, on one line.
    fn text(&mut self, text: &str, indent: Option<usize>) {
        match style(text) {
            Style::Plain => Ink::new(&mut self.out, indent).plain(text),
            Style::SingleQuoted => Ink::new(&mut self.out, indent).single_quoted(text),
            Style::DoubleQuoted => Ink::new(&mut self.out, indent).double_quoted(text),
            Style::Literal => literal(&mut self.out, text, indent.unwrap_or(0)),
        }
    }

    fn indent(&mut self, indent: usize) {
        self.out.extend(std::iter::repeat_n(' ', indent));
    }

    fn end_line(&mut self) {
        if !self.out.ends_with('\n') {
            self.out.push('\n');
        }
    }
}

/// A number without a fraction is an integer as long as 64 bits hold it.
fn yaml_number(number: &Number) -> String {
    let text = json_number(number);
    if text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok() {
        return text;
    }
    number.as_f64().map_or(text, general_float)
}

/// The entries of a map, sorted by [`by_nature`]. That is no order to every set of keys (`5` is before `100`, `100`
/// before `1Z`, and `1Z` before `5`), which the sorting of the standard library would not stand.
fn in_order<'v>(mut entries: Vec<(&'v String, &'v Value)>) -> Vec<(&'v String, &'v Value)> {
    if entries.len() < 2 {
        return entries;
    }
    let mut right = in_order(entries.split_off(entries.len() / 2)).into_iter().peekable();
    let mut left = in_order(entries).into_iter().peekable();
    let mut merged = Vec::with_capacity(left.len() + right.len());
    while let (Some((first, _)), Some((second, _))) = (left.peek(), right.peek()) {
        let next = if by_nature(first, second).is_le() { left.next() } else { right.next() };
        merged.extend(next);
    }
    merged.extend(left);
    merged.extend(right);
    merged
}

/// The order of keys: letters after everything else, and numbers inside of keys by their value.
fn by_nature(left: &str, right: &str) -> Ordering {
    let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
    let Some(at) = left.iter().zip(&right).position(|(a, b)| a != b) else {
        return left.len().cmp(&right.len());
    };
    let (a, b) = (left[at], right[at]);
    match (a.is_alphabetic(), b.is_alphabetic()) {
        (true, true) => return a.cmp(&b),
        (true, false) => return Ordering::Greater,
        (false, true) => return Ordering::Less,
        (false, false) => {}
    }
    // A zero counts where the number has begun before it.
    let is_inside = (a == '0' || b == '0')
        && left[..at].iter().rev().take_while(|c| c.is_ascii_digit()).any(|digit| *digit != '0');
    let run = |text: &[char]| -> Vec<char> {
        text[at..].iter().copied().take_while(char::is_ascii_digit).collect()
    };
    let (left_run, right_run) = (run(&left), run(&right));
    let worth = |run: &[char]| -> Vec<char> {
        let zeros = if is_inside { 0 } else { run.iter().take_while(|digit| **digit == '0').count() };
        run[zeros..].to_vec()
    };
    let (left_worth, right_worth) = (worth(&left_run), worth(&right_run));
    left_worth
        .len()
        .cmp(&right_worth.len())
        .then_with(|| left_worth.cmp(&right_worth))
        .then_with(|| left_run.len().cmp(&right_run.len()))
        .then_with(|| a.cmp(&b))
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value};

    use super::in_order;

    fn sorted(keys: &[&str]) -> Vec<String> {
        let map: Map<String, Value> = keys.iter().map(|key| ((*key).to_owned(), Value::Null)).collect();
        in_order(map.iter().collect()).into_iter().map(|(key, _)| key.clone()).collect()
    }

    #[test]
    fn numbers_in_keys_are_sorted_by_their_value() {
        let keys = ["-", "_", "1", "a", "a.b", "a1", "a01", "a2", "a10", "a100", "b"];
        assert_eq!(sorted(&keys), keys);
    }

    #[test]
    fn keys_without_an_order_are_all_there() {
        let keys: Vec<String> =
            (0..500).flat_map(|n| [format!("{n}"), format!("{n}Z"), format!("Z{n}00")]).collect();
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        let mut found = sorted(&keys);
        found.sort_unstable();
        let mut keys = keys;
        keys.sort_unstable();
        assert_eq!(found, keys);
    }
}
