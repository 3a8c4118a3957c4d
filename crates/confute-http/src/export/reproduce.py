

class Reproduced(Exception):
    """The violation is reproduced."""


class NotReproduced(Exception):
    """The server behaved differently in this run."""


class Undecided(Exception):
    """The responses do not decide it."""


class Response:
    """A response as it was received, with its flaws on the wire."""

    def __init__(self, method, early):
        self.method, self.status, self.fields, self.body = method, 0, [], b""
        # early: bytes of the response came before the whole request was sent.
        self.early, self.interim, self.flaws = early, [], set()
        # has_head: the head is complete. broken: the response is truncated.
        self.has_head, self.broken = False, False

    def get(self, name):
        found = [value for each, value in self.fields if each.lower() == name.lower()]
        return ", ".join(found) if found else None

    def tag(self):
        """The entity tag as (is it weak, opaque part), or None."""
        found = re.fullmatch(r'(W/)?"([\x21\x23-\x7e\x80-\xff]*)"', self.get("ETag") or "")
        return found and (bool(found[1]), found[2])

    def date(self, name="Last-Modified"):
        try:
            return calendar.timegm(parsedate(self.get(name)))
        except (TypeError, ValueError):
            return None

    def lengths(self):
        """The distinct values of Content-Length."""
        told = (self.get("Content-Length") or "").replace(" ", "").split(",")
        return {re.sub("^0+(?=[0-9])", "", each) for each in told} - {""}

    def length(self):
        told = self.lengths()
        return int(min(told)) if len(told) == 1 and re.fullmatch("[0-9]+", min(told)) else None

    def codings(self, name):
        return [each.strip() for each in (self.get(name) or "").lower().split(",") if each.strip()]

    def is_coded(self):
        content, transfer = self.codings("Content-Encoding"), self.codings("Transfer-Encoding")
        return bool(set(content) - {"identity"} or set(transfer) - {"chunked"})

    def says_close(self):
        return "close" in (self.get("Connection") or "").lower()

    def __str__(self):
        parts = [str(self.status)]
        for name in ("ETag", "Last-Modified", "Content-Range", "Content-Length", "Allow"):
            if self.get(name) is not None:
                parts.append(f"{name}: {self.get(name)}")
        if self.body:
            parts.append(f"{len(self.body)} bytes {shorten(self.body)}")
        parts += ["broken off"] if self.broken else []
        parts += ["flaw: " + flaw for flaw in sorted(self.flaws)]
        return ", ".join(parts)


def shorten(body):
    return repr(body if len(body) <= 30 else body[:27] + b"...")[1:]


def is_part(told):
    """True if a Content-Range is valid or missing."""
    found = re.fullmatch(r"bytes[ \t]+(?:(\d+)-(\d+)/(\d+|\*)|\*/\d+)", told or "", re.IGNORECASE)
    if not found or found[1] is None:
        return bool(found) or told is None
    first, last, length = int(found[1]), int(found[2]), found[3]
    return first <= last and (length == "*" or last < int(length))


