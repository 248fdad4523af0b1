"""The servers under load: nginx in the forms that the parts need, and headroom's sample service. All on loopback."""

import re
import signal
import socket
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

from .machine import SERVER_CORE, find, pinned

NGINX = """
worker_processes {workers};
worker_rlimit_nofile {descriptors};
daemon off;
{master}
pid {dir}/nginx.pid;
error_log {dir}/error.log;
events {{ worker_connections {connections}; }}
http {{
    access_log off;
    keepalive_requests 1000000000;
    keepalive_timeout 1h;
    client_body_temp_path {dir}/body;
    proxy_temp_path {dir}/proxy;
    fastcgi_temp_path {dir}/fastcgi;
    uwsgi_temp_path {dir}/uwsgi;
    scgi_temp_path {dir}/scgi;
    ssl_certificate {dir}/certificate.pem;
    ssl_certificate_key {dir}/key.pem;
    server {{
        {listen}
        location / {{ default_type text/plain; return 200 "{body}"; }}
        location = /status {{ stub_status; }}
    }}
}}
"""

CERTIFICATE = ("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost "
               "-addext subjectAltName=IP:127.0.0.1 -keyout key.pem -out certificate.pem")


class Nginx:
    """One nginx with a port for each protocol; 100-byte answers."""

    def __init__(self, directory, workers=1, connections=4096):
        self.directory = Path(directory)
        # Keeps other users' nginx workers out of nothing that they need, should this run as root.
        self.directory.chmod(0o755)
        subprocess.run(CERTIFICATE.split(), cwd=directory, check=True, stderr=subprocess.DEVNULL)
        self.ports = {form: free_port() for form in ("http", "tls", "h2c", "h2")}
        reuse = " reuseport" if workers > 1 else ""
        suffix = {"http": "", "tls": " ssl", "h2c": " http2", "h2": " ssl http2"}
        listen = [f"listen 127.0.0.1:{port}{suffix[form]}{reuse} backlog=4096;" for form, port in self.ports.items()]
        text = NGINX.format(dir=directory, workers=workers, connections=connections, descriptors=connections + 64,
                            master="master_process off;" if workers == 1 else "", listen="\n".join(listen),
                            body="0123456789" * 10)
        config = self.directory / "nginx.conf"
        config.write_text(text)
        command = pinned(SERVER_CORE, [find("nginx"), "-p", directory, "-c", config])
        self.process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        wait_for(self.ports["http"], self.process, lambda: (self.directory / "error.log").read_text())

    def url(self, form):
        scheme = "https" if form in ("tls", "h2") else "http"
        return f"{scheme}://127.0.0.1:{self.ports[form]}/"

    def active(self):
        """Connections that are open now, this question's one taken off."""
        with socket.create_connection(("127.0.0.1", self.ports["http"]), timeout=5) as ask:
            ask.sendall(b"GET /status HTTP/1.0\r\n\r\n")
            text = b"".join(iter(lambda: ask.recv(4096), b"")).decode()
        return int(re.search(r"Active connections: (\d+)", text).group(1)) - 1

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


@contextmanager
def nginx(directory, **how):
    server = Nginx(directory, **how)
    try:
        yield server
    finally:
        server.end()


@contextmanager
def sample_service(headroom, *flags):
    """headroom's sample service; gives its URL. Its record is whole when this has ended."""
    port = free_port()
    command = [headroom, "sample-service", "--listen", f"127.0.0.1:{port}", *flags]
    process = subprocess.Popen(pinned(SERVER_CORE, command), stderr=subprocess.DEVNULL)
    try:
        wait_for(port, process, lambda: "")
        yield f"http://127.0.0.1:{port}/"
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def wait_for(port, process, why):
    for _ in range(200):
        try:
            return socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            time.sleep(0.05)
    process.kill()
    raise RuntimeError(f"a server did not start: {why()}")
