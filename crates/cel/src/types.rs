//! Static types of expressions, their assignability, and the types of a schema.

use std::fmt;
use std::rc::Rc;

use crate::escape;
use crate::schema::Schema;

/// A static type.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Type<'s> {
    /// Anything: checked at run time.
    Dyn,
    /// Type of an expression with a reported error.
    Error,
    Null,
    Bool,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    Timestamp,
    Duration,
    Url,
    /// The type of a type.
    Meta(Rc<Self>),
    List(Rc<Self>),
    Map(Rc<Self>, Rc<Self>),
    Object(Object<'s>),
    /// Type variable.
    Unknown(usize),
}

/// Type of an object with known fields. Two objects have the same type only if they have the same path.
#[derive(Clone, Debug)]
pub(crate) struct Object<'s> {
    /// Path of the schema below that of the rule.
    pub(crate) name: String,
    /// Schema of the fields.
    pub(crate) schema: &'s Schema,
}

impl PartialEq for Object<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl<'s> Object<'s> {
    /// Type of a field by its escaped name; reserved words may also be unescaped.
    pub(crate) fn field(&self, written: &str) -> Option<Type<'s>> {
        let (name, schema) = self.schema.properties.get_key_value(&escape::unescape(written)?)?;
        let escaped = escape::escape(name)?;
        let named = escaped == written || (name == written && escape::is_reserved(name));
        named.then(|| of_schema(schema, &format!("{}.{escaped}", self.name)))?
    }
}

/// Type of a schema; none if its values are invisible to rules.
pub(crate) fn of_schema<'s>(schema: &'s Schema, name: &str) -> Option<Type<'s>> {
    if schema.int_or_string {
        return Some(Type::Dyn);
    }
    match (schema.kind.as_str(), schema.format.as_str()) {
        ("array", _) => {
            let items = of_schema(schema.items.as_deref()?, &format!("{name}.@idx"))?;
            Some(Type::List(Rc::new(items)))
        }
        ("object", _) => match schema.values().filter(|_| schema.properties.is_empty()) {
            Some(values) => {
                let values = of_schema(values, &format!("{name}.@elem"))?;
                Some(Type::Map(Rc::new(Type::String), Rc::new(values)))
            }
            None => Some(Type::Object(Object { name: name.to_owned(), schema })),
        },
        ("string", "byte") => Some(Type::Bytes),
        ("string", "duration") => Some(Type::Duration),
        ("string", "date" | "date-time") => Some(Type::Timestamp),
        ("string", _) => Some(Type::String),
        ("boolean", _) => Some(Type::Bool),
        ("number", _) => Some(Type::Double),
        ("integer", _) => Some(Type::Int),
        _ => None,
    }
}

impl Type<'_> {
    /// True for `Dyn` and `Error`.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self, Self::Dyn | Self::Error)
    }

    /// The name that messages about formatting use.
    pub(crate) fn runtime_name(&self) -> String {
        match self {
            Self::Timestamp => "google.protobuf.Timestamp".to_owned(),
            Self::Duration => "google.protobuf.Duration".to_owned(),
            Self::Null => "null_type".to_owned(),
            Self::List(_) => "list".to_owned(),
            Self::Map(..) => "map".to_owned(),
            Self::Meta(_) => "type".to_owned(),
            other => other.to_string(),
        }
    }
}

impl fmt::Display for Type<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dyn => f.write_str("dyn"),
            Self::Error => f.write_str("!error!"),
            Self::Null => f.write_str("null"),
            Self::Bool => f.write_str("bool"),
            Self::Int => f.write_str("int"),
            Self::Uint => f.write_str("uint"),
            Self::Double => f.write_str("double"),
            Self::String => f.write_str("string"),
            Self::Bytes => f.write_str("bytes"),
            Self::Timestamp => f.write_str("timestamp"),
            Self::Duration => f.write_str("duration"),
            Self::Url => f.write_str("kubernetes.URL"),
            Self::Meta(of) => write!(f, "type({of})"),
            Self::List(of) => write!(f, "list({of})"),
            Self::Map(key, value) => write!(f, "map({key}, {value})"),
            Self::Object(object) => f.write_str(&object.name),
            Self::Unknown(number) => write!(f, "_var{number}"),
        }
    }
}

/// Substitution of the type variables of an expression.
#[derive(Debug, Default)]
pub(crate) struct Findings<'s> {
    found: Vec<Option<Type<'s>>>,
    /// Undo log of an assignment that may not fit.
    replaced: Vec<(usize, Option<Type<'s>>)>,
    /// True if an object was used as a `dyn` value: its fields would then be looked up by other rules.
    pub(crate) object_as_any: bool,
}

