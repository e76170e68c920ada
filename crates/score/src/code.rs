//! Stable codes of diagnostics.
//!
//! A code never changes its meaning. Each has a page under `docs/errors/` with an example and a fix; tests check
//! that page and code agree.

use std::fmt;

/// Validation layer that reports a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// Parsing and overrides.
    Document,
    /// The official Score schema.
    Schema,
    /// Rules beyond the schema: references, cycles, conflicts, and likely mistakes (warnings).
    Semantics,
}

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal, $layer:ident;)+) => {
        /// Stable code of a diagnostic.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl Code {
            /// All codes.
            pub const ALL: &'static [Code] = &[$(Code::$variant,)+];

            /// Name in reports, such as `UNKNOWN_FIELD`.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// Layer of the code.
            pub const fn layer(self) -> Layer {
                match self { $(Self::$variant => Layer::$layer,)+ }
            }

            /// Summary in one sentence.
            pub const fn summary(self) -> &'static str {
                match self { $(Self::$variant => concat!($($doc),+).trim_ascii(),)+ }
            }
        }
    };
}

codes! {
    /// The file cannot be read: not found, a directory, or permission denied.
    UnreadableFile = "UNREADABLE_FILE", Document;
    /// The file is not valid UTF-8.
    NotText = "NOT_TEXT", Document;
    /// The file is empty: it contains no YAML document.
    EmptyDocument = "EMPTY_DOCUMENT", Document;
    /// Invalid YAML or JSON syntax.
    InvalidSyntax = "INVALID_SYNTAX", Document;
    /// Duplicate key in a map.
    DuplicateKey = "DUPLICATE_KEY", Document;
    /// A key is not a string, but a number, a boolean or another type.
    NonStringKey = "NON_STRING_KEY", Document;
    /// A YAML value that JSON does not support, such as `.inf`; or an unknown tag, which is ignored.
    UnsupportedValue = "UNSUPPORTED_VALUE", Document;
    /// Multiple YAML documents in one file; only the first is read.
    ExtraDocument = "EXTRA_DOCUMENT", Document;
    /// A limit of this implementation is exceeded.
    LimitExceeded = "LIMIT_EXCEEDED", Document;
    /// Invalid override: it cannot be applied to the document.
    InvalidOverride = "INVALID_OVERRIDE", Document;

    /// Invalid type, such as a number where a string is expected.
    TypeMismatch = "TYPE_MISMATCH", Schema;
    /// A required field is missing.
    RequiredField = "REQUIRED_FIELD", Schema;
    /// Unknown field.
    UnknownField = "UNKNOWN_FIELD", Schema;
    /// A name or value does not match the required pattern or length.
    PatternMismatch = "PATTERN_MISMATCH", Schema;
    /// A number is out of range.
    ValueOutOfRange = "VALUE_OUT_OF_RANGE", Schema;
    /// A value is not one of the allowed values.
    ValueNotAllowed = "VALUE_NOT_ALLOWED", Schema;
    /// A string or map must not be empty.
    EmptyValue = "EMPTY_VALUE", Schema;
    /// One of several fields is required, and all are missing.
    ChoiceRequired = "CHOICE_REQUIRED", Schema;
    /// Mutually exclusive fields are both set.
    ChoiceConflict = "CHOICE_CONFLICT", Schema;

    /// Invalid placeholder syntax.
    MalformedPlaceholder = "MALFORMED_PLACEHOLDER", Semantics;
    /// Invalid placeholder: it starts with neither `metadata` nor `resources`, or names a resource without an output.
    InvalidPlaceholder = "INVALID_PLACEHOLDER", Semantics;
    /// A placeholder refers to an undefined resource.
    UnknownResource = "UNKNOWN_RESOURCE", Semantics;
    /// A placeholder refers to a metadata key that is not found.
    UnknownMetadata = "UNKNOWN_METADATA", Semantics;
    /// A placeholder in a field where placeholders are not expanded.
    PlaceholderNotExpanded = "PLACEHOLDER_NOT_EXPANDED", Semantics;
    /// Dependency cycle between resources.
    ResourceCycle = "RESOURCE_CYCLE", Semantics;
    /// Conflicting declarations of a shared resource.
    ResourceConflict = "RESOURCE_CONFLICT", Semantics;
    /// A container in `before` is not found.
    UnknownContainer = "UNKNOWN_CONTAINER", Semantics;
    /// Dependency cycle in `before`.
    BeforeCycle = "BEFORE_CYCLE", Semantics;
    /// `ready: healthy` in `before` requires a probe, and it is missing.
    ProbeRequired = "PROBE_REQUIRED", Semantics;
    /// Invalid base64 in `binaryContent`.
    InvalidBase64 = "INVALID_BASE64", Semantics;
    /// Duplicate service port.
    PortClash = "PORT_CLASH", Semantics;
    /// The `target` of an entry in the deprecated list form is missing.
    TargetRequired = "TARGET_REQUIRED", Semantics;
    /// Deprecated list form of `files` or `volumes`.
    DeprecatedForm = "DEPRECATED_FORM", Semantics;
    /// Duplicate mount path.
    PathClash = "PATH_CLASH", Semantics;
    /// The mount path of a file or volume is relative.
    RelativePath = "RELATIVE_PATH", Semantics;
    /// Limit below request.
    LimitBelowRequest = "LIMIT_BELOW_REQUEST", Semantics;
    /// A limit is high, in absolute terms or compared with the request.
    ResourceHigh = "RESOURCE_HIGH", Semantics;
    /// Unknown `score.dev/` annotation or label; the platform ignores it.
    UnknownAnnotation = "UNKNOWN_ANNOTATION", Semantics;
    /// A valid value that is probably a mistake, such as an image with a space.
    SuspiciousValue = "SUSPICIOUS_VALUE", Semantics;
    /// A probe uses the service port, but the container listens on another port.
    ProbePort = "PROBE_PORT", Semantics;
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
