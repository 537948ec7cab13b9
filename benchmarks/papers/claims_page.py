"""The words of the page of results; what stands in ``<!-- -->`` is put in from the numbers."""

EARLIER = """These releases choose levels before suppression (the published way) and minimize the loss by leaves.
[Claims](../claims.md) compares them with levels and suppression chosen together.

"""

PAGE = """# Claims: time, risk and utility

<!-- earlier -->Results of `python -m benchmarks.papers.claims figures`, measured on <!-- day --> (<!-- machine -->;
<!-- seconds --> seconds in all). Each release uses the plan that `cloister init claims` writes, unchanged: threshold
0.05 (classes of 20), adversary power 5, at most 5% flagged before suppression, cells suppressed, flag-aware risk
bounded. [claims.json](claims.json) contains all numbers and manifests.

Generated patients have 25 claims each on average (`benchmarks/papers/claims_made_up.py`): codes follow Zipf's law,
chronic diagnoses recur, and older patients have more claims. DE-SynPUF is synthetic too, with less correlated claims.
The method is that of El Emam et al. (2012), JMIR 14(1):e33.

## Time and memory

Times are those of complete commands: start, read, verify, write. Kernels were compiled beforehand. *Processors* are
seconds summed over cores.

<!-- times -->

## Risk

<!-- risks -->

*Flags believed*: upper end of the interval for the flag-aware adversary. *Verified*: `cloister verify` simulated the
adversary again and agreed within four standard errors. Suppression:

<!-- suppression -->

## Truncation

Claims per patient at percentiles (share of claims that truncation there would remove), and the level chosen:

<!-- truncation -->

## Levels

Chosen level / highest level (released labels):

<!-- levels -->

## Excluded patients (Tables 1 to 4)

Patients with codes on the exclusion list against the others, in percent. The generator rarely draws these codes, so the
share excluded says nothing about real patients. Shares that could identify fewer than 20 patients or claims are masked;
data without any other share do not appear.

<!-- excluded -->

## Correlations between diversities (Table 5)

100,000 generated patients. In the paper's data the correlations range from -0.44 to 0.46.

<!-- diversity -->

## Other adversaries

Mean risk in percent. The plan limits the risk from patients and claims together, and from flag-aware adversaries.

<!-- attacks -->
"""
