//! Functions and operators of rules, with their signatures, for the checker and the reference. Functions of a real
//! server that are not in this table are refused when a CRD is created.

use std::rc::Rc;

use crate::types::{Findings, Type};

/// A function or an operator.
pub(crate) struct Function {
    /// Its name, `_+_` and the like for operators.
    pub(crate) name: &'static str,
    /// Signatures: `(A, A) bool`, or `string.(int) string` with a receiver.
    pub(crate) signatures: &'static [&'static str],
    /// Description in one line.
    pub(crate) summary: &'static str,
}

const fn function(
    name: &'static str,
    signatures: &'static [&'static str],
    summary: &'static str,
) -> Function {
    Function { name, signatures, summary }
}

/// The signatures of an order between two values.
const ORDER: &[&str] = &[
    "(bool, bool) bool",
    "(int, int) bool",
    "(int, double) bool",
    "(int, uint) bool",
    "(uint, uint) bool",
    "(uint, double) bool",
    "(uint, int) bool",
    "(double, double) bool",
    "(double, int) bool",
    "(double, uint) bool",
    "(string, string) bool",
    "(bytes, bytes) bool",
    "(timestamp, timestamp) bool",
    "(duration, duration) bool",
];
/// A part of a time, which may be in another time zone.
const PART: &[&str] = &["timestamp.() int", "timestamp.(string) int"];
/// A part of a time or a duration.
const PART_OR_DURATION: &[&str] = &["timestamp.() int", "timestamp.(string) int", "duration.() int"];

/// One signature per ordered type, for `T`.
macro_rules! each_comparable {
    ($before:literal T $after:literal) => {
        each_comparable!(@ $before, $after, [])
    };
    ($before:literal T $between:literal T $after:literal) => {
        each_comparable!(@ $before, $between, [$after])
    };
    (@ $a:literal, $b:literal, [$($c:literal)?]) => {
        &[
            concat!($a, "int", $b $(, "int", $c)?), concat!($a, "uint", $b $(, "uint", $c)?),
            concat!($a, "double", $b $(, "double", $c)?), concat!($a, "bool", $b $(, "bool", $c)?),
            concat!($a, "duration", $b $(, "duration", $c)?), concat!($a, "timestamp", $b $(, "timestamp", $c)?),
            concat!($a, "string", $b $(, "string", $c)?), concat!($a, "bytes", $b $(, "bytes", $c)?),
        ]
    };
}

