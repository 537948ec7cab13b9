"""The words of the page of results; what stands in ``<!-- -->`` is put in from the numbers."""

PAGE = """# Claims: time, risk and utility

**What did not hold** ([all items](../papers.md)). Equation (2) of the paper, the share of patients matched with a voter
list, is too low: where everybody is unique, it gives the sampled share instead of 1. [Releases](../claims.md#attacks)
state the exact share too. Diversities of columns are correlated up to <!-- most_alike --> here, in the paper up to
0.46.

## Risk

Each release uses the plan that `cloister init claims` writes, unchanged. The JSON file also has 2,000, 10,000 and
30,000 generated patients.

<!-- risks -->

With levels and suppressed labels chosen together, the share flagged is no limit but a result.

*Flags believed*: upper end of the interval for the flag-aware adversary. *Verified*: `cloister verify` simulated the
adversary again and agreed within four standard errors. *Cells*: suppressed ones.

<!-- suppression -->

## Levels

Chosen level / highest level (released labels):

<!-- levels -->

## Correlations between diversities (Table 5)

100,000 generated patients; in italics the paper's, which range from -0.44 to 0.46. DE-SynPUF has -0.13 to 0.98 (in- and
outpatient) and 0.69 to 0.99 (inpatient).

<!-- diversity -->

## Other adversaries

Mean risk in percent. The plan limits the risk from patients and claims together, and from flag-aware adversaries.

<!-- attacks -->

## Time and memory

Times are those of complete commands: start, read, verify, write. Kernels were compiled beforehand. *Processors* are
seconds summed over cores. Other work ran at the same time, so commands took longer than on an idle machine.

<!-- times -->

## Truncation

The search chose no truncation for any of these data. The JSON file has the claims per patient at each percentile.

## Excluded patients (Tables 1 to 4)

Patients with codes on the exclusion list against the others, in percent, in the paper's bands. The numbers of the
drawing are in the JSON file, and the paper's in `benchmarks/papers/claims_paper.py`. All these patients are synthetic,
and DE-SynPUF is public, so small shares are stated exactly. A release masks them. Synthetic patients do not show how
excluded real patients differ.

<!-- patients -->

![Excluded and remaining patients by age, days since the first claim, and length of stay](claims-excluded-figure.svg)

<!-- excluded -->

The JSON file has Kolmogorov-Smirnov tests of age, days since the first claim and length of stay; the paper's p values
are all below 0.0001.

## How this was measured

Results of `python -m benchmarks.papers.claims figures`, measured on <!-- day --> (<!-- machine -->;
<!-- seconds --> seconds in all). The plan has threshold 0.05 (classes of 20), adversary power 5, levels and suppressed
labels chosen together, cells suppressed, flag-aware risk bounded. [claims.json](claims.json) contains all numbers and
manifests.

Generated patients have 25 claims each on average (`benchmarks/papers/claims_made_up.py`): codes follow
Zipf's law, chronic diagnoses recur, and older patients have more claims. DE-SynPUF is synthetic too, with less
correlated claims. The method is that of El Emam et al. (2012), JMIR 14(1):e33, whose data are not available.
"""
