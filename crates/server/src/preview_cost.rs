//! Memory of a preview, estimated before parsing. A body of 3 MiB can have a million values.

use orchestra_limits::Values;

/// Maximum number of values in a body; the largest Workloads have some hundreds.
pub(crate) const MAX_VALUES: usize = 20_000;
/// Memory of an explanation or a preview without a body: the objects that it reads.
pub(crate) const BASE_BYTES: usize = 2 * 1024 * 1024;
/// Memory of a value, in all its forms: parsed, decided and printed.
const VALUE_BYTES: usize = 512;
/// Copies of the text: the body, and those in values.
const TEXT_COPIES: usize = 5;

/// Upper estimate of the number of values in a body. In YAML, also text can look like values.
pub(crate) fn values(body: &[u8], is_json: bool) -> usize {
    let values = if is_json { Values::in_json(body) } else { Values::in_yaml(body) };
    values.all
}

/// Memory of a preview, with its body.
pub(crate) fn bytes(length: usize, values: usize) -> usize {
    BASE_BYTES + length * TEXT_COPIES + values * VALUE_BYTES
}