/// Every function, operator and macro.
pub(crate) const TABLE: &[Function] = &[
    function("_?_:_", &["(bool, A, A) A"], "`c ? a : b`: one of two values"),
    function("_&&_", &[], "both hold; false wins over an error"),
    function("_||_", &[], "one of them holds; true wins over an error"),
    function("!_", &["(bool) bool"], "does not hold"),
    function(
        "_==_",
        &["(A, A) bool"],
        "the same value, field by field; lists of type set or map in any order",
    ),
    function("_!=_", &["(A, A) bool"], "not the same value"),
    function("_<_", ORDER, "less"),
    function("_<=_", ORDER, "less or the same"),
    function("_>_", ORDER, "greater"),
    function("_>=_", ORDER, "greater or the same"),
    function(
        "_+_",
        &[
            "(bytes, bytes) bytes",
            "(double, double) double",
            "(duration, duration) duration",
            "(duration, timestamp) timestamp",
            "(timestamp, duration) timestamp",
            "(int, int) int",
            "(list(A), list(A)) list(A)",
            "(string, string) string",
            "(uint, uint) uint",
        ],
        "sum, or one after the other; lists of type set or map are merged",
    ),
    function(
        "_-_",
        &[
            "(double, double) double",
            "(duration, duration) duration",
            "(int, int) int",
            "(timestamp, duration) timestamp",
            "(timestamp, timestamp) duration",
            "(uint, uint) uint",
        ],
        "difference",
    ),
    function("_*_", &["(double, double) double", "(int, int) int", "(uint, uint) uint"], "product"),
    function("_/_", &["(double, double) double", "(int, int) int", "(uint, uint) uint"], "quotient"),
    function("_%_", &["(int, int) int", "(uint, uint) uint"], "remainder"),
    function("-_", &["(double) double", "(int) int"], "the negative"),
    function("_[_]", &["(list(A), int) A", "(map(A, B), A) B"], "an item of a list, a value of a map"),
    function("@in", &["(A, list(A)) bool", "(A, map(A, B)) bool"], "`x in list`, `key in map`"),
    function("has", &[], "`has(a.b)`: the field is there"),
    function("all", &[], "`list.all(x, p)`: the predicate holds for all items, or keys of a map"),
    function("exists", &[], "`list.exists(x, p)`: it holds for some"),
    function("exists_one", &[], "`list.exists_one(x, p)`: it holds for exactly one"),
    function("map", &[], "`list.map(x, f)`, `list.map(x, p, f)`: a list of results"),
    function("filter", &[], "`list.filter(x, p)`: the items for which the predicate holds"),
    function("sortBy", &[], "`list.sortBy(x, key)`: the items in the order of their keys"),
    function(
        "size",
        &[
            "(bytes) int",
            "bytes.() int",
            "(list(A)) int",
            "list(A).() int",
            "(map(A, B)) int",
            "map(A, B).() int",
            "(string) int",
            "string.() int",
        ],
        "how many items, entries, characters or bytes",
    ),
    function("type", &["(A) type(A)"], "the type of a value, to compare with int, string, list, …"),
    function("bool", &["(bool) bool", "(string) bool"], "to bool"),
    function("bytes", &["(bytes) bytes", "(string) bytes"], "to bytes"),
    function("double", &["(double) double", "(int) double", "(string) double", "(uint) double"], "to double"),
    function(
        "duration",
        &["(duration) duration", "(int) duration", "(string) duration"],
        "to duration: `duration('1h30m')`",
    ),
    function("dyn", &["(A) dyn"], "a value whose type is checked at run time (not for objects)"),
    function(
        "int",
        &["(int) int", "(double) int", "(duration) int", "(string) int", "(timestamp) int", "(uint) int"],
        "to int",
    ),
    function(
        "string",
        &[
            "(string) string",
            "(bool) string",
            "(bytes) string",
            "(double) string",
            "(duration) string",
            "(int) string",
            "(timestamp) string",
            "(uint) string",
        ],
        "to string",
    ),
    function(
        "timestamp",
        &["(timestamp) timestamp", "(int) timestamp", "(string) timestamp"],
        "to timestamp, from RFC 3339",
    ),
    function("uint", &["(uint) uint", "(double) uint", "(int) uint", "(string) uint"], "to uint"),
    function(
        "matches",
        &["(string, string) bool", "string.(string) bool"],
        "an RE2 pattern matches somewhere in the text",
    ),
    function("contains", &["string.(string) bool"], "has the text in it"),
    function("endsWith", &["string.(string) bool"], "ends with the text"),
    function("startsWith", &["string.(string) bool"], "starts with the text"),
    function("getFullYear", PART, "the year; time zones: UTC or an offset like +02:00"),
    function("getMonth", PART, "the month from 0"),
    function("getDayOfYear", PART, "the day of the year from 0"),
    function("getDayOfMonth", PART, "the day of the month from 0"),
    function("getDate", PART, "the day of the month from 1"),
    function("getDayOfWeek", PART, "the day of the week, Sunday is 0"),
    function("getHours", PART_OR_DURATION, "the hour, or a duration in hours"),
    function("getMinutes", PART_OR_DURATION, "the minute, or a duration in minutes"),
    function("getSeconds", PART_OR_DURATION, "the second, or a duration in seconds"),
    function("getMilliseconds", PART_OR_DURATION, "the millisecond, or a duration in milliseconds"),
    function("charAt", &["string.(int) string"], "one character"),
    function(
        "indexOf",
        &["list(A).(A) int", "string.(string) int", "string.(string, int) int"],
        "where the text or item is first, or -1",
    ),
    function(
        "lastIndexOf",
        &["list(A).(A) int", "string.(string) int", "string.(string, int) int"],
        "where the text or item is last, or -1",
    ),
    function("lowerAscii", &["string.() string"], "with small letters"),
    function("upperAscii", &["string.() string"], "with capital letters"),
    function(
        "replace",
        &["string.(string, string) string", "string.(string, string, int) string"],
        "replaces text",
    ),
    function(
        "split",
        &["string.(string) list(string)", "string.(string, int) list(string)"],
        "cuts at a separator",
    ),
    function("substring", &["string.(int) string", "string.(int, int) string"], "a part of a text"),
    function("trim", &["string.() string"], "without white space around"),
    function("join", &["list(string).() string", "list(string).(string) string"], "one text of many"),
    function(
        "format",
        &["string.(list(dyn)) string"],
        "`'%s'.format([x])` with %s %d %f %b %x %X %o; the text must be a constant",
    ),
    function("strings.quote", &["(string) string"], "in quotes"),
    function("find", &["string.(string) string"], "the first match of a pattern, or an empty text"),
    function(
        "findAll",
        &["string.(string) list(string)", "string.(string, int) list(string)"],
        "the matches of a pattern",
    ),
    function("isSorted", each_comparable!("list(" T ").() bool"), "the items are in order"),
    function(
        "sum",
        &["list(int).() int", "list(uint).() uint", "list(double).() double", "list(duration).() duration"],
        "the sum of the items",
    ),
    function("min", each_comparable!("list(" T ").() " T ""), "the least item"),
    function("max", each_comparable!("list(" T ").() " T ""), "the greatest item"),
    function("sort", each_comparable!("list(" T ").() list(" T ")"), "the items in order"),
    function("distinct", &["list(T).() list(T)"], "every item once"),
    function("flatten", &["list(list(T)).() list(T)", "list(dyn).(int) list(dyn)"], "lists in a list as one"),
    function("slice", &["list(T).(int, int) list(T)"], "a part of a list"),
    function("reverse", &["list(T).() list(T)"], "the items from the end"),
    function("lists.range", &["(int) list(int)"], "the integers from 0"),
    function("sets.contains", &["(list(T), list(T)) bool"], "the first list has all items of the second"),
    function("sets.equivalent", &["(list(T), list(T)) bool"], "both lists have the same items"),
    function("sets.intersects", &["(list(T), list(T)) bool"], "the lists share an item"),
    function("url", &["(string) url"], "parses a URL"),
    function("isURL", &["(string) bool"], "is a URL"),
    function("getScheme", &["url.() string"], "the scheme of a URL"),
    function("getHost", &["url.() string"], "the host of a URL, with the port"),
    function("getHostname", &["url.() string"], "the host of a URL, without the port"),
    function("getPort", &["url.() string"], "the port of a URL"),
    function("getEscapedPath", &["url.() string"], "the path of a URL"),
    function("getQuery", &["url.() map(string, list(string))"], "the query of a URL"),
];

