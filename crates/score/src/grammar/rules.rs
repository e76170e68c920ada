//! The forms of names and texts in Score.

#![expect(
    clippy::unnecessary_wraps,
    reason = "every rule has a suggestion of the same type, though some always have one"
)]

use super::{TextRule, pattern};

fn none(_: &str) -> Option<String> {
    None
}

/// Lower case, with dashes for everything a name cannot hold.
fn dashed(text: &str) -> Option<String> {
    Some(dash(&text.to_lowercase(), |_| false))
}

/// As [`dashed`], with the case kept.
fn dashed_any_case(text: &str) -> Option<String> {
    Some(dash(text, |c| c.is_ascii_uppercase()))
}

/// As [`dashed`], with dots kept.
fn dashed_with_dots(text: &str) -> Option<String> {
    Some(dash(&text.to_lowercase(), |c| c == '.'))
}

fn dash(text: &str, keep: fn(char) -> bool) -> String {
    let dashed: String = text
        .chars()
        .map(|c| if c.is_ascii_lowercase() || c.is_ascii_digit() || keep(c) { c } else { '-' })
        .take(63)
        .collect();
    let parts: Vec<_> = dashed.split('-').filter(|part| !part.is_empty()).collect();
    parts.join("-").trim_matches(['-', '.']).to_owned()
}

fn octal(text: &str) -> Option<String> {
    let digits = text.trim_start_matches("0o").trim_start_matches('0');
    (digits.len() <= 3).then(|| format!("{digits:0>4}"))
}

/// The usual misspellings of sizes: lower-case or long units, a bare fraction.
fn memory(text: &str) -> Option<String> {
    let text = text.trim().replace(' ', "");
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let unit = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => "",
        "k" | "kb" => "K",
        "m" | "mb" => "M",
        "g" | "gb" => "G",
        "t" | "tb" => "T",
        "ki" | "kib" => "Ki",
        "mi" | "mib" => "Mi",
        "gi" | "gib" => "Gi",
        "ti" | "tib" => "Ti",
        _ => return None,
    };
    Some(format!("{}{unit}", number_with_zero(number)))
}

fn cpu(text: &str) -> Option<String> {
    let text = text.trim().replace(' ', "").replace(',', ".").to_ascii_lowercase();
    if let Some(millis) = text.strip_suffix('m').and_then(|number| number.parse::<f64>().ok()) {
        // A fraction of a thousandth is none; whole cores were meant.
        return Some(if millis < 1.0 { format!("{millis}") } else { format!("{}m", millis.ceil()) });
    }
    Some(number_with_zero(&text))
}

fn number_with_zero(number: &str) -> String {
    let number = number.trim_end_matches('.');
    if number.starts_with('.') { format!("0{number}") } else { number.to_owned() }
}

macro_rules! label {
    ($name:ident, $noun:literal) => {
        pub(super) static $name: TextRule = TextRule {
            noun: $noun,
            pattern: pattern!(r"^[a-z0-9][a-z0-9-]{0,61}[a-z0-9]$"),
            min: 2,
            max: Some(63),
            form: "2 to 63 lower-case letters, digits and dashes, with a letter or digit at both ends",
            suggest: dashed,
        };
    };
}

label!(WORKLOAD_NAME, "workload name");
label!(CONTAINER_NAME, "container name");
label!(PORT_NAME, "port name");
label!(RESOURCE_NAME, "resource name");

macro_rules! type_name {
    ($name:ident, $noun:literal) => {
        pub(super) static $name: TextRule = TextRule {
            noun: $noun,
            pattern: pattern!(r"^[A-Za-z0-9][A-Za-z0-9-]{0,61}[A-Za-z0-9]$"),
            min: 2,
            max: Some(63),
            form: "2 to 63 letters, digits and dashes, with a letter or digit at both ends",
            suggest: dashed_any_case,
        };
    };
}

type_name!(RESOURCE_TYPE, "resource type");
type_name!(RESOURCE_CLASS, "resource class");

pub(super) static RESOURCE_ID: TextRule = TextRule {
    noun: "resource id",
    pattern: pattern!(r"^[a-z0-9]+(?:-+[a-z0-9]+)*(?:\.[a-z0-9]+(?:-+[a-z0-9]+)*)*$"),
    min: 2,
    max: Some(63),
    form: "2 to 63 lower-case letters, digits, dashes and dots, each part between dots with a letter or digit at both ends",
    suggest: dashed_with_dots,
};

pub(super) static ANNOTATION_KEY: TextRule = TextRule {
    noun: "annotation key",
    pattern: pattern!(
        r"^(([a-z0-9][a-z0-9-]{0,61}[a-z0-9])(\.[a-z0-9][a-z0-9-]{0,61}[a-z0-9])*/)?[A-Za-z0-9][A-Za-z0-9._-]{0,61}[A-Za-z0-9]$"
    ),
    min: 2,
    max: Some(316),
    form: "a name of 2 to 63 letters, digits, dots, dashes and underscores, if wanted after a lower-case domain and a slash (`example.org/name`)",
    suggest: none,
};

pub(super) static VARIABLE_NAME: TextRule = TextRule {
    noun: "variable name",
    pattern: pattern!(r"^[^=]+$"),
    min: 1,
    max: None,
    form: "not empty and without an equals sign",
    suggest: none,
};

