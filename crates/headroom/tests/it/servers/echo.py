# Says how it read a request: `<<POST /path 5>>`, with the length of the body.
def app(environ, start_response):
    length = len(environ["wsgi.input"].read())
    text = "<<%s %s %d>>" % (environ["REQUEST_METHOD"], environ["RAW_URI"], length)
    body = text.encode("latin-1")
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
    return [body]
