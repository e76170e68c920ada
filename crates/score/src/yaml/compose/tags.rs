//! Tags: the standard ones, and unknown ones, which are ignored.

use std::borrow::Cow;

use granit_parser::{Event, ScalarStyle, Tag};

use super::Composer;
use crate::{
    code::Code,
    diagnostic::{Severity, backticked},
    pointer::Path,
    source::Span,
    validate::{SECRET_RESOURCE, is_secret_reference},
};

impl Composer<'_> {
    /// Unknown tags (`!Ref`, `!Sub`) are ignored with a warning.
    pub(super) fn ignored(&mut self, tag: Option<&Tag>, at: &Path<'_>, span: Span) {
        if let Some(tag) = tag.filter(|tag| standard_tag(tag).is_none()) {
            let describe = || {
                let written = tag.to_string();
                let hint = if is_secret_reference(&written) {
                    SECRET_RESOURCE
                } else {
                    "remove the tag, and write the value itself"
                };
                (format!("unknown YAML tag {} is ignored", backticked(&written)), hint.to_owned())
            };
            let span = self.tag_span(tag, span);
            self.findings.report(Severity::Warning, Code::UnsupportedValue, at, Some(span), describe);
        }
    }

    /// Span of the tag in front of a value; of the value if the tag is written in another way.
    fn tag_span(&self, tag: &Tag, value: Span) -> Span {
        let written = tag.to_string();
        let start = value.start as usize;
        let before = self.text.get(..start).map_or("", str::trim_end);
        if before.ends_with(&written) {
            self.bytes(before.len() - written.len(), before.len())
        } else {
            value
        }
    }
}

const STANDARD_TAGS: &str = "tag:yaml.org,2002:";

/// Name of a standard YAML tag, such as `!!str`; none for `!`.
pub(super) fn standard_tag(tag: &Tag) -> Option<Cow<'_, str>> {
    tag.suffix_in_namespace(STANDARD_TAGS)
}

pub(super) fn is_merge_key(event: &Event<'_>) -> bool {
    matches!(event, Event::Scalar(text, ScalarStyle::Plain, _, tag)
        if text == "<<" && tag.as_deref().is_none_or(|tag| standard_tag(tag).as_deref() == Some("merge")))
}
