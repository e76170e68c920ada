//! Rules of names and values in Score.

#![expect(
    clippy::unnecessary_wraps,
    reason = "all suggestions have the same type, though some always return one"
)]

use super::{TextRule, doubts, pattern};

fn none(_: &str) -> Option<String> {
    None
}

/// Lower case, with dashes for invalid characters.
fn dashed(text: &str) -> Option<String> {
    Some(dash(&text.to_lowercase(), |_| false))
}

/// As [`dashed`], but case-preserving.
fn dashed_any_case(text: &str) -> Option<String> {
    Some(dash(text, |c| c.is_ascii_uppercase()))
}

/// As [`dashed`], but keeps dots.
fn dashed_with_dots(text: &str) -> Option<String> {
    Some(dash(&text.to_lowercase(), |c| c == '.'))
}

fn dash(text: &str, keep: fn(char) -> bool) -> String {
    let dashed: String = text
        .chars()
        .flat_map(transliterated)
        .map(|c| if c.is_ascii_lowercase() || c.is_ascii_digit() || keep(c) { c } else { '-' })
        .take(63)
        .collect();
    let parts: Vec<_> = dashed.split('-').filter(|part| !part.is_empty()).collect();
    parts.join("-").trim_matches(['-', '.']).to_owned()
}

/// Letters of ASCII for a letter with a mark: `ü` is `ue`, `é` is `e`.
fn transliterated(c: char) -> impl Iterator<Item = char> {
    let letters = match c {
        'ä' | 'æ' => "ae",
        'ö' | 'ø' | 'œ' => "oe",
        'ü' => "ue",
        'ß' => "ss",
        'à' | 'á' | 'â' | 'ã' | 'å' => "a",
        'ç' | 'č' | 'ć' => "c",
        'è' | 'é' | 'ê' | 'ë' => "e",
        'ì' | 'í' | 'î' | 'ï' => "i",
        'ñ' | 'ń' => "n",
        'ò' | 'ó' | 'ô' | 'õ' => "o",
        'š' | 'ś' => "s",
        'ù' | 'ú' | 'û' => "u",
        'ž' | 'ź' | 'ż' => "z",
        _ => "",
    };
    letters.chars().chain(letters.is_empty().then_some(c))
}

fn octal(text: &str) -> Option<String> {
    let digits = text.trim_start_matches("0o").trim_start_matches('0');
    (digits.len() <= 3).then(|| format!("{digits:0>4}"))
}

/// Common mistakes in memory sizes: lower-case or long units, a bare fraction.
fn memory(text: &str) -> Option<String> {
    let text = text.trim().replace(' ', "");
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let unit = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => "",
        "k" | "kb" | "e3" => "K",
        "m" | "mb" | "e6" => "M",
        "g" | "gb" | "e9" => "G",
        "t" | "tb" | "e12" => "T",
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
    let text = ["cores", "core", "vcpus", "vcpu", "cpus", "cpu"]
        .iter()
        .find_map(|unit| text.strip_suffix(unit))
        .unwrap_or(&text);
    if let Some(percent) = text.strip_suffix('%').and_then(|number| number.parse::<f64>().ok()) {
        return Some(format!("{}", percent / 100.0));
    }
    if let Some(millis) = text.strip_suffix('m').and_then(|number| number.parse::<f64>().ok()) {
        // Less than a millicore is a mistake for cores.
        return Some(if millis < 1.0 { format!("{millis}") } else { format!("{}m", millis.ceil()) });
    }
    Some(number_with_zero(text))
}

/// Resource type without a version: `postgres:16`.
fn type_name(text: &str) -> Option<String> {
    match text.split_once(':') {
        Some((name, version)) if version.starts_with(|c: char| c.is_ascii_digit()) => Some(name.to_owned()),
        _ => dashed_any_case(text),
    }
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
            form: "2 to 63 lowercase letters, digits or dashes, starting and ending with a letter or digit",
            suggest: dashed,
            doubt: doubts::none,
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
            form: "2 to 63 letters, digits or dashes, starting and ending with a letter or digit",
            suggest: type_name,
            doubt: doubts::none,
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
    form: "2 to 63 lowercase letters, digits, dashes or dots, each part between dots starting and ending with a letter or digit",
    suggest: dashed_with_dots,
    doubt: doubts::none,
};

pub(super) static ANNOTATION_KEY: TextRule = TextRule {
    noun: "annotation key",
    pattern: pattern!(
        r"^(([a-z0-9][a-z0-9-]{0,61}[a-z0-9])(\.[a-z0-9][a-z0-9-]{0,61}[a-z0-9])*/)?[A-Za-z0-9][A-Za-z0-9._-]{0,61}[A-Za-z0-9]$"
    ),
    min: 2,
    max: Some(316),
    form: "a name of 2 to 63 letters, digits, dots, dashes or underscores, with an optional lowercase domain prefix (`example.org/name`)",
    suggest: none,
    doubt: doubts::none,
};

