//! A test environment: the API in the process, clients of it, a clock that stands still until told, and failures on
//! order. No socket, no cluster, no mock: what a test talks to is the server that users run, over a store that ends
//! with the test.
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
//! What is under test gets [`TestEnv::faulty_client`], whose requests [`Faults`] may strike; the test itself looks on
//! through [`TestEnv::client`], which is never struck.

mod clock;
mod crash;
mod env;
mod faults;
mod matching;
pub mod scripted;
mod wait;

pub use clock::ManualClock;
pub use crash::{Crash, Cut, Mortal, MortalService};
pub use env::TestEnv;
pub use faults::{BrokenConnection, Fault, Faults, FaultyService};
pub use matching::{Matching, Verb};
pub use wait::{Outcome, eventually};
