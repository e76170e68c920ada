//! Pipeline of a Score file: parse, apply overrides, validate, build the [`Workload`].

use serde_json::Value as Json;

use crate::{
    code::{Code, Layer},
    diagnostic::{Diagnostic, Findings},
    model::Workload,
    node::{Node, Value},
    normalise::normalise,
    overrides::{self, OverrideError},
    pointer::Pointer,
    source::{Location, Source, SourceId},
    spec_version::SpecVersion,
    validate::validate,
    yaml::{self, limits},
};

/// Parsed document with its sources and the diagnostics so far.
#[derive(Debug)]
pub struct Document {
    sources: Vec<Source>,
    root: Option<Node>,
    findings: Findings,
    properties: usize,
}

impl Document {
    /// Most properties set with `--override-property`.
    pub const MAX_PROPERTIES: usize = 1000;
    /// Largest document as JSON: fits into an API object with room to spare.
    pub const MAX_BYTES: usize = 1024 * 1024;

    /// Parses a Score file, YAML or JSON.
    pub fn parse(source: Source) -> Self {
        let mut document =
            Self { sources: Vec::new(), root: None, findings: Findings::default(), properties: 0 };
        document.root = document.read(source);
        document
    }

    /// Document from a JSON value. Its diagnostics have pointers, but no spans.
    pub fn from_json(value: Json) -> Self {
        Self { sources: Vec::new(), root: Some(value.into()), findings: Findings::default(), properties: 0 }
    }

    /// Merges an overrides file into the document. An empty file changes nothing.
    pub fn merge(&mut self, source: Source) {
        let (over, found) = self.parse_source(source);
        self.findings.extend_without(Code::EmptyDocument, found);
        match over {
            None | Some(Node { value: Value::Null, .. }) => {}
            Some(over) if over.as_map().is_some() => {
                // A root that is not a map stays as it is, and fails validation.
                if let Some(root) = self.root.as_mut().filter(|root| root.as_map().is_some()) {
                    overrides::merge(root, over);
                }
            }
            Some(over) => self.findings.push(Diagnostic::error(
                Code::InvalidOverride,
                Pointer::root(),
                over.span,
                format!("invalid type: expected map, found {} in the overrides file", over.type_name()),
                "write the fields to override, such as `containers: {main: {image: nginx}}`",
            )),
        }
    }

    /// Sets one property from `path=value`; an empty value removes it.
    pub fn set_property(&mut self, argument: &str) {
        self.properties += 1;
        if self.properties > Self::MAX_PROPERTIES {
            if self.properties == Self::MAX_PROPERTIES + 1 {
                self.findings.push(Diagnostic::error(
                    Code::LimitExceeded,
                    Pointer::root(),
                    None,
                    format!("too many --override-property options: more than {}", Self::MAX_PROPERTIES),
                    "use --overrides-file instead",
                ));
            }
            return;
        }
        let (path, value) = match overrides::parse_property(argument) {
            Ok(property) => property,
            Err(error) => return self.invalid_override(&format!("--override-property {argument}"), &error),
        };
        let (node, found) = self.parse_source(Source::new(format!("--override-property {path}"), value));
        let is_read = !found.has_errors_besides(Code::EmptyDocument);
        self.findings.extend_without(Code::EmptyDocument, found);
        let Some(root) = self.root.as_mut().filter(|_| is_read) else { return };
        // An empty or blank value removes the property.
        let node = node.unwrap_or(Node::new(Value::Null));
        if let Err(error) = overrides::set(root, &overrides::parse_path(path), node) {
            self.invalid_override(&format!("--override-property {argument}"), &error);
        }
    }

    /// Adds a diagnostic of the caller, such as an unreadable file.
    pub fn note(&mut self, diagnostic: Diagnostic) {
        self.findings.push(diagnostic);
    }

    /// Root of the document; `None` if it could not be parsed.
    pub fn root(&self) -> Option<&Node> {
        self.root.as_ref()
    }

    /// Sets the image of containers with `image: .`.
    pub fn set_image(&mut self, image: &str) {
        let id = self.add(Source::new("--image", image));
        let end = u32::try_from(image.len()).unwrap_or(u32::MAX);
        let node = Node {
            value: Value::String(image.to_owned()),
            span: Some(crate::source::Span { source: id, start: 0, end }),
        };
        let Some(root) = &mut self.root else { return };
        match overrides::set_image(root, Some(&node)) {
            Err(error) => self.invalid_override("--image", &error),
            Ok(0) => self.findings.push(Diagnostic::warning(
                Code::InvalidOverride,
                Pointer::root(),
                None,
                "`--image` has no effect: no container has `image: .`",
                "write `image: .` in the containers that take this image, or remove `--image`",
            )),
            Ok(_) => {}
        }
    }