pub(super) static VARIABLE_NAME: TextRule = TextRule {
    noun: "variable name",
    pattern: pattern!(r"^[^=]+$"),
    min: 1,
    max: None,
    form: "non-empty, without an equals sign",
    suggest: none,
    doubt: doubts::variable_name,
};

pub(super) static HEADER_NAME: TextRule = TextRule {
    noun: "header name",
    pattern: pattern!(r"^[A-Za-z0-9_-]+$"),
    min: 0,
    max: None,
    form: "letters, digits, dashes or underscores",
    suggest: none,
    doubt: doubts::none,
};

pub(super) static FILE_MODE: TextRule = TextRule {
    noun: "file mode",
    pattern: pattern!(r"^0?[0-7]{3}$"),
    min: 0,
    max: None,
    form: "three octal digits with an optional leading zero, in quotes: \"644\" or \"0644\"",
    suggest: octal,
    doubt: doubts::none,
};

pub(super) static MEMORY: TextRule = TextRule {
    noun: "memory quantity",
    pattern: pattern!(r"^(0\.[0-9]+|[1-9][0-9]*(\.[0-9]+)?)(K|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$"),
    min: 0,
    max: None,
    form: "a number with an optional unit K, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi or Ei, such as 512Mi or 1.5Gi",
    suggest: memory,
    doubt: doubts::memory,
};

pub(super) static CPU: TextRule = TextRule {
    noun: "CPU quantity",
    pattern: pattern!(r"^[0-9]+(?:m|\.[0-9]+)?$"),
    min: 0,
    max: None,
    form: "cores such as \"0.5\" or \"2\", or millicores such as \"250m\"",
    suggest: cpu,
    doubt: doubts::none,
};

macro_rules! text {
    ($name:ident, $noun:literal, $min:literal, $form:literal) => {
        text!($name, $noun, $min, $form, doubts::none);
    };
    ($name:ident, $noun:literal, $min:literal, $form:literal, $doubt:expr) => {
        pub(super) static $name: TextRule = TextRule {
            noun: $noun,
            pattern: None,
            min: $min,
            max: None,
            form: $form,
            suggest: none,
            doubt: $doubt,
        };
    };
}

text!(TEXT, "string", 0, "a string");
text!(TARGET, "path in the container", 0, "a path in the container");
text!(FILE_TARGET, "path in the container", 1, "a path in the container");
text!(IMAGE, "image", 1, "an image name, or `.` to set it at deployment with `--image`", doubts::image);
text!(HTTP_PATH, "path", 0, "a path", doubts::http_path);
text!(VOLUME_SOURCE, "volume source", 0, "a placeholder such as `${resources.data}`", doubts::volume_source);
text!(SOURCE, "source", 1, "a path relative to the Score file");
text!(HOST, "host", 1, "a host name");
text!(HEADER_VALUE, "header value", 1, "a string");

#[cfg(test)]
mod tests {
    use super::{
        super::LengthError::{TooLong, TooShort},
        *,
    };

    #[test]
    fn suggestions_match_their_rule() {
        for (rule, text, want) in [
            (&WORKLOAD_NAME, "Invalid_Name", "invalid-name"),
            (&WORKLOAD_NAME, "-web-", "web"),
            (&WORKLOAD_NAME, "Onlineshop für Köln", "onlineshop-fuer-koeln"),
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
            (&CPU, "2 cores", "2"),
            (&CPU, "50%", "0.5"),
            (&MEMORY, "1e9", "1G"),
            (&RESOURCE_TYPE, "postgres:16", "postgres"),
        ] {
            assert_eq!(rule.suggestion(text).as_deref(), Some(want), "{text}");
        }
    }

    #[test]
    fn hopeless_values_get_no_suggestion() {
        for (rule, text) in [(&WORKLOAD_NAME, "a"), (&MEMORY, "lots"), (&CPU, "m"), (&FILE_MODE, "u+x")] {
            assert_eq!(rule.suggestion(text), None, "{text}");
        }
    }

    #[test]
    fn patterns_are_ascii_and_anchored_at_the_end() {
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
    fn a_length_error_is_reported_only_if_nothing_else_is_wrong() {
        let long = |c: &str| format!("{}-z", c.repeat(70));
        for (rule, text, error) in [
            (&RESOURCE_ID, "x".to_owned(), Some(TooShort(2))),
            (&WORKLOAD_NAME, "a".to_owned(), Some(TooShort(2))),
            (&WORKLOAD_NAME, String::new(), Some(TooShort(2))),
            (&RESOURCE_TYPE, long("s"), Some(TooLong(63))),
            (&WORKLOAD_NAME, "A".to_owned(), None),
            (&RESOURCE_ID, "-".to_owned(), None),
            (&WORKLOAD_NAME, long("B"), None),
            (&WORKLOAD_NAME, "Web".to_owned(), None),
            (&FILE_MODE, String::new(), None),
        ] {
            assert_eq!(rule.length_error(&text), error, "{text:?}");
        }
    }
}
