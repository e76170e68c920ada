//! Encoder of lists, one item at a time: parsed, a list takes many times its size.

use serde_json::{Value, json};

use crate::{http::answer, http::negotiate::Format, json as codec};

/// Encodes a list: its other fields, the name of the field of its items with its value for none, and the items.
pub(super) fn write(
    mut head: Value,
    (field, none): (&str, Value),
    items: impl Iterator<Item = Value>,
    format: Format,
    size: usize,
) -> Vec<u8> {
    let mut items = items.peekable();
    if items.peek().is_none() {
        head[field] = none;
        return answer::encode(&head, format);
    }
    let mut out = Vec::with_capacity(size);
    if format.yaml {
        out.extend_from_slice(codec::encode_yaml(&head).as_bytes());
        out.extend_from_slice(format!("{field}:\n").as_bytes());
        for item in items {
            // A sequence with one item continues the sequence before it.
            out.extend_from_slice(codec::encode_yaml(&json!([item])).as_bytes());
        }
        return out;
    }
    let (before_field, before_item, end) =
        if format.pretty { (",\n  ", "\n    ", "\n  ]\n}") } else { (",", "", "]}\n") };
    out.extend_from_slice(&answer::encode(&head, format));
    // The end of the object: `}`, on a line of its own if it is indented.
    while out.pop_if(|byte| matches!(byte, b'\n')).is_some() {}
    out.pop();
    while out.pop_if(|byte| matches!(byte, b'\n')).is_some() {}
    out.extend_from_slice(
        format!("{before_field}\"{field}\":{}[", if format.pretty { " " } else { "" }).as_bytes(),
    );
    for (at, item) in items.enumerate() {
        if at > 0 {
            out.push(b',');
        }
        out.extend_from_slice(before_item.as_bytes());
        if format.pretty {
            // There are no line breaks in JSON texts.
            let indented = codec::encode_pretty(&item);
            for byte in indented {
                out.push(byte);
                if byte == b'\n' {
                    out.extend_from_slice(b"    ");
                }
            }
        } else {
            codec::encode_into(&mut out, &item);
        }
    }
    out.extend_from_slice(end.as_bytes());
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::negotiate::Shape;

    #[test]
    fn a_list_is_encoded_as_if_it_were_one_value() {
        let item = |name: &str| {
            json!({
                "metadata": {"name": name, "labels": {}}, "ports": [1, 2.5], "none": null,
                "data": {"text": "two\nlines\n\n", "quoted": "a: \"b\"\n  - c", "e": "", "block": "  x\ny"},
            })
        };
        for items in [vec![], vec![item("a")], vec![item("a"), json!("text"), json!([[1]]), item("b")]] {
            let head = json!({"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": "7"}});
            let mut whole = head.clone();
            whole["rows"] = json!(items);
            for (yaml, pretty) in [(false, false), (false, true), (true, false)] {
                let format = Format { shape: Shape::Object, yaml, pretty };
                let written = write(head.clone(), ("rows", json!([])), items.iter().cloned(), format, 0);
                let text = String::from_utf8(written).unwrap();
                if yaml {
                    assert_eq!(codec::decode_yaml(text.as_bytes()).unwrap().value, whole, "{text}");
                } else {
                    assert_eq!(text.as_bytes(), answer::encode(&whole, format), "{text}");
                }
            }
        }
    }
}
