"""What parameter names suggest about text, numbers and lists: a word of the name → examples of such values."""

from __future__ import annotations

from functools import lru_cache

WORDS = ("apple", "River", "stone", "blue", "Quick fox", "delta", "north", "Zebra", "one two three", "x", "item", "ab")
"""Plain text for parameters whose name says nothing."""

EDGES = (
    "",
    " ",
    "a",
    "  padded  ",
    "line one\nline two",
    "tab\there",
    "naïve café",
    "日本語",
    "emoji 🙂",
    "UPPER lower 123",
    "a,b;c",
    "'single' \"double\"",
    "back\\slash",
    "0",
    "-1",
    "1.5",
    "None",
    "true",
    "a-b_c.d",
    "ßtraße",
    "\u00a0",
    "%s {0} $x",
    "<a href='#'>x</a>",
)

HINTS: dict[str, tuple[str, ...]] = {
    "url": (
        "https://example.com/a/b?q=1#top",
        "http://localhost:8080",
        "ftp://files.example.org/x.txt",
        "example.com",
        "https://user:pw@host.example/ä?x=%20",
    ),
    "host": ("example.com", "localhost", "sub.domain.example.co.uk", "192.0.2.7", "[2001:db8::1]:443"),
    "domain": ("example.com", "bücher.example", "a.b.c.example.org", "xn--nxasmq6b", "-bad-.com"),
    "email": (
        "ann@example.com",
        "first.last+tag@sub.example.org",
        "no-at-sign",
        '"quoted local"@example.com',
        "@",
        "a@b",
    ),
    "path": ("a/b/c.txt", "/usr/local/lib", "../up/one", "dir/", "./x", "C:\\temp\\file.doc", "archive.tar.gz", "~"),
    "file": ("report.pdf", "archive.tar.gz", ".hidden", "no_extension", "a/b/c.txt", "UPPER.TXT"),
    "dir": ("src", "a/b/", "/tmp", ".", ".."),
    "ext": (".txt", "py", ".tar.gz", ""),
    "date": ("2024-02-29", "1999-12-31", "2023-13-01", "12/25/2020", "20240101", "March 3, 2021"),
    "time": ("12:30", "23:59:59", "2024-02-29T08:00:00Z", "7am", "1h30m", "00:00"),
    "duration": ("1h", "90s", "1d 2h", "PT15M", "0"),
    "timezone": ("UTC", "+02:00", "Europe/Paris", "-0530"),
    "version": ("1.2.3", "2.0", "1.0.0a1", "3.11.4-rc.1+build5", "v4", "0.0.1.dev3", "1..2"),
    "json": ('{"a": 1}', '[1, 2, {"b": null}]', "{}", '"text"', "{bad json", "[1.5e3, true]"),
    "html": ("<p>Hello <b>world</b></p>", "<br/>", "a &amp; b", '<div class="x">1 < 2</div>', "<!-- note --><i>x</i>"),
    "xml": ("<a><b x='1'/></a>", "<a>text</a>", '<?xml version="1.0"?><r/>'),
    "markdown": ("# Title\n\nSome *text*", "- a\n- b", "[link](http://example.com)", "`code`"),
    "hex": ("ff00aa", "00FF7f", "#1e90ff", "0x1F", "deadbeef", "xyz", "abc"),
    "color": ("ff8800", "#ff8800", "#abc", "red", "rgb(1, 2, 3)", "#12345"),
    "colour": ("#ff8800", "#abc", "red"),
    "locale": ("en_US", "de-DE", "pt_BR.UTF-8", "zh-Hans-CN", "fr"),
    "lang": ("en", "de", "zh-Hans", "pt-BR", "xx"),
    "language": ("python", "en", "German", "c++"),
    "country": ("US", "de", "France", "GBR"),
    "currency": ("EUR", "USD", "jpy", "XXX"),
    "encoding": ("utf-8", "ascii", "latin-1", "UTF8", "unknown-8bit"),
    "charset": ("utf-8", "ascii", "latin-1", "windows-1252"),
    "name": ("alpha", "my_name", "CamelCaseName", "with space", "kebab-case-name", "_private", "HTTPServer2", "class"),
    "key": ("key", "user.id", "a", "x-y", "Content-Type"),
    "identifier": ("foo", "foo_bar", "2bad", "class", "fooBar"),
    "module": ("os.path", "pkg.sub.module", "single", "a..b"),
    "package": ("requests", "Typing_Extensions", "zope.interface", "a--b"),
    "text": (
        "The quick brown fox jumps.",
        "one two  three",
        "Hello, World!\nSecond line.",
        "word",
        "ALL CAPS and lower",
    ),
    "line": ("key = value", "  indented", "# comment", "a b c", "trailing \n"),
    "sentence": ("It works, mostly.", "No punctuation", "Is it? Yes!"),
    "message": ("something went wrong", "OK", "line one\nline two"),
    "code": ("x = 1\nprint(x)\n", "def f():\n    return 2\n", "a + b", "if x:", "200"),
    "source": ("x = 1\n", "import os\n", "def f(a): return a\n"),
    "sql": ("SELECT a, b FROM t WHERE a = 1", "select * from t -- note", "INSERT INTO t VALUES ('x;y');"),
    "query": ("a=1&b=2", "q=hello+world", "SELECT 1", "name:x AND y", ""),
    "pattern": ("a.*b", "*.py", "[a-z]+", "^x$", "(", "test_*"),
    "regex": ("a.*b", "[a-z]+", "^x$", "(", "\\d{2,3}"),
    "glob": ("*.py", "**/x/*.txt", "[ab]?"),
    "header": ("Content-Type: text/html; charset=utf-8", "X-Test: 1", "no colon", "bytes=0-99"),
    "mime": ("text/html", "application/json; charset=utf-8", "image/*", "bad"),
    "content_type": ("text/html", "application/json; charset=utf-8", "image/*;q=0.8"),
    "cookie": ("a=1; b=2", "session=abc; Path=/; HttpOnly"),
    "token": ("abc123", "Bearer x.y.z", "foo", ",", "eyJhbGciOiAiSFMyNTYifQ.eyJhIjogMX0.c2ln"),
    "jwt": ("eyJhbGciOiAiSFMyNTYifQ.eyJhIjogMX0.c2ln", "x.y.z", "eyJhIjogMX0.e30.", "x"),
    "id": ("42", "abc-123", "550e8400-e29b-41d4-a716-446655440000", "i-0abc", "a_b"),
    "uuid": ("550e8400-e29b-41d4-a716-446655440000", "not-a-uuid"),
    "arn": ("arn:aws:s3:::bucket/key", "arn:aws:iam::123456789012:role/x"),
    "ip": ("192.0.2.1", "2001:db8::1", "256.1.1.1", "10.0.0.0/8"),
    "address": ("192.0.2.1", "1 Main St", "ann@example.com", "localhost:80"),
    "sep": (",", " ", "-", "", ", ", "::", "\n"),
    "delimiter": (",", ";", "\t", "|"),
    "prefix": ("pre", "_", "", "--", "a"),
    "suffix": (".txt", "_x", "", "s"),
    "indent": ("  ", "\t", "    ", ""),
    "char": ("a", "Z", "é", "7", " ", "字"),
    "format": ("%Y-%m-%d", "{0:>5}", "%s=%d", "json", "{name}"),
    "fmt": ("%Y-%m-%d", "{:.2f}", "%s"),
    "template": ("Hello {name}", "${var} costs $$5", "%(a)s", "{{ x }}"),
    "mode": ("r", "wb", "strict", "fast"),
    "type": ("int", "text/plain", "string", "List[int]"),
    "unit": ("kg", "ms", "MiB", "%"),
    "size": ("10MB", "512", "1.5 GiB", "3k"),
    "number": ("12", "-3.5", "1e5", "1,234", "0x10", "abc"),
    "num": ("12", "-3.5", "abc"),
    "digits": ("12345", "007", "9", "12a"),
    "phone": ("+1 202 555 0101", "0301234567", "(555) 01-23"),
    "word": ("running", "flies", "child", "Box", "analysis", "bus"),
    "seq": ("ACGTTGCA", "abcabc", "AACC"),
    "dna": ("ACGT", "GATTACA", "NNAC"),
    "formula": ("H2O", "C6H12O6", "a+b*c"),
    "expr": ("1 + 2 * 3", "a and not b", "(x", "x==1"),
    "equation": ("ij,jk->ik", "a,b->ab", "ii->i"),
    "command": ("git status --short", "ls -la 'my dir'", 'echo "a b"'),
    "cmd": ("git status --short", "ls -la", ""),
    "user": ("alice", "bob@example.org", "root"),
    "title": ("The Great Title", "an essay on things", "X: Y"),
    "tag": ("v1.2", "latest", "b", "<b>"),
    "label": ("Label", "my-label", "a:b"),
    "password": ("hunter2", "Tr0ub4dor&3", ""),
    "hash": ("d41d8cd98f00b204e9800998ecf8427e", "sha256:abc", "xyz"),
    "data": ("a=1", "abc", "1,2,3", '{"a": 1}'),
    "config": ("a = 1\nb = two", "[section]\nkey=value", ""),
    "args": ("--flag", "-x=1", "--name value", "pos"),
    "option": ("--flag", "verbose", "-o"),
    "roman": ("XIV", "iv", "MCMXCIX", "IIII"),
}
"""Word of a parameter's name (lower case, split at underscores and capitals; plural s dropped) → texts."""

