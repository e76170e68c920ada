//! Label selectors: `app in (a, b), !hidden, tier!=cache`.

use serde_json::{Map, Value};

use super::label_parser;
use crate::metadata::label_value;

/// Label selector: all its requirements must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LabelSelector {
    requirements: Vec<Requirement>,
}

/// Requirement on one label of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Requirement {
    /// The label.
    pub key: String,
    /// Operator.
    pub operator: Operator,
    /// Values to compare with, sorted.
    pub values: Vec<String>,
}

/// Operator of a requirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    /// It has one of the values: `=`, `==` and `in`.
    In,
    /// It has none of the values, or is absent: `!=` and `notin`.
    NotIn,
    /// It is present.
    Exists,
    /// It is absent.
    DoesNotExist,
    /// It is an integer above the value.
    GreaterThan,
    /// It is an integer below the value.
    LessThan,
}

impl LabelSelector {
    /// Parses a selector. The error is the message of a `400`.
    pub(crate) fn parse(selector: &str) -> Result<Self, String> {
        let mut requirements = label_parser::parse(selector)?;
        requirements.sort_by(|left, right| left.key.cmp(&right.key));
        Ok(Self { requirements })
    }

    /// Selector in an object: `matchLabels` and `matchExpressions`. The error names what is invalid.
    pub(crate) fn of(object: &Value) -> Result<Self, String> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let mut requirements = Vec::new();
        for (key, value) in object["matchLabels"].as_object().into_iter().flatten() {
            requirements.push(Requirement::new(key.clone(), Operator::In, vec![text(value)])?);
        }
        for expression in object["matchExpressions"].as_array().into_iter().flatten() {
            let operator = match expression["operator"].as_str().unwrap_or_default() {
                "In" => Operator::In,
                "NotIn" => Operator::NotIn,
                "Exists" => Operator::Exists,
                "DoesNotExist" => Operator::DoesNotExist,
                other => return Err(format!("{other:?} is not a valid label selector operator")),
            };
            let values = expression["values"].as_array().into_iter().flatten().map(text).collect();
            requirements.push(Requirement::new(text(&expression["key"]), operator, values)?);
        }
        requirements.sort_by(|left, right| left.key.cmp(&right.key));
        Ok(Self { requirements })
    }

    /// True if it selects every object.
    pub(crate) fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// True if it selects the object with these labels.
    pub(crate) fn matches(&self, labels: Option<&Map<String, Value>>) -> bool {
        self.requirements.iter().all(|requirement| {
            let label = labels.and_then(|labels| labels.get(&requirement.key)).and_then(Value::as_str);
            requirement.matches(label)
        })
    }
}

impl Requirement {
    /// Requirement. The error lists all invalid values.
    pub(super) fn new(key: String, operator: Operator, values: Vec<String>) -> Result<Self, String> {
        let mut problems = Vec::new();
        if matches!(operator, Operator::GreaterThan | Operator::LessThan) {
            for (index, value) in values.iter().enumerate().filter(|(_, value)| value.parse::<i64>().is_err())
            {
                problems.push(format!(
                    "values[{index}]: Invalid value: {value:?}: for 'Gt', 'Lt' operators, the value must be an integer"
                ));
            }
        }
        for (index, value) in values.iter().enumerate() {
            let wrong = label_value(value);
            if !wrong.is_empty() {
                problems
                    .push(format!("values[{index}][{key}]: Invalid value: {value:?}: {}", wrong.join("; ")));
            }
        }
        match problems.as_slice() {
            [] => Ok(Self { key, operator, values }),
            [problem] => Err(problem.clone()),
            problems => Err(format!("[{}]", problems.join(", "))),
        }
    }

    /// True if it holds for a label, which may be absent.
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
    fn requirements_match_labels() {
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
    fn selectors_in_objects_match_labels() {
        let labels = json!({"app": "web", "tier": ""});
        let expression = |key: &str, operator: &str, values: &[&str]| json!({"matchExpressions": [{"key": key, "operator": operator, "values": values}]});
        for (selector, is_match) in [
            (json!({}), true),
            (json!({"matchLabels": {"app": "web", "tier": ""}}), true),
            (json!({"matchLabels": {"app": "db"}}), false),
            (expression("app", "In", &["db", "web"]), true),
            (expression("app", "NotIn", &["web"]), false),
            (expression("gone", "NotIn", &["web"]), true),
            (expression("app", "Exists", &[]), true),
            (expression("app", "DoesNotExist", &[]), false),
        ] {
            let parsed = LabelSelector::of(&selector).unwrap();
            assert_eq!(parsed.matches(labels.as_object()), is_match, "{selector}");
        }
        assert!(LabelSelector::of(&expression("app", "Like", &["w*"])).is_err());
    }

    #[test]
    fn errors_name_the_invalid_token() {
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
