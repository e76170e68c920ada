//! Tutorial from its page: runs each command with the image under test, and compares the output with the page.

use std::fs;

use orchestra_e2e::platform::{Error, access::Grant, clear, project};
use regex_lite::Regex;

use crate::{
    cluster::{self, Person},
    space::Space,
};

/// Namespace of the tutorial.
const NAMESPACE: &str = "tutorial";

/// Image on the page, replaced by the one under test.
const IMAGE: &str = "registry.example.org/orchestra:0.1.0";

/// Command of the page.
#[derive(Debug, PartialEq)]
struct Step {
    as_platform: bool,
    command: String,
    shown: Vec<String>,
}

/// Commands of a page, with their user and output.
fn steps(page: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let (mut as_platform, mut inside) = (false, false);
    for line in page.lines() {
        match (inside, line) {
            (false, "<!-- run as: platform -->") => as_platform = true,
            (false, "```console") => inside = true,
            (true, "```") => (inside, as_platform) = (false, false),
            (true, line) => match line.strip_prefix("$ ") {
                Some(command) => {
                    steps.push(Step { as_platform, command: command.to_owned(), shown: Vec::new() });
                }
                None => steps.last_mut().into_iter().for_each(|step| step.shown.push(line.to_owned())),
            },
            (false, _) => {}
        }
    }
    steps
}

/// Line with normalised column widths and ages.
fn plain(line: &str, ages: &Regex) -> String {
    let words: Vec<_> = line.split_whitespace().filter(|word| !ages.is_match(word)).collect();
    words.join(" ")
}

/// Checks that every line of the page is part of an output line, in this order.
fn check(step: &Step, printed: &str) -> Result<(), Error> {
    let ages = Regex::new(r"^\d+(ms|s|m|h|d)(\d+s)?$")?;
    let mut printed_lines = printed.lines().map(|line| plain(line, &ages));
    for shown in &step.shown {
        let shown = plain(shown, &ages);
        if !printed_lines.any(|line| line.contains(&shown)) {
            return Err(format!(
                "$ {}\n`{shown}` is not (or not in this order) in:\n{printed}",
                step.command
            )
            .into());
        }
    }
    Ok(())
}

pub(super) async fn walk(space: &Space) -> Result<(), Error> {
    let page = fs::read_to_string(project().join("docs/getting-started.md"))?;
    if !page.contains(IMAGE) {
        return Err(format!("the page does not install {IMAGE}").into());
    }
    let steps = steps(&page.replace(IMAGE, &cluster::image()));
    if steps.len() < 20 {
        return Err(format!("the page has {} commands only", steps.len()).into());
    }
    let cluster = &space.cluster;
    clear(&cluster.client, NAMESPACE).await?;
    // The page changes the namespace of the context, so use a copy of the kubeconfig.
    let home = tempfile::TempDir::new()?;
    let copy = home.path().join("kubeconfig");
    fs::copy(&cluster.kubeconfig, &copy)?;
    let platform = Person::with(&copy)?;
    let mut developer = None;
    for step in &steps {
        let shell = if step.as_platform {
            &platform
        } else {
            if developer.is_none() {
                let grants = [Grant::In("score-user", NAMESPACE)];
                let account = cluster.access.account("score-e2e-developer", NAMESPACE, &grants).await?;
                developer = Some(Person::with(&account)?);
            }
            developer.as_ref().ok_or("there is no developer")?
        };
        let printed = shell.run(&step.command).await?;
        check(step, &printed)?;
    }
    space.note(&format!("{} commands", steps.len()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "
text
<!-- run as: platform -->
```console
$ kubectl get deployment x
NAME READY AGE
x 1/1 5s
```
```sh
kubectl not-run
```
```console
$ kubectl get y
$ kubectl get z
```
";

    #[test]
    fn commands_of_a_page_are_parsed_with_the_user_that_runs_them() {
        let found = steps(PAGE);
        let commands: Vec<_> = found.iter().map(|step| (step.as_platform, step.command.as_str())).collect();
        assert_eq!(
            commands,
            [(true, "kubectl get deployment x"), (false, "kubectl get y"), (false, "kubectl get z")]
        );
    }

    #[test]
    fn output_matches_the_page_in_order_regardless_of_ages() {
        let step = &steps(PAGE)[0];
        check(step, "NAME   READY   AGE\nx      1/1     78s\n").unwrap();
        assert!(check(step, "x 1/1 5s\nNAME READY AGE\n").is_err());
        assert!(check(step, "NAME READY AGE\nx 0/1 5s\n").is_err());
    }
}
