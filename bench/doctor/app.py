"""The service in gunicorn (app:app), and in Flask's own server (app:flask)."""

import os

import work


def app(environ, start_response):
    environ["wsgi.input"].read()
    try:
        body, status = work.answer(), "200 OK"
    except OSError as error:
        body, status = f"{error}\n".encode(), "503 Service Unavailable"
    start_response(status, [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
    return [body]


if os.environ.get("FLASK_APP"):
    from flask import Flask

    flask = Flask("sample")

    @flask.route("/")
    def page():
        return work.answer()
