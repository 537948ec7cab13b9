"""When Spark fails there is one error, which quotes nothing, and nothing is released."""

import logging
import os
import sys

import pytest

import cloister as cl
from cloister.engines.choice import is_spark, is_spark_frame
from cloister.engines.spark.session import spark_session
from cloister.engines.spark.tasks import quiet
from cloister.errors import InputError, InternalError
from cloister.pipeline.disassociation_on_spark import CodesOnSpark, DisassociationOnSpark
from cloister.pipeline.protecting import protect


@pytest.fixture
def failing(codes, ask):
    """Protect, with something that happens in a worker before the first part."""
    return lambda word, before: protect(DisassociationOnSpark(CodesOnSpark(codes), ask, word, before=before))


def test_a_worker_that_dies(spark, failing, capfd):
    """A worker that dies is one error without words of Spark, on no stream."""
    with pytest.raises(InputError, match="a worker died or failed") as refusal:
        failing(spark.word, lambda _: os._exit(3))

    assert (refusal.value.__cause__, refusal.value.__context__) == (None, None)
    assert tuple(capfd.readouterr()) == ("", "")


def test_a_worker_that_raises(spark, failing, capfd):
    """An error that is not ours is told by its type, not by its words, which may be values."""

    def stumble(_):
        raise KeyError("SECRET")

    with pytest.raises(InternalError, match="stopped with KeyError in") as refusal:
        failing(spark.word, stumble)

    assert "SECRET" not in refusal.value.message
    assert tuple(capfd.readouterr()) == ("", "")


def test_a_worker_without_memory(classic, failing):
    """A worker that runs out of memory is an error of Spark's, not a defect of ours."""

    def fill(_):
        raise MemoryError

    with pytest.raises(InputError, match="memory or disk was full"):
        failing(classic.word, fill)


def test_the_session_is_left_as_it_was(spark, failing):
    """A session that was there goes on after a failure, and after a run."""
    with pytest.raises(InputError):
        failing(spark.word, lambda _: os._exit(3))

    assert spark.session.range(10).count() == 10


def test_files_that_are_gone(classic, ask, tmp_path):
    """A file that cannot be read is named, without its folder."""
    from cloister.engines.spark.tables import SparkFiles

    (tmp_path / "codes.parquet").write_bytes(b"PAR1 this is none PAR1")
    with pytest.raises(InputError, match=r"Spark could not read codes\.parquet") as refusal:
        protect(DisassociationOnSpark(CodesOnSpark(SparkFiles(tmp_path / "codes.parquet")), ask, classic.word))

    assert str(tmp_path) not in refusal.value.message


def test_another_session_is_not_taken(classic, codes):
    """Where a session is active, another master is refused rather than passed over."""
    with pytest.raises(InputError, match="Another Spark session is active"):
        cl.protect_codes(codes, k=3, engine="local[7]")


@pytest.fixture(params=[True, False], ids=["as it is", "without pyspark"])
def anywhere(request, monkeypatch):
    """This environment, and one without pyspark."""
    if not request.param:
        monkeypatch.setitem(sys.modules, "pyspark", None)


@pytest.mark.usefixtures("anywhere")
def test_a_server_that_does_not_answer(codes):
    """A server of Spark Connect that is not there is said at once."""
    with pytest.raises(InputError, match="No Spark answers at port 1 "):
        cl.protect_codes(codes, k=3, engine="sc://127.0.0.1:1")


@pytest.mark.usefixtures("anywhere")
@pytest.mark.parametrize("address", ["sc://127.0.0.1:1/;token=SECRET", "sc://SECRET@127.0.0.1", "spark://a:SECRET@b:1"])
def test_secrets_in_an_address(codes, address):
    """An address with a token is refused, and not repeated."""
    with pytest.raises(InputError, match="must not contain a secret") as refusal:
        cl.protect_codes(codes, k=3, engine=address)

    assert "SECRET" not in refusal.value.message


def test_without_pyspark(codes, monkeypatch):
    """Without pyspark it is said what to install."""
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(InputError, match="pip install"):
        cl.protect_codes(codes, k=3, engine="spark")


def test_without_java(monkeypatch):
    """Without Java it is said that it is needed."""
    pytest.importorskip("pyspark")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("cloister.engines.spark.session.active_session", lambda: None)
    with pytest.raises(InputError, match="needs Java"), spark_session("local[1]"):
        pass


@pytest.mark.parametrize("word", ["auto", "memory", "duckdb", "localhost", "postgresql://host/db", "sparkly", ""])
def test_other_words_are_not_of_spark(word):
    """Words of other engines are none of Spark's."""
    assert not is_spark(word)


def test_a_frame_of_spark_is_told_apart(spark):
    """Frames of classic Spark and of Spark Connect are known, and nothing else is one."""
    assert is_spark_frame(spark.session.range(1))
    assert not is_spark_frame([1])


class Lines(logging.Handler):
    """What is logged at the root."""

    def __init__(self):
        super().__init__()
        self.texts = []

    def emit(self, record):
        """Keep the text of a line."""
        self.texts.append(record.getMessage())


def test_logs_of_spark_are_kept_back_and_others_are_not():
    """What py4j logs, also at the root, goes nowhere while Spark is used; lines of others do; all is as it was then."""
    pytest.importorskip("pyspark")
    root, lines = logging.getLogger(), Lines()
    root.addHandler(lines)
    before = list(root.handlers), list(root.filters)
    with quiet():
        logging.getLogger("py4j.clientserver").error("SECRET")
        root.handle(logging.LogRecord("root", logging.ERROR, "/x/py4j/java_gateway.py", 1, "SECRET", (), None))
        root.error("of others")
    after = list(root.handlers), list(root.filters)
    root.removeHandler(lines)

    assert lines.texts == ["of others"]
    assert after == before
