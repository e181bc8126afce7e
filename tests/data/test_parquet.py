"""One reader of Parquet files, in memory and in blocks: checksums, and types that run code."""

import base64
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import polystein as ps
from polystein.data.parquet import ParquetFile, _in_base64
from tests.bombs import Bomb, exploded

Array = np.ndarray
READERS: list[Callable[[Path], Any]] = [
    lambda path: ps.from_file(path, lambda x: -x),
    lambda path: ps.psd(ps.from_store(path, lambda x: -x), order=1),
    lambda path: ps.check(path, lambda x: -x),
]


@pytest.fixture(autouse=True)
def _in_a_directory_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


def written(table: pa.Table, **options: Any) -> Path:
    path = Path("draws.parquet")
    pq.write_table(table, path, **options)
    return path


def draws(rows: int = 2000) -> Array:
    return np.random.default_rng(0).standard_normal((rows, 2))


def test_memory_and_blocks_give_the_same_numbers() -> None:
    values = draws()
    path = written(pa.table({"a": values[:, 0], "b": values[:, 1]}), row_group_size=300)
    assert ParquetFile(path, "draws", "scale").sizes == [300] * 6 + [200]
    found, source = ps.from_file(path, lambda x: -x), ps.from_store(path, lambda x: -x)
    np.testing.assert_array_equal(found.draws, values)
    np.testing.assert_array_equal(source.read(0, 0, 2000).draws, values)
    assert found.names == source.names == ("a", "b")


@pytest.mark.parametrize("read", READERS)
def test_flipped_signs_are_found_by_the_checksum(read: Callable[[Path], Any]) -> None:
    values = draws()
    table = pa.table({"a": values[:, 0], "b": values[:, 1]})
    options = {"use_dictionary": False, "compression": "none", "write_page_checksum": True}
    path = written(table, **options)
    content = bytearray(path.read_bytes())
    first = content.find(values[:100, 0].tobytes())
    assert first > 0
    for number in range(100):
        content[first + 8 * number + 7] ^= 0x80
    path.write_bytes(bytes(content))
    with pytest.raises(ps.InputError, match=r"`draws` could not be read .*[Cc][Rr][Cc]"):
        read(path)


class Unpickled(pa.ExtensionType):  # type: ignore[misc]
    """A type of another library, which unpickles what the file says about it."""

    def __init__(self) -> None:
        super().__init__(pa.float64(), "tests.unpickled")

    def __arrow_ext_serialize__(self) -> bytes:
        return pickle.dumps(Bomb())

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: pa.DataType, serialized: bytes) -> "Unpickled":
        pickle.loads(serialized)
        return cls()


@pytest.fixture
def registered() -> Iterator[pa.ExtensionType]:
    kind = Unpickled()
    pa.register_extension_type(kind)
    yield kind
    pa.unregister_extension_type("tests.unpickled")


@pytest.mark.parametrize("name", ["a", "ab", "abc"])
@pytest.mark.parametrize("read", READERS)
def test_types_of_other_libraries_are_refused_before_they_are_restored(
    read: Callable[[Path], Any], name: str, registered: pa.ExtensionType
) -> None:
    """Names of three lengths put the schema at each offset that it can have in base64."""
    values = pa.ExtensionArray.from_storage(registered, pa.array(draws()[:, 0]))
    path = written(pa.table({name: values, "b": draws()[:, 1]}))
    with pytest.raises(ps.InputError, match="got an extension type of another library in"):
        read(path)
    assert not exploded()
    pq.ParquetFile(path)
    assert exploded()  # the bomb is live


@pytest.mark.parametrize("read", READERS)
def test_pickles_in_the_metadata_of_a_file_are_not_read(read: Callable[[Path], Any]) -> None:
    bomb = pickle.dumps(Bomb(), protocol=0)
    metadata = {b"pandas": bomb, b"pickle": bomb}
    fields = [pa.field(name, pa.float64(), metadata=metadata) for name in "ab"]
    table = pa.table([*draws().T], schema=pa.schema(fields, metadata=metadata))
    assert read(written(table)) is not None
    assert not exploded()


@pytest.mark.parametrize("read", READERS)
def test_pickled_types_of_arrow_are_refused(read: Callable[[Path], Any]) -> None:
    """Before version 14.0.1 PyArrow unpickled such types of its own accord."""
    marks = {
        b"ARROW:extension:name": b"arrow.py_extension_type",
        b"ARROW:extension:metadata": pickle.dumps(Bomb(), protocol=0),
    }
    fields = [pa.field("a", pa.float64(), metadata=marks), pa.field("b", pa.float64())]
    path = written(pa.table([*draws().T], schema=pa.schema(fields)))
    with pytest.raises(ps.InputError, match="got an extension type of another library in"):
        read(path)
    assert not exploded()


@pytest.mark.parametrize("before", range(6))
@pytest.mark.parametrize("text", [b"ARROW:extension:name", b"ab12", b"xyz"])
def test_a_text_is_found_in_base64_at_every_offset(before: int, text: bytes) -> None:
    for neighbour in (b"\x00", b"\xff", b"A"):
        encoded = base64.b64encode(neighbour * before + text + neighbour * 5)
        assert any(form in encoded for form in _in_base64(text))
    assert not any(form in base64.b64encode(bytes(40)) for form in _in_base64(text))
