//! Values: Go's `pp`.

use std::fmt::Write as _;

use super::{Flags, verbs};
use crate::value::{Heap, ListKind, MapKind, Value};

/// Output of a format.
pub(super) struct Printer<'a> {
    heap: &'a Heap,
    /// Length after which no more elements are printed: the render fails then.
    limit: usize,
    pub(super) out: String,
}

impl<'a> Printer<'a> {
    pub(super) fn new(heap: &'a Heap, limit: usize) -> Self {
        Self { heap, limit, out: String::new() }
    }

    /// `printArg`: an argument.
    pub(super) fn argument(&mut self, value: &Value, verb: char, flags: Flags) {
        match (value, verb) {
            (Value::Missing | Value::Nil, 'v' | 'T') => verbs::pad(&mut self.out, "<nil>", flags),
            (Value::Missing | Value::Nil, _) => {
                let _ = write!(self.out, "%!{verb}(<nil>)");
            }
            (_, 'T') => verbs::string(&mut self.out, &type_name(self.heap, value), 's', flags),
            (_, 'p' | 'w') => self.bad_verb(value, verb, flags),
            _ => self.value(value, verb, flags),
        }
    }

    /// `printValue`: an argument, or a value inside one.
    fn value(&mut self, value: &Value, verb: char, flags: Flags) {
        let out = &mut self.out;
        let is_printed = match value {
            Value::Missing | Value::Nil => {
                out.push_str(if flags.sharp_v { "interface {}(nil)" } else { "<nil>" });
                return;
            }
            Value::Bool(flag) => verbs::boolean(out, *flag, verb, flags),
            Value::Int(int) | Value::Int64(int) => verbs::signed(out, *int, verb, flags),
            Value::Uint(int) => verbs::unsigned(out, *int, verb, flags),
            Value::Byte(byte) => verbs::unsigned(out, u64::from(*byte), verb, flags),
            Value::Float(number) => verbs::float(out, *number, verb, flags),
            Value::Str(text) | Value::Named(_, text) => verbs::text(out, text, verb, flags),
            Value::Time(time) => verbs::text(out, &time.printed(), verb, flags),
            Value::List(_, at) => {
                let items = self.heap.list(*at);
                self.elements(value, ["[", "]"], flags, items.iter(), |printer, item| {
                    printer.value(item, verb, flags);
                });
                return;
            }
            Value::Map(_, None) if flags.sharp_v => {
                out.push_str(&type_name(self.heap, value));
                out.push_str("(nil)");
                return;
            }
            Value::Map(_, at) => {
                let entries = self.heap.map(*at).iter();
                self.elements(value, ["map[", "]"], flags, entries, |printer, (key, item)| {
                    printer.value(&Value::string(key), verb, flags);
                    printer.out.push(':');
                    printer.value(item, verb, flags);
                });
                return;
            }
            Value::Record(at) => {
                let record = self.heap.record(*at);
                self.elements(value, ["{", "}"], flags, record.fields.iter(), |printer, field| {
                    if flags.plus_v || flags.sharp_v {
                        printer.out.push_str(field.name);
                        printer.out.push(':');
                    }
                    printer.value(&field.value, verb, flags);
                });
                return;
            }
        };
        if !is_printed {
            self.bad_verb(value, verb, flags);
        }
    }

    /// Elements between brackets; in Go syntax after their type, between braces.
    fn elements<T>(
        &mut self,
        value: &Value,
        [open, close]: [&str; 2],
        flags: Flags,
        elements: impl Iterator<Item = T>,
        print: impl Fn(&mut Self, T),
    ) {
        let (open, separator, close) = if flags.sharp_v {
            (type_name(self.heap, value) + "{", ", ", "}")
        } else {
            (open.to_owned(), " ", close)
        };
        self.out.push_str(&open);
        for (number, element) in elements.enumerate() {
            if self.out.len() > self.limit {
                return;
            }
            if number > 0 {
                self.out.push_str(separator);
            }
            print(self, element);
        }
        self.out.push_str(close);
    }

    /// `badVerb`.
    fn bad_verb(&mut self, value: &Value, verb: char, flags: Flags) {
        let _ = write!(self.out, "%!{verb}(");
        self.typed(value, flags);
        self.out.push(')');
    }

    /// Type and value.
    pub(super) fn typed(&mut self, value: &Value, flags: Flags) {
        self.out.push_str(&type_name(self.heap, value));
        self.out.push('=');
        self.value(value, 'v', flags);
    }
}

/// `%T`.
pub(crate) fn type_name(heap: &Heap, value: &Value) -> String {
    match value {
        Value::List(ListKind::Any, _) => "[]interface {}",
        Value::List(ListKind::Str, _) => "[]string",
        Value::List(ListKind::Int, _) => "[]int",
        Value::Map(MapKind::Any, _) => "map[string]interface {}",
        Value::Map(MapKind::AnyKeys, _) => "map[interface {}]interface {}",
        Value::Map(MapKind::Str, _) => "map[string]string",
        Value::Map(MapKind::Typed(map), _) => map.name,
        Value::Named(name, _) => name,
        Value::Time(_) => "time.Time",
        Value::Record(at) => heap.record(*at).type_name,
        Value::Missing | Value::Nil => "interface {}",
        other => other.kind(),
    }
    .to_owned()
}
