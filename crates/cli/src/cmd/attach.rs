//! Files that a Score file names: read from beside it, and put into the document, since the platform has no folder
//! to look into.

use std::{
    fs,
    path::{Component, Path, PathBuf},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use orchestra_score::{Workload, model::FileContent, yaml::limits};

/// Puts the files that containers name with `source` into the document. `score_file` is where it was read from.
pub(super) fn attach(workload: &mut Workload, score_file: &Path, allow_outside: bool) -> Result<(), String> {
    let folder = score_file.parent().map(Path::to_owned).unwrap_or_default();
    for (name, container) in &mut workload.containers {
        for (path, file) in container.files.iter_mut().flatten() {
            let FileContent::Source(source) = &file.content else { continue };
            let at =
                || format!("/containers/{name}/files/{}/source", path.replace('~', "~0").replace('/', "~1"));
            let bytes = read(&folder, source, allow_outside).map_err(|why| format!("{}: {why}", at()))?;
            file.content = match String::from_utf8(bytes) {
                Ok(text) if !text.contains('\0') => FileContent::Content(text),
                Ok(text) => FileContent::BinaryContent(STANDARD.encode(text)),
                Err(error) => FileContent::BinaryContent(STANDARD.encode(error.as_bytes())),
            };
        }
    }
    Ok(())
}

fn read(folder: &Path, source: &str, allow_outside: bool) -> Result<Vec<u8>, String> {
    let path = folder.join(source);
    if !allow_outside && leaves(folder, &path, Path::new(source)) {
        return Err(format!(
            "`{source}` is outside of the Score file's folder; move it there, or allow it with --allow-outside"
        ));
    }
    let size = fs::metadata(&path).map_err(|error| unreadable(source, &error))?.len();
    if size > limits::BYTES as u64 {
        return Err(format!(
            "`{source}` has {size} bytes, and at most {} are taken; put it into the image or a volume",
            limits::BYTES
        ));
    }
    fs::read(&path).map_err(|error| unreadable(source, &error))
}

fn unreadable(source: &str, error: &std::io::Error) -> String {
    format!("`{source}` cannot be read: {error}; it is looked for beside the Score file")
}

/// Whether a path leads out of a folder, by its words or by a link.
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
        // What is not there is told when it is read.
        _ => false,
    }
}
