"""Local recoding by ARX, if ARX_CLASSPATH names its classes and libraries. Nothing of ARX is part of this project."""

import os
import subprocess
import tempfile
from pathlib import Path

import polars as pl

from cloister.io import as_text

from .tables import File

DRIVER = """
import java.nio.charset.StandardCharsets;
import org.deidentifier.arx.*;
import org.deidentifier.arx.AttributeType.Hierarchy;
import org.deidentifier.arx.criteria.KAnonymity;
import org.deidentifier.arx.metric.Metric;
import org.deidentifier.arx.metric.Metric.AggregateFunction;

public class RecodeByArx {
    public static void main(String[] arguments) throws Exception {
        String folder = arguments[0];
        Data data = Data.create(folder + "/table.csv", StandardCharsets.UTF_8, ',');
        DataHandle input = data.getHandle();
        for (int column = 0; column < input.getNumColumns(); column++) {
            String file = folder + "/" + column + ".csv";
            data.getDefinition().setAttributeType(
                input.getAttributeName(column), Hierarchy.create(file, StandardCharsets.UTF_8, ','));
        }
        ARXConfiguration settings = ARXConfiguration.create();
        settings.addPrivacyModel(new KAnonymity(Integer.parseInt(arguments[1])));
        settings.setSuppressionLimit(0.99d);
        settings.setQualityModel(Metric.createLossMetric(0d, AggregateFunction.ARITHMETIC_MEAN));
        ARXResult result = new ARXAnonymizer().anonymize(data, settings);
        DataHandle output = result.getOutput(false);
        if (output != null && result.isOptimizable(output)) {
            result.optimizeIterativeFast(output, 0.01d);
        }
        output.save(folder + "/recoded.csv", ',');
    }
}
"""


def recode_by_arx(file: File, k: int) -> pl.DataFrame | None:
    """Return the labels of the quasi-identifiers of a file by local recoding, records in their order.

    None where ARX finds the lattice too large: it searches one for each of up to a hundred parts of the records.
    """
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        texts = pl.DataFrame([as_text(file.frame[name]) for name in file.hierarchies])
        texts.write_csv(folder / "table.csv")
        for place, (name, hierarchy) in enumerate(file.hierarchies.items()):
            bound = hierarchy.bind(name, texts[name].unique().to_list())
            pl.DataFrame({str(level): labels for level, labels in enumerate(bound.labels)}).write_csv(
                folder / f"{place}.csv", include_header=False
            )
        driver = folder / "RecodeByArx.java"
        driver.write_text(DRIVER, encoding="utf-8")
        command = ["java", "-Xmx4g", "-cp", os.environ["ARX_CLASSPATH"], str(driver), str(folder), str(k)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
        if "Solution space is too large" in done.stderr:
            return None
        done.check_returncode()
        return pl.read_csv(folder / "recoded.csv", infer_schema=False)
