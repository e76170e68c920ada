//! What claims get from this machine, as those who depend on it see it.

mod databases;
mod here;
mod secrets;
mod ways;
mod world;
