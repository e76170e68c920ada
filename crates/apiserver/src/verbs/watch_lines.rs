//! Lines of a watch, as frames of its answer.
//!
//! A frame waits for a client that does not read. Large objects are therefore not copied: their frames are parts of the stored
//! bytes, which all watches share.

use std::collections::VecDeque;

use bytes::Bytes;

use crate::{
    kinds::Kind,
    store::Revision,
    stored_object::{StoredObject, write_type},
};

/// Size from which an object is shared: smaller ones are copied faster than they are handed over in parts.
const MIN_SHARED_BYTES: usize = 16 * 1024;
/// Size of a frame: a connection may copy those that it cannot send yet.
const MAX_FRAME_BYTES: usize = 16 * 1024;

/// Lines that are not sent yet.
#[derive(Debug, Default)]
pub(super) struct Lines {
    frames: VecDeque<Bytes>,
    /// Text after the frames.
    open: Vec<u8>,
    /// Bytes of the frames.
    bytes: usize,
}

impl Lines {
    /// Bytes of all lines.
    pub(super) fn len(&self) -> usize {
        self.bytes + self.open.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes an event about an encoded object.
    pub(super) fn write(&mut self, event: &str, object: &[u8]) {
        self.begin(event);
        self.open.extend_from_slice(object);
        self.end();
    }

    /// Writes an event about a stored object of a kind, without parsing it.
    pub(super) fn write_stored(&mut self, event: &str, kind: &Kind, revision: Revision, bytes: &Bytes) {
        let record = StoredObject { revision, bytes };
        self.begin(event);
        if bytes.len() < MIN_SHARED_BYTES {
            record.write_as(kind, &mut self.open);
        } else {
            let (before, after) = record.halves();
            write_type(kind, &mut self.open);
            self.open.push(b',');
            self.share(bytes.slice_ref(before.get(1..).unwrap_or_default()));
            self.open.extend_from_slice(revision.0.to_string().as_bytes());
            self.share(bytes.slice_ref(after));
        }
        self.end();
    }

    /// Takes the next frame.
    pub(super) fn next_frame(&mut self) -> Option<Bytes> {
        self.close_text();
        let mut frame = self.frames.pop_front()?;
        if frame.len() > MAX_FRAME_BYTES {
            self.frames.push_front(frame.split_off(MAX_FRAME_BYTES));
        }
        self.bytes -= frame.len();
        Some(frame)
    }

    fn begin(&mut self, event: &str) {
        self.open.extend_from_slice(b"{\"type\":\"");
        self.open.extend_from_slice(event.as_bytes());
        self.open.extend_from_slice(b"\",\"object\":");
    }

    fn end(&mut self) {
        self.open.extend_from_slice(b"}\n");
    }

    fn share(&mut self, part: Bytes) {
        self.close_text();
        self.push(part);
    }

    fn close_text(&mut self) {
        let text = std::mem::take(&mut self.open);
        self.push(text.into());
    }

    fn push(&mut self, frame: Bytes) {
        if !frame.is_empty() {
            self.bytes += frame.len();
            self.frames.push_back(frame);
        }
    }
}
