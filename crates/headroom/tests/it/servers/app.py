def app(environ, start_response):
    expected = environ["PATH_INFO"].lstrip("/") in ("", environ["SERVER_PROTOCOL"])
    status = "200 OK" if expected else "505 HTTP Version Not Supported"
    start_response(status, [("Content-Type", "text/plain"), ("Content-Length", "3")])
    return [b"ok\n"]
