//! The functions of sprig on text, and the random ones.

use base64::{DecodeError, Engine, engine::general_purpose::STANDARD};
use sha2::{Digest, Sha256};

use super::{
    fault::Wrong,
    format::{hexadecimal, quote},
    functions::{
        Body, Function,
        Parameter::{Any, Int, Text},
    },
    machine::Machine,
    value::{ListKind, MapKind, Value},
};
use crate::template::{
    random::{DIGITS, HEXADECIMAL, LETTERS, LETTERS_AND_DIGITS},
    secret_ref::encode_secret_ref,
};

pub(super) mod escape;

/// A function of one text.
const fn of_text(name: &'static str, body: Body) -> Function {
    Function::fixed(name, &[Text], body)
}

/// A function of two texts.
const fn of_texts(name: &'static str, body: Body) -> Function {
    Function::fixed(name, &[Text, Text], body)
}

pub(super) const FUNCTIONS: &[Function] = &[
    of_text("lower", |machine, args| machine.text(args[0].as_text().to_lowercase())),
    of_text("upper", |machine, args| machine.text(upper(args[0].as_text()))),
    of_text("title", |machine, args| machine.text(title(args[0].as_text()))),
    of_text("trim", |machine, args| machine.text(args[0].as_text().trim().to_owned())),
    of_text("nospace", |machine, args| {
        machine.text(args[0].as_text().chars().filter(|c| !c.is_whitespace()).collect())
    }),
    of_text("kebabcase", |machine, args| machine.text(kebab_case(args[0].as_text()))),
    of_text("b64enc", |machine, args| machine.text(STANDARD.encode(args[0].as_text()))),
    of_text("b64dec", |machine, args| machine.text(decode_base64(args[0].as_text()))),
    of_text("sha256sum", |machine, args| machine.text(hexadecimal(&Sha256::digest(args[0].as_text())))),
    of_text("atoi", |_, args| Ok(Value::Int(atoi(args[0].as_text())))),
    // Templates see nothing of the environment they run in.
    of_text("env", |_, _| Ok(Value::text(""))),
    of_text("expandenv", |_, _| Ok(Value::text(""))),
    of_texts("contains", |_, args| Ok(Value::Bool(args[1].as_text().contains(args[0].as_text())))),
    of_texts("hasPrefix", |_, args| Ok(Value::Bool(args[1].as_text().starts_with(args[0].as_text())))),
    of_texts("hasSuffix", |_, args| Ok(Value::Bool(args[1].as_text().ends_with(args[0].as_text())))),
    of_texts("trimPrefix", |_, args| {
        let (prefix, text) = (args[0].as_text(), args[1].as_text());
        Ok(Value::text(text.strip_prefix(prefix).unwrap_or(text)))
    }),
    of_texts("trimSuffix", |_, args| {
        let (suffix, text) = (args[0].as_text(), args[1].as_text());
        Ok(Value::text(text.strip_suffix(suffix).unwrap_or(text)))
    }),
    of_texts("regexMatch", |machine, args| Ok(Value::Bool(is_match(machine, args)?.unwrap_or(false)))),
    of_texts("mustRegexMatch", |machine, args| {
        is_match(machine, args)?.map(Value::Bool).ok_or(Wrong::new("this is not a regular expression"))
    }),
    of_texts("splitList", |machine, args| {
        let items = split(args[0].as_text(), args[1].as_text());
        machine.texts(&items)
    }),
    of_texts("split", |machine, args| {
        let items = split(args[0].as_text(), args[1].as_text());
        machine.budget.spend(items.len() * size_of::<Value>() + args[1].as_text().len())?;
        let entries = items.iter().enumerate().map(|(at, item)| (format!("_{at}"), Value::text(item)));
        let entries = entries.collect();
        Ok(machine.heap.new_map(MapKind::Text, entries))
    }),
    of_texts("encodeSecretRef", |machine, args| {
        machine.text(encode_secret_ref(args[0].as_text(), args[1].as_text()))
    }),
    Function::fixed("replace", &[Text, Text, Text], replace),
    Function::fixed("indent", &[Int, Text], |machine, args| indent(machine, args, "")),
    Function::fixed("nindent", &[Int, Text], |machine, args| indent(machine, args, "\n")),
    Function::fixed("repeat", &[Int, Text], repeat),
    Function::fixed("trunc", &[Int, Text], |machine, args| machine.text(trunc(args))),
    Function::fixed("substr", &[Int, Int, Text], substr),
    Function::fixed("join", &[Text, Any], |machine, args| {
        let items = machine.strings(&args[1])?;
        let length = items.iter().map(|item| item.len() + args[0].as_text().len()).sum();
        machine.budget.spend(length)?;
        Ok(Value::text(items.join(args[0].as_text())))
    }),
    Function::fixed("toString", &[Any], |machine, args| machine.display(&args[0]).map(Value::text)),
    Function::variadic("cat", &[Any], |machine, args| {
        let texts = displayed(machine, args)?;
        machine.text(texts.join(" "))
    }),
    Function::variadic("quote", &[Any], |machine, args| {
        let texts = displayed(machine, args)?;
        machine.text(texts.iter().map(|text| quote(text, '"')).collect::<Vec<_>>().join(" "))
    }),
    Function::variadic("squote", &[Any], |machine, args| {
        let texts = displayed(machine, args)?;
        machine.text(texts.iter().map(|text| format!("'{text}'")).collect::<Vec<_>>().join(" "))
    }),
    Function::fixed("randAlphaNum", &[Int], |machine, args| draw(machine, args, LETTERS_AND_DIGITS)),
    Function::fixed("randAlpha", &[Int], |machine, args| draw(machine, args, LETTERS)),
    Function::fixed("randNumeric", &[Int], |machine, args| draw(machine, args, DIGITS)),
    Function::fixed("uuidv4", &[], |machine, _| {
        let part = |machine: &mut Machine, length| machine.draws.text(HEXADECIMAL, length);
        let (a, b, c, e) = (part(machine, 8), part(machine, 4), part(machine, 3), part(machine, 12));
        let d = machine.draws.text(b"89ab", 1) + &part(machine, 3);
        Ok(Value::text(format!("{a}-{b}-4{c}-{d}-{e}")))
    }),
];

