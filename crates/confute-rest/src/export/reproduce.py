
import http.client
import os
import random
import ssl
import sys
import time
import urllib.parse


class Different(Exception):
    """A response is not the recorded one."""


def place(value, pointer):
    """Returns the part of a JSON value at a pointer."""
    for name in (pointer or "").split("/")[1:]:
        name = name.replace("~1", "/").replace("~0", "~")
        value = value.get(name) if isinstance(value, dict) else None
    return value


def plain(value):
    """Returns a JSON value in which 1.0 is 1, but True is not."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, list):
        return [plain(one) for one in value]
    return value


def text(value):
    return json.dumps(plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


class Run:
    def __init__(self, url, fields):
        self.url, self.fields = urllib.parse.urlsplit(url), fields
        self.mark = "confute-%08x" % random.getrandbits(32)
        self.connections, self.items, self.tags, self.created = {}, {}, {}, []

    def connection(self, number):
        if number not in self.connections:
            if self.url.scheme == "https":
                made = http.client.HTTPSConnection(self.url.netloc, timeout=10, context=ssl.create_default_context())
            else:
                made = http.client.HTTPConnection(self.url.netloc, timeout=10)
            self.connections[number] = made
        return self.connections[number]

    def filled(self, template):
        """Replaces the names of the recorded run by those of this one."""
        out = template.replace(CASE, self.mark)
        for number, item in self.items.items():
            out = out.replace("{item:%d}" % number, item)
        for number, tag in self.tags.items():
            out = out.replace("{tag:%d}" % number, tag)
        return out

    def ask(self, number, on, method, target, fields, body):
        line = self.connection(on)
        target = BASE + self.filled(target)
        line.putrequest(method, target, skip_accept_encoding=True)
        names = [name.lower() for name, _ in self.fields]
        for name, value in self.fields + [each for each in fields if each[0].lower() not in names]:
            line.putheader(name, self.filled(value))
        content = None if body is None else self.filled(body).encode()
        if content is not None:
            line.putheader("Content-Length", str(len(content)))
        line.endheaders(content)
        self.asked = getattr(self, "asked", {})
        self.asked[number] = (line, on)

    def same(self, what, seen, recorded):
        if seen != recorded:
            raise Different("%s: recorded %s, now %s" % (what, recorded, seen))

    def name(self, what, known, number, seen, first):
        """Compares a name that the service chose: the same as an earlier one, or a new one."""
        if seen is None:
            raise Different("%s is missing" % what)
        earlier = [other for other, name in known.items() if name == seen]
        self.same(what + " is that of request", min(earlier, default=None), first)
        if first is None:
            known[number] = seen

    def own(self, shown, own, recorded):
        seen = {name: text(shown[name]) for name in own if isinstance(shown, dict) and name in shown}
        self.same("the fields", seen, {name: self.filled(value) for name, value in recorded.items()})

    def answer(self, told):
        number = told["number"]
        line, _ = self.asked[number]
        response = line.getresponse()
        content = response.read()
        if response.getheader("Connection", "").lower() == "close":
            line.close()
        self.same("the status of request %d" % number, response.status, told["status"])
        try:
            value = json.loads(content) if content else None
        except ValueError:
            value = None
        shown = place(value, told.get("at"))
        if "collection" in told and told.get("item") is not None:
            id = shown.get(told["id"]) if isinstance(shown, dict) and told["id"] else None
            if id is None:
                id = urllib.parse.unquote((response.getheader("Location") or "").rstrip("/").split("/")[-1])
            item = self.filled(told["collection"]).rstrip("/") + "/" + urllib.parse.quote(str(id), safe="")
            self.name("the item", self.items, number, item, told["item"][0])
            self.created.append(item)
        if "fields" in told:
            self.own(shown, told["own"], told["fields"])
        if "tag" in told:
            tag = text(shown.get(told["version"])) if "version" in told else response.getheader("ETag")
            self.name("the tag", self.tags, number, tag, told["tag"][0])
        if "list" in told:
            self.listed(value, told["list"], response)

    def listed(self, value, told, response):
        if told["whole"]:
            more = isinstance(value, dict) and (value.get("next") or any(
                isinstance(value.get(name), int) and value[name] > len(place(value, told["at"]) or [])
                for name in ("total", "count", "total_count", "totalCount", "totalItems")))
            if more or "next" in (response.getheader("Link") or "") or response.getheader("Next-Page"):
                raise Different("the list has more pages")
        recorded = sorted((self.filled(item), text({n: self.filled(v) for n, v in fields.items()}))
                          for item, fields in told["items"])
        seen = []
        for each in place(value, told["at"]) or []:
            shown = place(each, told["each"])
            item = told["collection"].rstrip("/") + "/" + urllib.parse.quote(str(shown.get(told["id"])), safe="")
            marked = told["mark"] is not None and self.mark in str(shown.get(told["mark"]))
            if marked or item in self.items.values() or self.mark in item:
                seen.append((item, text({n: text(shown[n]) for n in told["own"] if n in shown})))
        self.same("the list", sorted(seen), recorded)

    def run(self):
        for step in STEPS:
            if step[0] == "ask":
                self.ask(*step[1:])
            elif step[0] == "answer":
                self.answer(step[1])
            elif step[1] in self.connections:
                self.connections.pop(step[1]).close()

    def clean(self):
        """Removes what was created, as far as the service lets it."""
        for item in self.created:
            try:
                line = self.connection("clean")
                line.request("DELETE", BASE + item, headers=dict(self.fields))
                line.getresponse().read()
            except (OSError, http.client.HTTPException):
                return


def main():
    url = sys.argv[1] if len(sys.argv) > 1 else URL
    missing = [variable for _, variable in SECRETS if variable not in os.environ]
    if missing:
        print("set the environment variables " + ", ".join(missing))
        return 3
    fields = [[name, os.environ[variable]] for name, variable in SECRETS]
    end = time.monotonic() + 50
    why = UNDECIDED
    for number in range(1, RUNS + 1):
        run = Run(url, fields)
        try:
            run.run()
            if UNDECIDED is None:
                print("reproduced in run %d: every response is the recorded one, up to names" % number)
                return 1
        except Different as different:
            why = UNDECIDED or str(different)
        except (OSError, http.client.HTTPException) as error:
            print("undecided: %s" % error)
            return 3
        finally:
            run.clean()
        if time.monotonic() > end:
            break
    print("%s: %s" % ("undecided" if UNDECIDED else "not reproduced", why))
    return 3 if UNDECIDED else 0


sys.exit(main())
