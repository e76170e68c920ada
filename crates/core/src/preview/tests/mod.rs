//! Texts of previews and explanations, and tests that previews come true.

mod explaining;
mod forecasting;
mod previewing;
mod world;
