"""Searches for losses of classes, beside ARX in one run: seconds of a processor, least of the runs, both warm.

    ARX_CLASSPATH=... python -m benchmarks.scale.class_losses DATA [--runs 3]

DATA is that of `benchmarks.usefulness.tables`. Ours are encoding and search, all threads added up; those of ARX are of
the thread that searches, after a first run that compiles its loops. Nothing of ARX is part of this project.
"""

import argparse
import os
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import polars as pl

import cloister as cl
from benchmarks import pages
from benchmarks.development.against_arx import ADULT, FARS, read
from cloister.hierarchy import Hierarchy
from cloister.io import as_text

LIMIT = 0.04  # of the records may be suppressed
TABLES = {"adult": (ADULT, "salary-class"), "fars": (FARS, "iinjury")}
RULES = {"k": "", "diversity": "l-diversity:{}=2", "closeness": "t-closeness:{}=0.2", "risk": "average-risk=0.01"}
LOSSES = ("dm_star", "discernibility", "average_class_size", "kl_divergence")
DRIVER = """
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.deidentifier.arx.*;
import org.deidentifier.arx.AttributeType.Hierarchy;
import org.deidentifier.arx.criteria.*;
import org.deidentifier.arx.metric.Metric;

public class SearchByArx {
    public static void main(String[] arguments) throws Exception {
        String folder = arguments[0], sensitive = arguments[1], rule = arguments[2], loss = arguments[3];
        for (int run = 0; run <= Integer.parseInt(arguments[4]); run++) {
            Data data = Data.create(folder + "/table.csv", StandardCharsets.UTF_8, ',');
            DataHandle input = data.getHandle();
            for (int column = 0; column < input.getNumColumns(); column++) {
                String name = input.getAttributeName(column);
                boolean judged = rule.equals("diversity") || rule.equals("closeness");
                data.getDefinition().setAttributeType(name, !name.equals(sensitive)
                    ? Hierarchy.create(folder + "/" + column + ".csv", StandardCharsets.UTF_8, ',')
                    : judged ? AttributeType.SENSITIVE_ATTRIBUTE : AttributeType.INSENSITIVE_ATTRIBUTE);
            }
            ARXConfiguration settings = ARXConfiguration.create();
            settings.addPrivacyModel(new KAnonymity(5));
            switch (rule) {
                case "diversity": settings.addPrivacyModel(new DistinctLDiversity(sensitive, 2)); break;
                case "closeness": settings.addPrivacyModel(new EqualDistanceTCloseness(sensitive, 0.2d)); break;
                case "risk": settings.addPrivacyModel(new AverageReidentificationRisk(0.01d)); break;
            }
            settings.setSuppressionLimit(Double.parseDouble(arguments[5]));
            switch (loss) {
                case "dm_star": settings.setQualityModel(Metric.createDiscernabilityMetric(true)); break;
                case "discernibility": settings.setQualityModel(Metric.createDiscernabilityMetric(false)); break;
                case "average_class_size": settings.setQualityModel(Metric.createAECSMetric()); break;
                case "kl_divergence": settings.setQualityModel(Metric.createKLDivergenceMetric()); break;
            }
            long began = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
            ARXResult result = new ARXAnonymizer().anonymize(data, settings);
            long ended = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
            System.out.println((ended - began) / 1e9 + " " + (result.getGlobalOptimum() == null ? "none"
                : Arrays.toString(result.getGlobalOptimum().getTransformation()).replace(" ", "")));
        }
    }
}
"""


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--runs", type=int, default=3)
    asked = parser.parse_args()
    rows = []
    for table, (columns, sensitive) in TABLES.items():
        frame, hierarchies = read(asked.data, table, columns)
        for rule in RULES:
            for loss in LOSSES:
                theirs, found = _search_by_arx(frame, hierarchies, (sensitive, rule, loss), asked.runs)
                ours, levels = _search(frame, hierarchies, (sensitive, rule, loss), asked.runs)
                same = "equal" if found == levels else f"{levels}, {found}"
                rows.append([table, rule, loss, f"{theirs:.3f}", f"{ours:.3f}", f"{theirs / ours:.1f}", same])
                print(rows[-1], flush=True)
    print(pages.table(["table", "rule", "loss", "ARX, s", "ours, s", "ratio", "levels"], rows))


def _search(
    frame: pl.DataFrame, hierarchies: Mapping[str, Hierarchy], asked: tuple[str, str, str], runs: int
) -> tuple[float, str]:
    """Return our seconds of a processor, and the levels found."""
    sensitive, rule, loss = asked
    spent, levels = [], ""
    for _ in range(runs + 1):
        began = time.process_time()
        release = cl.protect_table(
            frame.select(*hierarchies, sensitive),
            k=5,
            rule=[RULES[rule].format(sensitive)] if RULES[rule] else [],
            qi=hierarchies,
            sensitive=[sensitive],
            accept=[sensitive],
            suppression=LIMIT,
            loss=loss,
            purpose="one-coding",
            accept_empty=True,
        )
        whole, told = time.process_time() - began, release.summary()
        seconds = told["seconds"]
        share = (seconds["encode"] + seconds["search"]) / seconds["total"]
        spent.append(whole * share)
        levels = str([told["columns"][name]["level"] for name in hierarchies]).replace(" ", "")
    return min(spent[1:]), levels


def _search_by_arx(
    frame: pl.DataFrame, hierarchies: Mapping[str, Hierarchy], asked: tuple[str, str, str], runs: int
) -> tuple[float, str]:
    """Return the seconds of ARX, and the levels found."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        texts = pl.DataFrame([as_text(frame[name]) for name in (*hierarchies, asked[0])])
        texts.write_csv(folder / "table.csv")
        for place, (name, hierarchy) in enumerate(hierarchies.items()):
            bound = hierarchy.bind(name, texts[name].unique().to_list())
            levels = {str(level): labels for level, labels in enumerate(bound.labels)}
            pl.DataFrame(levels).write_csv(folder / f"{place}.csv", include_header=False)
        (folder / "SearchByArx.java").write_text(DRIVER, encoding="utf-8")
        command = ["java", "-Xmx4g", "-cp", os.environ["ARX_CLASSPATH"], str(folder / "SearchByArx.java"), str(folder)]
        given = [*asked, str(runs), str(LIMIT)]
        done = subprocess.run([*command, *given], capture_output=True, text=True, check=True, timeout=900)
    lines = [line.split() for line in done.stdout.splitlines() if line]
    return min(float(seconds) for seconds, _ in lines[1:]), lines[0][1]


if __name__ == "__main__":
    main()