    /// Validates the document.
    pub fn check(self) -> Report {
        let Self { mut sources, root, mut findings, .. } = self;
        let mut spec_version = None;
        let mut workload = None;
        if let Some(mut root) = root
            && within_bounds(&root, &mut findings)
        {
            for secret in validate(&root, &sources, &mut findings) {
                if let Some(source) = sources.get_mut(secret.source.0 as usize) {
                    source.mask(secret);
                }
            }
            if !findings.has_errors_in(Layer::Document) && !findings.has_errors_in(Layer::Schema) {
                spec_version = Some(SpecVersion::required_by(&root));
            }
            if !findings.has_errors() {
                normalise(&mut root);
                workload = model(&root, &mut findings);
            }
        }
        Report { sources, diagnostics: findings.into_sorted(), spec_version, workload }
    }

    fn read(&mut self, source: Source) -> Option<Node> {
        let (node, found) = self.parse_source(source);
        self.findings.extend(found);
        node
    }

    fn parse_source(&mut self, source: Source) -> (Option<Node>, Findings) {
        let id = self.add(source);
        self.sources.last().map_or((None, Findings::default()), |source| yaml::parse(source, id))
    }

    fn add(&mut self, source: Source) -> SourceId {
        let id = SourceId(u32::try_from(self.sources.len()).unwrap_or(u32::MAX));
        self.sources.push(source);
        id
    }

    fn invalid_override(&mut self, argument: &str, error: &OverrideError) {
        self.findings.push(Diagnostic::error(
            Code::InvalidOverride,
            Pointer::root(),
            None,
            format!("invalid override `{argument}`: {error}"),
            match error {
                OverrideError::NoEquals => {
                    "write the path, an equals sign and the value: containers.main.image=nginx"
                }
                _ => "check that the path exists in the document; escape a dot inside a key with a backslash",
            },
        ));
    }
}

/// True if the document is within the limits. The parser bounds text; this also bounds overrides and API objects.
fn within_bounds(root: &Node, findings: &mut Findings) -> bool {
    let size = root.size();
    let mut exceeded = |message: String, hint: &str| {
        findings.push(Diagnostic::error(Code::LimitExceeded, Pointer::root(), None, message, hint));
    };
    if size.depth > limits::DEPTH {
        exceeded(
            format!("nesting too deep: more than {} levels", limits::DEPTH),
            "write the innermost values as a JSON string",
        );
    } else if size.longest_key > limits::KEY || name_length(root) > limits::KEY {
        exceeded(format!("key or name too long: more than {} bytes", limits::KEY), "use a shorter one");
    } else if size.values > limits::VALUES {
        exceeded(
            format!("document too large: more than {} keys and values", limits::VALUES),
            "split the workload into several",
        );
    } else if size.bytes > Document::MAX_BYTES {
        exceeded(
            format!("document too large: {} bytes, the limit is {}", size.bytes, Document::MAX_BYTES),
            "move large file contents into the image or into a volume",
        );
        // Only long: validation is still cheap.
        return true;
    } else {
        return true;
    }
    false
}

fn name_length(root: &Node) -> usize {
    root.get("metadata").and_then(|metadata| metadata.get("name")?.as_str()).map_or(0, str::len)
}

fn model(root: &Node, findings: &mut Findings) -> Option<Workload> {
    match serde_json::from_value(root.to_json()) {
        Ok(workload) => Some(workload),
        Err(error) => {
            findings.push(Diagnostic::error(
                Code::TypeMismatch,
                Pointer::root(),
                None,
                format!("internal error: the valid document cannot be deserialized: {error}"),
                "please report this bug",
            ));
            None
        }
    }
}

/// Validation result of a document.
#[derive(Debug)]
pub struct Report {
    /// Sources that spans refer to, with possible secrets masked.
    pub sources: Vec<Source>,
    /// All diagnostics, in source order.
    pub diagnostics: Vec<Diagnostic>,
    /// Minimum release of the Score specification that the document requires; none if it cannot be parsed or violates
    /// the schema.
    pub spec_version: Option<SpecVersion>,
    /// The workload, if there are no errors.
    pub workload: Option<Workload>,
}

impl Report {
    /// True if there are no errors.
    pub fn is_valid(&self) -> bool {
        self.errors().next().is_none()
    }

    /// Errors, in source order.
    pub fn errors(&self) -> impl Iterator<Item = &Diagnostic> {
        self.diagnostics.iter().filter(|diagnostic| diagnostic.is_error())
    }

    /// Warnings, in source order.
    pub fn warnings(&self) -> impl Iterator<Item = &Diagnostic> {
        self.diagnostics.iter().filter(|diagnostic| !diagnostic.is_error())
    }

    /// Line and column of a diagnostic.
    pub fn location(&self, diagnostic: &Diagnostic) -> Option<Location> {
        let span = diagnostic.span?;
        Some(self.source_of(diagnostic)?.location(span.start as usize))
    }

    /// Source of a diagnostic.
    pub fn source_of(&self, diagnostic: &Diagnostic) -> Option<&Source> {
        self.sources.get(diagnostic.span?.source.0 as usize)
    }
}
