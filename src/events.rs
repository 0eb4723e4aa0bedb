//! TensorBoard event files, written by hand: TFRecord frames around `Event` protobufs that hold scalar summaries.
//!
//! Frame: length u64, masked CRC-32C of the length, payload, masked CRC-32C of the payload, all little endian. `Event`:
//! 1 wall_time double, 2 step int64, 3 file_version string, 5 summary; `Summary`: 1 value; `Value`: 1 tag, 2
//! simple_value.
//! A file is always written whole from the metrics log, so that no step stands in it twice after a resume.

/// One point of one curve.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Scalar {
    /// Seconds since the Unix epoch.
    pub(crate) wall_time_secs: f64,
    /// Abscissa.
    pub(crate) step: i64,
    /// Curve, with `/` between group and name.
    pub(crate) tag: String,
    /// Ordinate.
    pub(crate) value: f32,
}

/// The bytes of an event file that begins at `start_secs` and holds `scalars` in the order given.
pub(crate) fn event_file(start_secs: f64, scalars: &[Scalar]) -> Vec<u8> {
    let mut file = Vec::with_capacity(64 * (scalars.len() + 1));
    let mut header = Vec::new();
    put_double(&mut header, 1, start_secs);
    put_bytes(&mut header, 3, b"brain.Event:2");
    put_frame(&mut file, &header);
    for scalar in scalars {
        put_frame(&mut file, &event(scalar));
    }
    file
}

fn event(scalar: &Scalar) -> Vec<u8> {
    let mut value = Vec::new();
    put_bytes(&mut value, 1, scalar.tag.as_bytes());
    put_float(&mut value, 2, scalar.value);
    let mut summary = Vec::new();
    put_bytes(&mut summary, 1, &value);
    let mut event = Vec::new();
    put_double(&mut event, 1, scalar.wall_time_secs);
    put_varint(&mut event, 2 << 3);
    put_varint(&mut event, scalar.step as u64);
    put_bytes(&mut event, 5, &summary);
    event
}

fn put_frame(out: &mut Vec<u8>, payload: &[u8]) {
    let length = (payload.len() as u64).to_le_bytes();
    out.extend_from_slice(&length);
    out.extend_from_slice(&masked_crc(&length).to_le_bytes());
    out.extend_from_slice(payload);
    out.extend_from_slice(&masked_crc(payload).to_le_bytes());
}

/// The mask of TFRecord: a CRC of data that holds CRCs would otherwise be weak.
fn masked_crc(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes).rotate_right(15).wrapping_add(0xA282_EAD8)
}

fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn put_double(out: &mut Vec<u8>, field: u64, value: f64) {
    put_varint(out, field << 3 | 1);
    out.extend_from_slice(&value.to_le_bytes());
}

fn put_float(out: &mut Vec<u8>, field: u64, value: f32) {
    put_varint(out, field << 3 | 5);
    out.extend_from_slice(&value.to_le_bytes());
}

fn put_bytes(out: &mut Vec<u8>, field: u64, bytes: &[u8]) {
    put_varint(out, field << 3 | 2);
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn sample() -> Vec<u8> {
        let scalar = |step, tag: &str, value| Scalar { wall_time_secs: 1.5e9, step, tag: tag.into(), value };
        event_file(1.5e9, &[scalar(0, "loss/fold-0", 0.5), scalar(300, "loss/fold-0", -1.25e-3), scalar(300, "q", 7.0)])
    }

    /// `events.json` is what TensorBoard's own reader made of the golden file: see `tests/it/read_events.py`.
    #[test]
    fn golden_file_that_tensorboard_has_read() {
        let golden = include_bytes!("../tests/it/golden/events.out.tfevents.golden");
        assert!(
            sample() == golden,
            "event bytes changed: write the file again and read it with tests/it/read_events.py"
        );
    }

    #[test]
    fn frames_hold_their_checksums() {
        let file = sample();
        let (mut at, mut frames) = (0, 0);
        while at < file.len() {
            let length = u64::from_le_bytes(file[at..at + 8].try_into().unwrap()) as usize;
            let crc = |from: usize| u32::from_le_bytes(file[from..from + 4].try_into().unwrap());
            assert_eq!(crc(at + 8), masked_crc(&file[at..at + 8]));
            let payload = &file[at + 12..at + 12 + length];
            assert_eq!(crc(at + 12 + length), masked_crc(payload));
            at += 16 + length;
            frames += 1;
        }
        assert_eq!((at, frames), (file.len(), 4));
    }

    /// CRC-32C of "123456789" is E3069283 (RFC 3720, as given by every catalogue), masked by the TFRecord rule.
    #[test]
    fn the_mask() {
        assert_eq!(crc32c::crc32c(b"123456789"), 0xE306_9283);
        assert_eq!(masked_crc(b"123456789"), 0xE306_9283_u32.rotate_right(15).wrapping_add(0xA282_EAD8));
    }

    #[test]
    #[ignore = "writes the golden file anew"]
    fn write_golden() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/golden/events.out.tfevents.golden");
        std::fs::write(path, sample()).unwrap();
    }
}
