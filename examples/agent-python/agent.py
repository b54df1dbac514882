"""A small agent in Python, with nothing but the standard library.

It reads what a webtool offers, calls one of its actions, and waits for the person when the
call needs one.

Usage: python3 agent.py URL [ACTION [REQUEST]]

A token, where the server asks for one, is in PAGETOOLS_TOKEN.
"""

import json
import os
import sys
import urllib.error
import urllib.request
import uuid


def ask(url, body=None, key=None):
    """Makes one request, and returns its reply: {"data"} or {"error"}, or a document."""
    request = urllib.request.Request(url, data=None if body is None else json.dumps(body).encode())
    if body is not None:
        request.add_header("Content-Type", "application/json")
    if key is not None:
        request.add_header("Idempotency-Key", key)
    if token := os.environ.get("PAGETOOLS_TOKEN"):
        request.add_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(request, timeout=60) as reply:
            return json.load(reply)
    except urllib.error.HTTPError as refused:  # an error has a body, too
        with refused:
            return json.load(refused)


def show(url):
    """Prints what the webtool offers."""
    document = ask(url)
    print(document["name"], document["version"])
    for action in document["actions"]:
        print(f"  {action['name']}: {action['description']}")


def run(url, action, request):
    """Calls an action until there is a result, and returns it.

    The version is pinned, so that nothing else runs than what was read. The key makes a
    repetition safe: a call whose reply is lost can be sent again, and does not run twice.
    """
    name = str(uuid.uuid4())
    call = {"sessionId": name, "version": ask(url)["version"], "action": action, "request": request}
    key, told = name, None
    while True:
        reply = ask(url, call, key)
        if "error" not in reply:
            return reply["data"]
        error = reply["error"]
        details = error.get("details", {})
        if "resume" not in details:
            sys.exit(f"{error['code']} ({error['outcome']}): {error['message']}")
        question = details["question"]
        if question["id"] != told:
            told = question["id"]
            print(f"A person must answer until {question['expiresAt']}: {question['title']}", flush=True)
        # The same call again, with its token: it waits for the person.
        call["config"], key = {"resume": details["resume"], "wait": 20_000}, None


def main():
    if len(sys.argv) == 2:
        show(sys.argv[1])
    elif len(sys.argv) in (3, 4):
        request = json.loads(sys.argv[3]) if len(sys.argv) == 4 else {}
        print(json.dumps(run(sys.argv[1], sys.argv[2], request), ensure_ascii=False))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
