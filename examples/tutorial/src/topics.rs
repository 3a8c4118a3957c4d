//! A service of topics: what is published is sent to all subscribers.

use confute_test::prelude::*;

/// The messages of the service. Each is a line.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Message)]
pub enum Line {
    /// Subscribes the connection to a topic.
    #[request("SUBSCRIBE {}")]
    Subscribe(Name),
    /// Ends the subscription.
    #[request("UNSUBSCRIBE {}")]
    Unsubscribe(Name),
    /// Sends a text to all subscribers of a topic.
    #[request("PUBLISH {} {}")]
    Publish(Name, String),
    /// Returns the text that was published last.
    #[request("LATEST {}", reads)]
    Latest(Name),
    /// The request was performed.
    #[response("DONE")]
    Done,
    /// The latest text.
    #[response("TEXT {}")]
    Text(String),
    /// Nothing was published yet.
    #[response("NONE")]
    None,
    /// Somebody has published a text. No request asks for it.
    #[push("NEWS {} {}")]
    News(Name, String),
    /// Bytes that are no response.
    #[unreadable]
    Odd(String),
}

/// Subscribers get everything.
pub const COMPLETE: Rule =
    Rule::must("topics/complete", "A subscriber gets every text that is published while it is subscribed.");

/// The subscribers of each topic.
const SUBSCRIBERS: Table<Name, Vec<Conn>> = Table::new("subscribers");
/// The latest text of each topic.
const LATEST: Table<Name, String> = Table::new("latest");

/// The model of a correct server.
pub struct Topics;

impl ServerModel for Topics {
    type Msg = Line;
    type Out = Expected<Line>;

    fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
        let (conn, request) = io.recv()?;
        match &*request {
            Line::Subscribe(topic) | Line::Unsubscribe(topic) => {
                let cell = SUBSCRIBERS.edit(io, topic)?;
                let mut subscribers = cell.get(io)?.unwrap_or_default();
                subscribers.retain(|other| *other != conn);
                if matches!(&*request, Line::Subscribe(_)) {
                    subscribers.push(conn);
                }
                cell.set(io, subscribers)?;
                io.send(conn, Line::Done)
            }
            Line::Publish(topic, text) => {
                io.whole()?; // it sends to other connections
                LATEST.set(io, topic, text.clone())?;
                for subscriber in SUBSCRIBERS.get(io, topic)?.unwrap_or_default() {
                    if !io.deviates(&COMPLETE)? {
                        io.send(subscriber, Line::News(topic.clone(), text.clone()))?;
                    }
                }
                io.send(conn, Line::Done)
            }
            Line::Latest(topic) => match LATEST.get(io, topic)? {
                Some(text) => io.send(conn, Line::Text(text)),
                None => io.send(conn, Line::None),
            },
            _ => io.replies(0),
        }
    }

    fn rules(&self) -> &'static [Rule] {
        &[COMPLETE]
    }
}
