//! The Helm chart, made from the files under `deploy`, so that it installs what `orchestra install` and kustomize do.
//!
//! Definitions and roles are copied. In what runs, a few places become values; a place that is not found where it is
//! looked for fails the generation, so that the chart cannot fall behind unseen.

use std::fs;

use crate::root;

/// The chart, from the root of the project.
const CHART: &str = "deploy/helm/orchestra";

/// What is put in front of each file.
const MADE: &str = "# Made from the files under deploy by `cargo xtask gen`.\n";

/// Every file of the chart: its path, and what must be in it.
pub(crate) fn files() -> Result<Vec<(String, String)>, String> {
    let deployment = read("deploy/orchestrator/deployment.yaml")?;
    let image = field(&deployment, "          image: ")?;
    let resources = block(&deployment, "          resources:\n")?;
    let version = env!("CARGO_PKG_VERSION");
    let mut files = vec![
        ("Chart.yaml".to_owned(), format!("{MADE}{}", chart(version))),
        ("values.yaml".to_owned(), format!("{MADE}{}", values(&image, &resources))),
        ("templates/deployment.yaml".to_owned(), of_deployment(&deployment, &image, &resources)?),
        (
            "templates/networkpolicy.yaml".to_owned(),
            of_policy(&read("deploy/orchestrator/networkpolicy.yaml")?)?,
        ),
    ];
    for name in ["service", "poddisruptionbudget"] {
        let text = read(&format!("deploy/orchestrator/{name}.yaml"))?;
        files.push((format!("templates/{name}.yaml"), format!("{MADE}{text}")));
    }
    for folder in ["rbac", "crds"] {
        for name in names(&format!("deploy/{folder}"))? {
            let text = read(&format!("deploy/{folder}/{name}"))?;
            let text = if folder == "crds" { kept(&text)? } else { text };
            files.push((format!("manifests/{folder}/{name}"), format!("{MADE}{text}")));
        }
    }
    Ok(files.into_iter().map(|(path, text)| (format!("{CHART}/{path}"), text)).collect())
}

fn chart(version: &str) -> String {
    format!(
        "apiVersion: v2\n\
         name: orchestra\n\
         description: Score Orchestrator, which runs Score workloads on this cluster\n\
         type: application\n\
         version: {version}\n\
         appVersion: {version}\n\
         kubeVersion: \">=1.34.0-0\"\n"
    )
}

fn values(image: &str, resources: &str) -> String {
    let resources = outdented(resources, 10);
    format!(
        "# The image of the orchestrator.\n\
         image: {image}\n\
         imagePullPolicy: IfNotPresent\n\
         # Names of secrets for a registry that wants to know who asks: [{{name: …}}]\n\
         imagePullSecrets: []\n\
         # How many processes: one works, the others stand by.\n\
         replicas: 2\n\
         # Where users reach the server, such as https://orchestra.example.org; its address in the cluster if empty.\n\
         serverUrl: \"\"\n\
         # The platform's document, as text. It is written when there is none, and never overwritten.\n\
         config: \"\"\n\
         # Ports of the cluster's API beside 443 and 6443, for the network policy.\n\
         apiPorts: []\n\
         # More arguments of `orchestra serve`.\n\
         extraArgs: []\n\
         {resources}\
         nodeSelector: {{}}\n\
         tolerations: []\n"
    )
}