class Connection:
    """A connection to the server."""

    def __init__(self, options):
        url = options.parts
        secure = url.scheme == "https"
        place = (url.hostname, url.port or (443 if secure else 80))
        self.options, self.patience = options, options.left()
        self.socket = socket.create_connection(place, timeout=self.patience)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if secure:
            import ssl  # Some builds of Python lack it.

            context = ssl.create_default_context(cafile=options.ca)
            if options.insecure:
                context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            context.set_alpn_protocols(["http/1.1"])
            self.socket = context.wrap_socket(self.socket, server_hostname=url.hostname,
                                              suppress_ragged_eofs=False)
        self.buffer, self.waiting, self.latest = b"", [], None
        self.is_last, self.ended, self.broken, self.early, self.until = False, False, False, False, 0

    def wait(self, seconds):
        """Sets the deadline for all following calls of `more` together."""
        self.until = time.monotonic() + seconds

    def more(self):
        """Reads more bytes; False at the end of the connection or after the deadline."""
        left = self.until - time.monotonic()
        return left > 0 and self.read(left)

    def read(self, seconds):
        """Reads more bytes; False at the end of the connection or after this timeout."""
        if self.ended:
            return False
        self.socket.settimeout(seconds)
        try:
            came = self.socket.recv(1 << 16)
        except socket.timeout:
            return False
        except OSError:
            came, self.broken = b"", True
        finally:
            self.socket.settimeout(self.options.left())
        self.ended = not came
        self.buffer += came
        return bool(came)

    def need(self, enough, answer=None):
        while not enough(self.buffer):
            if not self.more():
                if answer:  # The received part of a chunk is content.
                    answer.body, self.buffer = answer.body + self.buffer, b""
                why = "the connection ended" if self.ended else "timeout"
                raise Undecided(f"a response is missing or incomplete: {why}")

    def take(self, count):
        self.need(lambda buffer: len(buffer) >= count)
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        return taken

    def line(self):
        self.need(lambda buffer: b"\n" in buffer)
        return self.take(self.buffer.index(b"\n") + 1)

    def head(self, answer):
        """Reads the status line and the fields. Empty lines before them are permitted."""

        def begins(buffer):
            self.buffer = buffer.lstrip(b"\r\n")
            return len(self.buffer) >= 5 or b"\n" in self.buffer

        self.need(begins)
        if not self.buffer.startswith(b"HTTP/"):
            answer.flaws.add("surplus")
            self.need(lambda buffer: b"HTTP/1." in buffer)
            self.buffer = self.buffer[self.buffer.index(b"HTTP/1.") :]
        start = self.line()
        found = re.match(rb"HTTP/1\.[01] ([1-9]\d\d)", start)
        if not re.fullmatch(rb"HTTP/1\.[01] [1-9]\d\d [\t\x20-\x7e\x80-\xff]*\r\n", start):
            answer.flaws.add("grammar")
        if not found:
            raise Undecided(f"no status code in {shorten(start)}")
        answer.status, answer.fields = int(found[1]), []
        while True:
            line = self.line()
            if line in (b"\r\n", b"\n"):
                return
            name, _, value = line.rstrip(b"\r\n").partition(b":")
            if not re.fullmatch(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\x20-\x7e\x80-\xff]*\r\n", line):
                answer.flaws.add("grammar")
            answer.fields.append((name.decode("latin-1").strip(), value.decode("latin-1").strip()))

    def answer(self):
        """Reads a response. The received part of a truncated one is in `latest`."""
        answer = self.latest = Response(self.waiting.pop(0), self.early)
        try:
            return self.whole(answer)
        except Undecided:
            # A response with a complete head counts as truncated if the connection ended.
            answer.broken = answer.has_head and self.ended
            if answer.broken and not answer.body:
                answer.body, self.buffer = self.buffer, b""
            raise

    def whole(self, answer):
        was_last, self.early = self.is_last, False
        self.wait(self.options.left())
        while True:
            self.head(answer)
            if answer.status >= 200 or answer.status == 101:
                break
            answer.interim.append(answer.status)
        answer.has_head = True
        if was_last:
            answer.flaws.add("after-close")
        self.is_last = answer.says_close()
        codings = answer.codings("Transfer-Encoding")
        has_none = answer.method == "HEAD" or answer.status in (204, 304)
        lengths = answer.lengths()
        if (codings and lengths) or len(lengths) > 1 or (answer.status == 204 and (codings or lengths)):
            answer.flaws.add("framing")
        if answer.get("ETag") is not None and answer.tag() is None:
            answer.flaws.add("tag")
        answer.flaws |= {name for name, breaks in CHECKS.items() if breaks(answer)}
        if has_none:
            return answer
        if codings and codings[-1] == "chunked":
            self.chunks(answer)
        elif lengths and not codings:
            if answer.length() is None:
                answer.flaws.add("framing")
                raise Undecided(f"invalid Content-Length: {answer.get('Content-Length')}")
            answer.body = self.take(answer.length())
        else:
            while self.more():
                pass
            answer.body, self.buffer = self.buffer, b""
            if not self.ended or self.broken:
                raise Undecided("a response does not end")
        return answer

    def chunks(self, answer):
        while True:
            size = self.line()
            found = re.match(rb"([0-9A-Fa-f]+)[ \t]*(;|\r?\n)", size)
            if not found:
                answer.flaws.add("chunks")
                return
            count = int(found[1], 16)
            self.need(lambda buffer: len(buffer) >= count, answer)
            answer.body += self.take(count)
            if count == 0:
                while self.line() not in (b"\r\n", b"\n"):
                    pass
                return
            if self.line() not in (b"\r\n", b"\n"):
                answer.flaws.add("chunks")
                return

    def surplus(self):
        """True if bytes arrive that belong to no response."""
        if self.waiting:
            return False
        self.wait(0.3)
        while not self.buffer.strip(b"\r\n") and self.more():
            pass
        rest = self.buffer.lstrip(b"\r\n")
        # A server may close an idle connection with 408 (Request Timeout).
        return bool(rest) and not re.match(rb"HTTP/1\.\d 408", rest)


