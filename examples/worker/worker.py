"""Takes words from the list `words`, and counts them under `count:WORD`. Implements the redis protocol on a socket."""

import os
import socket

connection = socket.create_connection((os.environ["REDIS_HOST"], int(os.environ["REDIS_PORT"])))
answers = connection.makefile("rb")


def ask(*words):
    parts = [word.encode() for word in words]
    sent = b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)
    connection.sendall(sent)
    return read()


def read():
    line = answers.readline().rstrip(b"\r\n")
    kind, rest = line[:1], line[1:]
    if kind == b"-":
        raise SystemExit(rest.decode())
    if kind == b"$":
        return None if rest == b"-1" else answers.read(int(rest) + 2)[:-2].decode()
    if kind == b"*":
        return None if rest == b"-1" else [read() for _ in range(int(rest))]
    return rest.decode()


ask("AUTH", os.environ["REDIS_PASSWORD"])
print("waiting for words")
while True:
    _, word = ask("BLPOP", "words", "0")
    print(word, ask("INCR", f"count:{word}"))
