"""A job file as it is read: strict, and precise about what is wrong."""

from dataclasses import fields

import pytest
from tests.made.jobs_files import BOTH, HEAD, JOB, OF_CODES, OF_VISITS, TABLE

from cloister.errors import InputError
from cloister.jobs.job import SHAPES, FileSource, Written, section_of
from cloister.jobs.job_file import parse_job
from cloister.settings.declaration import settings_of

OF_THE_RUN = {"data", "out", "overwrite", "custodian_dir", "as_json", "quiet", "verbose"}
INLINE = """
[[protect]]
shape = "claims"
patients = "patients"
claims = "visits"
plan = {}
"""
URL = '[sources.more]\nurl = "postgresql://h/d"\n'
PLAN = '{patients = {roles = {mrn = "id"}, qi = {}}, claims = {roles = {id = "id"}, qi = {}}, ids = {patients = "%s"}}'


@pytest.mark.parametrize("shape", SHAPES)
def test_whatever_protect_can_be_told_a_job_can_be_told(shape):
    """Each setting of the command line is a key of the part, of its source, or of the job, under its own name."""
    keys = {field.name for kind in (section_of(shape), FileSource, Written) for field in fields(kind)}

    assert {one.word for one in settings_of(SHAPES[shape].options)} - OF_THE_RUN - keys == set()


def test_a_job_is_read():
    """Sources and parts by name, in the order of the file; k of the job holds for parts that have none."""
    job = parse_job(JOB.replace('shape = "codes"', 'shape = "codes"\nk = 7'), "job.toml")

    assert list(job.parts) == ["patients", "diagnoses", "visits", "both"]
    assert [part.keywords["k"] for part in job.parts.values()] == [5, 7, 5, 5]
    assert job.sources["patients"].id == "mrn"
    assert (job.name, job.output) == ("night-run", "release")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (JOB.replace("output", "outptu"), ("unknown key outptu", "Did you mean output?")),
        (JOB.replace('id = "mrn"', 'idd = "mrn"'), ("sources.patients.idd", "Did you mean id?", "Keys there: missing")),
        (JOB.replace("sensitive", "sensitiv"), ("protect[1].sensitiv.", "Did you mean sensitive?")),
        (JOB.replace("suppression = 0.1", 'suppression = "x"'), ("protect[1].suppression", "a number from 0 to 1")),
        (JOB.replace("suppression = 0.1", "suppression = 1.1"), ("protect[1].suppression", "a number from 0 to 1")),
        (
            JOB.replace("suppression = 0.1", 'undecided = "keep"'),
            ("protect[1].undecided", "a list of drop, sensitive, keep or quasi-identifier"),
        ),
        (JOB.replace('shape = "codes"', 'shape = "code"'), ("protect[2].shape", "trajectories", "mean codes?")),
        (JOB.replace('source = "visits"', 'source = "visit"'), ("protect[3].source", "Did you mean visits?")),
        (JOB.replace("k = 5\n", ""), ("lacks the key protect[1].k", "a whole number from 2")),
        (JOB.replace("k = 5\n", "k = 1\n"), ("k must be", "a whole number from 2")),
        (JOB.replace("m = 2", "m = 0"), ("protect[2].m", "a whole number from 1")),
        (JOB.replace('age = "interval:10,20/top=90/bottom=0"', "age = 5"), ("protect[1].qi", "a hierarchy for each")),
        (JOB.replace('file = "visits.csv"', 'url = "postgresql://h/d"'), ("sources.visits.query:", "one SELECT")),
        (JOB.replace('file = "visits.csv"', 'query = "SELECT 1"'), ("the key sources.visits.url", "postgresql://")),
        (JOB + URL + 'query = "SELECT 1"\nfile = "x"\n', ("sources.more has file and url and query",)),
        (JOB + URL + 'query = "SELECT 1"\ndelimiter = ";"\n', ("sources.more.delimiter is for files alone",)),
        (JOB + URL + 'query = "SELECT 1; SELECT 2"\n', ("query of more has 2 statements",)),
        (JOB + URL.replace("h/d", "a:b@h/d") + 'query = "q.sql"\n', ("url of more contains a password", "PGPASSWORD")),
        (JOB + URL.replace("postgresql:", "") + 'query = "q.sql"\n', ("url of more names no database",)),
        (JOB.replace('file = "visits.csv"', ""), ("lacks the key sources.visits.file",)),
        (JOB.replace("k = 5\n", 'k = 5\nlink = ["patients", "visits"]\n'), ("link", "do not compose", "one patient")),
        (JOB.replace("k = 5\n", 'k = 5\nlink = ["patient"]\n'), ("no part", "Did you mean patients?")),
        (JOB.replace("suppression = 0.1", 'ids = "hmac:key"'), ("protect[1].ids", "number or drop", "do not compose")),
        (HEAD + INLINE.format(PLAN % "hmac:k"), ("protect[1].plan.ids.patients", "do not compose")),
        (HEAD + OF_CODES + OF_CODES, ("protect[2].name is that of another part", "name =")),
        (HEAD + OF_CODES + 'name = "../x"', ("protect[1]", "Give it a name")),
        (HEAD + OF_CODES + 'name = ".."', ("protect[1]", "Give it a name")),
        (HEAD + OF_CODES + 'name = "CON"', ("protect[1].name", "Windows keeps")),
        (HEAD + OF_CODES + 'name = "lpt1.csv"', ("protect[1].name", "Windows keeps")),
        (HEAD + OF_CODES + 'name = "Release.json"', ("protect[1].name", "file of the release")),
        (
            HEAD + TABLE.replace("suppression = 0.1", 'levels = {age = 1}\nlevels_from = "old"'),
            ("both fix the transformation",),
        ),
        (HEAD + OF_VISITS + "weights = [1.0]", ("protect[1].weights", "a list of two numbers")),
        (HEAD, ("lacks the key protect", "[[protect]]")),
        (HEAD + BOTH + "]", ("is not TOML at line", "cloister init")),
        (JOB.replace("k = 5\n", "k = 5\nseed = 2026-01-01\n"), ("seed must be a whole number",)),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_by_file_key_and_what_is_allowed(text, words):
    """Every refusal names the file, the key and what it may be, and the nearest known word where one is near."""
    with pytest.raises(InputError) as refused:
        parse_job(text, "job.toml")

    assert [word for word in ("job.toml", *words) if word not in refused.value.message] == []
    assert refused.value.file == "job.toml"


