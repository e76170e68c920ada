//! Sprig's functions on strings, and the random ones.

use base64::{DecodeError, Engine, engine::general_purpose::STANDARD};
use orchestra_re2::InvalidPattern;
use sha2::{Digest, Sha256};

use super::{
    Body, Function,
    Parameter::{Any, Int, Str},
};
use crate::{
    error::EvalError,
    format::{hexadecimal, quote},
    interpreter::Interpreter,
    random::{DIGITS, HEXADECIMAL, LETTERS, LETTERS_AND_DIGITS},
    value::{ListKind, MapKind, Value},
};

/// Function of one string.
const fn unary(name: &'static str, body: Body) -> Function {
    Function::fixed(name, &[Str], body)
}

/// Function of two strings.
const fn binary(name: &'static str, body: Body) -> Function {
    Function::fixed(name, &[Str, Str], body)
}

pub(super) const FUNCTIONS: &[Function] = &[
    unary("lower", |interp, args| interp.string(args[0].as_str().to_lowercase())),
    unary("upper", |interp, args| interp.string(upper(args[0].as_str()))),
    unary("title", |interp, args| interp.string(title(args[0].as_str()))),
    unary("trim", |interp, args| interp.string(args[0].as_str().trim().to_owned())),
    unary("nospace", |interp, args| {
        interp.string(args[0].as_str().chars().filter(|c| !c.is_whitespace()).collect())
    }),
    unary("kebabcase", |interp, args| interp.string(kebab_case(args[0].as_str()))),
    unary("b64enc", |interp, args| interp.string(STANDARD.encode(args[0].as_str()))),
    unary("b64dec", |interp, args| interp.string(decode_base64(args[0].as_str()))),
    unary("sha256sum", |interp, args| interp.string(hexadecimal(&Sha256::digest(args[0].as_str())))),
    unary("atoi", |_, args| Ok(Value::Int(atoi(args[0].as_str())))),
    // Templates do not see environment variables.
    unary("env", |_, _| Ok(Value::string(""))),
    unary("expandenv", |_, _| Ok(Value::string(""))),
    binary("contains", |_, args| Ok(Value::Bool(args[1].as_str().contains(args[0].as_str())))),
    binary("hasPrefix", |_, args| Ok(Value::Bool(args[1].as_str().starts_with(args[0].as_str())))),
    binary("hasSuffix", |_, args| Ok(Value::Bool(args[1].as_str().ends_with(args[0].as_str())))),
    binary("trimPrefix", |_, args| {
        let (prefix, text) = (args[0].as_str(), args[1].as_str());
        Ok(Value::string(text.strip_prefix(prefix).unwrap_or(text)))
    }),
    binary("trimSuffix", |_, args| {
        let (suffix, text) = (args[0].as_str(), args[1].as_str());
        Ok(Value::string(text.strip_suffix(suffix).unwrap_or(text)))
    }),
    // As in sprig, an invalid pattern matches nothing. One that may be valid in Go and cannot be evaluated is an error.
    binary("regexMatch", is_match),
    binary("mustRegexMatch", must_match),
    binary("splitList", |interp, args| {
        let items = split(args[0].as_str(), args[1].as_str());
        interp.string_list(&items)
    }),
    binary("split", |interp, args| {
        let items = split(args[0].as_str(), args[1].as_str());
        interp.budget.spend(items.len() * size_of::<Value>() + args[1].as_str().len())?;
        let entries = items.iter().enumerate().map(|(at, item)| (format!("_{at}"), Value::string(item)));
        let entries = entries.collect();
        Ok(interp.heap.new_map(MapKind::Str, entries))
    }),
    Function::fixed("replace", &[Str, Str, Str], replace),
    Function::fixed("indent", &[Int, Str], |interp, args| indent(interp, args, "")),
    Function::fixed("nindent", &[Int, Str], |interp, args| indent(interp, args, "\n")),
    Function::fixed("repeat", &[Int, Str], repeat),
    Function::fixed("trunc", &[Int, Str], |interp, args| interp.string(trunc(args))),
    Function::fixed("substr", &[Int, Int, Str], substr),
    Function::fixed("join", &[Str, Any], |interp, args| {
        let items = interp.print_items(&args[1])?;
        let length = items.iter().map(|item| item.len() + args[0].as_str().len()).sum();
        interp.budget.spend(length)?;
        Ok(Value::string(items.join(args[0].as_str())))
    }),
    Function::fixed("toString", &[Any], |interp, args| interp.display(&args[0]).map(Value::string)),
    Function::variadic("cat", &[Any], |interp, args| {
        let printed = print_all(interp, args)?;
        interp.string(printed.join(" "))
    }),
    Function::variadic("quote", &[Any], |interp, args| {
        let printed = print_all(interp, args)?;
        interp.string(printed.iter().map(|text| quote(text, '"')).collect::<Vec<_>>().join(" "))
    }),
    Function::variadic("squote", &[Any], |interp, args| {
        let printed = print_all(interp, args)?;
        interp.string(printed.iter().map(|text| format!("'{text}'")).collect::<Vec<_>>().join(" "))
    }),
    Function::fixed("randAlphaNum", &[Int], |interp, args| random(interp, args, LETTERS_AND_DIGITS)),
    Function::fixed("randAlpha", &[Int], |interp, args| random(interp, args, LETTERS)),
    Function::fixed("randNumeric", &[Int], |interp, args| random(interp, args, DIGITS)),
    Function::fixed("uuidv4", &[], |interp, _| {
        let part = |interp: &mut Interpreter, length| interp.random.string(HEXADECIMAL, length);
        let (a, b, c, e) = (part(interp, 8), part(interp, 4), part(interp, 3), part(interp, 12));
        let d = interp.random.string(b"89ab", 1) + &part(interp, 3);
        Ok(Value::string(format!("{a}-{b}-4{c}-{d}-{e}")))
    }),
];

