//! Files that containers name with `source`: read from the folder of the Score file, and inlined into the document, since
//! the platform cannot read that folder.

use std::{
    fs,
    io::ErrorKind,
    path::{Component, Path, PathBuf},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use orchestra_score::{
    Code, Diagnostic, Document, Node, Pointer, Workload, model::FileContent, node::Entry, node::Value,
};

use super::input;

/// Diagnostics of files that cannot be attached.
pub(super) fn check(document: &Node, score_file: &Path, allow_outside: bool) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (name, container) in document.entries("containers") {
        let at = Pointer::of(["containers", name, "files"]);
        let Some(files) = container.node.get("files") else { continue };
        let files: Vec<(Pointer, &Node)> = match &files.value {
            Value::Map(map) => map.iter().map(|(path, entry)| (at.key(path), &entry.node)).collect(),
            Value::List(list) => list.iter().enumerate().map(|(n, file)| (at.index(n), file)).collect(),
            _ => Vec::new(),
        };
        for (at, file) in files {
            let Some((entry, source)) = file.entry("source").and_then(source) else { continue };
            if let Err(SourceError { message, hint }) = read(folder(score_file), source, allow_outside) {
                let (at, span) = (at.key("source"), entry.highlight());
                found.push(Diagnostic::error(Code::UnreadableFile, at, span, message, hint));
            }
        }
    }
    found
}

/// Path of an entry; the language reports values that are no paths.
fn source(entry: &Entry) -> Option<(&Entry, &str)> {
    entry.node.as_str().filter(|source| !source.is_empty()).map(|source| (entry, source))
}

/// Files that the containers of a Score file name with `source`; none if it is invalid.
pub(super) fn sources(score_file: &Path) -> Vec<PathBuf> {
    let text = input::read_text(score_file).unwrap_or_default();
    let document = Document::parse(orchestra_score::Source::new("score.yaml", text));
    let Some(workload) = document.check().workload else { return Vec::new() };
    let files = workload.containers.values().flat_map(|container| container.files.iter().flatten());
    let sources = files.filter_map(|(_, file)| match &file.content {
        FileContent::Source(source) => Some(folder(score_file).join(source)),
        _ => None,
    });
    sources.collect()
}

/// Inlines the files that containers name with `source`.
pub(super) fn attach(
    workload: &mut Workload,
    score_file: &Path,
    allow_outside: bool,
) -> Result<(), AttachError> {
    for (name, container) in &mut workload.containers {
        for (path, file) in container.files.iter_mut().flatten() {
            let FileContent::Source(source) = &file.content else { continue };
            let bytes = read(folder(score_file), source, allow_outside).map_err(|source| {
                let at = Pointer::of(["containers", name, "files", path, "source"]);
                AttachError { at: at.readable(), source }
            })?;
            file.content = match String::from_utf8(bytes) {
                Ok(text) if !text.contains('\0') => FileContent::Content(text),
                Ok(text) => FileContent::BinaryContent(STANDARD.encode(text)),
                Err(error) => FileContent::BinaryContent(STANDARD.encode(error.as_bytes())),
            };
        }
    }
    Ok(())
}

/// Folder of a Score file; the current one for standard input.
fn folder(score_file: &Path) -> &Path {
    score_file.parent().unwrap_or(Path::new(""))
}

/// Error of a file, with the field that names it.
#[derive(Debug, thiserror::Error)]
#[error("{at}: {source}")]
pub(crate) struct AttachError {
    at: String,
    source: SourceError,
}

/// Error of a file.
#[derive(Debug, thiserror::Error)]
#[error("{message}; {hint}")]
struct SourceError {
    message: String,
    hint: String,
}

fn read(folder: &Path, source: &str, allow_outside: bool) -> Result<Vec<u8>, SourceError> {
    let refuse = |message: String, hint: &str| SourceError { message, hint: hint.to_owned() };
    let path = folder.join(source);
    if !allow_outside && leaves(folder, &path, Path::new(source)) {
        return Err(refuse(
            format!("path `{source}` is outside the folder of the Score file"),
            "move the file into that folder, or allow it with --allow-outside",
        ));
    }
    let unreadable = |error: std::io::Error| match error.kind() {
        ErrorKind::NotFound => refuse(
            format!("file not found: `{source}`"),
            "check the path, which is relative to the Score file, or write the text as `content`",
        ),
        ErrorKind::PermissionDenied => {
            refuse(format!("permission denied: `{source}`"), "check the permissions of the file")
        }
        _ => refuse(format!("cannot read `{source}`: {error}"), "check the file"),
    };
    let metadata = fs::metadata(&path).map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(refuse(format!("`{source}` is not a file"), "use the path of a file, or mount a volume"));
    }
    let size = metadata.len();
    if size > Document::MAX_BYTES as u64 {
        return Err(refuse(
            format!("file too large: `{source}` has {size} bytes, the limit is {}", Document::MAX_BYTES),
            "move it into the image or a volume",
        ));
    }
    fs::read(&path).map_err(unreadable)
}

/// True if a path leads out of a folder, by `..` or by a symbolic link.
fn leaves(folder: &Path, path: &Path, source: &Path) -> bool {
    let mut depth = 0_i32;
    for part in source.components() {
        match part {
            Component::Normal(_) => depth += 1,
            Component::ParentDir => depth -= 1,
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return true,
        }
        if depth < 0 {
            return true;
        }
    }
    let real =
        |path: &Path| fs::canonicalize(if path.as_os_str().is_empty() { Path::new(".") } else { path });
    match (real(folder), real(path)) {
        (Ok(folder), Ok(path)) => !path.starts_with(folder as PathBuf),
        // Reading reports missing files.
        _ => false,
    }
}
