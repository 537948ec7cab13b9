"""The words of the page of results; what stands in ``<!-- -->`` is put in from the numbers."""

PAGE = """# Trajectories: loss and accuracy on public data

**What did not hold** ([all items](../papers.md)). With the paper's cost, A-GS answers *worse* than Baseline in 6 of 12
runs, though it loses less by the paper's measure in all of them. In the paper Baseline suppresses all values for k
above 2 and answers more than 6 times worse. Here its loss is <!-- worse_loss --> that of A-GS, its error
<!-- worse_answers -->. All 24 figures of Appendix A are lower here.

## Loss (Fig. 6 and Appendix A)

![ILM and ALM by k](trajectories-figure-6.svg)

ILM and ALM of A-GS, accumulated as in the paper (its figures in italics). A label loses the share of the leaves of the
domain that it covers, a recorded value nothing. The domain is the values that occur; of a hierarchy file, all its
leaves.

<!-- appendix -->

The trend of Appendix A holds more strongly: four codes lose a fifth to a quarter of what 50 codes lose (half in the
paper), and a small sample loses twice as much as the large one (half as much again in the paper).

Losses of Baseline and A-GS, codes and ages together (the JSON file has k = 2 and 10 and the sample too):

<!-- baseline -->

By the paper's measure A-GS loses less at every k on all data: by 14 to 17% with 50 codes, by 10 to 29% with four. Here
pairs of one age are sorted by code, so that the order does not reveal who came first, and pairs with the same index
often have the same code: with codes of one age in random order, Baseline loses 0.72 instead of 0.51 at k = 2. Also, few
patients have many ages.

## The cost that is minimized

The paper counts the further loss of a merged pair once, although each patient of the cluster suffers it. Suppressing a
pair of four patients then seems as cheap as suppressing one of a single patient: from k = 10 on, with 50 codes, A-GS is
no better than Baseline by the exact loss (mean over original pairs; 1 if suppressed). `--cost exact` weighs a merged
pair by its patients. Exact ILM and ALM by either cost:

<!-- costs -->

It never loses more by the exact loss. At k = 2 both are equal; from k = 5 on it loses 21 to 32% less with 50 codes.

## Answers (Fig. 7)

Average relative error of the number of patients with given (code, age) pairs, for all sets of up to four pairs that 1%
of the patients have.

![AvgRE by k](trajectories-figure-7.svg)

<!-- answers -->

As in the paper, all errors are below 1, four codes are answered better than 50, and many patients better than few. A
released pair is spread evenly over the codes in the release (in Appendix B over the domain).

With the exact cost A-GS answers better than Baseline in 10 of 12 runs, by 2 to 31%; it is worse at k = 10 with 50 codes
and at k = 5 with four. Compared with the paper's cost it answers worse in 4 of 16 runs: at k = 5 with four codes and on
diabetes130, and at k = 10 with 50 codes. The paper's cost therefore stays the default; use `--cost exact` from k = 10
on if answers about few codes matter.

## Weights (Fig. 8)

k = 2, 50 codes. A higher weight of ages preserves ages and moves the loss to codes.

![Losses by the weight of codes](trajectories-figure-8.svg)

## Time

<!-- bars -->

Generated patients (variants of those of synpuf with 50 codes: older or younger, pairs omitted or added), k = 5, in
blocks of similar length and content; one process per row:

<!-- scale -->

Blocks do not raise the exact loss.

## How this was measured, and the data (Table I)

Results of `python -m benchmarks.papers.trajectories figures`, measured on <!-- day --> (<!-- machine -->;
<!-- seconds --> seconds in all, on a busy machine: seconds are upper bounds), after Tamersoy, Loukides, Nergiz, Saygin,
Malin (2012), IEEE Transactions on Information Technology in Biomedicine 16(3). [trajectories.json](trajectories.json)
contains all numbers.

The paper's data are not available. From synpuf (inpatient claims of three years) come the 50 codes that most patients
have, the paper's four codes (250, 272, 401, 724), and as many patients as in the paper; diabetes130 is used as a whole.

<!-- samples -->

Rows in italics are the paper's. Codes are generalized by ICD-9-CM, ages to 5, 10 and 20 years with 90 and over
together. All patients are compared with each other.
"""
