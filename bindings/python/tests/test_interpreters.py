"""Sub-interpreters of the process."""

from __future__ import annotations

import pytest

from support import output_of

PROGRAM = """
import _testcapi
{before}
refused = '''
try:
    import twindex
except ImportError as error:
    assert "sub-interpreter" in str(error), error
else:
    raise SystemExit("imported")
'''
for _ in range(2):
    assert _testcapi.run_in_subinterp(refused) == 0
import twindex
store = twindex.Store()
table = store.table("t", keys="str", values="json")
table.update(a=[1], b=None)
assert dict(table.items()) == {{"a": [1], "b": None}} == table
assert len(table.keys()) == 2 and [1] in table.values()
try:
    table.insert(1, 2)
except twindex.ArgumentTypeError:
    print("works")
"""


@pytest.mark.parametrize("before", ["import twindex", ""], ids=["imported before", "imported after"])
def test_sub_interpreter_is_refused_and_leaves_the_main_one_as_it_was(before: str) -> None:
    """It could import the package, and took the objects of the main interpreter's classes with it when it ended: from then
    on those failed with "name 'isinstance' is not defined".
    """
    pytest.importorskip("_testcapi")
    assert output_of(PROGRAM.format(before=before)) == "works\n"
