//! The way of a Score file: read, override, check, and become a [`Workload`].

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

/// A document on its way, with the texts it is put together from.
#[derive(Debug)]
pub struct Document {
    sources: Vec<Source>,
    root: Option<Node>,
    findings: Findings,
    properties: usize,
}

impl Document {
    /// How many single properties can be overridden.
    pub const MAX_PROPERTIES: usize = 1000;
    /// The largest document that is taken, as JSON: what an API object can hold with room to spare.
    pub const MAX_BYTES: usize = 1024 * 1024;

    /// Reads a Score file, YAML or JSON.
    pub fn parse(source: Source) -> Self {
        let mut document =
            Self { sources: Vec::new(), root: None, findings: Findings::default(), properties: 0 };
        document.root = document.read(source);
        document
    }

    /// Takes a value that was read elsewhere. Its findings have pointers, but no lines.
    pub fn from_json(value: Json) -> Self {
        Self { sources: Vec::new(), root: Some(value.into()), findings: Findings::default(), properties: 0 }
    }

    /// Lays an overrides file over the document. An empty one changes nothing.
    pub fn merge(&mut self, source: Source) {
        let (over, found) = self.read_apart(source);
        self.findings.extend_without(Code::EmptyDocument, found);
        match over {
            None | Some(Node { value: Value::Null, .. }) => {}
            Some(over) if over.as_map().is_some() => {
                // What is no map to begin with is refused as it is.
                if let Some(root) = self.root.as_mut().filter(|root| root.as_map().is_some()) {
                    overrides::merge(root, over);
                }
            }
            Some(over) => self.findings.push(Diagnostic::error(
                Code::InvalidOverride,
                Pointer::root(),
                over.span,
                format!("an overrides file is a map, and this is {}", over.kind()),
                "write the parts of the document to change, such as `containers: {main: {image: nginx}}`",
            )),
        }
    }

    /// Sets one property, given as `path=value`; an empty value removes it.
    pub fn set_property(&mut self, argument: &str) {
        self.properties += 1;
        if self.properties > Self::MAX_PROPERTIES {
            if self.properties == Self::MAX_PROPERTIES + 1 {
                self.findings.push(Diagnostic::error(
                    Code::LimitExceeded,
                    Pointer::root(),
                    None,
                    format!("more than {} properties are overridden one by one", Self::MAX_PROPERTIES),
                    "put them into an overrides file",
                ));
            }
            return;
        }
        let (path, value) = match overrides::parse_property(argument) {
            Ok(property) => property,
            Err(error) => return self.refuse(&format!("--override-property {argument}"), &error),
        };
        let (node, found) = self.read_apart(Source::new(format!("--override-property {path}"), value));
        let is_read = !found.has_errors_besides(Code::EmptyDocument);
        self.findings.extend_without(Code::EmptyDocument, found);
        let Some(root) = self.root.as_mut().filter(|_| is_read) else { return };
        // Nothing, or only blanks, removes the property.
        let node = node.unwrap_or(Node::new(Value::Null));
        if let Err(error) = overrides::set(root, &overrides::parse_path(path), node) {
            self.refuse(&format!("--override-property {argument}"), &error);
        }
    }

    /// Adds a finding of the caller's own, such as a file that it could not read.
    pub fn note(&mut self, finding: Diagnostic) {
        self.findings.push(finding);
    }

    /// The document as it now is; `None` where it could not be read.
    pub fn root(&self) -> Option<&Node> {
        self.root.as_ref()
    }

    /// Gives an image to the containers that wait for one.
    pub fn set_image(&mut self, image: &str) {
        let id = self.add(Source::new("--image", image));
        let end = u32::try_from(image.len()).unwrap_or(u32::MAX);
        let node = Node {
            value: Value::String(image.to_owned()),
            span: Some(crate::source::Span { source: id, start: 0, end }),
        };
        let Some(root) = &mut self.root else { return };
        match overrides::set_image(root, Some(&node)) {
            Err(error) => self.refuse("--image", &error),
            Ok(0) => self.findings.push(Diagnostic::warning(
                Code::InvalidOverride,
                Pointer::root(),
                None,
                "`--image` changes nothing: no container has `image: .`",
                "write `image: .` in the containers that wait for an image, or leave `--image` out",
            )),
            Ok(_) => {}
        }
    }

