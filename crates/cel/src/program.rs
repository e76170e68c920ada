//! Compiler of an expression: parsed, checked, constants verified.

use crate::checker::{self, Checked};
use crate::eval::{Budget, evaluate};
use crate::syntax::{self, Call, Expr, Issue, Kind};
use crate::types::Type;
use crate::value::{Fail, Val};
use crate::{format, parser, time};

/// An expression that can be evaluated.
#[derive(Debug)]
pub(crate) struct Program {
    expr: Expr,
    /// True if it reads `oldSelf`.
    pub(crate) uses_old_self: bool,
}

/// Required type of an expression.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Purpose {
    /// True or false.
    Rule,
    /// A text.
    Message,
}

impl Program {
    /// Compiles an expression on values of a type. The error is the message of the real server.
    pub(crate) fn compile(source: &str, this: &Type<'_>, purpose: Purpose) -> Result<Self, String> {
        let (intro, wanted, other) = match purpose {
            Purpose::Rule => ("", Type::Bool, "cel expression must evaluate to a bool"),
            Purpose::Message => {
                ("messageExpression ", Type::String, "messageExpression must evaluate to a string")
            }
        };
        let failed =
            |issues: &[Issue]| format!("{intro}compilation failed: {}", syntax::shown(issues, source));
        let mut expr = parser::parse(source).map_err(|issue| failed(&[issue]))?;
        let checked = checker::check(&mut expr, this).map_err(|issues| failed(&issues))?;
        let mut issues = Vec::new();
        check_constants(&expr, &checked, false, &mut issues);
        if issues.is_empty() && checked.object_as_any {
            issues.push(Issue::unsupported(expr.at, "objects as values of type dyn"));
        }
        if !issues.is_empty() {
            return Err(failed(&issues));
        }
        if checked.result != wanted {
            return Err(other.to_owned());
        }
        prepare(&mut expr).map_err(|problem| {
            let intro = if purpose == Purpose::Rule { "program" } else { "messageExpression" };
            format!("{intro} instantiation failed: {problem}")
        })?;
        Ok(Self { expr, uses_old_self: checked.uses_old_self })
    }

    /// Evaluates it.
    pub(crate) fn run<'a>(
        &'a self,
        this: Val<'a>,
        old: Option<Val<'a>>,
        budget: &Budget,
    ) -> Result<Val<'a>, Fail> {
        evaluate(&self.expr, this, old, budget)
    }
}

/// Checks constants: patterns, times, format texts, and lists of one type.
fn check_constants(expr: &Expr, checked: &Checked<'_>, formatting: bool, issues: &mut Vec<Issue>) {
    let mut formatting = formatting;
    match &expr.kind {
        Kind::Call(call) => {
            formatting |= call.function == "format";
            issues.extend(constant_argument(expr, call, checked));
        }
        Kind::List(items) if !formatting => issues.extend(mixed(items.iter().collect(), checked)),
        Kind::Map(entries) if !formatting => {
            issues.extend(mixed(entries.iter().map(|(key, _)| key).collect(), checked));
            issues.extend(mixed(entries.iter().map(|(_, value)| value).collect(), checked));
            let keyed = |key: &Expr| {
                matches!(checked.types.get(key.id), Some(Type::String | Type::Int | Type::Uint | Type::Bool))
            };
            let odd = entries.iter().map(|(key, _)| key).find(|key| !keyed(key));
            issues.extend(odd.map(|key| {
                Issue::unsupported(key.at, "keys of maps that are no strings, integers or bools")
            }));
        }
        _ => {}
    }
    for child in expr.children() {
        check_constants(child, checked, formatting, issues);
    }
}

fn constant_argument(expr: &Expr, call: &Call, checked: &Checked<'_>) -> Option<Issue> {
    let first = call.args.first();
    let invalid = |arg: &Expr| Issue::new(arg.at, format!("invalid {} argument", call.function));
    match (call.function.as_str(), &call.target, first) {
        ("format", Some(text), Some(list)) => format::check(expr.at, text, list, &checked.types),
        ("matches", _, Some(arg)) => {
            arg.constant_text().filter(|text| orchestra_re2::compile(text).is_err()).map(|_| invalid(arg))
        }
        ("duration" | "timestamp", None, Some(arg)) if matches!(arg.kind, Kind::Literal(_)) => {
            constant_result(expr).is_err().then(|| invalid(arg))
        }
        (function, Some(_), Some(zone)) if function.starts_with("get") => {
            let known = zone.constant_text().is_some_and(|name| time::named_zone(name).is_some());
            (!known).then(|| Issue::unsupported(zone.at, "time zones other than UTC and constant offsets"))
        }
        _ => None,
    }
}

/// Evaluates a call with constant arguments.
fn constant_result(expr: &Expr) -> Result<(), String> {
    let result = evaluate(expr, Val::Null, None, &Budget::new());
    result.err().and_then(Fail::message).map_or(Ok(()), Err)
}

fn mixed(items: Vec<&Expr>, checked: &Checked<'_>) -> Option<Issue> {
    let of = |expr: &Expr| checked.types.get(expr.id).cloned().unwrap_or(Type::Error);
    let expected = of(items.first()?);
    let other = items.into_iter().find(|item| of(item) != expected)?;
    Some(Issue::new(other.at, format!("expected type '{expected}' but found '{}'", of(other))))
}

/// Compiles constant patterns and tries conversions of constants.
fn prepare(expr: &mut Expr) -> Result<(), String> {
    if let Kind::Call(call) = &mut expr.kind
        && matches!(call.function.as_str(), "matches" | "find" | "findAll")
    {
        let place = usize::from(call.target.is_none());
        if let Some(text) = call.args.get(place).and_then(Expr::constant_text) {
            call.pattern = Some(orchestra_re2::compile(text).map_err(|error| error.to_string())?);
        }
    }
    if let Kind::Call(call) = &expr.kind {
        let conversion = matches!(
            call.function.as_str(),
            "bool" | "bytes" | "double" | "duration" | "int" | "string" | "timestamp" | "uint"
        );
        if conversion && call.args.iter().all(|arg| matches!(arg.kind, Kind::Literal(_))) {
            constant_result(expr)?;
        }
    }
    match &mut expr.kind {
        Kind::Literal(_) | Kind::Ident(_) => Ok(()),
        Kind::Select { operand, .. } | Kind::Has { operand, .. } => prepare(operand),
        Kind::Call(call) => {
            call.target.as_deref_mut().into_iter().chain(&mut call.args).try_for_each(prepare)
        }
        Kind::List(items) | Kind::And(items) | Kind::Or(items) => items.iter_mut().try_for_each(prepare),
        Kind::Map(entries) => {
            entries.iter_mut().try_for_each(|(key, value)| prepare(key).and_then(|()| prepare(value)))
        }
        Kind::Fold(fold) => {
            prepare(&mut fold.range)?;
            fold.when.as_mut().map_or(Ok(()), prepare)?;
            prepare(&mut fold.body)
        }
        Kind::Sum { list, .. } => prepare(list),
    }
}
