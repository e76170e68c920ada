//! What is claimed about the product on a cluster, one sentence a case.

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
    add(When::First, &[("the tutorial holds, command by command", |space| Box::pin(tutorial::walk(space)))]);
    add(
        When::Needed,
        &[("the platform's document is put in force by the same command", |space| {
            Box::pin(install::configure(space))
        })],
    );
    add(When::Together, TOGETHER);
    add(
        When::Alone,
        &[
            ("the table of causes is complete", |_| Box::pin(ready(causes::table()))),
            ("causes: a right taken away", |space| Box::pin(causes::permission(space))),
            ("causes: a network that cannot be set up", |space| Box::pin(causes::network(space))),
            ("the leader is killed while workloads come", |space| Box::pin(operating::leader(space))),
            ("the API server restarts", |space| Box::pin(operating::api_server(space))),
            ("each controller works with its shipped role alone", |space| Box::pin(rights::roles(space))),
            ("an upgrade restarts nothing", |space| Box::pin(operating::upgrade(space))),
            ("the orchestrator refuses to go while workloads exist", |space| {
                Box::pin(install::uninstall(space))
            }),
            ("the chart brings the orchestrator and takes it away", |space| Box::pin(install::helm(space))),
        ],
    );
    all
}

/// Those that leave each other in peace.
const TOGETHER: &[(&str, Run)] = &[
    ("variables arrive as they are written", |space| Box::pin(fields::variables(space))),
    ("files arrive with content and mode and hide nothing", |space| Box::pin(fields::files(space))),
    ("command, arguments, limits and probes hold inside", |space| Box::pin(fields::process(space))),
    ("what runs has no rights that it does not need", |space| Box::pin(fields::security(space))),
    ("a job runs to its end and is then ready", |space| Box::pin(fields::job(space))),
    ("all service ports lead to their targets", |space| Box::pin(fields::ports(space))),
    ("volumes are shared, mounted in parts, and kept", |space| Box::pin(volumes::volumes(space))),
    ("a secret can be mounted as files", |space| Box::pin(volumes::secret(space))),
    ("containers start in the order that before says", |space| Box::pin(order::before(space))),
    ("names of any allowed length and beginning work", |space| Box::pin(names::names(space))),
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
    ("a deleted database leaves nothing", |space| Box::pin(dependencies::delete(space))),
    ("two workloads share a database by its id", |space| Box::pin(dependencies::shared(space))),
    ("a workload finds its neighbour", |space| Box::pin(neighbours::service(space))),
    ("an update rolls and the old file brings the old version back", |space| {
        Box::pin(changes::update(space))
    }),
    ("a bad update leaves the last good version serving", |space| Box::pin(changes::bad_update(space))),
    ("deletion leaves nothing behind", |space| Box::pin(changes::deletion(space))),
    ("a deleted namespace goes by itself", |space| Box::pin(changes::namespace(space))),
    ("replicas of an autoscaler are left alone", |space| Box::pin(changes::autoscaler(space))),
    ("what is taken away or changed by others is put back", |space| Box::pin(changes::put_back(space))),
    ("a foreign object of the same name is reported and untouched", |space| {
        Box::pin(changes::foreign(space))
    }),
    ("a suspended workload stops and comes back", |space| Box::pin(changes::suspend(space))),
    ("a rotated secret rolls the workload exactly once", |space| Box::pin(secrets::rotation(space))),
    ("a published address through an ingress answers", |space| Box::pin(routes::ingress(space))),
    ("a route claim makes the only ingress, and it answers", |space| Box::pin(routes::route(space))),
    ("a published node port answers", |space| Box::pin(routes::node_port(space))),
    ("the address of a load balancer is published once it has one", |space| {
        Box::pin(routes::load_balancer(space))
    }),
    ("a route that a gateway has accepted answers", |space| Box::pin(routes::gateway(space))),
    ("causes: too little quota", |space| Box::pin(causes::quota(space))),
    ("causes: too little quota for a dependency", |space| Box::pin(causes::dependency_quota(space))),
    ("causes: a policy of the organisation", |space| Box::pin(causes::admission(space))),
    ("causes: pod security", |space| Box::pin(causes::pod_security(space))),
    ("causes: an image that cannot be had", |space| Box::pin(causes::image(space))),
    ("causes: a program that ends again and again", |space| Box::pin(causes::crash(space))),
    ("causes: a probe that fails", |space| Box::pin(causes::probe(space))),
    ("causes: a program that a probe has ended", |space| Box::pin(causes::liveness(space))),
    ("causes: more than any node has", |space| Box::pin(causes::unschedulable(space))),
    ("a user can do what the tutorial needs and see nothing below", |space| Box::pin(rights::user(space))),
];