impl Interpreter {
    /// `[]string`.
    pub(super) fn string_list(&mut self, items: &[String]) -> Result<Value, EvalError> {
        let length = items.iter().map(|item| item.len() + size_of::<Value>()).sum();
        self.budget.spend(length)?;
        let items = items.iter().map(Value::string).collect();
        Ok(self.heap.new_list(ListKind::Str, items))
    }

    /// Printed items of a list, without nil; any other value counts as a list of itself.
    pub(super) fn print_items(&mut self, value: &Value) -> Result<Vec<String>, EvalError> {
        match value {
            Value::Missing | Value::Nil => Ok(Vec::new()),
            Value::List(_, at) => print_all(self, &self.heap.list(*at)),
            other => Ok(vec![self.display(other)?]),
        }
    }
}

/// Printed values, without nil.
fn print_all(interp: &mut Interpreter, values: &[Value]) -> Result<Vec<String>, EvalError> {
    values.iter().filter(|value| !value.is_nil()).map(|value| interp.display(value)).collect()
}

fn random(interp: &mut Interpreter, args: &[Value], alphabet: &[u8]) -> Result<Value, EvalError> {
    let length = usize::try_from(args[0].as_int()).unwrap_or(0);
    interp.budget.spend(length.saturating_mul(8))?;
    Ok(Value::string(interp.random.secret(alphabet, length)))
}

/// `strings.ToUpper`: maps character by character, so that one whose upper case is two characters stays.
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

fn is_match(interp: &mut Interpreter, args: &[Value]) -> Result<Value, EvalError> {
    Ok(Value::Bool(matched(interp, args)?.unwrap_or(false)))
}

fn must_match(interp: &mut Interpreter, args: &[Value]) -> Result<Value, EvalError> {
    matched(interp, args)?.map(Value::Bool).map_err(|error| EvalError::new(error.to_string()))
}

/// True if a pattern matches a text. The outer error is a spent budget.
fn matched(interp: &mut Interpreter, args: &[Value]) -> Result<Result<bool, InvalidPattern>, EvalError> {
    let (pattern, text) = (args[0].as_str(), args[1].as_str());
    interp.budget.spend(pattern.len().saturating_mul(text.len() / 64 + 64))?;
    Ok(orchestra_re2::compile(pattern).map(|regex| regex.is_match(text)))
}

fn split(separator: &str, text: &str) -> Vec<String> {
    if separator.is_empty() {
        return text.chars().map(String::from).collect();
    }
    text.split(separator).map(str::to_owned).collect()
}

fn replace(interp: &mut Interpreter, args: &[Value]) -> Result<Value, EvalError> {
    let (old, new, text) = (args[0].as_str(), args[1].as_str(), args[2].as_str());
    let count = text.matches(old).count();
    interp.budget.spend(count.saturating_mul(new.len()).saturating_add(text.len()))?;
    Ok(Value::string(text.replace(old, new)))
}

fn indent(interp: &mut Interpreter, args: &[Value], before: &str) -> Result<Value, EvalError> {
    let width = usize::try_from(args[0].as_int()).map_err(|_| EvalError::new("negative indentation"))?;
    let text = args[1].as_str();
    let lines = text.matches('\n').count() + 1;
    interp.budget.spend(lines.saturating_mul(width).saturating_add(text.len()))?;
    let pad = " ".repeat(width);
    Ok(Value::string(format!("{before}{pad}{}", text.replace('\n', &format!("\n{pad}")))))
}

fn repeat(interp: &mut Interpreter, args: &[Value]) -> Result<Value, EvalError> {
    let count = usize::try_from(args[0].as_int()).map_err(|_| EvalError::new("negative Repeat count"))?;
    let text = args[1].as_str();
    interp.budget.spend(count.saturating_mul(text.len()))?;
    Ok(Value::string(if text.is_empty() { String::new() } else { text.repeat(count) }))
}

fn trunc(args: &[Value]) -> String {
    let (count, bytes) = (args[0].as_int(), args[1].as_str().as_bytes());
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

fn substr(interp: &mut Interpreter, args: &[Value]) -> Result<Value, EvalError> {
    let bytes = args[2].as_str().as_bytes();
    let start = usize::try_from(args[0].as_int());
    let end = usize::try_from(args[1].as_int()).ok();
    let kept = match start {
        Err(_) => end.and_then(|end| bytes.get(..end)),
        Ok(start) => bytes.get(start..end.filter(|end| *end <= bytes.len()).unwrap_or(bytes.len())),
    };
    let kept = kept.ok_or(EvalError::new("slice bounds out of range"))?;
    interp.string(String::from_utf8_lossy(kept).into_owned())
}
