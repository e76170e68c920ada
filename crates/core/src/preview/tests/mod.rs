//! What people read, word for word, and that it is what is done.

mod explaining;
mod outlooking;
mod previewing;
mod world;