def test_two_parts_with_all_codes_of_each_patient_are_refused():
    """Codes generalized twice, or beside claims, fit each other's rows; disassociated ones tell of k at least."""
    head = 'name = "n"\noutput = "o"\nk = 5\n' + "".join(f'[sources.{s}]\nfile = "{s}.csv"\n' for s in "abc")
    cba = '[[protect]]\nshape = "codes"\nmethod = "cba"\nprivacy = "all:2"\npolicy = "level:3"\nsource = "{}"\n'
    claims = '[[protect]]\nshape = "claims"\npatients = "b"\nclaims = "c"\nplan = "p.toml"\n'
    chunks = '[[protect]]\nshape = "codes"\nm = 2\nsource = "b"\n'

    for second in (cba.format("b"), claims):
        with pytest.raises(InputError, match="all codes of a patient together"):
            parse_job(head + cba.format("a") + second, "job.toml")
    assert len(parse_job(head + cba.format("a") + chunks, "job.toml").parts) == 2


def test_ids_of_sources_stand_where_they_are_used():
    """A crosswalk needs an id column; claims have their ids in the plan."""
    head = 'name = "n"\noutput = "o"\nk = 5\n[sources.a]\nfile = "a.csv"\n[sources.b]\nfile = "b.csv"\n'
    with pytest.raises(InputError, match="names no id column"):
        parse_job(head + '[[protect]]\nshape = "table"\nsource = "a"\ncrosswalk = "map.csv"\n', "job.toml")
    named = head.replace('"a.csv"\n', '"a.csv"\nid = "mrn"\n')
    with pytest.raises(InputError, match="their plan names the ids"):
        parse_job(named + '[[protect]]\nshape = "claims"\npatients = "a"\nclaims = "b"\nplan = "p.toml"\n', "job.toml")
