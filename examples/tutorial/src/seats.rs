//! A box office: reserving a seat returns a secret ticket, which is needed to cancel the reservation.

use confute_test::prelude::*;

/// The messages of the service. Each is a line.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Message)]
pub enum Line {
    /// Reserves a seat.
    #[request("RESERVE {}")]
    Reserve(Name),
    /// Cancels the reservation of a seat with its ticket.
    #[request("CANCEL {} {}")]
    Cancel(Name, Secret),
    /// The seat is reserved; this is the ticket.
    #[response("TICKET {}")]
    Ticket(Secret),
    /// Somebody else has the seat.
    #[response("TAKEN")]
    Taken,
    /// The reservation is cancelled.
    #[response("FREE")]
    Free,
    /// The ticket does not fit.
    #[response("REFUSED")]
    Refused,
    /// Bytes that are no response.
    #[unreadable]
    Odd(String),
}

/// A reservation is cancelled by its own ticket only.
pub const OWN_TICKET: Rule =
    Rule::must("seats/own-ticket", "A reservation is cancelled by its own ticket only.");

/// The ticket of each reserved seat.
const SEATS: Table<Name, Option<Secret>> = Table::new("seats");

/// The model of a correct server.
pub struct Seats;

impl ServerModel for Seats {
    type Msg = Line;
    type Out = Expected<Line>;

    fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
        let (conn, request) = io.recv()?;
        match &*request {
            Line::Reserve(seat) => {
                let cell = SEATS.edit(io, seat)?;
                if cell.get(io)?.flatten().is_some() {
                    return io.send(conn, Line::Taken);
                }
                let ticket = Secret::fresh(io)?;
                cell.set(io, Some(ticket.clone()))?;
                io.send(conn, Line::Ticket(ticket))
            }
            Line::Cancel(seat, shown) => {
                let cell = SEATS.edit(io, seat)?;
                let Some(ticket) = cell.get(io)?.flatten() else { return io.send(conn, Line::Refused) };
                if !io.branch(ticket.equals(shown))? && !io.deviates(&OWN_TICKET)? {
                    return io.send(conn, Line::Refused);
                }
                cell.set(io, None)?;
                io.send(conn, Line::Free)
            }
            _ => io.replies(0),
        }
    }

    fn rules(&self) -> &'static [Rule] {
        &[OWN_TICKET]
    }
}
