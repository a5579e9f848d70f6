"""Reads what Coretwin exported with DuckDB, pandas and polars: python read.py PAGE, in a folder with what the
page's commands made, and fleet.json and one.json beside it. Says how many figures were compared."""

import json
import math
import os
import re
import sys

os.environ["MPLBACKEND"] = "Agg"  # before anything draws

import duckdb
import pandas

TOLERANCE = 1e-12
compared = 0


def same(found, expected, what):
    """Compares two figures; none equals none."""
    global compared
    compared += 1
    none = [figure is None or math.isnan(figure) for figure in (found, expected)]
    near = all(none) or (not any(none) and abs(found - expected) <= TOLERANCE * abs(expected))
    assert near, f"{what}: {found!r}, ours is {expected!r}"


page = open(sys.argv[1]).read()
queries = {}
for query in re.findall(r"```sql\n(.*?)```", page, re.S):
    title = query.splitlines()[0].removeprefix("-- ").split(":")[0]
    queries[title] = duckdb.sql(query).df()
    assert len(queries[title]) > 0, f"nothing is answered: {title}"

# The mean effect of each CPU model and workload is what the fleet's report says.
fleet = json.load(open("fleet.json"))
ours = {
    (effect["cpu_model"], effect["workload"], effect["row"], effect["arm"]): effect
    for effect in fleet["effects"]
    if effect["cpu_model"] is not None and effect["scale"] == "ratio"
}
means = queries["mean effect per CPU model and workload"]
assert len(means) == len(ours) and len(ours) >= 6, (len(means), len(ours))
for line in means.itertuples():
    effect = ours[line.cpu_model, line.workload, line.row, line.arm]
    same(line.effect, effect["effect"], line.row)
    assert line.machines == effect["machines"]
expected = queries["what to expect of the next machine of each model"]
assert len(expected) == len(ours)
for line in expected.itertuples():
    effect = ours[line.cpu_model, line.workload, line.row, line.arm]
    for name in ("effect", "low", "high", "next_low", "next_high"):
        same(getattr(line, name), effect[name], name)

# Effects of a study, as they were exported, are those of its report.
summary = json.load(open("one.json"))
rows = {(row["row"], row["arm"]): row for row in summary["rows"]}
effects = pandas.read_parquet("one-tables/effects")
single = effects[effects.workload != "all"]
assert len(single) == len(rows)
for line in single.itertuples():
    row = rows[line.row, line.arm]
    for name, ours_name in (("effect", "ratio"), ("low", "low"), ("high", "high"), ("p_adjusted", "p_adjusted")):
        same(getattr(line, name), row[ours_name], name)
    same(math.exp(line.mean), row["ratio"], "mean")

# Types: texts, whole numbers, numbers, yes and no, moments.
TYPES = {
    "text": ["phase", "arm", "row", "params", "placement_asked", "cpus_ran", "status", "unit", "better", "cpu_model"],
    "int64": ["seq", "block", "attempt", "switch", "threads", "copies", "operations"],
    "float64": ["value", "elapsed_s", "user_s", "system_s", "steal_s", "p99_s"],
    "bool": ["analysed", "is_simulated"],
    "datetime64[us, UTC]": ["arm_began_utc"],
}
readings = pandas.read_parquet("one-tables/readings")
for expected, names in TYPES.items():
    for name in names:
        found = readings.dtypes[name]
        is_text = pandas.api.types.is_string_dtype(found)
        assert is_text if expected == "text" else str(found) == expected, f"{name} is {found}"
in_duckdb = dict(
    duckdb.sql("select column_name, column_type from (describe from 'one-tables/readings/*/*/*.parquet')").fetchall()
)
for expected, kind in {
    "text": "VARCHAR", "int64": "BIGINT", "float64": "DOUBLE", "bool": "BOOLEAN",
    "datetime64[us, UTC]": "TIMESTAMP WITH TIME ZONE",
}.items():
    for name in TYPES[expected]:
        assert in_duckdb[name] == kind, f"{name} is {in_duckdb[name]}"

# The tidy CSV and the Parquet table hold the same runs, and the CSV's types are had without help.
lines = pandas.read_csv("one.csv")
assert str(lines.dtypes["value"]) == "float64" and str(lines.dtypes["block"]) == "int64"
assert str(lines.dtypes["analysed"]) == "bool"
assert list(lines.seq) == sorted(readings.seq)
readings = readings.sort_values("seq").reset_index(drop=True)
for name in ("value", "elapsed_s", "user_s", "system_s"):
    for found, ours_value in zip(lines[name], readings[name]):
        same(found, ours_value, name)
for name in ("arm", "row", "phase", "status", "analysed", "block"):
    assert (lines[name] == readings[name]).all(), name
metrics = pandas.read_parquet("one-tables/metrics")
for name, found in metrics.groupby("metric", observed=True):
    column = lines.set_index("seq")[f"metric.{name}"]
    for line in found.itertuples():
        same(line.value, column[line.seq], name)
# JSON makes a table too.
table = pandas.json_normalize(summary["rows"])
assert str(table.dtypes["ratio"]) == "float64" and str(table.dtypes["blocks"]) == "int64"

for script in re.findall(r"```python\n(.*?)```", page, re.S):
    exec(compile(script, "the page", "exec"), {})
assert os.path.getsize("fleet.png") > 1000, "no picture"
print(f"did: {compared} figures compared with those of DuckDB and pandas")
