//! Parser of rendered YAML, compatible with the reference tools, which use Go's yaml.v3.

use std::{collections::BTreeSet, rc::Rc};

use orchestra_gotemplate::{Heap, ListKind, MapKind, Time, Value, number_value};
use orchestra_score::{Code, Node, Source, SourceId, node::Value as Parsed, pointer::Path, yaml};

use super::provision::Cause;

/// Error of rendered YAML: the cause, and a sentence that quotes nothing of it.
pub(super) type Unreadable = (Cause, String);

/// Parses rendered YAML; an empty text is nil.
pub(super) fn decode(heap: &mut Heap, text: &str) -> Result<Value, Unreadable> {
    let source = Source::new("rendered", text);
    let (node, findings) = yaml::parse_any(&source, SourceId(0));
    let mut odd = Odd::default();
    for finding in findings.into_sorted().into_iter().filter(orchestra_score::Diagnostic::is_error) {
        let written = finding.span.and_then(|span| source.slice(span)).unwrap_or_default().trim();
        match finding.code {
            Code::EmptyDocument => {}
            Code::NonStringKey if !written.starts_with(['{', '[']) => {
                odd.keys.insert(finding.pointer.as_str().to_owned());
            }
            Code::UnsupportedValue if not_finite(written).is_some() => {
                odd.floats.insert(finding.pointer.as_str().to_owned());
            }
            // The message of a finding may quote the text, so only the line is shown.
            _ => {
                let line = finding.span.map_or(0, |span| source.line(span.start as usize));
                return Err((
                    Cause::Yaml,
                    format!("its output is not valid YAML (line {line} of the output)"),
                ));
            }
        }
    }
    Ok(node.map_or(Value::Nil, |node| value(heap, &node, &Path::Root, &odd)))
}

/// Values that JSON lacks, by pointer.
#[derive(Default)]
struct Odd {
    keys: BTreeSet<String>,
    floats: BTreeSet<String>,
}

fn value(heap: &mut Heap, node: &Node, at: &Path<'_>, odd: &Odd) -> Value {
    match &node.value {
        Parsed::Null => Value::Nil,
        Parsed::Bool(flag) => Value::Bool(*flag),
        Parsed::Number(number) => number_value(number),
        Parsed::String(text) => {
            let float = not_finite(text).filter(|_| odd.floats.contains(at.pointer().as_str()));
            float.map_or_else(|| Value::string(text), Value::Float)
        }
        Parsed::Timestamp(text) => {
            time(text).map_or_else(|| Value::string(text), |time| Value::Time(Rc::new(time)))
        }
        Parsed::List(items) => {
            let items =
                items.iter().enumerate().map(|(number, item)| value(heap, item, &at.index(number), odd));
            let items = items.collect();
            heap.new_list(ListKind::Any, items)
        }
        Parsed::Map(map) => {
            let mut kind = MapKind::Any;
            let mut entries = std::collections::BTreeMap::new();
            for (key, entry) in map {
                let place = at.key(key);
                if !odd.keys.is_empty() && odd.keys.contains(place.pointer().as_str()) {
                    kind = MapKind::AnyKeys;
                }
                entries.insert(key.clone(), value(heap, &entry.node, &place, odd));
            }
            heap.new_map(kind, entries)
        }
    }
}

fn not_finite(text: &str) -> Option<f64> {
    match text.to_ascii_lowercase().as_str() {
        ".inf" | "+.inf" => Some(f64::INFINITY),
        "-.inf" => Some(f64::NEG_INFINITY),
        ".nan" => Some(f64::NAN),
        _ => None,
    }
}

/// Date, or date and time, of a YAML timestamp.
fn time(text: &str) -> Option<Time> {
    let (date, rest) = match text.find(['T', 't', ' ']) {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, ""),
    };
    let parts: Vec<u32> = date.split('-').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let [year, month, day] = parts[..] else { return None };
    let date = format!("{year:04}-{month:02}-{day:02}");
    if rest.is_empty() {
        return Some(Time { date, clock: "00:00:00".to_owned(), zone: None });
    }
    let end = rest.find(['Z', '+', '-']).unwrap_or(rest.len());
    let (clock, zone) = rest.split_at(end);
    let (clock, fraction) = clock.split_once(['.', ',']).unwrap_or((clock, ""));
    let parts: Vec<u32> = clock.split(':').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let [hour, minute, second] = parts[..] else { return None };
    let fraction = fraction.trim_end_matches('0');
    let fraction = if fraction.is_empty() { String::new() } else { format!(".{fraction}") };
    Some(Time {
        date,
        clock: format!("{hour:02}:{minute:02}:{second:02}{fraction}"),
        zone: Some(zone).filter(|zone| !matches!(*zone, "" | "Z" | "+00:00")).map(str::to_owned),
    })
}
