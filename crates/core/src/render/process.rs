//! Rendering of a plan as programs of one machine: what is supported, what is made, and how it is stopped.

use std::time::Duration;

use orchestra_api::plan::{Container, InventoryItem, WorkloadPlanSpec};
use orchestra_score::model::{LOCAL_IMAGE, Protocol};

/// Runtime class of plans that run as programs of one machine.
pub const CLASS: &str = crate::runtimes::process::NAME;
/// Inventory kind of a Workload as a whole.
const WORKLOAD: &str = "Workload";
/// Inventory kind of a program.
const PROGRAM: &str = "Process";

/// Grace period of a stop where the Workload sets none; shorter than that of Kubernetes, since a developer waits for it.
pub const DEFAULT_GRACE_PERIOD: Duration = Duration::from_secs(10);

/// Unsupported parts of a plan, each as a sentence with the field. `can_mount` is true if the machine allows mount namespaces.
pub fn lacks(plan: &WorkloadPlanSpec, can_mount: bool) -> Vec<String> {
    let containers = plan.containers.iter().flat_map(|(name, given)| lacks_of(name, given, can_mount));
    let ports =
        plan.ports.iter().filter(|(_, port)| port.protocol == Protocol::Udp && port.port != port.target_port);
    let ports = ports.map(|(name, _)| {
        format!(
            "`service.ports.{name}` must have equal `port` and `targetPort`: UDP ports are not forwarded on this machine."
        )
    });
    containers.chain(ports).collect()
}

fn lacks_of(name: &str, container: &Container, can_mount: bool) -> Vec<String> {
    let mut lacks = Vec::new();
    if container.image != LOCAL_IMAGE {
        lacks.push(format!(
            "`containers.{name}.image` must be `.` (the folder of the Score file): this machine runs programs, not container images."
        ));
    }
    if container.command.as_ref().is_none_or(Vec::is_empty) {
        lacks.push(format!("`containers.{name}.command` is required with `image: .`."));
    }
    let mounted = container.files.keys().chain(container.volumes.keys()).next();
    if let Some(target) = mounted.filter(|_| !can_mount) {
        lacks.push(format!(
            "`containers.{name}` mounts something at `{target}`, and the kernel of this machine does not allow mount namespaces: set `sysctl kernel.apparmor_restrict_unprivileged_userns=0` (Ubuntu) or `sysctl user.max_user_namespaces=10000`, or start the platform as root."
        ));
    }
    lacks
}

/// Inventory of a plan: the Workload as a whole, and its programs.
pub fn inventory(namespace: &str, name: &str, plan: &WorkloadPlanSpec) -> Vec<InventoryItem> {
    let item = |kind: &str, name: String| InventoryItem { kind: kind.to_owned(), name, id: None };
    let whole = item(WORKLOAD, format!("{namespace}/{name}"));
    let programs = plan.containers.keys().map(|name| item(PROGRAM, name.clone()));
    let mut all: Vec<_> = [whole].into_iter().chain(programs).collect();
    all.sort();
    all
}

/// True if the removal of these items removes the Workload as a whole. Programs that a version does not have were stopped
/// before it was started.
pub fn is_whole(inventory: &[InventoryItem]) -> bool {
    inventory.iter().any(|item| item.kind == WORKLOAD)
}

/// Time that the programs of a plan have between the request to stop and the end.
pub fn grace_period(plan: &WorkloadPlanSpec) -> Duration {
    let seconds = plan.lifecycle.grace_seconds;
    seconds.map_or(DEFAULT_GRACE_PERIOD, |seconds| Duration::from_secs(seconds.into()))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    fn plan(container: &Json, port: &Json) -> WorkloadPlanSpec {
        serde_json::from_value(json!({
            "workloadRef": {"name": "web", "uid": "u"}, "observedWorkloadGeneration": 1, "runtimeClass": CLASS,
            "profile": "web-service", "backendId": "local", "kind": "Service", "revision": "r1",
            "containers": {"app": container}, "ports": {"dns": port},
        }))
        .unwrap()
    }

    #[test]
    fn each_unsupported_part_of_a_plan_is_named_with_its_field() {
        let program = json!({"image": ".", "command": ["./web"]});
        let tcp = json!({"port": 80, "targetPort": 8080, "protocol": "TCP"});
        let udp = |target: u16| json!({"port": 53, "targetPort": target, "protocol": "UDP"});
        let mounted =
            json!({"image": ".", "command": ["./web"], "volumes": {"/data": {"source": [{"literal": "a"}]}}});
        for (container, port, can_mount, expected) in [
            (&program, &tcp, false, vec![]),
            (&json!({"image": "nginx", "command": ["./web"]}), &tcp, true, vec!["containers.app.image"]),
            (&json!({"image": "."}), &tcp, true, vec!["containers.app.command"]),
            (&json!({"image": ".", "command": []}), &tcp, true, vec!["containers.app.command"]),
            (&mounted, &tcp, true, vec![]),
            (&mounted, &tcp, false, vec!["max_user_namespaces"]),
            (&program, &udp(53), true, vec![]),
            (&program, &udp(5353), true, vec!["service.ports.dns"]),
        ] {
            let lacks = lacks(&plan(container, port), can_mount);
            let is_named = lacks.iter().zip(&expected).all(|(sentence, field)| sentence.contains(field));
            assert!(lacks.len() == expected.len() && is_named, "{container} {port}: {lacks:?}");
        }
    }

    #[test]
    fn only_the_item_of_the_workload_removes_it_as_a_whole() {
        let plan = plan(&json!({"image": "."}), &json!({"port": 80, "targetPort": 80, "protocol": "TCP"}));
        let inventory = inventory("shop", "web", &plan);
        let names: Vec<_> = inventory.iter().map(|item| item.name.as_str()).collect();
        assert_eq!(names, ["app", "shop/web"]);
        assert!(is_whole(&inventory) && !is_whole(&inventory[..1]));
    }
}
