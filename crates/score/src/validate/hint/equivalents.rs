//! Score lines for fields of other tools, with the values of the user.

use super::{
    flow::{flow, flow_string, flow_text, text_of},
    short_forms::{list_entries, words},
};
use crate::{
    grammar::{CONTAINER, Object, Shape},
    node::{Entry, Map, Node, Value},
    validate::secrets,
};

/// Hint for a field of another tool; none if its value cannot be converted.
pub(super) fn equivalent(object: &'static Object, key: &str, node: &Node) -> Option<String> {
    let in_container = object.noun == "a container";
    let is_compute = in_container || object.noun == "the resources of a container";
    match key {
        "env" | "environment" | "envVars" | "env_vars" | "envs" | "vars" | "environmentVariables"
            if in_container =>
        {
            Some(format!("use `variables` for environment variables: `{}`", variables(node)?))
        }
        "cpu" | "cpus" if is_compute => amount("cpu", &text_of(node)?),
        "memory" | "mem_limit" if is_compute => amount("memory", &docker_memory(&text_of(node)?)),
        "limits" | "requests" if in_container => {
            Some(format!("write `resources: {{{key}: {}}}`", flow(node).filter(|_| is_filled(node))?))
        }
        "healthcheck" | "healthCheck" | "probe" if in_container => probe(node),
        "entrypoint" | "run" | "script" if in_container => {
            Some(format!("use `command`: `command: {}`", command(node)?))
        }
        "ports" | "expose" | "port" if in_container && is_filled(node) => {
            Some(format!("ports belong to the workload, not to a container: `service: {{{}}}`", ports(node)))
        }
        "ports" | "port" if object.noun == "a Score document" && is_filled(node) => {
            Some(format!("write `service: {{{}}}`", ports(node)))
        }
        "headers" if object.noun == "an HTTP probe" => {
            Some(format!("use a list: `httpHeaders: {}`", headers(node)?))
        }
        "services" if object.noun == "a Score document" && node.get("ports").is_some() => {
            Some("did you mean `service`?".to_owned())
        }
        _ => None,
    }
}

fn is_filled(node: &Node) -> bool {
    match &node.value {
        Value::Null => false,
        Value::Map(map) => !map.is_empty(),
        Value::List(list) => !list.is_empty(),
        _ => true,
    }
}

/// Most entries in a hint: a line to copy, not a file.
const MAX_ENTRIES: usize = 4;

/// Joined entries of a flow map, the first few of many.
pub(super) fn entries(entries: &[String]) -> String {
    let shown = entries.get(..MAX_ENTRIES).unwrap_or(entries).join(", ");
    if entries.len() > MAX_ENTRIES { format!("{shown}, …") } else { shown }
}

/// Variable in flow style. A secret is not repeated.
pub(super) fn variable(name: &str, value: &str) -> Option<String> {
    if secrets::is_secret_name(name) {
        return Some(format!("{}: \"…\"", flow_text(name)?));
    }
    // Quoted, since a number or a boolean would not be a string.
    let is_quotable = value.len() < 60 && !value.contains(['"', '\\', '\n']);
    is_quotable.then(|| Some(format!("{}: \"{value}\"", flow_text(name)?)))?
}

/// `variables` of a map or a list of environment variables.
fn variables(node: &Node) -> Option<String> {
    let Some(Shape::Map(map_of)) = CONTAINER.field("variables").map(|field| field.shape) else { return None };
    let found = match &node.value {
        Value::Map(map) => {
            let line = |(key, entry): (&String, &Entry)| {
                if secrets::is_secret_name(key) {
                    return variable(key, "");
                }
                Some(format!("{}: {}", flow_text(key)?, flow_string(&entry.node)?))
            };
            map.iter().map(line).collect::<Option<Vec<_>>>()?
        }
        Value::List(list) => list_entries(map_of, list)?,
        _ => return None,
    };
    (!found.is_empty()).then(|| format!("variables: {{{}}}", entries(&found)))
}

/// Limit of a container.
fn amount(field: &str, text: &str) -> Option<String> {
    let inner = CONTAINER.field("resources")?;
    let Shape::Object(compute) = inner.shape else { return None };
    let Shape::Object(amounts) = compute.field("limits")?.shape else { return None };
    let Shape::Text(rule) = amounts.field(field)?.shape else { return None };
    let text = if rule.accepts(text) { text.to_owned() } else { rule.suggestion(text)? };
    Some(format!("write `resources: {{limits: {{{field}: {}}}}}` in the container", flow_text(&text)?))
}

/// Memory of Docker, whose units are binary: `512m` is 512Mi.
fn docker_memory(text: &str) -> String {
    let unit = match text.chars().next_back() {
        Some('k') => "Ki",
        Some('m') => "Mi",
        Some('g') => "Gi",
        _ => return text.to_owned(),
    };
    format!("{}{unit}", &text[..text.len() - 1])
}

