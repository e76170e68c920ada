//! Man pages and shell completions, from the description of the command line.

use clap_complete::Shell;
use clap_mangen::Man;

use super::{archive::Entry, release::Release};

/// Man pages of the program and of each command, below `share/man`.
pub(super) fn man_pages(release: &Release) -> Result<Vec<Entry>, String> {
    let mut command = orchestra_cli::command().disable_help_subcommand(true);
    command.build();
    let mut pages = Vec::new();
    add_pages(&command, release, &mut pages)?;
    Ok(pages)
}

fn add_pages(command: &clap::Command, release: &Release, pages: &mut Vec<Entry>) -> Result<(), String> {
    for subcommand in command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set()) {
        add_pages(subcommand, release, pages)?;
    }
    let date: String = release.date().chars().take("2026-03-21".len()).collect();
    let page = Man::new(command.clone())
        .date(date)
        .source(format!("orchestra {}", release.version))
        .manual("Score Orchestrator");
    let (name, mut text) = (page.get_filename(), Vec::new());
    page.render(&mut text).map_err(|error| format!("failed to write the man page {name}: {error}"))?;
    pages.push(Entry::file(format!("share/man/man1/{name}"), text));
    Ok(())
}

/// Completions where shells look for them below a prefix.
pub(super) fn completions() -> Vec<Entry> {
    [
        (Shell::Bash, "share/bash-completion/completions/orchestra"),
        (Shell::Fish, "share/fish/vendor_completions.d/orchestra.fish"),
        (Shell::Zsh, "share/zsh/site-functions/_orchestra"),
    ]
    .into_iter()
    .map(|(shell, path)| {
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut orchestra_cli::command(), "orchestra", &mut script);
        Entry::file(path, script)
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_man_page_with_the_date_of_the_release() {
        let pages = man_pages(&Release::sample()).unwrap();
        for command in orchestra_cli::command().get_subcommands().filter(|command| !command.is_hide_set()) {
            let path = format!("share/man/man1/orchestra-{}.1", command.get_name());
            let page = pages.iter().find(|page| page.path == path).unwrap_or_else(|| panic!("no {path}"));
            let text = String::from_utf8_lossy(&page.content);
            assert!(text.contains("2026-03-21 \"orchestra 1.2.3\" \"Score Orchestrator\""), "{text}");
        }
        assert!(pages.iter().any(|page| page.path == "share/man/man1/orchestra.1"));
        assert!(!pages.iter().any(|page| page.path.contains("help")));
    }

    #[test]
    fn completions_of_the_common_shells_name_the_commands() {
        let scripts = completions();
        assert_eq!(scripts.len(), 3);
        for script in scripts {
            assert!(String::from_utf8_lossy(&script.content).contains("sample-server"), "{}", script.path);
        }
    }
}