impl Machine {
    /// A list of texts.
    pub(super) fn texts(&mut self, items: &[String]) -> Result<Value, Wrong> {
        let length = items.iter().map(|item| item.len() + size_of::<Value>()).sum();
        self.budget.spend(length)?;
        let items = items.iter().map(Value::text).collect();
        Ok(self.heap.new_list(ListKind::Text, items))
    }

    /// The items of a list as texts, without those that are nil; what is no list is its only item.
    pub(super) fn strings(&mut self, value: &Value) -> Result<Vec<String>, Wrong> {
        match value {
            Value::Missing | Value::Nil => Ok(Vec::new()),
            Value::List(_, at) => displayed(self, &self.heap.list(*at)),
            other => Ok(vec![self.display(other)?]),
        }
    }
}

/// Values as texts, without those that are nil.
fn displayed(machine: &mut Machine, values: &[Value]) -> Result<Vec<String>, Wrong> {
    values.iter().filter(|value| !value.is_nil()).map(|value| machine.display(value)).collect()
}

fn draw(machine: &mut Machine, args: &[Value], alphabet: &[u8]) -> Result<Value, Wrong> {
    let length = usize::try_from(args[0].as_int()).unwrap_or(0);
    machine.budget.spend(length.saturating_mul(8))?;
    Ok(Value::text(machine.draws.secret(alphabet, length)))
}

/// Go's upper case goes letter by letter: a letter whose capital is two stays.
fn upper(text: &str) -> String {
    let single = |c: char| {
        let mut upper = c.to_uppercase();
        match (upper.next(), upper.next()) {
            (Some(one), None) => one,
            _ => c,
        }
    };
    text.chars().map(single).collect()
}

fn title(text: &str) -> String {
    let mut starts = true;
    text.chars()
        .map(|c| {
            let shown = if starts { upper(&c.to_string()) } else { c.to_string() };
            starts = !(c.is_alphanumeric() || c == '_' || c == '\'');
            shown
        })
        .collect()
}