/// Probe for a health check of another tool.
fn probe(node: &Node) -> Option<String> {
    let map = node.as_map()?;
    let check = if map.contains_key("path") || map.contains_key("port") {
        let value =
            |key: &str, default: &str| node.get(key).and_then(flow).unwrap_or_else(|| default.to_owned());
        format!("httpGet: {{path: {}, port: {}}}", value("path", "/"), value("port", "8080"))
    } else if let Some(http) = node.get("httpGet").and_then(flow) {
        format!("httpGet: {http}")
    } else {
        let command = ["test", "command", "exec"].iter().find_map(|key| node.get(key))?;
        format!("exec: {{command: {}}}", command_of_test(command)?)
    };
    Some(format!("write `readinessProbe: {{{check}}}`"))
}

/// Command of a health check of Docker, without `CMD`.
fn command_of_test(node: &Node) -> Option<String> {
    let Value::List(list) = &node.value else { return command(node) };
    let arguments: Vec<&str> = list.iter().map(Node::as_str).collect::<Option<_>>()?;
    match arguments.as_slice() {
        ["CMD", rest @ ..] => Some(quoted_list(rest)),
        ["CMD-SHELL", line] => Some(quoted_list(&["/bin/sh", "-c", line])),
        all => Some(quoted_list(all)),
    }
}

/// List of arguments, of a list or a command line.
fn command(node: &Node) -> Option<String> {
    match &node.value {
        Value::String(line) if !line.trim_end().contains('\n') && !line.trim().is_empty() => {
            let words = words(line);
            Some(quoted_list(&words.iter().map(String::as_str).collect::<Vec<_>>()))
        }
        Value::List(list) => {
            let arguments: Vec<&str> = list.iter().map(Node::as_str).collect::<Option<_>>()?;
            (!arguments.is_empty()).then(|| quoted_list(&arguments))
        }
        _ => None,
    }
}

fn quoted_list(items: &[&str]) -> String {
    let items: Vec<_> = items.iter().take(8).map(|item| format!("\"{}\"", item.escape_debug())).collect();
    format!("[{}]", items.join(", "))
}

/// `ports` of a service, of a map, a list or a number.
pub(in crate::validate) fn ports(node: &Node) -> String {
    let found = match &node.value {
        Value::Map(map) if map.contains_key("port") => flow(node).map(|port| vec![format!("web: {port}")]),
        Value::Map(map) => {
            map.iter().map(|(name, entry)| Some(format!("{name}: {}", port(&entry.node)?))).collect()
        }
        Value::List(list) => list.iter().enumerate().map(|(index, item)| named_port(index, item)).collect(),
        _ => port(node).map(|port| vec![format!("web: {port}")]),
    };
    match found.filter(|found: &Vec<String>| !found.is_empty()) {
        Some(found) => format!("ports: {{{}}}", entries(&found)),
        None => "ports: {web: {port: 80, targetPort: 8080}}".to_owned(),
    }
}

/// Port of a list, with a name.
pub(super) fn named_port(index: usize, item: &Node) -> Option<String> {
    let fields = port(item)?;
    let given = item.get("name").and_then(Node::as_str).map(str::to_owned);
    let number: String =
        fields.chars().skip_while(|c| !c.is_ascii_digit()).take_while(char::is_ascii_digit).collect();
    let name = given.unwrap_or_else(|| if index == 0 { "web".to_owned() } else { format!("port-{number}") });
    Some(format!("{name}: {fields}"))
}

/// Fields of a port: a number, `8080:80` of Docker, or a map of Kubernetes.
fn port(node: &Node) -> Option<String> {
    let number = |text: &str| text.trim().parse::<u16>().ok().filter(|port| *port > 0);
    if let Value::Map(map) = &node.value {
        let field = |name: &str| map.get(name).and_then(|entry| number(&text_of(&entry.node)?));
        let target = field("targetPort").or_else(|| field("containerPort")).or_else(|| field("target"));
        let port = field("port").or_else(|| field("published")).or(target)?;
        return Some(port_fields(port, target));
    }
    let text = text_of(node)?;
    let text = text.split('/').next().unwrap_or_default();
    match text.split_once(':') {
        Some((offered, target)) => Some(port_fields(number(offered)?, number(target))),
        None => Some(port_fields(number(text)?, None)),
    }
}

fn port_fields(port: u16, target: Option<u16>) -> String {
    match target.filter(|target| *target != port) {
        Some(target) => format!("{{port: {port}, targetPort: {target}}}"),
        None => format!("{{port: {port}}}"),
    }
}

/// Headers of a map of names and values.
pub(super) fn headers(node: &Node) -> Option<String> {
    let items: Option<Vec<String>> =
        node.as_map()?.iter().map(|(name, entry)| header(name, &entry.node)).collect();
    items.filter(|items| !items.is_empty()).map(|items| format!("[{}]", entries(&items)))
}

/// Header in flow style.
pub(super) fn header(name: &str, value: &Node) -> Option<String> {
    Some(format!("{{name: {}, value: {}}}", flow_text(name)?, flow_text(&text_of(value)?)?))
}

/// The header of a map such as `{X-Probe: ready}`.
pub(in crate::validate) fn header_of(map: &Map) -> Option<String> {
    let (name, entry) = map.first().filter(|_| map.len() == 1)?;
    header(name, &entry.node).filter(|_| name != "name" && name != "value")
}
