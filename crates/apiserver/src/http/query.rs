//! Options of the query string.

use crate::status::Status;
use orchestra_cel::{CauseType, FieldError};
use serde_json::json;

use super::route::unescape;

/// The options of a request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query {
    pairs: Vec<(String, String)>,
}

/// Treatment of unknown and duplicate fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldValidation {
    /// Ignored.
    Ignore,
    /// A warning for each.
    Warn,
    /// An error.
    Strict,
}

impl Query {
    /// Reads a query string.
    pub(crate) fn parse(query: &str) -> Self {
        let pairs = query
            .split('&')
            .filter(|pair| !pair.is_empty())
            .map(|pair| {
                let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                (unescape(&name.replace('+', " ")), unescape(&value.replace('+', " ")))
            })
            .collect();
        Self { pairs }
    }

    /// First value of an option; empty if absent.
    pub(crate) fn get(&self, name: &str) -> &str {
        self.pairs.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    /// All values of an option.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.pairs.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Boolean option. As in the real server, anything but `0` and `false` is true.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.optional_flag(name).unwrap_or(false)
    }

    /// Boolean option; `None` if absent.
    pub(crate) fn optional_flag(&self, name: &str) -> Option<bool> {
        let (_, value) = self.pairs.iter().find(|(known, _)| known == name)?;
        Some(!matches!(value.to_ascii_lowercase().as_str(), "0" | "false"))
    }

    /// Integer option.
    pub(crate) fn number(&self, name: &str) -> Result<Option<i64>, Status> {
        let text = self.get(name);
        if text.is_empty() {
            return Ok(None);
        }
        text.parse()
            .map(Some)
            .map_err(|_| Status::bad_request(format!("strconv.ParseInt: parsing {text:?}: invalid syntax")))
    }

    /// True for a dry run.
    pub(crate) fn dry_run(&self) -> bool {
        self.all("dryRun").any(|value| value == "All")
    }

    /// Treatment of unknown and duplicate fields.
    pub(crate) fn field_validation(&self) -> FieldValidation {
        match self.get("fieldValidation") {
            "Ignore" => FieldValidation::Ignore,
            "Strict" => FieldValidation::Strict,
            _ => FieldValidation::Warn,
        }
    }

    /// Checks the options of all writes; `options` is `CreateOptions`, `UpdateOptions` or `PatchOptions`.
    pub(crate) fn check_write(&self, options: &str, apply: bool) -> Result<(), Status> {
        let mut errors = Vec::new();
        if options == "PatchOptions" {
            if apply {
                if self.get("fieldManager").is_empty() {
                    errors.push(FieldError::required("fieldManager", "is required for apply patch"));
                }
            } else if self.optional_flag("force").is_some() && !self.get("force").is_empty() {
                errors.push(FieldError::forbidden("force", "may not be specified for non-apply patch"));
            }
        }
        errors.extend(self.manager_errors());
        errors.extend(self.dry_run_errors());
        let validation = self.get("fieldValidation");
        if !matches!(validation, "" | "Ignore" | "Warn" | "Strict") {
            errors.push(FieldError::not_supported(
                "fieldValidation",
                &json!(validation),
                ["", "Ignore", "Strict", "Warn"],
            ));
        }
        refuse(options, &errors)
    }

    fn dry_run_errors(&self) -> Vec<FieldError> {
        let values: Vec<&str> = self.all("dryRun").collect();
        if values.iter().all(|value| *value == "All") {
            return Vec::new();
        }
        vec![FieldError::not_supported("dryRun", &json!(values), ["All"])]
    }

    fn manager_errors(&self) -> Vec<FieldError> {
        let manager = self.get("fieldManager");
        let mut errors = Vec::new();
        if manager.len() > 128 {
            errors.push(FieldError {
                cause: CauseType::TooLong,
                field: "fieldManager".to_owned(),
                message: "Too long: may not be more than 128 bytes".to_owned(),
            });
        }
        if let Some((at, c)) = manager.char_indices().find(|(_, c)| c.is_control()) {
            errors.push(FieldError::invalid(
                "fieldManager",
                &json!(manager),
                format!("invalid character U+{:04X} (at position {at})", u32::from(c)),
            ));
        }
        errors
    }
}

/// Refuses a request for its options.
pub(crate) fn refuse(options: &str, errors: &[FieldError]) -> Result<(), Status> {
    if errors.is_empty() { Ok(()) } else { Err(Status::invalid("meta.k8s.io", options, "", errors)) }
}
