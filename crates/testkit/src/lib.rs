//! Test environment: in-process API, clients, a manual clock, fault injection and scripted drivers. There is no socket,
//! cluster or mock: tests talk to the server that users run, over an in-memory store.
//!
//! ```
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kube::{Api, api::PostParams};
//! use orchestra_testkit::TestEnv;
//! use serde_json::{from_value, json};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let env = TestEnv::start().await;
//! env.namespace("shop").await;
//! let maps: Api<ConfigMap> = Api::namespaced(env.client(), "shop");
//! let map = from_value(json!({"metadata": {"name": "colours"}, "data": {"sky": "blue"}}))?;
//! maps.create(&PostParams::default(), &map).await?;
//! let seen = env.eventually("the map appears", || maps.get_opt("colours")).await;
//! assert_eq!(seen.data, map.data);
//! # Ok(())
//! # }
//! ```
//!
//! The code under test gets [`TestEnv::faulty_client`], which [`Faults`] apply to; the test itself uses
//! [`TestEnv::client`], which has no faults.

mod clock;
mod crash;
mod env;
mod faults;
mod matching;
pub mod scripted;
mod wait;

pub use clock::ManualClock;
pub use crash::{Crash, CrashingDriver, CrashingService, Cut};
pub use env::TestEnv;
pub use faults::{BrokenConnection, Fault, Faults, FaultyService};
pub use matching::{Matching, Verb};
pub use wait::{PollOutcome, eventually};
