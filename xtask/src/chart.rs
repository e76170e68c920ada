//! Helm chart, generated from the files under `deploy`, so that it installs the same as `orchestra install` and kustomize.
//!
//! CRDs and roles are copied. In other manifests a few fields become values; a field that is not found fails the
//! generation, so that the chart cannot become outdated unnoticed.

use std::{fs, io};

use orchestra_api::crd::MIN_KUBERNETES;

use crate::root;

/// Folder of the chart.
const CHART: &str = "deploy/helm/orchestra";

/// Prefix of the line with the image.
const IMAGE: &str = "          image: ";

/// Header of each file.
const HEADER: &str = "# Generated from the files under deploy by `cargo xtask gen`.\n";

/// Deployment, whose image has the workspace version.
const DEPLOYMENT: &str = "deploy/orchestrator/deployment.yaml";

/// Error of the generation.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ChartError {
    #[error("failed to read {path}: {source}")]
    Read { path: String, source: io::Error },
    #[error("failed to generate the chart: {0:?} not found")]
    NotFound(String),
    #[error("failed to generate the chart: {text:?} occurs {count} times instead of once")]
    NotOnce { text: String, count: usize },
}

/// Path and content of every file of the chart, and of the Deployment.
pub(crate) fn files() -> Result<Vec<(String, String)>, ChartError> {
    let version = env!("CARGO_PKG_VERSION");
    let deployment = with_version(&read(DEPLOYMENT)?, version)?;
    let image = field(&deployment, IMAGE)?;
    let resources = block(&deployment, "          resources:\n")?;
    let mut files = vec![
        ("Chart.yaml".to_owned(), format!("{HEADER}{}", chart(version))),
        ("values.yaml".to_owned(), format!("{HEADER}{}", values(&image, &resources))),
        ("templates/deployment.yaml".to_owned(), of_deployment(&deployment, &image, &resources)?),
        (
            "templates/networkpolicy.yaml".to_owned(),
            of_policy(&read("deploy/orchestrator/networkpolicy.yaml")?)?,
        ),
    ];
    for name in ["service", "poddisruptionbudget"] {
        let text = read(&format!("deploy/orchestrator/{name}.yaml"))?;
        files.push((format!("templates/{name}.yaml"), format!("{HEADER}{text}")));
    }
    for folder in ["rbac", "crds"] {
        for name in names(&format!("deploy/{folder}"))? {
            let text = read(&format!("deploy/{folder}/{name}"))?;
            let text = if folder == "crds" { kept(&text)? } else { text };
            files.push((format!("manifests/{folder}/{name}"), format!("{HEADER}{text}")));
        }
    }
    let mut files: Vec<_> = files.into_iter().map(|(path, text)| (format!("{CHART}/{path}"), text)).collect();
    files.push((DEPLOYMENT.to_owned(), deployment));
    Ok(files)
}

/// Deployment with the image of a version.
fn with_version(deployment: &str, version: &str) -> Result<String, ChartError> {
    let image = field(deployment, IMAGE)?;
    let name = image.split(':').next().unwrap_or_default();
    replaced(deployment, &format!("{IMAGE}{image}\n"), &format!("{IMAGE}{name}:{version}\n"))
}

fn chart(version: &str) -> String {
    let (major, minor) = MIN_KUBERNETES;
    format!(
        "apiVersion: v2\n\
         name: orchestra\n\
         description: Score Orchestrator, which runs Score workloads on this cluster\n\
         type: application\n\
         version: {version}\n\
         appVersion: {version}\n\
         kubeVersion: \">={major}.{minor}.0-0\"\n"
    )
}

fn values(image: &str, resources: &str) -> String {
    let resources = outdented(resources, 10);
    format!(
        "# The image of the orchestrator.\n\
         image: {image}\n\
         imagePullPolicy: IfNotPresent\n\
         # Registry secrets: [{{name: …}}]\n\
         imagePullSecrets: []\n\
         # One leader, the others are standbys.\n\
         replicas: 2\n\
         # Published address of the server, such as https://orchestra.example.org. Default: its address inside the cluster.\n\
         serverUrl: \"\"\n\
         # Orchestrator config, as text. Written if there is none, and never overwritten.\n\
         config: \"\"\n\
         # Additional ports of the cluster's API for the network policy (443 and 6443 are included).\n\
         apiPorts: []\n\
         # Additional arguments of `orchestra serve`.\n\
         extraArgs: []\n\
         {resources}\
         nodeSelector: {{}}\n\
         tolerations: []\n"
    )
}

