"""The same tables in a local ARX, if ARX_CLASSPATH names its jar. Nothing of ARX is part of this project."""

import os
import subprocess
import tempfile
from pathlib import Path

from benchmarks.papers.pruning_runs import TABLES
from cloister.io import read_table

DRIVER = """
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Locale;
import org.deidentifier.arx.*;
import org.deidentifier.arx.ARXConfiguration.AnonymizationAlgorithm;
import org.deidentifier.arx.AttributeType.Hierarchy;
import org.deidentifier.arx.criteria.KAnonymity;
import org.deidentifier.arx.metric.Metric;
import org.deidentifier.arx.metric.Metric.AggregateFunction;

public class TimeArx {
    public static void main(String[] arguments) throws Exception {
        int runs = Integer.parseInt(arguments[0]);
        String table = arguments[1];
        double[] seconds = new double[runs];
        String loss = "";
        for (int run = -1; run < runs; run++) {
            Data data = Data.create(table, StandardCharsets.UTF_8, ';');
            for (int i = 3; i < arguments.length; i++) {
                String file = arguments[2] + "_hierarchy_" + arguments[i] + ".csv";
                data.getDefinition().setAttributeType(
                    arguments[i], Hierarchy.create(file, StandardCharsets.UTF_8, ';'));
            }
            DataHandle handle = data.getHandle();
            for (int column = 0; column < handle.getNumColumns(); column++) {
                String name = handle.getAttributeName(column);
                if (!Arrays.asList(arguments).subList(3, arguments.length).contains(name)) {
                    data.getDefinition().setAttributeType(name, AttributeType.INSENSITIVE_ATTRIBUTE);
                }
            }
            ARXConfiguration settings = ARXConfiguration.create();
            settings.addPrivacyModel(new KAnonymity(5));
            settings.setSuppressionLimit(0.05d);
            settings.setQualityModel(Metric.createLossMetric(AggregateFunction.GEOMETRIC_MEAN));
            settings.setAlgorithm(AnonymizationAlgorithm.OPTIMAL);
            settings.setHeuristicSearchThreshold(Integer.MAX_VALUE);
            long started = System.nanoTime();
            ARXResult result = new ARXAnonymizer().anonymize(data, settings);
            if (run >= 0) {
                seconds[run] = (System.nanoTime() - started) / 1e9;
            }
            loss = result.getGlobalOptimum().getHighestScore().toString();
        }
        Arrays.sort(seconds);
        System.out.println(String.format(Locale.ROOT, "%.6f %s", seconds[runs / 2], loss));
    }
}
"""


def arx_seconds(table: str, columns: int, folder: Path, runs: int, seconds: float) -> tuple[float, float] | None:
    """Median seconds of ARX on the first columns of a table after a warm-up, and its loss; None without ARX."""
    jar = os.environ.get("ARX_CLASSPATH")
    if not jar:
        return None
    path = folder / TABLES[table][0]
    names = read_table(path).frame.columns[:columns]
    with tempfile.TemporaryDirectory() as temporary:
        driver = Path(temporary) / "TimeArx.java"
        driver.write_text(DRIVER, encoding="utf-8")
        command = ["java", "-Xmx4g", "-cp", jar, str(driver), str(runs), str(path), str(path.with_suffix("")), *names]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=seconds * (runs + 1))
        except subprocess.TimeoutExpired:
            return None
    taken, loss = done.stdout.split()[-2:]
    return float(taken), float(loss)