/// Expansion of `sortBy`: the items and their keys.
pub(crate) const SORT_BY_KEYS: Function = function(
    "@sortByAssociatedKeys",
    each_comparable!("list(X).(list(" T ")) list(X)"),
    "the items in the order of their keys",
);

/// Functions of a real server that are refused here.
pub(crate) const REFUSED: &[&str] = &[
    "quantity",
    "isQuantity",
    "ip",
    "isIP",
    "ip.isCanonical",
    "cidr",
    "isCIDR",
    "semver",
    "isSemver",
    "optional.of",
    "optional.ofNonZeroValue",
    "optional.none",
    "optional.unwrap",
    "unwrapOpt",
    "orValue",
    "or",
    "value",
    "hasValue",
    "first",
    "last",
    "format.named",
    "validate",
    "authorizer",
    "path",
    "group",
    "serviceAccount",
    "resource",
    "subresource",
    "namespace",
    "name",
    "check",
    "allowed",
    "reason",
    "errored",
    "error",
    "fieldSelector",
    "labelSelector",
    "family",
    "isUnspecified",
    "isLoopback",
    "isLinkLocalMulticast",
    "isLinkLocalUnicast",
    "isGlobalUnicast",
    "containsIP",
    "containsCIDR",
    "masked",
    "prefixLength",
    "isInteger",
    "asInteger",
    "asApproximateFloat",
    "sign",
    "add",
    "sub",
    "isGreaterThan",
    "isLessThan",
    "compareTo",
    "major",
    "minor",
    "patch",
    "format.dns1123Label",
    "format.dns1123Subdomain",
    "format.dns1035Label",
    "format.qualifiedName",
    "format.dns1123LabelPrefix",
    "format.dns1123SubdomainPrefix",
    "format.dns1035LabelPrefix",
    "format.labelValue",
    "format.uri",
    "format.uuid",
    "format.byte",
    "format.date",
    "format.datetime",
];