impl<'s> Findings<'s> {
    /// Type variable.
    pub(crate) fn unknown(&mut self) -> Type<'s> {
        self.found.push(None);
        Type::Unknown(self.found.len() - 1)
    }

    fn of(&self, number: usize) -> Option<&Type<'s>> {
        self.found.get(number)?.as_ref()
    }

    /// Type with its variables substituted; unbound ones become `open`, if given.
    pub(crate) fn resolved(&self, of: &Type<'s>, open: Option<&Type<'s>>) -> Type<'s> {
        match of {
            Type::Unknown(number) => match (self.of(*number), open) {
                (Some(found), _) => self.resolved(found, open),
                (None, Some(open)) => open.clone(),
                (None, None) => of.clone(),
            },
            Type::Meta(of) => Type::Meta(Rc::new(self.resolved(of, open))),
            Type::List(of) => Type::List(Rc::new(self.resolved(of, open))),
            Type::Map(key, value) => {
                Type::Map(Rc::new(self.resolved(key, open)), Rc::new(self.resolved(value, open)))
            }
            other => other.clone(),
        }
    }

    fn find(&mut self, number: usize, found: Type<'s>) {
        let before = self.found[number].replace(found);
        self.replaced.push((number, before));
    }

    /// Records that a value of a type is used as `dyn`.
    pub(crate) fn takes_for_any(&mut self, of: &Type<'s>) {
        self.object_as_any |= contains_object(&self.resolved(of, None));
    }

    /// True if `from` is assignable to `to`; only then are the substitutions kept.
    pub(crate) fn assign(&mut self, from: &[Type<'s>], to: &[Type<'s>]) -> bool {
        let object_as_any = self.object_as_any;
        self.replaced.clear();
        let fits = from.len() == to.len() && from.iter().zip(to).all(|(from, to)| self.assignable(from, to));
        if !fits {
            self.object_as_any = object_as_any;
            while let Some((number, before)) = self.replaced.pop() {
                self.found[number] = before;
            }
        }
        fits
    }

    fn assignable(&mut self, from: &Type<'s>, to: &Type<'s>) -> bool {
        if let Type::Unknown(number) = to {
            match self.substitute(from, *number) {
                Some(fits) => return fits,
                None if !matches!(from, Type::Unknown(_)) => return false,
                None => {}
            }
        }
        match (from, to) {
            (Type::Unknown(number), _) => self.substitute(to, *number).unwrap_or(false),
            (a, b) if a.is_open() || b.is_open() => {
                if *a == Type::Dyn {
                    self.takes_for_any(b);
                }
                if *b == Type::Dyn {
                    self.takes_for_any(a);
                }
                true
            }
            (Type::Null, other) | (other, Type::Null) => {
                matches!(other, Type::Null | Type::Object(_) | Type::Url | Type::Timestamp | Type::Duration)
            }
            (Type::Meta(_), Type::Meta(_)) => true,
            (Type::List(a), Type::List(b)) => self.assignable(a, b),
            (Type::Map(a, x), Type::Map(b, y)) => self.assignable(a, b) && self.assignable(x, y),
            (a, b) => a == b,
        }
    }

    /// True if a type variable can be `with`; none if it is unbound and would not refer to itself.
    fn substitute(&mut self, with: &Type<'s>, number: usize) -> Option<bool> {
        if *with == Type::Unknown(number) {
            return Some(true);
        }
        if let Some(found) = self.of(number).cloned() {
            if *with == found {
                return Some(true);
            }
            if !self.assignable(with, &found) {
                return Some(false);
            }
            let general = if is_general(with, &found) { with.clone() } else { found };
            if !self.mentions(&general, number) {
                self.find(number, general);
            }
            return Some(true);
        }
        if self.mentions(with, number) {
            return None;
        }
        self.find(number, with.clone());
        Some(true)
    }

    fn mentions(&self, within: &Type<'s>, number: usize) -> bool {
        match within {
            Type::Unknown(other) => {
                *other == number || self.of(*other).is_some_and(|found| self.mentions(found, number))
            }
            Type::Meta(of) | Type::List(of) => self.mentions(of, number),
            Type::Map(key, value) => self.mentions(key, number) || self.mentions(value, number),
            _ => false,
        }
    }

    /// More general one of two assignable types.
    pub(crate) fn general(a: &Type<'s>, b: &Type<'s>) -> Type<'s> {
        if is_general(a, b) { a.clone() } else { b.clone() }
    }
}

fn contains_object(of: &Type<'_>) -> bool {
    match of {
        Type::Object(_) => true,
        Type::List(of) => contains_object(of),
        Type::Map(_, value) => contains_object(value),
        _ => false,
    }
}

/// True if `a` is at least as general as `b`.
fn is_general(a: &Type<'_>, b: &Type<'_>) -> bool {
    match (a, b) {
        (Type::Dyn | Type::Unknown(_), _) | (Type::Meta(_), Type::Meta(_)) => true,
        (_, Type::Dyn | Type::Unknown(_)) => false,
        (Type::List(a), Type::List(b)) => is_general(a, b),
        (Type::Map(a, x), Type::Map(b, y)) => is_general(a, b) && is_general(x, y),
        (a, b) => a == b,
    }
}
