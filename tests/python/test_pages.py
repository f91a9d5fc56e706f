# The examples on the pages run, and print what the pages say.
#
# A page states the output of print() in a comment after it on the same line, or, if the output has
# several lines, in the lines below. Examples in docstrings are doctests (test_package.py,
# test_torch_package.py). C++ examples and sessions of the command are tested in tests/docs.
import ast
import doctest
import functools
import io
import re
import shlex
import tokenize
from contextlib import redirect_stdout
from importlib.util import find_spec
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2]
FOLDERS = (".", "docs", "tasks", "bench", "examples")
IS_HERE = (SOURCE / "README.md").exists()  # else the tests run outside the source

# How many each page has: one that is not found fails, and so does a page that is not named here.
PYTHON_BLOCKS = {
    "README.md": 2,
    "docs/bad_input.md": 2,
    "docs/five_minutes.md": 2,
    "docs/from_tv_layers_for_cv.md": 1,
    "docs/index.md": 1,
    "docs/numpy.md": 7,
    "docs/pytorch.md": 4,
}
TASK_COMMANDS = {"tasks/README.md": 12}

VALUE = re.compile(r"-?[\d.]+|True|False|None|(\[|tensor\(|array\(|torch\.Size\().*", re.DOTALL)


class FalseExampleError(AssertionError):
    """An example whose output differs from what its page states."""


def blocks_of(page, languages):
    """Returns (line, code) of the page's fenced blocks in any of these languages."""
    text = page.read_text(encoding="utf-8")
    fences = re.finditer(rf"^```(?:{languages})\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return [(text.count("\n", 0, fence.start()) + 2, fence.group(1)) for fence in fences]


def comments_of(code):
    """Returns the comments by line, and the lines that contain only a comment."""
    comments, alone = {}, set()
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        if token.type == tokenize.COMMENT:
            line = token.start[0]
            comments[line] = token.string.removeprefix("#").removeprefix(" ")
            if not token.line[: token.start[1]].strip():
                alone.add(line)
    return comments, alone


def stated_output(statement, comments, alone):
    """Returns the output that the page states for a statement, None if it states none."""
    line = statement.end_lineno
    if line in comments:
        return comments[line]
    below = []
    while line + 1 in alone:
        line += 1
        below.append(comments[line])
    return "\n".join(below) or None


def is_print(statement):
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Call)
        and getattr(statement.value.func, "id", None) == "print"
    )


def same_output(printed, stated):
    if "\n" in printed:  # an array may be wrapped
        printed, stated = " ".join(printed.split()), " ".join(stated.split())
    return printed == stated


def run_block(code, page, first_line, names=None):
    """Runs a block statement by statement; returns how many of them print something."""
    code = "\n" * (first_line - 1) + code  # so that lines count from the page's first one
    comments, alone = comments_of(code)
    names = {"__name__": "page"} if names is None else names
    prints = 0
    for statement in ast.parse(code).body:
        place = f"{page}:{statement.lineno}"
        program = compile(ast.Module([statement], []), page, "exec")
        with redirect_stdout(io.StringIO()) as output:
            exec(program, names)
        printed = output.getvalue().removesuffix("\n")
        if is_print(statement):
            prints += 1
            stated = stated_output(statement, comments, alone)
            if stated is None:
                raise FalseExampleError(f"{place}: prints {printed!r}, the page does not say so")
            if not same_output(printed, stated):
                raise FalseExampleError(f"{place}: prints {printed!r}, the page says {stated!r}")
        elif printed:
            raise FalseExampleError(f"{place}: prints {printed!r} without a print() of its own")
        elif VALUE.fullmatch(comments.get(statement.end_lineno, "")):
            raise FalseExampleError(f"{place}: states a value that it does not print")
    return prints


def run_session(code, page, first_line):
    """Runs a >>> session as a doctest."""
    test = doctest.DocTestParser().get_doctest(code, {}, page, page, first_line - 1)
    report = io.StringIO()
    if doctest.DocTestRunner().run(test, out=report.write).failed:
        raise FalseExampleError(report.getvalue())


def pages():
    return [page for folder in FOLDERS for page in sorted((SOURCE / folder).glob("*.md"))]


def name_of(page):
    return str(page.relative_to(SOURCE))


needs_pages = pytest.mark.skipif(not IS_HERE, reason="the pages are not here")


@needs_pages
def test_all_pages_with_python_are_tested():
    found = {name_of(page): len(blocks_of(page, "python|pycon|py")) for page in pages()}
    assert {name: count for name, count in found.items() if count} == PYTHON_BLOCKS


