//! Removal of values that differ between runs from kubectl's output.

use std::path::Path;

use regex_lite::{Error, Regex};

/// Patterns and their replacements.
///
/// Column widths depend on the longest cell, so an age includes the spaces after it.
const RULES: &[(&str, &str)] = &[
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "<uid>"),
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z| \+0000)", "<time>"),
    (r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d \+0000", "<time>"),
    (r#"(resourceVersion"?: ?)"\d+""#, "$1<version>"),
    (r"(Resource Version: +)\d+", "$1<version>"),
    (r"(generated-)[a-z0-9]{5}\b", "$1<random>"),
    (r"https://(127\.0\.0\.1|localhost|\[::1\]):\d+", "<server>"),
    (r"/tmp/(LIVE|MERGED)-\d+", "/tmp/$1-<random>"),
    (r"kubectl-edit-\d+", "kubectl-edit-<random>"),
    (r"(?m)^([EWI])\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ (\w+\.go):\d+\]", "$1 $2]"),
    (r"(?m)^[0-9ydhms]+ \(x(\d+) over [0-9ydhms]+\) +", "<age> (x$1 over <age>)  "),
    (r"(?m)^LAST SEEN {4,}TYPE", "LAST SEEN  TYPE"),
    (r"(?m)(^|[ (])(\d+y)?(\d+d)?(\d+h)?(\d+m)?\d+[smhdy]( {2,}| ago|\)|$)", "$1<age>$6"),
    (r"<age> {2,}", "<age>  "),
];

/// Compiled rules.
pub struct Normaliser {
    rules: Vec<(Regex, &'static str)>,
}

impl Normaliser {
    /// Compiles the rules.
    pub fn new() -> Result<Self, Error> {
        let compile = |(pattern, stand_in): &(&str, &'static str)| Ok((Regex::new(pattern)?, *stand_in));
        Ok(Self { rules: RULES.iter().map(compile).collect::<Result<_, Error>>()? })
    }

    /// Normalised output of a command that ran in a folder.
    pub fn normalise(&self, output: &str, folder: &Path) -> String {
        let mut text = output.replace(&*folder.to_string_lossy(), "<folder>");
        for (rule, stand_in) in &self.rules {
            text = rule.replace_all(&text, *stand_in).into_owned();
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normalised(output: &str) -> String {
        Normaliser::new().unwrap().normalise(output, Path::new("/tmp/here"))
    }

    #[test]
    fn uids_times_and_versions_are_replaced() {
        let output = r#"uid: 0a2b1f4e-3e0c-4a5b-8d7e-112233445566
creationTimestamp: "2026-01-02T03:04:05Z"
"resourceVersion": "123","#;
        let expected = "uid: <uid>\ncreationTimestamp: \"<time>\"\n\"resourceVersion\": <version>,";
        assert_eq!(normalised(output), expected);
    }

    #[test]
    fn ages_do_not_shift_the_columns_after_them() {
        assert_eq!(normalised("earl   5s    1"), normalised("earl   12s   1"));
        assert_eq!(normalised("earl   1m2s"), "earl   <age>");
        assert_eq!(normalised("earl   6y324d"), "earl   <age>");
        let events = |age| normalised(&format!("{age} (x3 over {age})   Warning   Tested"));
        assert_eq!(events("6y324d"), "<age> (x3 over <age>)  Warning   Tested");
        assert_eq!(events("6y324d"), events("7y"));
    }

    #[test]
    fn quantities_within_text_stay() {
        assert_eq!(normalised("steeps for 3m in pot 5s-x"), "steeps for 3m in pot 5s-x");
    }
}