pub(super) static HEADER_NAME: TextRule = TextRule {
    noun: "header name",
    pattern: pattern!(r"^[A-Za-z0-9_-]+$"),
    min: 0,
    max: None,
    form: "letters, digits, dashes and underscores",
    suggest: none,
};

pub(super) static FILE_MODE: TextRule = TextRule {
    noun: "file mode",
    pattern: pattern!(r"^0?[0-7]{3}$"),
    min: 0,
    max: None,
    form: "three octal digits, if wanted after a zero, in quotes: \"644\" or \"0644\"",
    suggest: octal,
};

pub(super) static MEMORY: TextRule = TextRule {
    noun: "memory size",
    pattern: pattern!(r"^(0\.[0-9]+|[1-9][0-9]*(\.[0-9]+)?)(K|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$"),
    min: 0,
    max: None,
    form: "a number with a unit K, M, G, T, P, E or Ki, Mi, Gi, Ti, Pi, Ei, such as 512Mi or 1.5Gi",
    suggest: memory,
};

pub(super) static CPU: TextRule = TextRule {
    noun: "cpu amount",
    pattern: pattern!(r"^[0-9]+(?:m|\.[0-9]+)?$"),
    min: 0,
    max: None,
    form: "cores such as \"0.5\" or \"2\", or thousandths such as \"250m\"",
    suggest: cpu,
};

macro_rules! text {
    ($name:ident, $noun:literal, $min:literal, $form:literal) => {
        pub(super) static $name: TextRule =
            TextRule { noun: $noun, pattern: None, min: $min, max: None, form: $form, suggest: none };
    };
}

text!(TEXT, "text", 0, "text");
text!(TARGET, "path in the container", 0, "a path in the container");
text!(FILE_TARGET, "path in the container", 1, "a path in the container");
text!(IMAGE, "image", 1, "the name of an image, or `.` for one that is given when the workload is deployed");
text!(SOURCE, "source", 1, "a path beside the Score file");
text!(HOST, "host", 1, "a host name");
text!(HEADER_VALUE, "header value", 1, "text");

#[cfg(test)]
mod tests {
    use super::{
        super::LengthFault::{Above, Below},
        *,
    };

    #[test]
    fn suggestions_have_the_form_they_are_suggested_for() {
        for (rule, text, want) in [
            (&WORKLOAD_NAME, "Invalid_Name", "invalid-name"),
            (&WORKLOAD_NAME, "-web-", "web"),
            (&RESOURCE_TYPE, "my_DB", "my-DB"),
            (&RESOURCE_ID, "Shared.My_Db", "shared.my-db"),
            (&FILE_MODE, "0o644", "0644"),
            (&FILE_MODE, "00644", "0644"),
            (&MEMORY, "100k", "100K"),
            (&MEMORY, "512MB", "512M"),
            (&MEMORY, "1gi", "1Gi"),
            (&MEMORY, ".5Gi", "0.5Gi"),
            (&MEMORY, "1 Gi", "1Gi"),
            (&CPU, ".5", "0.5"),
            (&CPU, "1.5m", "2m"),
            (&CPU, "0.5m", "0.5"),
            (&RESOURCE_TYPE, "AWS::S3", "AWS-S3"),
            (&CPU, "1,5", "1.5"),
        ] {
            assert_eq!(rule.suggestion(text).as_deref(), Some(want), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_guessed_is_not_guessed() {
        for (rule, text) in [(&WORKLOAD_NAME, "a"), (&MEMORY, "lots"), (&CPU, "m"), (&FILE_MODE, "u+x")] {
            assert_eq!(rule.suggestion(text), None, "{text}");
        }
    }

    #[test]
    fn digits_are_ascii_and_the_end_is_the_end() {
        for (rule, text) in
            [(&CPU, "\u{661}"), (&CPU, "1\n"), (&WORKLOAD_NAME, "demo\n"), (&WORKLOAD_NAME, "café")]
        {
            assert!(!rule.accepts(text), "{text:?}");
        }
    }

    #[test]
    fn lengths_count_characters() {
        assert!(VARIABLE_NAME.accepts("é"));
        assert!(!VARIABLE_NAME.accepts(""));
        assert!(WORKLOAD_NAME.accepts(&"a".repeat(63)));
        assert!(!WORKLOAD_NAME.accepts(&"a".repeat(64)));
    }

    #[test]
    fn a_length_is_blamed_only_if_nothing_else_is_wrong() {
        let long = |c: &str| format!("{}-z", c.repeat(70));
        for (rule, text, fault) in [
            (&RESOURCE_ID, "x".to_owned(), Some(Below(2))),
            (&WORKLOAD_NAME, "a".to_owned(), Some(Below(2))),
            (&WORKLOAD_NAME, String::new(), Some(Below(2))),
            (&RESOURCE_TYPE, long("s"), Some(Above(63))),
            (&WORKLOAD_NAME, "A".to_owned(), None),
            (&RESOURCE_ID, "-".to_owned(), None),
            (&WORKLOAD_NAME, long("B"), None),
            (&WORKLOAD_NAME, "Web".to_owned(), None),
            (&FILE_MODE, String::new(), None),
        ] {
            assert_eq!(rule.length_fault(&text), fault, "{text:?}");
        }
    }
}
