//! Access matrix of the embedded server. `access-matrix` asks a real one the same.

use orchestra_apiserver::{Api, Caller, Options, store::Memory};
use orchestra_e2e::{matrix, parity::Target};

#[tokio::test]
async fn every_identity_may_do_exactly_what_its_roles_allow() {
    let api = Api::open(Memory, Options::default()).await.unwrap();
    let target = Target::router(api.router_for(Caller::admin()), api.router());
    let verdicts = matrix::play(&target).await.unwrap();
    let (requests, wrong) = (verdicts.requests, verdicts.wrong);
    assert!(wrong.is_empty(), "{} of {requests} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(requests >= 900, "only {requests} requests");
}
