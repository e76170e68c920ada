//! The stable names of findings.
//!
//! A code never changes its meaning. Each has a page under `docs/errors/` with an example and the remedy;
//! tests hold the two together.

use std::fmt;

/// Which part of the language a finding belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// The text could not be read as a document.
    Document,
    /// The official Score schema refuses it.
    Schema,
    /// The schema accepts it, but it cannot work (or, as a warning, is probably not what was meant).
    Meaning,
}

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal, $layer:ident;)+) => {
        /// The stable name of a kind of finding.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl Code {
            /// Every code there is.
            pub const ALL: &'static [Code] = &[$(Code::$variant,)+];

            /// The name as it appears in reports.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// What it belongs to.
            pub const fn layer(self) -> Layer {
                match self { $(Self::$variant => Layer::$layer,)+ }
            }

            /// What it means, in a sentence.
            pub const fn summary(self) -> &'static str {
                match self { $(Self::$variant => concat!($($doc),+).trim_ascii(),)+ }
            }
        }
    };
}

codes! {
    /// The file could not be read at all.
    UnreadableFile = "UNREADABLE_FILE", Document;
    /// The text is not UTF-8.
    NotText = "NOT_TEXT", Document;
    /// There is no document in the text.
    EmptyDocument = "EMPTY_DOCUMENT", Document;
    /// The text is neither YAML nor JSON.
    InvalidSyntax = "INVALID_SYNTAX", Document;
    /// A key stands twice in one map.
    DuplicateKey = "DUPLICATE_KEY", Document;
    /// A key is a number, a boolean or another value that is not text.
    NonStringKey = "NON_STRING_KEY", Document;
    /// A value has no meaning in JSON, such as `.inf`; or it has a tag that is ignored.
    UnsupportedValue = "UNSUPPORTED_VALUE", Document;
    /// The text holds more than one document; only the first counts.
    ExtraDocument = "EXTRA_DOCUMENT", Document;
    /// Something is larger than this implementation takes.
    LimitExceeded = "LIMIT_EXCEEDED", Document;
    /// An override cannot be applied to the document.
    InvalidOverride = "INVALID_OVERRIDE", Document;

    /// A value has another type than the language wants there.
    TypeMismatch = "TYPE_MISMATCH", Schema;
    /// A field that must be there is not.
    RequiredField = "REQUIRED_FIELD", Schema;
    /// A field is not part of the language at this place.
    UnknownField = "UNKNOWN_FIELD", Schema;
    /// A name or text does not have the form it must have.
    PatternMismatch = "PATTERN_MISMATCH", Schema;
    /// A number is outside its range.
    ValueOutOfRange = "VALUE_OUT_OF_RANGE", Schema;
    /// A value is not one of those allowed.
    ValueNotAllowed = "VALUE_NOT_ALLOWED", Schema;
    /// A text or map is empty where it must not be.
    EmptyValue = "EMPTY_VALUE", Schema;
    /// One of several fields is needed and none is there.
    ChoiceRequired = "CHOICE_REQUIRED", Schema;
    /// Fields that exclude each other are both there.
    ChoiceConflict = "CHOICE_CONFLICT", Schema;

    /// A placeholder is not written as placeholders are.
    MalformedPlaceholder = "MALFORMED_PLACEHOLDER", Meaning;
    /// A placeholder starts with neither `metadata` nor `resources`, or names a resource without an output.
    InvalidPlaceholder = "INVALID_PLACEHOLDER", Meaning;
    /// A placeholder refers to a resource that the workload does not declare.
    UnknownResource = "UNKNOWN_RESOURCE", Meaning;
    /// A placeholder refers to metadata that the workload does not have.
    UnknownMetadata = "UNKNOWN_METADATA", Meaning;
    /// A placeholder stands where placeholders are not expanded.
    PlaceholderNotExpanded = "PLACEHOLDER_NOT_EXPANDED", Meaning;
    /// Resources depend on each other in a circle.
    ResourceCycle = "RESOURCE_CYCLE", Meaning;
    /// Two declarations of one shared resource disagree.
    ResourceConflict = "RESOURCE_CONFLICT", Meaning;
    /// `before` names a container that does not exist.
    UnknownContainer = "UNKNOWN_CONTAINER", Meaning;
    /// Containers wait for each other in a circle.
    BeforeCycle = "BEFORE_CYCLE", Meaning;
    /// `before` wants a container to be healthy that has no probe.
    ProbeRequired = "PROBE_REQUIRED", Meaning;
    /// `binaryContent` is not base64.
    InvalidBase64 = "INVALID_BASE64", Meaning;
    /// Two service ports claim the same number.
    PortClash = "PORT_CLASH", Meaning;
    /// An entry of the deprecated list form has no `target`.
    TargetRequired = "TARGET_REQUIRED", Meaning;
    /// The deprecated list form of files or volumes is used.
    DeprecatedForm = "DEPRECATED_FORM", Meaning;
    /// Two entries are mounted at the same path.
    PathClash = "PATH_CLASH", Meaning;
    /// A file or volume is mounted at a path that does not start with a slash.
    RelativePath = "RELATIVE_PATH", Meaning;
    /// A limit is lower than the request.
    LimitBelowRequest = "LIMIT_BELOW_REQUEST", Meaning;
    /// A limit is high, in itself or compared with the request.
    ResourceHigh = "RESOURCE_HIGH", Meaning;
    /// An annotation speaks to the platform, which knows none of this name.
    UnknownAnnotation = "UNKNOWN_ANNOTATION", Meaning;
    /// A probe asks the service port where the container listens on another one.
    ProbePort = "PROBE_PORT", Meaning;
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