    /// Checks the document as it now is.
    pub fn check(self) -> Report {
        let Self { sources, root, mut findings, .. } = self;
        let mut spec_version = None;
        let mut workload = None;
        if let Some(mut root) = root
            && within_bounds(&root, &mut findings)
        {
            validate(&root, &sources, &mut findings);
            if !findings.has_errors_in(Layer::Document) && !findings.has_errors_in(Layer::Schema) {
                spec_version = Some(SpecVersion::needed_by(&root));
            }
            if !findings.has_errors() {
                normalise(&mut root);
                workload = model(&root, &mut findings);
            }
        }
        Report { sources, diagnostics: findings.into_sorted(), spec_version, workload }
    }

    fn read(&mut self, source: Source) -> Option<Node> {
        let (node, found) = self.read_apart(source);
        self.findings.extend(found);
        node
    }

    fn read_apart(&mut self, source: Source) -> (Option<Node>, Findings) {
        let id = self.add(source);
        self.sources.last().map_or((None, Findings::default()), |source| yaml::parse(source, id))
    }

    fn add(&mut self, source: Source) -> SourceId {
        let id = SourceId(u32::try_from(self.sources.len()).unwrap_or(u32::MAX));
        self.sources.push(source);
        id
    }

    fn refuse(&mut self, argument: &str, error: &OverrideError) {
        self.findings.push(Diagnostic::error(
            Code::InvalidOverride,
            Pointer::root(),
            None,
            format!("`{argument}` cannot be applied: {error}"),
            match error {
                OverrideError::NoEquals => "write the path, an equals sign and the value",
                _ => "check the path against the document; a dot inside a key is written \\.",
            },
        ));
    }
}

/// Whether a document is small enough to be looked at, whichever way it came. Text is bounded while it is read;
/// overrides and API objects come together here.
fn within_bounds(root: &Node, findings: &mut Findings) -> bool {
    let size = root.size();
    let mut refuse = |message: String, hint: &str| {
        findings.push(Diagnostic::error(Code::LimitExceeded, Pointer::root(), None, message, hint));
    };
    if size.depth > limits::DEPTH {
        refuse(
            format!("values are nested deeper than {} levels", limits::DEPTH),
            "write the innermost values as text",
        );
    } else if size.longest_key > limits::KEY || name_length(root) > limits::KEY {
        refuse(format!("a key or name is longer than {} bytes", limits::KEY), "write a shorter one");
    } else if size.values > limits::VALUES {
        refuse(
            format!("the document holds more than {} keys and values", limits::VALUES),
            "split the workload into several",
        );
    } else if size.bytes > Document::MAX_BYTES {
        refuse(
            format!("the document holds {} bytes; at most {} are taken", size.bytes, Document::MAX_BYTES),
            "move large file contents into the image or into a volume",
        );
        // Long, but not more to look at than others.
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
                format!("the document cannot be read: {error}"),
                "please report this as a mistake in the validator",
            ));
            None
        }
    }
}

/// The verdict on a document.
#[derive(Debug)]
pub struct Report {
    /// The texts that the places refer to.
    pub sources: Vec<Source>,
    /// All findings, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
    /// The lowest release of the specification that has everything the document uses; absent where the text cannot
    /// be read or the schema refuses the document.
    pub spec_version: Option<SpecVersion>,
    /// The workload, if there is no error.
    pub workload: Option<Workload>,
}

impl Report {
    /// Whether the document can be used.
    pub fn is_valid(&self) -> bool {
        self.errors().next().is_none()
    }

    /// The errors.
    pub fn errors(&self) -> impl Iterator<Item = &Diagnostic> {
        self.diagnostics.iter().filter(|diagnostic| diagnostic.is_error())
    }

    /// The warnings.
    pub fn warnings(&self) -> impl Iterator<Item = &Diagnostic> {
        self.diagnostics.iter().filter(|diagnostic| !diagnostic.is_error())
    }

    /// The place of a finding, as people name it.
    pub fn location(&self, diagnostic: &Diagnostic) -> Option<Location> {
        let span = diagnostic.span?;
        Some(self.source_of(diagnostic)?.location(span.start as usize))
    }

    /// The text that a finding is about.
    pub fn source_of(&self, diagnostic: &Diagnostic) -> Option<&Source> {
        self.sources.get(diagnostic.span?.source.0 as usize)
    }
}
