//! Every `orchestra …` in the documentation is parsed by the command line's own parser.

use std::{
    fs,
    path::{Path, PathBuf},
};

use clap::error::ErrorKind;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Pages below a folder.
fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            pages(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
}

/// Text without code blocks, and the commands in blocks of `sh` and `console`, with line numbers.
fn parts(page: &str) -> (String, Vec<(usize, String)>) {
    let (mut prose, mut commands, mut block) = (String::new(), Vec::<(usize, String)>::new(), None::<String>);
    let mut is_continued = false;
    for (number, line) in page.lines().enumerate() {
        if let Some(language) = line.trim_start().strip_prefix("```") {
            block = if block.is_none() { Some(language.trim().to_owned()) } else { None };
            is_continued = false;
            continue;
        }
        let shown = match block.as_deref() {
            None => {
                prose.push_str(line);
                prose.push('\n');
                continue;
            }
            Some("sh" | "bash") => Some(line),
            Some("console") => line.trim_start().strip_prefix("$ ").or(is_continued.then_some(line)),
            Some(_) => None,
        };
        let Some(shown) = shown else { continue };
        let text = shown.trim_end_matches('\\');
        match commands.last_mut().filter(|_| is_continued) {
            Some((_, command)) => command.push_str(text),
            None => commands.push((number + 1, text.to_owned())),
        }
        is_continued = shown.ends_with('\\');
    }
    (prose, commands)
}

/// Simple commands of a shell line, as words. Handles quotes, comments, redirections and separators.
fn simple_commands(line: &str) -> Vec<Vec<String>> {
    let (mut commands, mut words, mut word) = (Vec::new(), Vec::new(), None::<String>);
    let mut quote = None;
    for character in line.chars() {
        match (quote, character) {
            (Some(open), _) if open == character => quote = None,
            (None, '\'' | '"') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => break,
            (None, '|' | ';' | '&' | '(' | ')') => {
                words.extend(word.take());
                commands.push(std::mem::take(&mut words));
            }
            (None, _) if character.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    commands.push(words);
    commands.into_iter().map(without_redirections).collect()
}

fn without_redirections(words: Vec<String>) -> Vec<String> {
    let mut kept = Vec::new();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        match word.trim_start_matches(|first: char| first.is_ascii_digit()) {
            ">" | "<" | ">>" => drop(words.next()),
            rest if rest.starts_with(['<', '>']) => {}
            _ => kept.push(word),
        }
    }
    kept
}

/// Arguments of `orchestra` or `cargo run` in a simple command.
fn arguments(words: &[String]) -> Option<&[String]> {
    let is_before = |word: &&String| word.contains('=') || ["sudo", "exec", "time"].contains(&word.as_str());
    let rest = &words[words.iter().take_while(is_before).count()..];
    match rest {
        [program, rest @ ..] if program == "orchestra" => Some(rest),
        [cargo, run, rest @ ..] if cargo == "cargo" && run == "run" => {
            let end = rest.iter().position(|word| word == "--")?;
            let is_other = |word: &String| ["-p", "--package", "--bin"].contains(&word.as_str());
            (!rest[..end].iter().any(is_other)).then(|| &rest[end + 1..])
        }
        _ => None,
    }
}

/// True if a word is a placeholder.
fn is_placeholder(word: &str) -> bool {
    word.len() > 1 && word.chars().all(|character| character.is_ascii_uppercase())
}

/// Error of the parser.
fn parse_error(arguments: &[String], accepted: &[ErrorKind]) -> Option<String> {
    if arguments.first().is_some_and(|command| is_placeholder(command)) {
        return None;
    }
    let word = |word: &String| if is_placeholder(word) { word.to_lowercase() } else { word.clone() };
    // An ellipsis means more arguments of the same kind.
    let given = arguments.iter().filter(|word| !["…", "..."].contains(&word.as_str())).map(word);
    let words = std::iter::once("orchestra".to_owned()).chain(given);
    match orchestra_cli::command().try_get_matches_from(words) {
        Err(error) if !accepted.contains(&error.kind()) => {
            Some(error.to_string().lines().next().unwrap_or_default().to_owned())
        }
        _ => None,
    }
}

const SHOWS: &[ErrorKind] = &[ErrorKind::DisplayHelp, ErrorKind::DisplayVersion];
/// Errors of incomplete commands, which are fine in prose.
const INCOMPLETE: &[ErrorKind] = &[
    ErrorKind::DisplayHelp,
    ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand,
    ErrorKind::DisplayVersion,
    ErrorKind::InvalidValue,
    ErrorKind::MissingRequiredArgument,
    ErrorKind::MissingSubcommand,
    ErrorKind::ValueValidation,
];

#[test]
fn commands_in_the_documentation_are_valid() {
    let mut files = vec![root().join("README.md"), root().join("CONTRIBUTING.md")];
    for folder in ["docs", "examples", "e2e"] {
        pages(&root().join(folder), &mut files);
    }
    let (mut problems, mut count) = (Vec::new(), 0);
    for file in files {
        let name = file.strip_prefix(root()).unwrap().display().to_string();
        let (prose, commands) = parts(&fs::read_to_string(&file).unwrap());
        for (line, command) in commands {
            for words in simple_commands(&command) {
                let Some(arguments) = arguments(&words) else { continue };
                count += 1;
                problems.extend(
                    parse_error(arguments, SHOWS)
                        .map(|error| format!("{name}:{line}: {command}\n    {error}")),
                );
            }
        }
        // Code spans, which may continue in the next line.
        for span in prose.split('`').skip(1).step_by(2) {
            for words in simple_commands(span) {
                let Some(arguments) = arguments(&words) else { continue };
                count += 1;
                problems.extend(
                    parse_error(arguments, INCOMPLETE).map(|error| format!("{name}: `{span}`\n    {error}")),
                );
            }
        }
    }
    assert!(problems.is_empty(), "{} of {count}:\n{}", problems.len(), problems.join("\n"));
    assert!(count > 80, "only {count} commands were found");
}

/// Also with all chart values set: duplicate options would fail at the start of the orchestrator.
#[test]
fn the_arguments_of_the_deployment_are_valid() {
    for file in ["deploy/orchestrator/deployment.yaml", "e2e/kubernetes/helm/rendered.yaml"] {
        let text = fs::read_to_string(root().join(file)).unwrap();
        let below = text.split_once("          args:\n").unwrap().1;
        let arguments: Vec<String> =
            below.lines().map_while(|line| line.strip_prefix("            - ")).map(str::to_owned).collect();
        assert!(arguments.len() > 1, "{file}");
        assert_eq!(parse_error(&arguments, &[]), None, "{file}");
    }
}

#[test]
fn commands_are_found_in_blocks_and_pipelines() {
    let page = "a `orchestra up` b\n```sh\nA=1 orchestra apply -f x | tee 'y z' # note\ncargo run -p xtask -- gen\n\
                cargo run -- \\\n  up x >log\n```\n```console\n$ orchestra get\nNAME\n```\n```yaml\norchestra: x\n```\n";
    let (prose, commands) = parts(page);
    assert_eq!(prose, "a `orchestra up` b\n");
    let found: Vec<String> = commands
        .iter()
        .flat_map(|(_, command)| simple_commands(command))
        .filter_map(|words| arguments(&words).map(|arguments| arguments.join(" ")))
        .collect();
    assert_eq!(found, ["apply -f x", "up x", "get"]);
}
