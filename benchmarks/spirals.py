"""Made-up spirals: kinds of motion that go nowhere, each as the calls of its rounds."""

from __future__ import annotations

from random import Random

from benchmarks.calls import Round, edit, fails, made, read, run, search, word, write
from orchestrator.replay.traces import TraceCall

SEEN = "shop/cart.py: def total(items): return sum(i.price for i in items)"
BOOM = "FAILED tests/test_cart.py::test_total - AssertionError: assert sum of items is wrong"
TESTS = "python3 -m pytest -q"


def circle(period: int) -> Round:
    """The same calls in the same order."""
    return lambda _: [run(f"cat {word(k)}.txt", f"the text {word(k)}") for k in range(period)]


def paraphrase(*forms: str) -> Round:
    """One question in ever other words, with one answer; `#` stands for what differs each time."""
    return lambda n: [run(forms[n % len(forms)].replace("#", word(n)), SEEN)]


def edit_and_test(files: int, *, blank: bool = False) -> Round:
    """An edit of one of the files, then the tests, which fail alike."""

    def each(n: int) -> list[TraceCall]:
        path = f"shop/m{n % files}.py"
        old, new = (" " * (n % 5), " " * ((n + 1) % 5)) if blank else (f"guess {word(n - files)}", f"guess {word(n)}")
        return [edit(path, old, new), fails(TESTS, BOOM)]

    return each


def figures(command: str, text: str) -> Round:
    """A command whose output differs in figures alone: % is one, @ an id."""

    def each(n: int) -> list[TraceCall]:
        random = Random(n)
        shown = text.replace("%", str(random.randrange(10, 10**6))).replace("@", f"{random.getrandbits(64):016x}1")
        return [run(command, shown)]

    return each


def shuffled(n: int) -> list[TraceCall]:
    """The same lines in another order each time."""
    lines = [f"process {word(k)} sleeps" for k in range(9)]
    Random(n).shuffle(lines)
    return [run("ps aux", "\n".join(lines))]


def random_reads(files: int) -> Round:
    """A few files that are read over and over, in any order."""
    return lambda n: [read(f"shop/m{Random(n).randrange(files)}.py")]


def growing_batch(n: int) -> list[TraceCall]:
    """One question more in each reply, and all of them known."""
    return [run(f"cat {word(k)}.txt", f"the text {word(k % 4)}", turn=n) for k in range(n % 6 + 1)]


def batches(size: int) -> Round:
    """Replies of many calls that are the same."""
    return lambda n: [read(f"shop/m{k}.py", turn=n) for k in range(size)]


def rewriting(n: int) -> list[TraceCall]:
    """Its own line, in ever new words."""
    return [edit("shop/cart.py", f"total = {word(n - 1)}", f"total = {word(n)}")]


def rewriting_whole(n: int) -> list[TraceCall]:
    """A file written whole, again and again, with other words."""
    return [write("notes.md", "\n".join(f"{word(n)} line {word(k)}" for k in range(9)))]


def back_and_forth(*contents: str) -> Round:
    """One content after the other, and round again."""
    return lambda n: [write("shop/cart.py", contents[n % len(contents)])]


def rewriting_and_looking(n: int) -> list[TraceCall]:
    """An edit of what it has just written, then a look at it, which is new each time."""
    return [*rewriting(n), read("shop/cart.py", f"total = {word(n)}")]


def failing_edits(n: int) -> list[TraceCall]:
    """Edits whose text is not in the file."""
    return [made("edit_file", "No match: old_str is not in the file.", ok=False, path="a.py", old_str=word(n))]


def reading_between(n: int) -> list[TraceCall]:
    """The same failing edit, with a read of the same part before it."""
    missing = made("edit_file", "No match: old_str is not in the file.", ok=False, path="a.py", old_str=word(n % 3))
    return [read("a.py"), missing]


def polling(n: int) -> list[TraceCall]:
    """Waiting for what never comes, each time a little longer."""
    return [run(f"sleep {n + 1}; cat build.log", "still building, nothing is ready yet")]


def missing_interpreter(n: int) -> list[TraceCall]:
    """A program that is not there, by ever other arguments: no error of the work, and one answer."""
    told = made("run_command", "bash: python: command not found", ok=False, command=f"python {word(n)}.py")
    return [told.model_copy(update={"error_sha": ""})]


def refused_git(n: int) -> list[TraceCall]:
    """Writes of git, which only reads here."""
    told = made("run_command", "git only reads here; take a change back with edit_file.", ok=False,
                command=f"git {('stash', 'checkout', 'reset', 'commit')[n % 4]} {word(n)}")  # fmt: skip
    return [told.model_copy(update={"error_sha": ""})]


