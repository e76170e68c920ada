//! Number of values in a document, estimated without parsing it: a parsed value takes up to a thousand times its text.

/// Number of values in a document, never underestimated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Values {
    /// Values of all types.
    pub all: usize,
    /// Maps among them.
    pub maps: usize,
}

impl Values {
    /// Values in a JSON document.
    pub fn in_json(document: &[u8]) -> Self {
        let (mut in_string, mut escaped) = (false, false);
        let mut values = Self { all: 1, maps: 0 };
        for byte in document {
            match byte {
                _ if escaped => escaped = false,
                b'\\' if in_string => escaped = true,
                b'"' => in_string = !in_string,
                _ if in_string => {}
                b'{' => {
                    values.maps += 1;
                    values.all += 1;
                }
                b',' | b'[' => values.all += 1,
                _ => {}
            }
        }
        values
    }

    /// Values in a YAML document without aliases; also text can look like values. Each is on a line of its own, follows
    /// `- `, `: ` or `? `, or is in brackets, where a `:` can follow a key at once. Each map that is not
    /// empty has a `:` or a `? `.
    pub fn in_yaml(document: &[u8]) -> Self {
        let has_brackets = document.iter().any(|byte| matches!(byte, b'[' | b'{'));
        let mut values = Self { all: 1, maps: 0 };
        for (at, byte) in document.iter().enumerate() {
            let is_indicator = matches!(document.get(at + 1), Some(b' ' | b'\t'));
            match byte {
                b'-' if is_indicator => values.all += 1,
                b'?' if is_indicator => {
                    values.all += 1;
                    values.maps += 1;
                }
                b':' => {
                    values.all += usize::from(is_indicator || has_brackets);
                    values.maps += 1;
                }
                b'\n' | b'\r' => values.all += 1,
                b',' | b'[' | b'{' if has_brackets => values.all += 1,
                _ => {}
            }
        }
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_in_json_is_not_counted() {
        for (document, all, maps) in [
            ("1", 1, 0),
            ("[1,2]", 3, 0),
            (r#"{"a": "b,[{", "c": "\",\\", "d": [{}]}"#, 6, 2),
            ("[[[[", 5, 0),
            (r#"{"":{"":0}}"#, 3, 2),
        ] {
            assert_eq!(Values::in_json(document.as_bytes()), Values { all, maps }, "{document}");
        }
    }

    #[test]
    fn yaml_values_are_never_underestimated() {
        for (document, all, maps) in [
            ("a: b", 2, 1),
            ("- - - a", 4, 0),
            ("[a,a,a]", 4, 0),
            ("{a: b, c: d}", 5, 1),
            (r#"["a":b]"#, 3, 1),
            ("a:\n  b:\n    c", 3, 2),
            ("? a", 2, 1),
        ] {
            let values = Values::in_yaml(document.as_bytes());
            assert!(values.all >= all && values.maps >= maps, "{document}: {values:?}");
        }
        let text = format!("text: |\n  {}", "a,".repeat(100_000));
        assert!(Values::in_yaml(text.as_bytes()).all < 10, "commas in text");
    }
}