class Tester:
    """Executes the steps, and compares the responses with the recorded ones."""

    def __init__(self, options, run):
        self.options, self.lines, self.asked, self.answers = options, {}, {}, {}
        # Every other run leaves out requests whose responses are ignored. Runs differ in timing, which decides races.
        self.is_brief, self.hastes, self.pending = run % 2 == 0, run % 4 < 2, []
        self.seen, self.first_date, self.refused = [], None, None
        letters = "".join(random.choices("0123456789abcdef", k=len(NAME)))
        self.case = options.parts.path.rstrip("/") + "/" + letters

    def fill(self, text):
        """Replaces the placeholders in a head by the values of this run."""

        def value(found):
            kind, _, rest = found[1].partition(":")
            if kind == "host":
                return HOST or self.options.parts.netloc
            if kind == "path":
                return f"{self.case}-{rest}"
            if kind == "env":
                return os.environ[rest]
            number, _, more = rest.partition(":")
            for answer in reversed(self.answers.get(int(number), [])):
                if kind == "tag" and answer.tag():
                    return answer.tag()[1]
                if kind == "date" and answer.date() is not None:
                    return formatdate(answer.date() + int(more), usegmt=True)
            raise Undecided(f"the response to request {number} has no {kind}, which this request needs")

        return re.sub(r"\{((?:host|(?:path|env|tag|date):[^{}]*))\}", value, text)

    def send(self, number, on, head, body=b"", cuts=(), times=1, extra=False):
        """Sends request `number` on connection `on`, split at `cuts`. The response to an `extra` request is ignored."""
        if extra and self.is_brief:
            return
        if cuts or not self.hastes:
            self.flush()
        try:
            head = self.fill(head)
        except Undecided:
            if extra:
                return
            raise
        print(f"  {number}: {head.split(' HTTP/')[0]}", end="")
        for name in re.findall(r"\n((?:If-|Range|Expect|Transfer|Connection)[^\r]*)", head):
            print(f", {name}", end="")
        print(f", {len(body)} bytes {shorten(body)}" if body else "")
        line = self.lines.get(on)
        if line is None or (not line.waiting and (line.is_last or self.has_ended(line))):
            line = self.lines[on] = Connection(self.options)
        line.waiting += [head.split(" ")[0]] * times
        self.asked[number] = line
        start, data = 0, head.encode("latin-1") + body
        if not cuts:
            self.pending.append((line, data * times))
            return
        try:
            # Positions of cuts count from the end of the head.
            for place, millis in cuts:
                line.socket.sendall(data[start : len(head) + place])
                start = len(head) + place
                self.pause(millis)
                line.early = line.read(0.001) or line.early
            line.socket.sendall(data[start:] + data * (times - 1))
        except OSError:
            pass  # Bytes that arrived before the error are still read.

    def flush(self):
        """Sends the pending requests, between which nothing is waited for, as close together as possible."""
        pending, self.pending = self.pending, []
        for line, data in pending:
            try:
                line.socket.sendall(data)
            except OSError:
                pass  # Bytes that arrived before the error are still read.

    def has_ended(self, line):
        if not line.buffer:
            line.read(0.001)
        return line.ended

    def answer(self, number, then, optional=False, last=False, odd=False, broken=False, extra=False, **checks):
        """Reads a response to request `number`, and compares it with the recorded one, `then`. If that was truncated
        (`broken`), this one may be so too."""
        self.flush()
        line = self.asked.get(number)
        if extra and line is None:
            self.seen.append(Response("", False))
            return
        try:
            answer = line.answer()
        except Undecided:
            if line.latest.flaws & FLAWS:
                print(f"     -> {line.latest}")
                raise Reproduced from None
            if optional and not line.buffer and not self.refused:
                raise NotReproduced("no such response arrived, which is correct") from None
            answer = line.latest
            if not extra and not (broken and answer.broken):
                raise
        self.answers.setdefault(number, []).append(answer)
        self.seen.append(answer)
        print(f"     -> {answer}\n  recorded: {then}")
        if answer.flaws & FLAWS:
            raise Reproduced
        if self.options.decides and checks:
            self.compare(answer, last, odd, **checks)

    def compare(self, answer, last, odd, status=(), tag=..., date=..., length=..., part=...,
                body_in=None, body_not_in=None, no_allow=False, no_continue=False, cut=False):
        if cut and not answer.broken:
            raise NotReproduced("the response is complete")
        if status and answer.status not in status:
            why = f"status {answer.status}, not {' or '.join(map(str, status))}"
            if self.refuses(answer, status[0], last and not FLAWS, odd):
                self.refused = f"the server refuses: {why}"
            if not FLAWS:
                raise Undecided(self.refused) if self.refused else NotReproduced(why)
        # Without a tag or date, the later requests that need it cannot be judged.
        lacking = NotReproduced if last else Undecided
        if tag is not ...:
            self.compare_tag(answer, tag, lacking)
        if date is not ...:
            told = answer.date()
            if self.first_date is None:
                self.first_date = told
            if told is None and date is not None:
                raise lacking("Last-Modified is missing")
            if told is not None and (date is None or told - self.first_date != date):
                raise NotReproduced(f"Last-Modified: {answer.get('Last-Modified')}")
        if body_in is not None or body_not_in is not None or length is not ...:
            if answer.is_coded():
                raise Undecided("the content is coded and cannot be compared")
        if length is not ... and answer.length() != length:
            raise NotReproduced(f"Content-Length: {answer.get('Content-Length')}, not {length}")
        if part == "(invalid)" and not is_part(answer.get("Content-Range")):
            part = ...
        if part is not ... and answer.get("Content-Range") != part:
            raise NotReproduced(f"Content-Range: {answer.get('Content-Range')}, not {part}")
        if body_in is not None and answer.body not in body_in:
            raise NotReproduced("the content differs from the recorded one")
        if body_not_in is not None and answer.body in body_not_in:
            raise NotReproduced("the content is correct")
        if no_allow and answer.get("Allow") is not None:
            raise NotReproduced("the response has Allow")
        if no_continue and 100 in answer.interim:
            raise NotReproduced("the server sent 100 (Continue)")
        if no_continue and answer.early:
            raise NotReproduced("the response arrived before the content was sent")

    def refuses(self, answer, then, last, odd):
        """True if the server refuses a request that it performed in the recording, which does not decide about the
        violation. (But an `odd`, malformed request may have to be refused.)"""
        refusals = {301, 302, 303, 307, 308, 401, 407, 429} | (set() if last else {403, 405, 408})
        if answer.status in refusals or answer.status >= 500:
            return True
        right = {404, 410, 412} if answer.method == "DELETE" else {412}
        has_written = answer.method not in ("GET", "HEAD", "OPTIONS") and 200 <= then < 300
        return has_written and not (last or odd) and answer.status >= 300 and answer.status not in right

    def compare_tag(self, answer, tag, lacking):
        """`tag` is None, or (is it weak, an earlier response with the same tag, earlier ones with other tags)."""
        seen = answer.tag()
        if tag is not None and seen is None:
            raise lacking("ETag is missing")
        if tag is None:
            if answer.get("ETag") is not None:
                raise NotReproduced(f"ETag: {answer.get('ETag')}")
            return
        weak, same, others = tag
        earlier = lambda place: (self.seen[place].tag() or (None, None))[1]
        if seen[0] != weak:
            raise NotReproduced(f"the tag is {'strong' if weak else 'weak'}")
        if same is not None and earlier(same) != seen[1]:
            raise NotReproduced("the tag is different")
        if any(earlier(place) == seen[1] for place in others):
            raise NotReproduced("the tag was sent before")

    def end(self, on):
        """Closes a connection."""
        self.flush()
        line = self.lines.pop(on, None)
        if line:
            self.look_behind(line)
            line.socket.close()

    def look_behind(self, line):
        if FLAWS & {"surplus", "after-close"} and line.surplus():
            print(f"     -> {shorten(line.buffer)}, which belongs to no response")
            if "surplus" in FLAWS or line.is_last:
                raise Reproduced

    def pause(self, millis):
        self.flush()
        time.sleep(min(millis / 1000, self.options.left()))