READ: dict[str, tuple[str, ...]] = {
    **{word: HINTS[word] for word in ("json", "hex", "date", "url", "html", "ip", "number", "uuid", "command")},
    "escaped": ("a%20b", "%41%zz", "100%", "%C3%A9", "a+b"),
    "literal": ("[1, 2]", "{'a': 1}", "(1,)", "'x'", "None", "1 +", "x"),
    "base64": (
        "aGVsbG8=",
        "YQ==",
        "_-8=",
        "a",
        "!!!!",
        "",
        "eyJhIjogMX0=",  # {"a": 1}
        "eyJhbGciOiAiSFMyNTYifQ.eyJhIjogMX0.c2ln",  # {"alg": "HS256"}, {"a": 1}, sig
    ),
    "lines": ("1\nab\n", "one\ntwo\n3", "a=1\nb=2\n", "x\n\n# y\n  z\n", "name: x\nsize: 2\n", "\n"),
    "letters": ("ßtraße", "ＡＢＣ", "e\u0301", "\u00ad", "İ", "ﬁ", "\u200d", "①"),
}
"""What a text is read as (`exe.inputs.uses`) → texts, bad ones among them."""

NUMBERS: dict[str, tuple[int, ...]] = {
    "width": (1, 4, 10, 40, 80),
    "height": (1, 5, 24, 100),
    "length": (0, 1, 5, 12, 64),
    "size": (0, 1, 8, 100, 1024),
    "max": (1, 3, 10, 20, 100),
    "min": (0, 1, 5),
    "limit": (1, 5, 10, 100),
    "count": (0, 1, 3, 10),
    "indent": (0, 2, 4, 8),
    "index": (0, 1, -1, 3),
    "level": (0, 1, 2, 5),
    "depth": (0, 1, 2, 5),
    "year": (1999, 2000, 2023, 2024, 1900, 1),
    "month": (1, 2, 6, 12, 13, 0),
    "day": (1, 15, 28, 31, 0),
    "hour": (0, 11, 12, 23, 24),
    "minute": (0, 30, 59),
    "second": (0, 59, 3600, 86399),
    "seconds": (0, 1, 59, 61, 3600, 90061),
    "port": (80, 443, 8080, 0, 65536),
    "status": (200, 301, 404, 500),
    "code": (0, 65, 200, 404, 1),
    "base": (2, 8, 10, 16, 36),
    "bits": (1, 8, 16, 32, 64),
    "byte": (0, 1, 127, 255, 256),
    "bytes": (0, 1, 1023, 1024, 1500000, 10**9),
    "precision": (0, 1, 2, 6),
    "percent": (0, 50, 100),
    "angle": (0, 45, 90, 180, 360, -30),
    "ratio": (0, 1, 2),
    "page": (1, 2, 10),
    "offset": (0, 1, 10),
    "start": (0, 1, 3),
    "end": (0, 1, 5, 10),
    "stop": (0, 1, 5, 10),
    "step": (1, 2, -1, 3),
    "timestamp": (0, 1700000000, 86400, -1),
    "age": (0, 17, 42, 99),
    "n": (0, 1, 2, 3, 5, 10, 17),
    "k": (0, 1, 2, 3),
}
"""The same for whole numbers."""


def words_of(name: str) -> tuple[str, ...]:
    """`maxLineWidths` → (max, line, width): lower-case words of a parameter's name, the last one first."""
    spaced = "".join(f" {c.lower()}" if c.isupper() else c for c in name).replace("_", " ")
    words = [word.rstrip("0123456789") for word in spaced.split()]
    singular = [
        word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word for word in words
    ]
    joined = ["_".join(singular)] if len(singular) > 1 else []
    return tuple(dict.fromkeys([*joined, *reversed(singular), *reversed(words)]))


@lru_cache(maxsize=4096)
def text_hints(name: str) -> tuple[str, ...]:
    """Texts that a parameter of this name is likely to take, () where the name says nothing."""
    return next((HINTS[word] for word in words_of(name) if word in HINTS), ())


@lru_cache(maxsize=4096)
def number_hints(name: str) -> tuple[int, ...]:
    """Whole numbers that a parameter of this name is likely to take, () where the name says nothing."""
    return next((NUMBERS[word] for word in words_of(name) if word in NUMBERS), ())
