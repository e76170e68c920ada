//! Label selectors: `app in (a, b), !hidden, tier!=cache`.

use serde_json::{Map, Value};

use super::label_parser;
use crate::{json::quote, names::label_value};

/// A label selector. All its requirements hold for an object that it selects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LabelSelector {
    requirements: Vec<Requirement>,
}

/// What one label of an object must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Requirement {
    /// The label.
    pub key: String,
    /// How it is compared.
    pub operator: Operator,
    /// What it is compared with, sorted.
    pub values: Vec<String>,
}

/// How a label is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    /// It has one of the values: `=`, `==` and `in`.
    In,
    /// It has none of the values, or is not there: `!=` and `notin`.
    NotIn,
    /// It is there.
    Exists,
    /// It is not there.
    DoesNotExist,
    /// It is an integer above the value.
    GreaterThan,
    /// It is an integer below the value.
    LessThan,
}

impl LabelSelector {
    /// Reads a selector. The error is the message of the `400` that answers it.
    pub(crate) fn parse(selector: &str) -> Result<Self, String> {
        let mut requirements = label_parser::parse(selector)?;
        requirements.sort_by(|left, right| left.key.cmp(&right.key));
        Ok(Self { requirements })
    }

    /// Whether it selects every object.
    pub(crate) fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Whether it selects the object with these labels.
    pub(crate) fn matches(&self, labels: Option<&Map<String, Value>>) -> bool {
        self.requirements.iter().all(|requirement| {
            let label = labels.and_then(|labels| labels.get(&requirement.key)).and_then(Value::as_str);
            requirement.matches(label)
        })
    }
}

impl Requirement {
    /// A requirement whose values are allowed. The error lists all that are not.
    pub(super) fn new(key: String, operator: Operator, values: Vec<String>) -> Result<Self, String> {
        let mut problems = Vec::new();
        if matches!(operator, Operator::GreaterThan | Operator::LessThan) {
            for (index, value) in values.iter().enumerate().filter(|(_, value)| value.parse::<i64>().is_err())
            {
                problems.push(format!(
                    "values[{index}]: Invalid value: {}: for 'Gt', 'Lt' operators, the value must be an integer",
                    quote(value)
                ));
            }
        }
        for (index, value) in values.iter().enumerate() {
            let wrong = label_value(value);
            if !wrong.is_empty() {
                problems.push(format!(
                    "values[{index}][{key}]: Invalid value: {}: {}",
                    quote(value),
                    wrong.join("; ")
                ));
            }
        }
        match problems.as_slice() {
            [] => Ok(Self { key, operator, values }),
            [problem] => Err(problem.clone()),
            problems => Err(format!("[{}]", problems.join(", "))),
        }
    }

    /// Whether it holds for a label, which may not be there.
    pub(crate) fn matches(&self, label: Option<&str>) -> bool {
        let is_listed = |label: &str| self.values.iter().any(|value| value == label);
        let compare = |holds: fn(&i64, &i64) -> bool| {
            let number = |text: &str| text.parse::<i64>().ok();
            label
                .and_then(number)
                .zip(self.values.first().and_then(|value| number(value)))
                .is_some_and(|(label, value)| holds(&label, &value))
        };
        match self.operator {
            Operator::In => label.is_some_and(is_listed),
            Operator::NotIn => !label.is_some_and(is_listed),
            Operator::Exists => label.is_some(),
            Operator::DoesNotExist => label.is_none(),
            Operator::GreaterThan => compare(i64::gt),
            Operator::LessThan => compare(i64::lt),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at once")]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn requirements_are_compared_with_the_labels() {
        let labels = json!({"app": "web", "tier": "", "size": "7"});
        for (selector, is_match) in [
            ("", true),
            ("app", true),
            ("!app", false),
            ("gone", false),
            ("!gone", true),
            ("app=web", true),
            ("app==web", true),
            ("app != web", false),
            ("gone!=web", true),
            ("app in (db, web)", true),
            ("app notin (db,web)", false),
            ("gone notin (db)", true),
            ("tier=", true),
            ("tier in ()", true),
            ("tier in (,x)", true),
            ("size>6", true),
            ("size > 7", false),
            ("size<8,app", true),
            ("app>1", false),
            ("gone<1", false),
            ("in in (in)", false),
        ] {
            assert_eq!(
                LabelSelector::parse(selector).unwrap().matches(labels.as_object()),
                is_match,
                "{selector}"
            );
        }
        assert!(LabelSelector::parse("!app").unwrap().matches(None));
    }

    #[test]
    fn mistakes_are_told_in_the_words_of_the_server() {
        for (selector, message) in [
            ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
            ("a=b=c", "found '=', expected: ',' or 'end of string'"),
            ("a in b", "unable to parse requirement: found 'b' expected: '('"),
            ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
            ("a in (=)", "unable to parse requirement: found '=', expected: ',', ')' or identifier"),
            ("a in (,=)", "unable to parse requirement: found '=', expected: ',', or identifier"),
            ("!a=b", "found '=', expected: ',' or 'end of string'"),
            ("=a", "found '=', expected: !, identifier, or 'end of string'"),
            ("a,,b", "found ',', expected: identifier after ','"),
            ("a=b,", "found '', expected: identifier after ','"),
            ("!", "unable to parse requirement: found '', expected: identifier"),
            ("a=(", "unable to parse requirement: found '(', expected: identifier"),
            (
                "a>x",
                "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value \
                 must be an integer",
            ),
            (
                "a=?",
                "unable to parse requirement: values[0][a]: Invalid value: \"?\": a valid label must be an empty \
                 string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
                 alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is \
                 '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
            ),
            (
                "_=b",
                "unable to parse requirement: <nil>: Invalid value: \"_\": name part must consist of alphanumeric \
                 characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  \
                 or 'my.name',  or '123-abc', regex used for validation is \
                 '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
            ),
        ] {
            assert_eq!(LabelSelector::parse(selector), Err(message.to_owned()), "{selector}");
        }
    }
}