def once(options, run):
    """Runs the steps once. 1: reproduced, 0: not reproduced, 3: undecided."""
    tester = Tester(options, run)
    try:
        steps(tester)
        tester.flush()
        for line in list(tester.lines.values()):
            tester.look_behind(line)
    except Reproduced:
        return 1
    except NotReproduced as why:
        print(f"  not reproduced: {why}")
        return 0
    except Undecided as why:
        print(f"  undecided: {why}")
        return 3
    except Exception as why:  # An error of this script does not accuse the server.
        print(f"  undecided: {options.url}: {why}")
        return 3
    finally:
        for line in tester.lines.values():
            line.socket.close()
    if not options.decides:
        print("  undecided, a person must judge the responses: " + UNDECIDED)
        return 3
    if FLAWS and tester.refused:
        print(f"  undecided: {tester.refused}")
        return 3
    return 0 if FLAWS else 1


def main():
    parser = argparse.ArgumentParser(description=f"Tries to reproduce a violation: {WHAT}.",
                                     epilog="Exit code: 1 if the violation is reproduced, 0 if not, 2 for wrong "
                                            "arguments, 3 if undecided.")
    parser.add_argument("url", nargs="?", default=URL, help="URL of the server (default: %(default)s)")
    parser.add_argument("--runs", type=int, default=RUNS, metavar="N",
                        help="maximum number of runs; stops when the violation is reproduced (default: %(default)s)")
    parser.add_argument("--patience", type=float, default=5, metavar="SECONDS",
                        help="timeout for a response (default: %(default)s)")
    parser.add_argument("--time", type=float, default=50, metavar="SECONDS",
                        help="timeout for all runs together (default: %(default)s)")
    parser.add_argument("--ca", metavar="FILE", help="CA certificates to trust, for https")
    parser.add_argument("--insecure", action="store_true", help="do not verify the certificate, for https")
    options = parser.parse_args()
    options.parts, options.decides = urlsplit(options.url), UNDECIDED is None
    if options.parts.scheme not in ("http", "https") or not options.parts.hostname:
        parser.error(f"{options.url}: expected a URL that begins with http:// or https://")
    if options.runs < 1:
        parser.error("--runs: expected a number of at least 1")
    end = time.monotonic() + options.time
    # The current timeout. Not 0, which would make sockets non-blocking.
    options.left = lambda: max(0.01, min(options.patience, end - time.monotonic()))
    missing = [name for name in SECRETS if name not in os.environ]
    if missing:
        print(f"undecided: set {', '.join(missing)} in the environment to the values of these request fields")
        return 3
    codes = []
    for run in range(1, options.runs + 1):
        if options.runs > 1:
            print(f"run {run} of {options.runs}")
        code = once(options, run)
        is_late = time.monotonic() >= end
        # A run that exceeded the time limit does not count against complete runs.
        codes += [code] if code == 1 or not is_late or not codes else []
        if code == 1 or (set(codes) == {3} and run >= 8):
            break
        if is_late and run < options.runs:
            print(f"  time limit reached after {run} runs")
            break
    if 1 in codes:
        print(f"VIOLATION REPRODUCED: {WHAT}")
        return 1
    if 2 * codes.count(3) > len(codes):
        print(f"UNDECIDED: {WHAT}")
        return 3
    print(f"not reproduced: {WHAT}")
    return 0


if __name__ == "__main__":
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        code = main()
    except (Exception, KeyboardInterrupt) as why:
        print(f"undecided: {why!r}", file=sys.stderr)
        code = 3
    sys.exit(code)
