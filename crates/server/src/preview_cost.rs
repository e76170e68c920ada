//! Memory of a preview, estimated before parsing. A body of 3 MiB can have a million values, and a parsed value takes up to a
//! hundred times its text.

/// Maximum number of values in a body; the largest Workloads have some hundreds.
pub(crate) const MAX_VALUES: usize = 20_000;
/// Memory of an explanation or a preview without a body: the objects that it reads.
pub(crate) const BASE_BYTES: usize = 2 * 1024 * 1024;
/// Memory of a value, in all its forms: parsed, decided and printed.
const VALUE_BYTES: usize = 512;
/// Copies of the text in values.
const TEXT_COPIES: usize = 4;

/// Upper estimate of the number of values in a body. In YAML, also text can look like values.
pub(crate) fn values(body: &[u8], is_json: bool) -> usize {
    if is_json { json_values(body) } else { yaml_values(body) }
}

/// Memory of a preview, beside the body itself.
pub(crate) fn bytes(length: usize, values: usize) -> usize {
    BASE_BYTES + length * TEXT_COPIES + values * VALUE_BYTES
}

fn json_values(body: &[u8]) -> usize {
    let (mut in_string, mut escaped, mut values) = (false, false, 1);
    for byte in body {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b',' | b'[' | b'{' if !in_string => values += 1,
            _ => {}
        }
    }
    values
}

/// Each value is on a line of its own, follows `- `, `: ` or `? `, or is in brackets.
fn yaml_values(body: &[u8]) -> usize {
    let has_brackets = body.iter().any(|byte| matches!(byte, b'[' | b'{'));
    let indicators = body.windows(2).filter(|pair| matches!(pair, [b'-' | b':' | b'?', b' ' | b'\t']));
    let separators = body
        .iter()
        .filter(|byte| matches!(byte, b'\n' | b'\r') || has_brackets && matches!(byte, b',' | b'[' | b'{'));
    1 + indicators.count() + separators.count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_in_json_is_not_counted() {
        for (body, expected) in
            [("1", 1), ("[1,2]", 3), (r#"{"a": "b,[{", "c": "\",\\", "d": [{}]}"#, 6), ("[[[[", 5)]
        {
            assert_eq!(values(body.as_bytes(), true), expected, "{body}");
        }
    }

    #[test]
    fn yaml_values_are_never_underestimated() {
        for (body, at_least) in
            [("a: b", 2), ("- - - a", 4), ("[a,a,a]", 4), ("{a: b, c: d}", 5), ("a:\n  b:\n    c", 3)]
        {
            assert!(values(body.as_bytes(), false) >= at_least, "{body}");
        }
        let text = format!("text: |\n  {}", "a,".repeat(100_000));
        assert!(values(text.as_bytes(), false) < 10, "commas in text");
    }
}
