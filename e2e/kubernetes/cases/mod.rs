//! Cases of the suite; each name states the expected behaviour.

mod causes;
mod changes;
mod dependencies;
mod fields;
mod install;
mod names;
mod neighbours;
mod operating;
mod order;
mod rights;
mod routes;
mod secrets;
mod servers;
mod tutorial;
mod volumes;

use std::future::ready;

use crate::suite::{Case, Run, When};

/// All cases.
pub(crate) fn all() -> Vec<Case> {
    let mut all = Vec::new();
    let mut add = |when, cases: &[(&'static str, Run)]| {
        all.extend(cases.iter().map(|(name, run)| Case { name, when, run: *run }));
    };
    add(
        When::Needed,
        &[("an empty cluster gets the orchestrator by one command", |space| {
            Box::pin(install::install(space))
        })],
    );
    add(When::First, &[("the tutorial works, command by command", |space| Box::pin(tutorial::walk(space)))]);
    add(
        When::Needed,
        &[("the same command applies the orchestrator config", |space| Box::pin(install::configure(space)))],
    );
    add(When::Together, TOGETHER);
    add(
        When::Alone,
        &[
            ("the table of causes is complete", |_| Box::pin(ready(causes::table()))),
            ("causes: a missing permission", |space| Box::pin(causes::permission(space))),
            ("causes: a broken node network", |space| Box::pin(causes::network(space))),
            ("the leader is killed while workloads are applied", |space| Box::pin(operating::leader(space))),
            ("the API server restarts", |space| Box::pin(operating::api_server(space))),
            ("each controller works with its shipped role alone", |space| Box::pin(rights::roles(space))),
            ("an upgrade restarts nothing", |space| Box::pin(operating::upgrade(space))),
            ("uninstall is refused while workloads exist", |space| Box::pin(install::uninstall(space))),
            ("the chart installs and uninstalls the orchestrator", |space| Box::pin(install::helm(space))),
        ],
    );
    all
}

/// Independent cases.
const TOGETHER: &[(&str, Run)] = &[
    ("variables have their values inside containers", |space| Box::pin(fields::variables(space))),
    ("files have content and mode and hide no files of the image", |space| Box::pin(fields::files(space))),
    ("command, arguments, limits and probes take effect", |space| Box::pin(fields::process(space))),
    ("containers run with least privilege", |space| Box::pin(fields::security(space))),
    ("a job is ready after it has succeeded", |space| Box::pin(fields::job(space))),
    ("all service ports lead to their targets", |space| Box::pin(fields::ports(space))),
    ("volumes are shared, mounted by subpath, and persistent", |space| Box::pin(volumes::volumes(space))),
    ("a secret can be mounted as files", |space| Box::pin(volumes::secret(space))),
    ("containers start in the order of before", |space| Box::pin(order::before(space))),
    ("all allowed names work", |space| Box::pin(names::names(space))),
    ("a namespace that enforces restricted runs workloads", |space| Box::pin(names::restricted(space))),
    ("an application keeps its rows in postgres", |space| Box::pin(dependencies::postgres(space))),
    ("an application keeps its keys in redis", |space| Box::pin(dependencies::redis(space))),
    ("an application keeps its rows in mysql", |space| Box::pin(servers::mysql(space))),
    ("an application keeps its messages in amqp", |space| Box::pin(servers::amqp(space))),
    ("an application keeps its messages in a topic of kafka", |space| Box::pin(servers::kafka(space))),
    ("an application keeps its objects in s3", |space| Box::pin(servers::s3(space))),
    ("a retained database comes back with its data and password", |space| {
        Box::pin(dependencies::retain(space))
    }),
    ("a deleted database leaves nothing behind", |space| Box::pin(dependencies::delete(space))),
    ("two workloads share a database by its id", |space| Box::pin(dependencies::shared(space))),
    ("a workload reaches another by its service", |space| Box::pin(neighbours::service(space))),
    ("an update rolls out and the old file rolls it back", |space| Box::pin(changes::update(space))),
    ("a failing update keeps the last good version serving", |space| Box::pin(changes::bad_update(space))),
    ("deletion leaves nothing behind", |space| Box::pin(changes::deletion(space))),
    ("a deleted namespace terminates", |space| Box::pin(changes::namespace(space))),
    ("replicas of an autoscaler are left alone", |space| Box::pin(changes::autoscaler(space))),
    ("deleted and changed objects are restored", |space| Box::pin(changes::put_back(space))),
    ("a foreign object of the same name is reported and untouched", |space| {
        Box::pin(changes::foreign(space))
    }),
    ("a suspended workload stops and resumes", |space| Box::pin(changes::suspend(space))),
    ("a rotated secret rolls the workload exactly once", |space| Box::pin(secrets::rotation(space))),
    ("an address published by an ingress responds", |space| Box::pin(routes::ingress(space))),
    ("a route claim creates the only ingress, and it responds", |space| Box::pin(routes::route(space))),
    ("a published node port responds", |space| Box::pin(routes::node_port(space))),
    ("the address of a load balancer is published once it has one", |space| {
        Box::pin(routes::load_balancer(space))
    }),
    ("a route that a gateway has accepted responds", |space| Box::pin(routes::gateway(space))),
    ("causes: insufficient quota", |space| Box::pin(causes::quota(space))),
    ("causes: insufficient quota for a dependency", |space| Box::pin(causes::dependency_quota(space))),
    ("causes: an admission policy", |space| Box::pin(causes::admission(space))),
    ("causes: pod security", |space| Box::pin(causes::pod_security(space))),
    ("causes: an image that cannot be pulled", |space| Box::pin(causes::image(space))),
    ("causes: a crash loop", |space| Box::pin(causes::crash(space))),
    ("causes: a failing readiness probe", |space| Box::pin(causes::probe(space))),
    ("causes: a failing liveness probe", |space| Box::pin(causes::liveness(space))),
    ("causes: insufficient node resources", |space| Box::pin(causes::unschedulable(space))),
    ("a user can follow the tutorial and see no platform objects", |space| Box::pin(rights::user(space))),
];