fn of_deployment(text: &str, image: &str, resources: &str) -> Result<String, String> {
    let arguments = "            - --log-format=json\n";
    let text = replaced(text, "  replicas: 2\n", "  replicas: {{ .Values.replicas }}\n")?;
    let text = replaced(
        &text,
        &format!("          image: {image}\n          imagePullPolicy: IfNotPresent\n"),
        "          image: {{ .Values.image | quote }}\n          imagePullPolicy: {{ .Values.imagePullPolicy }}\n",
    )?;
    let text = replaced(
        &text,
        arguments,
        &format!(
            "{arguments}            {{{{- with .Values.serverUrl }}}}\n\
             \x20           - --server-url={{{{ . }}}}\n\
             \x20           {{{{- end }}}}\n\
             \x20           {{{{- with .Values.extraArgs }}}}\n\
             \x20           {{{{- toYaml . | nindent 12 }}}}\n\
             \x20           {{{{- end }}}}\n"
        ),
    )?;
    let text = replaced(
        &text,
        resources,
        "          resources:\n            {{- toYaml .Values.resources | nindent 12 }}\n",
    )?;
    let optional = ["imagePullSecrets", "nodeSelector", "tolerations"].map(|key| {
        format!(
            "      {{{{- with .Values.{key} }}}}\n      {key}:\n        {{{{- toYaml . | nindent 8 }}}}\n      {{{{- end }}}}\n"
        )
    });
    let text = replaced(&text, "      containers:\n", &format!("{}      containers:\n", optional.concat()))?;
    Ok(format!("{MADE}{text}"))
}

fn of_policy(text: &str) -> Result<String, String> {
    let last = "        - {protocol: TCP, port: 6443}\n";
    let more = format!(
        "{last}        {{{{- range .Values.apiPorts }}}}\n\
         \x20       - {{protocol: TCP, port: {{{{ . }}}}}}\n\
         \x20       {{{{- end }}}}\n"
    );
    Ok(format!("{MADE}{}", replaced(text, last, &more)?))
}

/// A definition that outlives the chart: with it everything that is of the kind would go.
fn kept(text: &str) -> Result<String, String> {
    replaced(text, "\nmetadata:\n", "\nmetadata:\n  annotations:\n    helm.sh/resource-policy: keep\n")
}

/// Replaces a place that is there exactly once.
fn replaced(text: &str, place: &str, by: &str) -> Result<String, String> {
    match text.matches(place).count() {
        1 => Ok(text.replacen(place, by, 1)),
        count => Err(format!("the chart cannot be made: {place:?} is there {count} times, not once")),
    }
}

/// The rest of the line that begins so.
fn field(text: &str, beginning: &str) -> Result<String, String> {
    let found = text.lines().find_map(|line| line.strip_prefix(beginning));
    found.map(ToOwned::to_owned).ok_or_else(|| format!("the chart cannot be made: there is no {beginning:?}"))
}

/// A line, and all lines below it that are further in.
fn block(text: &str, beginning: &str) -> Result<String, String> {
    let start =
        text.find(beginning).ok_or_else(|| format!("the chart cannot be made: there is no {beginning:?}"))?;
    let depth = beginning.len() - beginning.trim_start().len();
    let rest = text[start..].split_inclusive('\n').enumerate();
    let is_inside = |line: &str| line.len() - line.trim_start().len() > depth;
    Ok(rest.take_while(|(number, line)| *number == 0 || is_inside(line)).map(|(_, line)| line).collect())
}

fn outdented(text: &str, by: usize) -> String {
    text.split_inclusive('\n').map(|line| line.get(by..).unwrap_or_default()).collect()
}

fn read(path: &str) -> Result<String, String> {
    fs::read_to_string(root().join(path)).map_err(|error| format!("failed to read {path}: {error}"))
}

/// The names of the files of a folder, in order.
fn names(folder: &str) -> Result<Vec<String>, String> {
    let failed = |error: std::io::Error| format!("failed to read {folder}: {error}");
    let entries = fs::read_dir(root().join(folder)).map_err(failed)?;
    let names: Result<Vec<_>, _> =
        entries.map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned())).collect();
    let mut names = names.map_err(failed)?;
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_that_is_gone_fails_the_generation() {
        assert!(replaced("a b", "c", "d").is_err());
        assert!(replaced("a a", "a", "d").is_err());
        assert_eq!(replaced("a b", "a", "d").unwrap(), "d b");
    }

    #[test]
    fn nothing_that_is_copied_is_taken_for_a_template() {
        for (path, text) in files().unwrap().into_iter().filter(|(path, _)| path.contains("/manifests/")) {
            assert!(!text.contains("{{"), "{path}");
        }
    }
}