fn kebab_case(text: &str) -> String {
    let mut out = String::new();
    let mut before: Option<char> = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c.is_uppercase() {
            let after_small = before.is_some_and(|c| c.is_lowercase() || c.is_numeric());
            let before_small =
                before.is_some_and(char::is_uppercase) && chars.peek().is_some_and(|c| c.is_lowercase());
            if after_small || before_small {
                out.push('-');
            }
            out.extend(c.to_lowercase());
        } else if matches!(c, ' ' | '_' | '-') {
            out.push('-');
        } else {
            out.push(c);
        }
        before = Some(c);
    }
    out
}

fn decode_base64(text: &str) -> String {
    match STANDARD.decode(text.replace(['\r', '\n'], "")) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) => {
            let at = match error {
                DecodeError::InvalidByte(at, _) | DecodeError::InvalidLastSymbol { offset: at, .. } => at,
                _ => text.len(),
            };
            format!("illegal base64 data at input byte {at}")
        }
    }
}

fn atoi(text: &str) -> i64 {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    if plain { text.parse().unwrap_or(0) } else { 0 }
}

/// Whether an expression matches; nothing where it is not one.
fn is_match(machine: &mut Machine, args: &[Value]) -> Result<Option<bool>, Wrong> {
    let (pattern, text) = (args[0].as_text(), args[1].as_text());
    machine.budget.spend(pattern.len().saturating_mul(text.len() / 64 + 64))?;
    Ok(regex_lite::Regex::new(pattern).ok().map(|regex| regex.is_match(text)))
}

fn split(separator: &str, text: &str) -> Vec<String> {
    if separator.is_empty() {
        return text.chars().map(String::from).collect();
    }
    text.split(separator).map(str::to_owned).collect()
}

fn replace(machine: &mut Machine, args: &[Value]) -> Result<Value, Wrong> {
    let (old, new, text) = (args[0].as_text(), args[1].as_text(), args[2].as_text());
    let count = text.matches(old).count();
    machine.budget.spend(count.saturating_mul(new.len()).saturating_add(text.len()))?;
    Ok(Value::text(text.replace(old, new)))
}

fn indent(machine: &mut Machine, args: &[Value], before: &str) -> Result<Value, Wrong> {
    let width =
        usize::try_from(args[0].as_int()).map_err(|_| Wrong::new("the number of spaces is negative"))?;
    let text = args[1].as_text();
    let lines = text.matches('\n').count() + 1;
    machine.budget.spend(lines.saturating_mul(width).saturating_add(text.len()))?;
    let pad = " ".repeat(width);
    Ok(Value::text(format!("{before}{pad}{}", text.replace('\n', &format!("\n{pad}")))))
}

fn repeat(machine: &mut Machine, args: &[Value]) -> Result<Value, Wrong> {
    let count = usize::try_from(args[0].as_int()).map_err(|_| Wrong::new("the count is negative"))?;
    let text = args[1].as_text();
    machine.budget.spend(count.saturating_mul(text.len()))?;
    Ok(Value::text(if text.is_empty() { String::new() } else { text.repeat(count) }))
}

fn trunc(args: &[Value]) -> String {
    let (count, bytes) = (args[0].as_int(), args[1].as_text().as_bytes());
    let size = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
    let kept = if count < 0 && size < bytes.len() {
        &bytes[bytes.len() - size..]
    } else if count >= 0 && size < bytes.len() {
        &bytes[..size]
    } else {
        bytes
    };
    String::from_utf8_lossy(kept).into_owned()
}

fn substr(machine: &mut Machine, args: &[Value]) -> Result<Value, Wrong> {
    let bytes = args[2].as_text().as_bytes();
    let start = usize::try_from(args[0].as_int());
    let end = usize::try_from(args[1].as_int()).ok();
    let kept = match start {
        Err(_) => end.and_then(|end| bytes.get(..end)),
        Ok(start) => bytes.get(start..end.filter(|end| *end <= bytes.len()).unwrap_or(bytes.len())),
    };
    let kept = kept.ok_or(Wrong::new("the places are outside of the text"))?;
    machine.text(String::from_utf8_lossy(kept).into_owned())
}