@needs_pages
@pytest.mark.parametrize("name", PYTHON_BLOCKS)
def test_python_prints_what_its_page_says(name):
    blocks = blocks_of(SOURCE / name, "python|pycon|py")
    assert len(blocks) == PYTHON_BLOCKS[name]
    names = {"__name__": "page"}  # later blocks may use those of earlier ones
    for line, code in blocks:
        if "import torch" in code:
            pytest.importorskip("torch")
        if code.lstrip().startswith(">>>"):
            run_session(code, name, line)
        else:
            run_block(code, name, line, names)


@pytest.mark.parametrize(
    "code",
    [
        "print(1 + 1)  # 2\n",
        "x = [1, 2]  # two numbers\nprint(x)  # [1, 2]\n",
        "print('a\\nb')\n# a\n# b\n",
        "print(f'{1:>3}\\n{20:>3}')  # 1 20\n",
    ],
)
def test_a_true_example_passes(code):
    assert run_block(code, "page", 1) == 1


@pytest.mark.parametrize(
    "code, message",
    [
        ("print(1 + 1)  # 3\n", "page:7: prints '2', the page says '3'"),
        ("x = 1\nprint(x)\n", "page:8: prints '1', the page does not say so"),
        ("x = 1\nprint(x)\n\n# 1\n", "page:8: prints '1', the page does not say so"),
        ("print('a\\nb')\n# a\n# c\n", r"page:7: prints 'a\nb', the page says 'a\nc'"),
        ("print('[ 0 1]')  # [0 1]\n", "page:7: prints '[ 0 1]', the page says '[0 1]'"),
        ("for i in range(2):\n    print(i)  # 0\n", "prints '0\\n1' without a print() of its own"),
        ("y = [2, 2]  # [2, 2]\n", "page:7: states a value that it does not print"),
    ],
)
def test_a_false_example_fails(code, message):
    with pytest.raises(FalseExampleError, match=re.escape(message)):
        run_block(code, "page", 7)


def test_a_false_session_fails():
    run_session(">>> 1 + 1\n2\n", "page", 1)
    with pytest.raises(FalseExampleError, match=r'"page", line 7'):
        run_session(">>> 1 + 1\n3\n", "page", 7)


MISSING = re.compile(
    r"not (?:there|here|implemented) yet|not yet (?:there|implemented)", re.IGNORECASE
)


@needs_pages
def test_no_text_for_users_says_that_something_is_not_there_yet():
    # Missing features are named in words that a test of the call contains ("not implemented").
    texts = [
        *pages(),
        *SOURCE.glob("include/tautstring/**/*.h"),
        *SOURCE.glob("python/tautstring/*.py"),
        *SOURCE.glob("cli/*.cpp"),
    ]
    found = {
        f"{name_of(file)}: {match.group()}"
        for file in texts
        for match in MISSING.finditer(file.read_text(encoding="utf-8"))
    }
    assert not found


def commands_of(block):
    """Returns the command lines of a shell block, each split into words, without its comment."""
    lines = block.replace("\\\n", " ").splitlines()
    return [shlex.split(line, comments=True) for line in lines]


def task_commands(page):
    commands = [words for _, block in blocks_of(page, "sh") for words in commands_of(block)]
    return [words[1:] for words in commands if words and words[0] == "tautstring_tasks"]


@needs_pages
def test_all_pages_with_commands_of_the_tasks_are_tested():
    found = {name_of(page): len(task_commands(page)) for page in pages()}
    assert {name: count for name, count in found.items() if count} == TASK_COMMANDS


@needs_pages
@pytest.mark.parametrize("name", TASK_COMMANDS)
@pytest.mark.skipif(not find_spec("tyro"), reason="the tasks' extras are not installed")
def test_commands_of_the_tasks_are_understood(name):
    # Not run: they train nets.
    import tyro

    from tautstring_tasks import cifar10c
    from tautstring_tasks.__main__ import SCORES, TASKS
    from tautstring_tasks.commands import commands_of

    tasks = {task.name: commands_of(task) for task in TASKS}
    tasks["cifar10c"] = {"make": cifar10c.make_files}
    for task, score in SCORES.items():
        tasks[task]["score"] = score
    for task, command, *arguments in task_commands(SOURCE / name):
        function = tasks[task][command]
        understood = functools.wraps(function)(lambda *_, **__: True)
        assert tyro.cli(understood, args=arguments, config=(tyro.conf.OmitArgPrefixes,))