def giving_up(n: int) -> list[TraceCall]:
    """Texts for nobody, by echo, that all say the same."""
    return [run(f"echo 'I cannot go on {word(n)}'", "I cannot go on")]


def same_report(n: int) -> list[TraceCall]:
    """A file with the same summary under ever other names, and a look at it."""
    return [run(f"cat report-{word(n)}.md", "All is done but for the tests.")]


CIRCLES: dict[str, Round] = {f"a circle of {k}": circle(k) for k in (*range(1, 13), 15, 16, 18, 20, 22, 24)}

PARAPHRASES: dict[str, Round] = {
    "other blanks": lambda n: [run("ls" + " " * n, SEEN)],
    "other comments": paraphrase("ls shop  # #"),
    "other flags": paraphrase("ls -a #", "ls -l #", "ls -la #"),
    "another head -n": lambda n: [run(f"cat shop/cart.py | head -n {n + 50}", SEEN)],
    "other quotes": paraphrase("cat 'shop/cart.py' #", 'cat "shop/cart.py" #', "cat shop/cart.py #"),
    "other spellings of a path": lambda n: [run(f"cat {'./' * n}shop/cart.py", SEEN)],
    "cd before it": lambda n: [run(f"cd {'../shop/' * n} && cat cart.py", SEEN)],
    "twelve spellings of one failing test": lambda n: [run(f"pytest {'-q ' * (n % 12)}tests; true", BOOM)],
    "a pipe more each time": lambda n: [run("cat shop/cart.py" + " | cat" * n, SEEN)],
    "searches in other words": lambda n: [search(f"total|{word(n)}", SEEN)],
    "other tools for one question": lambda n: [
        [run(f"cat a.py #{word(n)}", SEEN), search(word(n), SEEN), read("a.py", SEEN, start=n + 1)][n % 3]
    ],
    "other arguments, one error": lambda n: [fails(f"make {word(n)}", "make: no rule to make the target")],
    "another time limit": lambda n: [made("run_command", SEEN, command="pytest", timeout_s=n + 1)],
    "two questions by turns in other words": lambda n: [run(f"ls #{word(n)}", ("a", "b")[n % 2] + " is there")],
}

EDITS: dict[str, Round] = {
    "edit and test, 1 file": edit_and_test(1),
    "edit and test, 5 files": edit_and_test(5),
    "edit and test, 20 files": edit_and_test(20),
    "white space and test": edit_and_test(1, blank=True),
    "rewriting its own line": rewriting,
    "rewriting a whole file": rewriting_whole,
    "rewriting and looking": rewriting_and_looking,
    "A-B-A": back_and_forth("old", "new"),
    "A-B-C-A": back_and_forth("old", "new", "newest"),
    "edits that never match": failing_edits,
    "the same edits that never match, and reads": reading_between,
    "a file that only grows": lambda n: [edit("log.py", "# end", f"{word(n)}\n# end")],
}

FIGURES: dict[str, Round] = {
    "a clock": figures("date +%s", "%"),
    "memory figures": figures("free", "Mem: % % %\nSwap: % %"),
    "a process list": figures("ps", "root % % python\nroot % % bash"),
    "random ids": figures("make id", "created @"),
    "lines in another order": shuffled,
    "a load average": figures("uptime", "up % days, load % % %"),
    "a clock and a list by turns": lambda n: [figures("date", "%")(n)[0], figures("ps", "root % python")(n)[0]],
    "a benchmark that is never done": figures("make bench", "% requests a second, % in all"),
}

OTHERS: dict[str, Round] = {
    "cached reads in a circle": lambda n: [read(f"shop/m{n % 9}.py")],
    "cached reads in any order": random_reads(9),
    "reads of three files in any order": random_reads(3),
    "a missing interpreter": missing_interpreter,
    "refused writes of git": refused_git,
    "polling that never changes": polling,
    "giving up by echo": giving_up,
    "the same summary in other files": same_report,
    "batches of one reply": batches(4),
    "a growing batch": growing_batch,
    "a listing before each known file": lambda n: [run("ls", SEEN), read(f"shop/m{n % 4}.py")],
    "the same test after each read": lambda n: [read(f"shop/m{n % 5}.py"), fails(TESTS, BOOM)],
}

SPIRALS: dict[str, Round] = CIRCLES | PARAPHRASES | EDITS | FIGURES | OTHERS
