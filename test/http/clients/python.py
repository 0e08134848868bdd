"""Sends the requests of its argument with requests and httpx, and prints the status of each, or the error instead."""

import json
import sys

import httpx
import requests

PIECE = 64 * 1024


def body_of(request):
    body = b"x" * request["size"]
    if not request["isChunked"]:
        return body
    return (body[at : at + PIECE] for at in range(0, len(body), PIECE))


def send(request, ca):
    method, url, headers = request["method"], request["url"], dict(request["headers"])
    if request["isLast"]:
        headers["connection"] = "close"
    if request["client"] == "requests":
        return requests.request(method, url, headers=headers, data=body_of(request), verify=ca).status_code
    with httpx.Client(verify=ca, timeout=60) as client:
        return client.request(method, url, headers=headers, content=body_of(request)).status_code


def status_of(request, ca):
    try:
        return send(request, ca)
    except Exception as error:
        return repr(error)


asked = json.loads(sys.argv[1])
print(json.dumps([status_of(request, asked["caFile"]) for request in asked["requests"]]))
