//! A list of things to do, whose ids the server makes.

use confute_test::prelude::*;

/// The messages of the service. Each is a line.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Message)]
pub enum Line {
    /// Adds a todo.
    #[request("ADD {}")]
    Add(String),
    /// Returns the text of a todo.
    #[request("SHOW {}", reads)]
    Show(Id),
    /// Removes a todo.
    #[request("DONE {}")]
    Done(Id),
    /// The todo was added; this is its id.
    #[response("ID {}")]
    Added(Id),
    /// The text of the todo.
    #[response("TODO {}")]
    Todo(String),
    /// The todo was removed.
    #[response("REMOVED")]
    Removed,
    /// No todo has this id.
    #[response("NONE")]
    None,
    /// Bytes that are no response.
    #[unreadable]
    Odd(String),
}

/// Ids differ.
pub const OWN_ID: Rule = Rule::must("todos/own-id", "No id is given twice.");

/// The texts of the todos, by their ids.
const TODOS: Objects<Number, String> = Objects::new("todos").never_twice(&OWN_ID);

/// The model of a correct server.
pub struct Todos;

impl ServerModel for Todos {
    type Msg = Line;
    type Out = Expected<Line>;

    fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
        let (conn, request) = io.recv()?;
        match &*request {
            Line::Add(text) => {
                let (id, todo) = TODOS.create(io)?;
                todo.set(io, text.clone())?;
                io.send(conn, Line::Added(id.into()))
            }
            Line::Show(id) => match TODOS.find(io, id.sym())?.get(io)? {
                Some(text) => io.send(conn, Line::Todo(text)),
                None => io.send(conn, Line::None),
            },
            Line::Done(id) => {
                let todo = TODOS.edit(io, id.sym())?;
                if todo.get(io)?.is_none() {
                    return io.send(conn, Line::None);
                }
                todo.remove(io)?;
                io.send(conn, Line::Removed)
            }
            _ => io.replies(0),
        }
    }

    fn rules(&self) -> &'static [Rule] {
        &[OWN_ID]
    }

    fn told(&self, message: &Line, visit: &mut dyn FnMut(Value)) {
        told(message, visit);
    }
}