fn of_deployment(text: &str, image: &str, resources: &str) -> Result<String, ChartError> {
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
    Ok(format!("{HEADER}{text}"))
}

fn of_policy(text: &str) -> Result<String, ChartError> {
    let last = "        - {protocol: TCP, port: 6443}\n";
    let more = format!(
        "{last}        {{{{- range .Values.apiPorts }}}}\n\
         \x20       - {{protocol: TCP, port: {{{{ . }}}}}}\n\
         \x20       {{{{- end }}}}\n"
    );
    Ok(format!("{HEADER}{}", replaced(text, last, &more)?))
}

/// CRD that Helm keeps on uninstall: deleting it would delete all its objects.
fn kept(text: &str) -> Result<String, ChartError> {
    replaced(text, "\nmetadata:\n", "\nmetadata:\n  annotations:\n    helm.sh/resource-policy: keep\n")
}

/// Replaces a text that occurs exactly once.
fn replaced(text: &str, old: &str, new: &str) -> Result<String, ChartError> {
    match text.matches(old).count() {
        1 => Ok(text.replacen(old, new, 1)),
        count => Err(ChartError::NotOnce { text: old.to_owned(), count }),
    }
}

/// Rest of the line with this prefix.
fn field(text: &str, beginning: &str) -> Result<String, ChartError> {
    let found = text.lines().find_map(|line| line.strip_prefix(beginning));
    found.map(ToOwned::to_owned).ok_or_else(|| ChartError::NotFound(beginning.to_owned()))
}

/// Line with all more deeply indented lines after it.
fn block(text: &str, beginning: &str) -> Result<String, ChartError> {
    let start = text.find(beginning).ok_or_else(|| ChartError::NotFound(beginning.to_owned()))?;
    let depth = beginning.len() - beginning.trim_start().len();
    let rest = text[start..].split_inclusive('\n').enumerate();
    let is_inside = |line: &str| line.len() - line.trim_start().len() > depth;
    Ok(rest.take_while(|(number, line)| *number == 0 || is_inside(line)).map(|(_, line)| line).collect())
}

fn outdented(text: &str, by: usize) -> String {
    text.split_inclusive('\n').map(|line| line.get(by..).unwrap_or_default()).collect()
}

fn read(path: &str) -> Result<String, ChartError> {
    fs::read_to_string(root().join(path)).map_err(|source| ChartError::Read { path: path.to_owned(), source })
}

/// Sorted names of the files of a folder.
fn names(folder: &str) -> Result<Vec<String>, ChartError> {
    let failed = |source| ChartError::Read { path: folder.to_owned(), source };
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
    fn a_missing_field_fails_the_generation() {
        assert!(replaced("a b", "c", "d").is_err());
        assert!(replaced("a a", "a", "d").is_err());
        assert_eq!(replaced("a b", "a", "d").unwrap(), "d b");
    }

    #[test]
    fn the_image_of_the_deployment_has_the_version_of_the_release() {
        let text = "          image: orchestra:0.0.9\n          args: []\n";
        assert_eq!(
            with_version(text, "1.2.3").unwrap(),
            "          image: orchestra:1.2.3\n          args: []\n"
        );
    }

    #[test]
    fn every_value_of_the_chart_is_set_in_the_values_that_tests_render() {
        let keys = |path: &str| -> Vec<String> {
            let text = read(path).unwrap();
            let is_key = |line: &&str| line.starts_with(|first: char| first.is_ascii_alphabetic());
            let key = |line: &str| line.split(':').next().unwrap_or_default().to_owned();
            let mut keys: Vec<_> = text.lines().filter(is_key).map(key).collect();
            keys.sort_unstable();
            keys
        };
        assert_eq!(keys("e2e/kubernetes/helm/values.yaml"), keys(&format!("{CHART}/values.yaml")));
    }

    #[test]
    fn copied_files_contain_no_template_syntax() {
        for (path, text) in files().unwrap().into_iter().filter(|(path, _)| path.contains("/manifests/")) {
            assert!(!text.contains("{{"), "{path}");
        }
    }
}
