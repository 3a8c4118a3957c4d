# A to-do service in the manner of FastAPI's tutorial, on SQLite. It brings its document: /openapi.json.
import sqlite3

import uvicorn
from fastapi import FastAPI, HTTPException, Query
from pydantic import BaseModel

app = FastAPI(title="To-do on FastAPI")


class TodoIn(BaseModel):
    title: str
    done: bool = False
    priority: int | None = None


class TodoPatch(BaseModel):
    title: str | None = None
    done: bool | None = None
    priority: int | None = None


class Todo(TodoIn):
    id: int


def db():
    connection = sqlite3.connect(DIR + "/todos.db", timeout=10)
    connection.row_factory = sqlite3.Row
    return connection


with db() as start:
    start.execute("PRAGMA journal_mode=WAL")
    start.execute("CREATE TABLE todos (id INTEGER PRIMARY KEY, title TEXT, done BOOLEAN, priority INTEGER)")


def load(connection, todo_id):
    row = connection.execute("SELECT * FROM todos WHERE id = ?", (todo_id,)).fetchone()
    if row is None:
        raise HTTPException(404)
    return Todo(**row)


def store(connection, todo):
    connection.execute("UPDATE todos SET title = :title, done = :done, priority = :priority WHERE id = :id",
                       todo.model_dump())
    return todo


@app.post("/todos", status_code=201, response_model=Todo)
def create(todo: TodoIn):
    with db() as connection:
        cursor = connection.execute("INSERT INTO todos (title, done, priority) VALUES (:title, :done, :priority)",
                                    todo.model_dump())
        return Todo(id=cursor.lastrowid, **todo.model_dump())


@app.get("/todos", response_model=list[Todo])
def read_all(offset: int = 0, limit: int = Query(default=100, le=100)):
    with db() as connection:
        rows = connection.execute("SELECT * FROM todos LIMIT ? OFFSET ?", (limit, offset)).fetchall()
        return [Todo(**row) for row in rows]


@app.get("/todos/{todo_id}", response_model=Todo)
def read(todo_id: int):
    with db() as connection:
        return load(connection, todo_id)


@app.put("/todos/{todo_id}", response_model=Todo)
def replace(todo_id: int, todo: TodoIn):
    with db() as connection:
        load(connection, todo_id)
        return store(connection, Todo(id=todo_id, **todo.model_dump()))


@app.patch("/todos/{todo_id}", response_model=Todo)
def change(todo_id: int, todo: TodoPatch):
    with db() as connection:
        old = load(connection, todo_id)
        return store(connection, old.model_copy(update=todo.model_dump(exclude_unset=True)))


@app.delete("/todos/{todo_id}", status_code=204)
def delete(todo_id: int):
    with db() as connection:
        load(connection, todo_id)
        connection.execute("DELETE FROM todos WHERE id = ?", (todo_id,))


uvicorn.run(app, host="127.0.0.1", port=PORT, log_level="warning")
