"""A server on this machine that answers well or badly: a behaviour for each request, the last one for all after it."""

import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FILE = bytes(range(256)) * 4096  # 1 MiB


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        server = self.server
        with server.lock:
            number = len(server.asked)
            server.asked.append(self.headers.get("Range"))
        server.behaviours[min(number, len(server.behaviours) - 1)](self)

    def log_message(self, *args):
        pass


def begin(request, status, length, **headers):
    request.send_response(status)
    for name, value in {"Content-Length": length, **headers}.items():
        if value is not None:
            request.send_header(name.replace("_", "-"), str(value))
    request.end_headers()


def good(request, send=None, file=FILE):
    """The file, or the part asked for; `send` bytes of it at most."""
    start = int((request.headers.get("Range") or "bytes=0-")[6:-1])
    part = file[start:]
    span = f"bytes {start}-{len(file) - 1}/{len(file)}" if start else None
    begin(request, 206 if start else 200, len(part), Content_Range=span)
    request.wfile.write(part[:send])


def broken(request):
    """Ends after 300,000 bytes of an answer that was to be longer."""
    good(request, send=300_000)
    request.close_connection = True


def without_range(request):
    begin(request, 200, len(FILE))
    request.wfile.write(FILE)


def wrong(request):
    good(request, file=FILE[:-1] + b"?")


def other_part(request):
    begin(request, 206, len(FILE) - 7, Content_Range=f"bytes 7-{len(FILE) - 1}/{len(FILE)}")
    request.wfile.write(FILE[7:])


def longer(request):
    """More than published, without saying so beforehand."""
    begin(request, 200, None)
    request.wfile.write(FILE + b"more")


def cut(request):
    """Half the file, however often it is asked for."""
    if request.headers.get("Range"):
        begin(request, 206, None, Content_Range=f"{request.headers['Range'].replace('=', ' ')}*/{len(FILE)}")
    else:
        begin(request, 200, None)
        request.wfile.write(FILE[:500_000])


def claims(length):
    return lambda request: begin(request, 200, length)


def silent(request):
    """Says nothing for a while."""
    time.sleep(2)
    request.close_connection = True


def trickle(request):
    """A byte now and then, each in time."""
    begin(request, 200, len(FILE))
    for i in range(40):
        try:
            request.wfile.write(FILE[i : i + 1])
        except OSError:
            break
        time.sleep(0.1)
    request.close_connection = True


def says(status):
    return lambda request: begin(request, status, 0)


def redirects(to):
    return lambda request: begin(request, 302, 0, Location=to)


@contextmanager
def serving(*behaviours):
    """The address of such a server, and the ranges that were asked of it."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads, server.lock, server.asked, server.behaviours = True, threading.Lock(), [], behaviours
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/file.bin", server.asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
