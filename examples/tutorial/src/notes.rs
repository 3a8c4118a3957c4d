//! A service of notes: its messages, one rule, and the model of a correct server.

use confute_test::prelude::*;

/// The messages of the service, in both directions. Each is a line.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Message)]
pub enum Line {
    /// Writes a note, over the old one if there is one.
    #[request("WRITE {} {}")]
    Write(Name, String),
    /// Returns the text of a note. `reads` says that this changes nothing.
    #[request("READ {}", reads)]
    Read(Name),
    /// Deletes a note.
    #[request("DELETE {}")]
    Delete(Name),
    /// The text of the note.
    #[response("TEXT {}")]
    Text(String),
    /// The note was written or deleted.
    #[response("DONE")]
    Done,
    /// There is no such note.
    #[response("NONE")]
    None,
    /// Bytes that are no response.
    #[unreadable]
    Odd(String),
}

/// A deleted note is gone.
pub const GONE: Rule = Rule::must("notes/gone", "A note that was deleted cannot be read.");

/// The text of each note, and whether it still exists.
const NOTES: Table<Name, (String, bool)> = Table::new("notes");

/// The model of a correct server.
pub struct Notes;

impl ServerModel for Notes {
    type Msg = Line;
    type Out = Expected<Line>;

    fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
        let (conn, request) = io.recv()?;
        match &*request {
            Line::Write(note, text) => {
                NOTES.set(io, note, (text.clone(), true))?;
                io.send(conn, Line::Done)
            }
            Line::Read(note) => match NOTES.get(io, note)? {
                Some((text, exists)) if exists || io.deviates(&GONE)? => io.send(conn, Line::Text(text)),
                _ => io.send(conn, Line::None),
            },
            Line::Delete(note) => {
                let cell = NOTES.edit(io, note)?;
                let Some((text, true)) = cell.get(io)? else { return io.send(conn, Line::None) };
                cell.set(io, (text, false))?;
                io.send(conn, Line::Done)
            }
            _ => io.replies(0), // no server sends or receives anything else
        }
    }

    fn rules(&self) -> &'static [Rule] {
        &[GONE]
    }
}
