//! Wire format of protobuf: tags, variable-length integers and lengths. Every read is checked against the end of the
//! input, and borrows from it.

/// Error of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Malformed {
    /// The body does not begin with `k8s\0`.
    #[error("not a protobuf message of Kubernetes: the prefix `k8s` is missing")]
    NoMagic,
    /// The input ends within a value.
    #[error("unexpected end of the protobuf message")]
    Truncated,
    /// An integer has more than 64 bits.
    #[error("integer overflow in the protobuf message")]
    Overflow,
    /// A tag is not valid.
    #[error("illegal tag in the protobuf message")]
    IllegalTag,
    /// A known field has another wire type.
    #[error("wrong wire type of field {0} in the protobuf message")]
    WrongType(u32),
    /// Values nest too deeply.
    #[error("exceeded max depth")]
    TooDeep,
    /// A time is outside the years 1 to 9999.
    #[error("time out of range in the protobuf message")]
    Time,
    /// A number is infinite or not a number.
    #[error("number out of range in the protobuf message")]
    Number,
    /// JSON inside the message is not valid.
    #[error("invalid JSON in the protobuf message")]
    Json,
    /// No message is known for the kind.
    #[error("the kind has no protobuf message")]
    UnknownKind,
}

/// Wire type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wire {
    /// Variable-length integer.
    Varint(u32),
    /// Eight bytes.
    Fixed64(u32),
    /// Bytes after their length.
    Bytes(u32),
    /// Start of a group, which only unknown fields can be.
    Group(u32),
    /// End of a group.
    GroupEnd(u32),
    /// Four bytes.
    Fixed32(u32),
}

/// Reader of one message.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Number and wire type of the next field; none at the end.
    pub(super) fn tag(&mut self) -> Result<Option<(u32, Wire)>, Malformed> {
        if self.is_empty() {
            return Ok(None);
        }
        let wire = self.any_tag()?;
        match wire {
            Wire::GroupEnd(_) => Err(Malformed::IllegalTag),
            Wire::Varint(number)
            | Wire::Fixed64(number)
            | Wire::Bytes(number)
            | Wire::Group(number)
            | Wire::Fixed32(number) => {
                // Generated decoders read the number as 32 bits with a sign.
                let valid = (1..=i32::MAX.cast_unsigned()).contains(&number);
                if valid { Ok(Some((number, wire))) } else { Err(Malformed::IllegalTag) }
            }
        }
    }

    fn any_tag(&mut self) -> Result<Wire, Malformed> {
        let tag = self.varint()?;
        let number = low_bits(tag >> 3);
        Ok(match tag & 7 {
            0 => Wire::Varint(number),
            1 => Wire::Fixed64(number),
            2 => Wire::Bytes(number),
            3 => Wire::Group(number),
            4 => Wire::GroupEnd(number),
            5 => Wire::Fixed32(number),
            _ => return Err(Malformed::IllegalTag),
        })
    }

    /// Integer of a field of this wire type.
    pub(super) fn varint_of(&mut self, wire: Wire) -> Result<u64, Malformed> {
        match wire {
            Wire::Varint(_) => self.varint(),
            other => Err(other.wrong()),
        }
    }

    /// Bytes of a field of this wire type.
    pub(super) fn bytes_of(&mut self, wire: Wire) -> Result<&'a [u8], Malformed> {
        match wire {
            Wire::Bytes(_) => self.bytes(),
            other => Err(other.wrong()),
        }
    }

    /// Eight bytes of a field of this wire type, as a float.
    pub(super) fn double_of(&mut self, wire: Wire) -> Result<f64, Malformed> {
        match wire {
            Wire::Fixed64(_) => {
                let bytes = self.take(8)?.first_chunk().ok_or(Malformed::Truncated)?;
                Ok(f64::from_le_bytes(*bytes))
            }
            other => Err(other.wrong()),
        }
    }

    /// Skips the value of an unknown field; a group with everything in it.
    pub(super) fn skip(&mut self, wire: Wire) -> Result<(), Malformed> {
        let mut wire = wire;
        let mut open: usize = 0;
        loop {
            match wire {
                Wire::Varint(_) => drop(self.varint()?),
                Wire::Fixed64(_) => drop(self.take(8)?),
                Wire::Bytes(_) => drop(self.bytes()?),
                Wire::Fixed32(_) => drop(self.take(4)?),
                Wire::Group(_) => open += 1,
                Wire::GroupEnd(_) => open = open.checked_sub(1).ok_or(Malformed::IllegalTag)?,
            }
            if open == 0 {
                return Ok(());
            }
            wire = self.any_tag()?;
        }
    }

    fn varint(&mut self) -> Result<u64, Malformed> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = *self.take(1)?.first().ok_or(Malformed::Truncated)?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Malformed::Overflow)
    }

    fn bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let length = usize::try_from(self.varint()?).map_err(|_| Malformed::Truncated)?;
        self.take(length)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(Malformed::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }
}

impl Wire {
    fn wrong(self) -> Malformed {
        match self {
            Self::Varint(number)
            | Self::Fixed64(number)
            | Self::Bytes(number)
            | Self::Group(number)
            | Self::GroupEnd(number)
            | Self::Fixed32(number) => Malformed::WrongType(number),
        }
    }
}

/// The low 32 bits of an integer.
pub(super) fn low_bits(value: u64) -> u32 {
    let [a, b, c, d, ..] = value.to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}