/// Operators, macros and functions of rules, each with a description in one line.
pub const FUNCTIONS: &[(&str, &str)] = &documented();

const fn documented() -> [(&'static str, &'static str); TABLE.len()] {
    let mut documented = [("", ""); TABLE.len()];
    let mut next = 0;
    while next < TABLE.len() {
        documented[next] = (TABLE[next].name, TABLE[next].summary);
        next += 1;
    }
    documented
}

/// Function with this name.
pub(crate) fn find(name: &str) -> Option<&'static Function> {
    TABLE.iter().find(|function| function.name == name && !function.signatures.is_empty())
}

/// Signature with fresh type variables: member or not, arguments with the receiver first, result.
pub(crate) fn signature<'s>(
    text: &str,
    findings: &mut Findings<'s>,
) -> Option<(bool, Vec<Type<'s>>, Type<'s>)> {
    let mut reader = Reader { rest: text, names: Vec::new() };
    let mut args = Vec::new();
    let member = !text.starts_with('(');
    if member {
        args.push(reader.of(findings)?);
        reader.eat(".");
    }
    reader.eat("(");
    while !reader.eat(")") {
        args.push(reader.of(findings)?);
        reader.eat(", ");
    }
    reader.eat(" ");
    let result = reader.of(findings)?;
    Some((member, args, result))
}

struct Reader<'t, 's> {
    rest: &'t str,
    names: Vec<(&'t str, Type<'s>)>,
}

impl<'s> Reader<'_, 's> {
    fn eat(&mut self, text: &str) -> bool {
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn of(&mut self, findings: &mut Findings<'s>) -> Option<Type<'s>> {
        let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest;
        Some(match name {
            "dyn" => Type::Dyn,
            "bool" => Type::Bool,
            "int" => Type::Int,
            "uint" => Type::Uint,
            "double" => Type::Double,
            "string" => Type::String,
            "bytes" => Type::Bytes,
            "timestamp" => Type::Timestamp,
            "duration" => Type::Duration,
            "url" => Type::Url,
            "list" | "type" | "map" => {
                self.eat("(");
                let first = Rc::new(self.of(findings)?);
                let whole = match name {
                    "list" => Type::List(first),
                    "type" => Type::Meta(first),
                    _ => {
                        self.eat(", ");
                        Type::Map(first, Rc::new(self.of(findings)?))
                    }
                };
                self.eat(")");
                whole
            }
            parameter => match self.names.iter().find(|(known, _)| *known == parameter) {
                Some((_, known)) => known.clone(),
                None if parameter.is_empty() => return None,
                None => {
                    let unknown = findings.unknown();
                    self.names.push((parameter, unknown.clone()));
                    unknown
                }
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_signature_can_be_parsed() {
        for function in TABLE {
            for text in function.signatures {
                assert!(signature(text, &mut Findings::default()).is_some(), "{}: {text}", function.name);
            }
        }
    }
}
