//! Generated files, committed so that people can read them and reviews show changes.

use std::{
    fmt::Write,
    fs, io,
    path::{Path, PathBuf},
};

use orchestra_api::crd::WriteError;
use orchestra_score::grammar::{Object, Shape, TextRule, WORKLOAD};

use crate::{chart::ChartError, permissions::PermissionsError, root};

/// Folders with generated files, which have this mark at their beginning.
const FOLDERS: &[&str] = &["deploy", "docs/reference"];
const MARK: &str = "by `cargo xtask gen`";

/// Error of the generation.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GenerateError {
    #[error(transparent)]
    Crd(#[from] WriteError),
    #[error(transparent)]
    Chart(#[from] ChartError),
    #[error(transparent)]
    Permissions(#[from] PermissionsError),
    #[error("failed to {action} {}: {source}", path.display())]
    File { action: &'static str, path: PathBuf, source: io::Error },
}

/// Converts an error of file access.
fn file_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> GenerateError {
    let path = path.to_owned();
    move |source| GenerateError::File { action, path, source }
}

/// Path and content of every generated file.
fn files() -> Result<Vec<(String, String)>, GenerateError> {
    let mut files = vec![
        ("docs/reference/score.schema.json".to_owned(), format!("{:#}\n", orchestra_score::json_schema())),
        ("docs/reference/cel.md".to_owned(), cel_reference()),
        ("docs/reference/cli.md".to_owned(), cli_reference()),
        ("docs/reference/permissions.md".to_owned(), crate::permissions::page()?),
        ("docs/reference/score.md".to_owned(), score_reference()),
    ];
    for definition in orchestra_api::crd::all() {
        let text = orchestra_api::crd::yaml(&definition)?;
        let name = definition.metadata.name.unwrap_or_default();
        files.push((
            format!("deploy/crds/{name}.yaml"),
            format!("# Generated from the types by `cargo xtask gen`.\n{text}"),
        ));
    }
    files.extend(crate::chart::files()?);
    Ok(files)
}

/// Writes all files, and deletes those that are no longer generated.
pub(crate) fn write() -> Result<(), GenerateError> {
    let files = files()?;
    for path in orphans(&root(), &files)? {
        fs::remove_file(&path).map_err(file_error("remove", &path))?;
        println!("removed {}", path.display());
    }
    for (path, content) in files {
        let path = root().join(path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(file_error("create", folder))?;
        }
        fs::write(&path, content).map_err(file_error("write", &path))?;
        println!("wrote {}", path.display());
    }
    Ok(())
}

/// Files with the mark that are no longer generated, such as those of a renamed kind.
fn orphans(root: &Path, files: &[(String, String)]) -> Result<Vec<PathBuf>, GenerateError> {
    let mut found = Vec::new();
    for folder in FOLDERS {
        let folder = root.join(folder);
        marked(&folder, &mut found).map_err(file_error("read", &folder))?;
    }
    found.retain(|path| !files.iter().any(|(generated, _)| root.join(generated) == *path));
    found.sort_unstable();
    Ok(found)
}

/// Files below a folder with the mark.
fn marked(folder: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            marked(&path, found)?;
        } else if fs::read_to_string(&path)?.lines().take(3).any(|line| line.contains(MARK)) {
            found.push(path);
        }
    }
    Ok(())
}

/// Reference of CEL functions.
fn cel_reference() -> String {
    let mut text = "# CEL in definitions\n\n\
        Generated from the table of functions by `cargo xtask gen`. Rules under `x-kubernetes-validations` have the operators and\n\
        macros of CEL and these functions, evaluated as a real cluster does. A definition that uses anything else is refused\n\
        when it is created, never accepted and ignored.\n\n\
        | function | what it does |\n|---|---|\n"
        .to_owned();
    for (name, description) in orchestra_cel::FUNCTIONS {
        let escaped = |text: &str| text.replace('|', "\\|");
        // Writing to a string cannot fail.
        let _ = writeln!(text, "| `{}` | {} |", escaped(name), escaped(description));
    }
    text
}

/// Reference of the command line: the long help of every command.
fn cli_reference() -> String {
    let mut command = orchestra_cli::command().term_width(100);
    command.build();
    let mut text = "# Command line\n\nGenerated from the program itself by `cargo xtask gen`; `orchestra COMMAND --help` prints the same.\n".to_owned();
    section(&mut text, &mut command, "orchestra");
    text
}

fn section(text: &mut String, command: &mut clap::Command, name: &str) {
    let help = command.render_long_help().to_string();
    let help: Vec<_> = help.lines().map(str::trim_end).collect();
    // Writing to a string cannot fail.
    let _ = write!(text, "\n## {name}\n\n```text\n{}\n```\n", help.join("\n").trim());
    let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    for sub in names {
        if let Some(subcommand) = command.find_subcommand_mut(&sub) {
            section(text, subcommand, &format!("{name} {sub}"));
        }
    }
}

/// Reference of Score files, from the grammar.
fn score_reference() -> String {
    let mut text = "# Fields of a Score file\n\n\
        Generated from the grammar by `cargo xtask gen`. `*` is a name of your choice. Limits are those of this\n\
        implementation, not of Score; see [LIMIT_EXCEEDED](../errors/LIMIT_EXCEEDED.md).\n\n\
        | field | description | type |\n|---|---|---|\n"
        .to_owned();
    object(&mut text, &WORKLOAD, "");
    text
}

fn object(text: &mut String, known: &Object, at: &str) {
    for field in known.fields {
        let path = if at.is_empty() { field.name.to_owned() } else { format!("{at}.{}", field.name) };
        let required = if field.required { " **Required.**" } else { "" };
        let _ = writeln!(
            text,
            "| `{path}` | {}{required} | {} |",
            field.doc,
            type_text(field.shape).replace('|', "\\|")
        );
        nested_fields(text, field.shape, &path);
    }
}

/// Fields below a value.
fn nested_fields(text: &mut String, shape: Shape, at: &str) {
    match shape {
        Shape::Object(known) => object(text, known, at),
        Shape::Map(map) | Shape::MapOrList(map, _) => nested_fields(text, map.values, &format!("{at}.*")),
        Shape::List(list) => nested_fields(text, list.items, &format!("{at}.*")),
        _ => {}
    }
}

/// Type of a value, in words.
fn type_text(shape: Shape) -> String {
    let rule = |rule: &TextRule| match (&rule.pattern, rule.min) {
        (Some(pattern), _) => format!("{}: `{}`", rule.form, pattern.text),
        (None, 0) => "string".to_owned(),
        (None, _) => format!("{}; not empty", rule.form),
    };
    match shape {
        Shape::Object(known) => {
            let choice = known.choice.map(|choice| {
                let how = if choice.exclusive { "exactly one of" } else { "at least one of" };
                format!(" with {how} `{}`", choice.of.join("`, `"))
            });
            format!("map{}", choice.unwrap_or_default())
        }
        Shape::Map(map) => {
            let least = if map.min > 0 { format!("at least {}, ", map.min) } else { String::new() };
            format!("map by {} ({least}at most {}); keys: {}", map.keys.noun, map.limit, rule(map.keys))
        }
        Shape::MapOrList(map, _) => {
            format!("map by {} (at most {}); a list with `target` is deprecated", map.keys.noun, map.limit)
        }
        Shape::List(list) => format!("list (at most {})", list.limit),
        Shape::Text(text) => rule(text),
        Shape::Enum(allowed) => format!("`{}`", allowed.join("` or `")),
        Shape::Integer(min, max) => format!("integer from {min} to {max}"),
        Shape::Boolean => "`true` or `false`".to_owned(),
        Shape::FreeMap => "free-form map".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_files_are_up_to_date() {
        for (path, content) in files().unwrap() {
            let found = fs::read_to_string(root().join(&path)).unwrap_or_default();
            assert_eq!(found, content, "{path} is out of date: run `cargo xtask gen` and commit the result");
        }
    }

    #[test]
    fn there_are_no_outdated_generated_files() {
        let orphans = orphans(&root(), &files().unwrap()).unwrap();
        assert_eq!(orphans, Vec::<PathBuf>::new(), "run `cargo xtask gen` and commit the result");
    }

    #[test]
    fn a_generated_file_that_nothing_generates_is_an_orphan() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, content: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, content).unwrap();
            path
        };
        let files = files().unwrap();
        let (_, definition) = files.iter().find(|(path, _)| path.starts_with("deploy/crds/")).unwrap();
        let renamed = write("deploy/crds/renamed.yaml", definition);
        let (path, content) = files.iter().find(|(path, _)| path.ends_with("cli.md")).unwrap();
        write(path, content);
        write("deploy/namespace.yaml", "kind: Namespace\n");
        assert_eq!(orphans(root.path(), &files).unwrap(), [renamed]);
    }
}
