//! `cargo fuzz run overrides --features libfuzzer`
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| orchestra_score_fuzz::overrides(data));
