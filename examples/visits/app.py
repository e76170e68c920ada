"""Counts visits in a database. Needs only python3 and psql."""

import http.server
import os
import subprocess


def ask(statement):
    """Runs a statement with psql, which reads the connection from PG* variables."""
    command = ["psql", "--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--set=ON_ERROR_STOP=1"]
    return subprocess.run(command, input=statement, text=True, capture_output=True, check=True).stdout.strip()


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path != "/ready":
            ask("insert into visits default values;")
        count = ask("select count(*) from visits;")
        text = f"visits: {count}\n".encode()
        self.send_response(200)
        self.send_header("content-type", "text/plain")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format, *args):
        if self.path != "/ready":
            print(self.path, *args[1:2])


ask("create table if not exists visits (at timestamptz default now());")
print("listening on port", os.environ["PORT"])
http.server.ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Page).serve_forever()
