"""The words of the page of results; what stands in ``<!-- -->`` is put in from the numbers."""

PAGE = """# Patients with their claims

What `python -m benchmarks.papers.claims figures` measured on <!-- day --> (<!-- machine -->; <!-- seconds --> seconds
in all). Every release is that of the plan which `cloister init claims` writes, as it is: threshold 0.05 (classes of
20), an adversary with a power of 5, at most 5 % flagged before suppression, cells suppressed, the risk for who believes
flags bounded. The numbers are in [claims.json](claims.json), the whole manifests among them.

Generated patients have 25 claims each in the mean (`benchmarks/papers/claims_made_up.py`): codes by Zipf's law, chronic
diagnoses that come back, more claims when old. The pairs of DE-SynPUF are synthetic as well, and their claims have
less to do with each other than those of real patients. After El Emam et al. (2012), "De-identification methods for open
health data: the case of the Heritage Health Prize claims dataset", JMIR 14(1):e33, and its appendix.

## Time and memory

The whole commands, with starting, reading, verification and writing; kernels were compiled before. *Processors* are the
seconds of all cores together.

<!-- times -->

Where the seconds of `protect` went:

<!-- stages -->

One node, all 10,000 draws, at the levels chosen; lists of patients are made once for each truncation level and serve
all nodes. *Below k* is what the search asks, *exact* counts every class to its end.

<!-- nodes -->

## Risk

<!-- risks -->

*Flags believed*: the upper end for somebody who lets values be missing where flags say so. *Verified*: `cloister
verify` with the original simulated the adversary anew, by other code and other random numbers, and agreed within four
standard errors. Before suppression, and what it took:

<!-- suppression -->

## Truncation

Claims per patient at percentiles, and what truncation there would cost:

<!-- truncation -->

What the search found at each truncation level; only what loses less than the levels before is looked for:

<!-- tried -->

## Levels

Level of the highest, and labels released:

<!-- levels -->

## Excluded patients (Tables 1 to 4)

Patients with codes of the exclusion list against the others, in percent. Which share is excluded says nothing about
real patients: the generator puts few codes of the list among its diagnoses. Shares are withheld where fewer than 20
patients or claims could be told.

<!-- excluded -->

## Correlations between diversities (Table 5)

In the paper's data they lie between -0.44 and 0.46.

<!-- diversity -->

## Other adversaries

Mean risk, in percent. Limited are patients and claims together, and who believes flags.

<!-- attacks -->
"""
